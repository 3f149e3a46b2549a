//! Addresses, errors, and what is never in them.

use super::*;

fn rest() -> Rest {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Rest::new(&SecretString::from("Bot abc.SECRET.def\n"), Some("http://127.0.0.1:1/"))
        .unwrap_or_else(|s| panic!("{s}"))
}

#[test]
fn the_api_is_found_by_whatever_of_its_address_was_written() {
    for (written, whole) in [
        (None, DISCORD),
        (Some("http://h:1"), "http://h:1/api/v10"),
        (Some("http://h:1/discord/"), "http://h:1/discord/api/v10"),
        (Some("http://h:1/api"), "http://h:1/api/v10"),
        (Some("http://h:1/discord/api/v9"), "http://h:1/discord/api/v9"),
    ] {
        assert_eq!(base(written).expect("an address").as_str(), whole);
    }
    assert_eq!(base(Some("nonsense")), None);
}

#[tokio::test]
async fn the_token_is_in_no_error() {
    let rest = rest();
    let problem = rest.get("/users/@me").await.expect_err("nobody listens there");
    assert!(matches!(problem, Problem::NotSent(_)), "{problem:?}");
    let answer = json!({"message": "no abc.SECRET.def", "code": 0});
    let problem = rest.problem(403, &HeaderMap::new(), Some(&answer), &limits::route("GET", "/users/@me"));
    assert!(!format!("{problem:?}").contains("SECRET"));
}

#[test]
fn a_redirect_is_not_followed_and_nothing_was_sent() {
    for answer in [None, Some(json!({"message": "moved"}))] {
        let problem = rest().problem(302, &HeaderMap::new(), answer.as_ref(), &limits::route("GET", "/users/@me"));
        assert!(matches!(problem, Problem::NotSent(_)), "{problem:?}");
    }
}

#[test]
fn an_error_is_told_with_the_place_where_it_was_found() {
    let answer = json!({"message": "Invalid Form Body", "code": 50035, "errors": {"embeds": {"0": {"title":
        {"_errors": [{"code": "X", "message": "Must be 256 or fewer in length."}]}}}}});
    assert_eq!(said(400, &answer), "Invalid Form Body: embeds.0.title Must be 256 or fewer in length.");
    assert_eq!(said(404, &Value::Null), "HTTP 404");
}

#[test]
fn only_the_account_s_own_401_is_about_the_token() {
    let rest = rest();
    let answer = json!({"message": "Invalid Webhook Token", "code": 50027});
    rest.problem(401, &HeaderMap::new(), Some(&answer), &limits::route("PATCH", "/webhooks/1/t/messages/@original"));
    assert!(!rest.refused.is_cancelled());
    rest.problem(
        401,
        &HeaderMap::new(),
        Some(&json!({"message": "401", "code": 0})),
        &limits::route("GET", "/users/@me"),
    );
    assert!(rest.refused.is_cancelled());
}

#[test]
fn what_cannot_be_a_bots_token_is_told_without_asking() {
    for wrong in ["f3a9c1", "abc.def", "abc..def", "a.b.c.d"] {
        let stopped = Rest::new(&SecretString::from(wrong), None).err().expect("it is refused");
        assert!(stopped.steps[0].contains("three parts with dots"), "{stopped:?}");
        assert!(!format!("{stopped:?}").contains(wrong), "{stopped:?}");
    }
}
