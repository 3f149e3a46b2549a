use reqwest::header::HeaderValue;
use reqwest::{Method, Url};
use secrecy::SecretString;

use super::*;

fn signature(signed: &[&str], separator: &str) -> Signature {
    Signature {
        secret: Source::new(SecretString::from("unused")),
        key_form: KeyForm::Text,
        algorithm: Algorithm::Sha256,
        signed: signed.iter().map(|word| Part::parse(word).expect("a part")).collect(),
        separator: separator.into(),
        encoding: Encoding::Hex,
        header: HeaderName::from_static("x-signature"),
        value: "{signature}".into(),
        timestamp: TimeForm::Seconds,
        timestamp_header: None,
        nonce_header: None,
        digest_header: None,
        key_id: None,
        key_id_header: None,
    }
}

fn request(url: &str, body: &'static str) -> Request {
    let mut request = Request::new(Method::POST, Url::parse(url).unwrap());
    *request.body_mut() = Some(body.into());
    request
}

fn fresh() -> Fresh {
    Fresh { timestamp: "1531420618".into(), nonce: "n-1".into(), key_id: "key-7".into() }
}

fn signed(signature: &Signature, request: &mut Request, secret: &str) -> String {
    signature.sign_with(request, secret, &fresh()).unwrap();
    request.headers()[&signature.header].to_str().unwrap().to_owned()
}

#[test]
fn a_body_is_signed_as_webhooks_are() {
    let github = Signature { value: "sha256={signature}".into(), ..signature(&["body"], "") };
    assert_eq!(
        signed(&github, &mut request("https://a.test/x", "Hello, World!"), "It's a Secret to Everybody"),
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
    let slack = Signature { value: "v0={signature}".into(), ..signature(&["text:v0", "timestamp", "body"], ":") };
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V\
        &channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=\
        &response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    assert_eq!(
        signed(&slack, &mut request("https://a.test/x", body), "8f742231b10e8888abcd99yyyzzz85a5"),
        "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    );
}

#[test]
fn every_algorithm_and_key_is_that_of_the_standard() {
    // RFC 2202 and RFC 4231, their second and first cases.
    let what = "what do ya want for nothing?";
    for (algorithm, wanted) in [
        (Algorithm::Sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (Algorithm::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            Algorithm::Sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ] {
        let one = Signature { algorithm, ..signature(&["body"], "") };
        assert_eq!(signed(&one, &mut request("https://a.test/", what), "Jefe"), wanted);
    }
    let wanted = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
    let hex = Signature { key_form: KeyForm::Hex, ..signature(&["body"], "") };
    assert_eq!(signed(&hex, &mut request("https://a.test/", "Hi There"), &"0b".repeat(20)), wanted);
    let base64 = Signature { key_form: KeyForm::Base64, ..signature(&["body"], "") };
    assert_eq!(signed(&base64, &mut request("https://a.test/", "Hi There"), &STANDARD.encode([0x0b; 20])), wanted);
    let wrong = hex.sign_with(&mut request("https://a.test/", ""), "no hex", &fresh()).unwrap_err();
    assert_eq!(wrong.why, "the key of the signature is not written in hex");
}

#[test]
fn parts_stand_in_any_order_and_the_query_is_sorted() {
    let all = [
        "method",
        "host",
        "path",
        "query",
        "sorted_query",
        "header:content-type",
        "timestamp",
        "nonce",
        "key_id",
        "body_digest",
        "text:end",
    ];
    let one = Signature { encoding: Encoding::Base64, ..signature(&all, "\n") };
    let mut asked = request("https://a.test:8443/v1/b%20c?z=1&a=2&a=1&b%20=x&a-b=3", "hi");
    asked.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
    let digest = one.encoding.write(&one.algorithm.digest(b"hi"));
    let bytes = one.signed_bytes(&asked, b"hi", &digest, &fresh()).unwrap();
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "POST\na.test:8443\n/v1/b%20c\nz=1&a=2&a=1&b%20=x&a-b=3\na=1&a=2&a-b=3&b%20=x&z=1\ntext/plain\n1531420618\n\
         n-1\nkey-7\nj0NDRmSPa5bfid2pAcUXaxCm2Dlh3TwayItZstwyeqQ=\nend"
    );
    let missing = signature(&["header:x-not-there"], "").sign_with(&mut asked, "s", &fresh()).unwrap_err();
    assert_eq!(missing.why, "the header 'x-not-there', which is signed, is not sent");
}

#[test]
fn what_is_new_in_each_request_goes_along_and_may_be_signed_as_a_header() {
    let name = |name: &'static str| Some(HeaderName::from_static(name));
    let one = Signature {
        header: HeaderName::from_static("authorization"),
        value: "HMAC id={key_id},ts={timestamp},nonce={nonce},sig={signature},{else}".into(),
        timestamp_header: name("x-date"),
        nonce_header: name("x-nonce"),
        digest_header: name("x-digest"),
        key_id_header: name("x-key"),
        ..signature(&["header:x-date", "header:x-nonce", "header:x-key"], "|")
    };
    let mut asked = request("https://a.test/", "hi");
    let value = signed(&one, &mut asked, "s");
    let wanted = one.encoding.write(&one.algorithm.sign(b"s", b"1531420618|n-1|key-7"));
    assert_eq!(value, format!("HMAC id=key-7,ts=1531420618,nonce=n-1,sig={wanted},{{else}}"));
    let sent = |name: &str| asked.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((sent("x-date"), sent("x-nonce"), sent("x-key")), ("1531420618".into(), "n-1".into(), "key-7".into()));
    assert_eq!(sent("x-digest"), "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4");
}

#[test]
fn the_time_is_written_as_the_service_wants_it() {
    let now = Timestamp::from_millisecond(1_769_860_800_123).unwrap();
    let all = [TimeForm::Seconds, TimeForm::Milliseconds, TimeForm::Rfc3339, TimeForm::HttpDate].map(|f| f.of(now));
    assert_eq!(all, ["1769860800", "1769860800123", "2026-01-31T12:00:00Z", "Sat, 31 Jan 2026 12:00:00 GMT"]);
}

#[test]
fn a_word_that_is_no_part_is_none() {
    for wrong in ["", "bodies", "header:", "header: ", "header:a b", "Body"] {
        assert_eq!(Part::parse(wrong), None, "{wrong}");
    }
}
