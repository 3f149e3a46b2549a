//! Where arguments go, and the files that a message brought.

use super::*;

/// A tool with these parameters, as flow YAML.
fn of(service: &Service, parameters: &str, path: &str, more: &str) -> Http {
    let yaml = format!(
        "name: orders\ndescription: d\nparameters: {{ type: object, properties: {parameters} }}\nendpoint:\n  url: \"http://{}{path}\"\n{more}",
        service.address
    );
    build(&yaml).unwrap()
}

async fn asked(bench: &Bench, service: &Service, http: &Http, args: Value) -> String {
    let outcome = http.send(&args, &bench.cx()).await.map_err(Failure::from);
    let asked = service.asked().join("\n").replace("\r\n", "\n");
    match outcome {
        Ok(_) => asked,
        Err(failure) => {
            let of = |p: &Problem| format!("{}: {}", p.path, p.expected);
            let problems: Vec<_> = failure.problems.iter().map(of).collect();
            format!("{asked}{}: {} [{}]", failure.code, failure.say, problems.join("; "))
        }
    }
}

const ANY: &str = "{ id: {}, note: {}, lang: {}, tags: {}, deep: {} }";

#[tokio::test]
async fn a_parameter_goes_where_the_spec_says() {
    let service = Service::start().await;
    let bench = Bench::new();
    let rows = [
        (
            "/o?api=2&v={id}",
            "  method: POST\n  in: { note: query, lang: header }\n  rename: { lang: X-Static, note: n.t }",
        ),
        ("/o/{id}?fixed=a%20b", "  method: DELETE\n  in: { note: body, deep: body }\n  rename: { note: why }"),
        ("/o", "  headers: { x-static: \"de-{lang}; q={id}\" }"),
    ];
    let args = json!({"id": 7, "note": "tea & milk", "lang": "DE", "tags": ["a", "b"], "deep": {"n": 18446744073709551615_u64}});
    let mut out = String::new();
    for (path, more) in rows {
        out += &(asked(&bench, &service, &of(&service, ANY, path, more), args.clone()).await + "\n");
    }
    let http = of(&service, ANY, "/o", "  headers: { x-static: \"de-{lang}\" }\n");
    out += &(asked(&bench, &service, &http, json!({"id": 1})).await + "\n");
    expect![[r#"
        POST /o?api=2&v=7&n.t=tea+%26+milk content-type=application/json x-static=DE {"tags":["a","b"],"deep":{"n":18446744073709551615}}
        DELETE /o/7?fixed=a%20b&lang=DE&tags=a&tags=b content-type=application/json {"deep":{"n":18446744073709551615},"why":"tea & milk"}
        GET /o?note=tea+%26+milk&tags=a&tags=b&deep.n=18446744073709551615 x-static=de-DE; q=7 
        GET /o?id=1 
    "#]]
    .assert_eq(&out);
}

#[tokio::test]
async fn what_a_header_cannot_hold_is_refused_before_anything_is_sent() {
    let service = Service::start().await;
    let http = of(&service, ANY, "/o", "  headers: { x-static: \"{lang}\" }\n");
    for bad in [
        json!("a\r\nx: y"),
        json!("a\0"),
        json!("日本"),
        json!(" a"),
        json!([1]),
        json!({"a": 1}),
        json!("x".repeat(5_000)),
    ] {
        let failure = send(&http, json!({ "lang": bad })).await.unwrap_err();
        assert_eq!((failure.code, failure.problems[0].path.as_str()), (Code::InputRefused, "lang"), "{bad}");
    }
    assert_eq!(service.asked(), Vec::<String>::new());
    for good in [json!("de, en;q=0.5"), json!(5), json!(true), json!("")] {
        assert!(send(&http, json!({ "lang": good })).await.is_ok(), "{good}");
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_one_argument_as_it_is() {
    let service = Service::start().await;
    let bench = Bench::new();
    let more = "  method: PUT\n  in: { id: query }\n  headers: { content-type: text/plain }\n";
    let http = of(&service, "{ id: {}, note: {} }", "/o", more);
    let mut out = asked(&bench, &service, &http, json!({"id": 1, "note": "line\nline"})).await + "\n";
    out += &(asked(&bench, &service, &http, json!({"note": [1, 2]})).await + "\n");
    out += &(asked(&bench, &service, &http, json!({})).await + "\n");
    let many = "name: t\ndescription: d\nparameters: { properties: { a: {}, b: {} } }\nendpoint: { method: POST, url: \"http://h.test/\", headers: { content-type: text/xml } }";
    out += &(build(many).err().map(|e| e.to_string()).unwrap_or_default() + "\n");
    expect![[r#"
        PUT /o?id=1 content-type=text/plain line
        line
        PUT /o content-type=text/plain [1,2]
        PUT /o content-type=text/plain 
        test.yaml:4:50: a body of the type 'text/xml' is one parameter as it is, not 2: place the others with 'in', or use application/json, multipart/form-data or application/x-www-form-urlencoded
    "#]]
    .assert_eq(&out);
}

const FILES: &str =
    "{ doc: { type: string, format: file }, more: { type: array, items: { type: string, format: file } }, note: {} }";

#[tokio::test]
async fn a_file_of_the_message_is_a_part_the_body_or_in_base64() {
    let service = Service::start().await;
    let bench = Bench::new().file("a.txt", "text/plain", Some(b"hello")).file("b.bin", "", Some(b"xyz"));
    let multipart = "  method: POST\n  headers: { content-type: multipart/form-data }\n  rename: { doc: file }\n";
    let http = of(&service, FILES, "/o", multipart);
    let text = asked(&bench, &service, &http, json!({"doc": "a.txt", "more": ["#2", "a.txt"], "note": "n"})).await;
    let boundary = text.split("boundary=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let mut out = text.replace(&boundary, "BOUNDARY") + "\n";
    let json = of(&service, FILES, "/o", "  method: POST\n  rename: { doc: file.content }\n");
    out += &(asked(&bench, &service, &json, json!({"doc": "a.txt", "more": ["b.bin"], "note": "n"})).await + "\n");
    let (_, shown) = json.request(&json!({"doc": "a.txt"}), &bench.cx()).await.unwrap_or_else(|_| unreachable!());
    out += &shown.for_operator().replace(&service.address.to_string(), "HOST");
    let raw = of(
        &service,
        "{ doc: { type: string, format: file } }",
        "/o",
        "  method: PUT\n  headers: { content-type: application/octet-stream }\n",
    );
    out += &(String::from("\n") + &asked(&bench, &service, &raw, json!({"doc": "2"})).await + "\n");
    expect![[r#"
        POST /o content-type=multipart/form-data; boundary=BOUNDARY --BOUNDARY
        content-disposition: form-data; name="note"

        n
        --BOUNDARY
        content-disposition: form-data; name="file"; filename="a.txt"
        content-type: text/plain

        hello
        --BOUNDARY
        content-disposition: form-data; name="more"; filename="b.bin"
        content-type: application/octet-stream

        xyz
        --BOUNDARY
        content-disposition: form-data; name="more"; filename="a.txt"
        content-type: text/plain

        hello
        --BOUNDARY--

        POST /o content-type=application/json {"note":"n","file":{"content":"aGVsbG8="},"more":["eHl6"]}
        POST http://HOST/o {"file":{"content":"<a.txt, text/plain, 5 bytes>"}}
        PUT /o content-type=application/octet-stream xyz
    "#]]
    .assert_eq(&out);
}

#[tokio::test]
async fn a_file_is_bounded_there_and_fetched_only_when_it_is_needed() {
    let service = Service::start().await;
    let large = vec![b'x'; 3 << 10];
    let bench = Bench::new().file("a.txt", "text/plain", Some(&large)).file("gone.txt", "", None);
    let more = "  method: POST\n  file_limit: 4KiB\n";
    let http = of(&service, FILES, "/o", more);
    let mut out = String::new();
    for args in [
        json!({"doc": "a.txt", "more": ["a.txt"]}),
        json!({"doc": "gone.txt"}),
        json!({"doc": "other.txt"}),
        json!({"doc": "/etc/passwd"}),
    ] {
        out += &(asked(&bench, &service, &http, args).await + "\n");
    }
    assert!(asked(&bench, &service, &http, json!({"doc": "a.txt"})).await.len() > 4_096);
    expect![[r#"
        input.refused: 'orders' cannot be called with this file [more: files of 4 KiB at most]
        unavailable: no files here []
        input.refused: 'orders' cannot be called with this file [doc: a file that came with the message]
        input.refused: 'orders' cannot be called with this file [doc: a file that came with the message]
    "#]]
    .assert_eq(&out);
    let get = "name: t\ndescription: d\nparameters: { properties: { doc: { type: string, format: file } } }\nendpoint: { url: \"http://h.test/\" }";
    let error = build(get).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("'doc' is a file, which only a body can carry"), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_a_file_is_sent_to_the_chat_and_named() {
    let service = Service::start().await;
    let mut bench = Bench::new();
    bench.host.here = Some(contract::Address::new(contract::Platform::Telegram, "main", "-1"));
    let mut out = String::new();
    for (path, more) in [
        ("/file/png", ""),
        ("/file/named", "returns: { type: string, contentMediaType: application/pdf }"),
        ("/file/huge", ""),
        ("/file/png", "returns: { type: object }"),
    ] {
        let outcome = service.tool(path, more).send(&json!({}), &bench.cx()).await.map_err(Failure::from);
        out += &(told(&outcome) + "\n");
    }
    bench.host.here = None;
    let nowhere = service.tool("/file/png", "").send(&json!({}), &bench.cx()).await.map_err(Failure::from);
    out += &(told(&nowhere) + "\n");
    out += &format!("{:?}\n", bench.host.sent.lock().unwrap());
    expect![[r#"
        "'orders.png' (image/png, 8 bytes) is sent to the chat as a file"
        "'inv oice.pdf' (application/pdf, 8 bytes) is sent to the chat as a file"
        "'orders.jpg' (image/jpeg, 2 MiB) is not shown: files of more than 1 MiB are too large to be sent"
        upstream.broken Unknown: 'orders' answered with a file or an image, not with text (its 'returns' declares something else: an operator can look at the reference) | 8 bytes of image/png are no text
        "'orders.png' (image/png, 8 bytes) is not shown: no file can be sent here"
        [("orders.png", "image/png", 8), ("inv oice.pdf", "application/pdf", 8)]
    "#]].assert_eq(&out);
}
