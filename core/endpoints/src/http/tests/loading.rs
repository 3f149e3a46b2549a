//! What is refused when a tool is loaded.

use super::*;

#[test]
fn what_cannot_work_is_refused_when_it_is_loaded() {
    let refused = |endpoint: &str| {
        let yaml = format!(
            "name: t\ndescription: d\nparameters: {{ properties: {{ order_id: {{ type: string }}, b: {{}} }} }}\nendpoint: {endpoint}\n"
        );
        if let Some(error) = tools::spec::parse("test.yaml", &yaml).errors.first() {
            return error.to_string();
        }
        match build(&yaml) {
            Ok(_) => "fits".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let lines = [
        refused("{ url: \"http://h.test/{ordr_id}\" }"),
        refused("{ url: \"http://h.test/{nothing_like_it}\" }"),
        refused("{ url: \"http://h.test/#x\" }"),
        refused("{ url: \"http://u:p@h.test/\" }"),
        refused("{ url: \"http://h.test:99999/\" }"),
        refused("{ url: \"http://h.test/\", rename: { order: x } }"),
        refused("{ url: \"http://h.test/\", rename: { order_id: x, b: x.y } }"),
        refused("{ url: \"http://h.test/\", headers: { \"a b\": x } }"),
        refused("{ url: \"http://h.test/\", headers: { x: \"a\\nb\" } }"),
        refused("{ url: \"http://h.test/\", headers: { Host: x } }"),
        refused("{ url: \"http://h.test/\", headers: { authorization: \"Bearer env:TOKEN\" } }"),
        refused("{ url: \"http://h.test/\", headers: { x-order: \"order {order_id}\" } }"),
        refused("{ url: \"http://h.test/\", method: POST, headers: { content-type: text/xml } }"),
        refused("{ url: \"http://h.test/\", headers: { x-order: \"order {ordr_id}\" } }"),
        refused("{ url: \"http://h.test/\", method: POST, headers: { content-type: \"text/{b}\" } }"),
        refused("{ url: \"http://h.test/{order_id}\", in: { order_id: query } }"),
        refused("{ url: \"http://h.test/\", in: { order_id: path } }"),
        refused("{ url: \"http://h.test/\", in: { ordr_id: body } }"),
        refused("{ url: \"http://h.test/\", in: { b: form } }"),
        refused("{ url: \"http://h.test/\", headers: { x: \"{b}\" }, in: { b: header } }"),
        refused("{ url: \"http://h.test/\", headers: { b: x }, in: { b: header } }"),
        refused("{ url: \"http://h.test/\", in: { b: header }, rename: { b: host } }"),
        refused("{ url: \"http://h.test/\", file_limit: 100MiB }"),
        refused("{ url: \"http://h.test/{order_id}?x={b}\" }"),
    ];
    expect![[r#"
        test.yaml:4:13: 'ordr_id' is not among the parameters: did you mean 'order_id'?
        test.yaml:4:13: 'nothing_like_it' is not among the parameters
        test.yaml:4:13: 'url' has a fragment, which is never sent
        test.yaml:4:13: 'url' has a user name in it: secrets do not belong there
        test.yaml:4:18: the port in 'url' is none: 1 to 65535: write it like https://api.example.com/orders/{id}
        test.yaml:4:36: 'order' is not among the parameters
        test.yaml:4:36: 'order_id' and 'b' are given the same place 'x.y'
        test.yaml:4:47: 'a b' cannot be a header's name
        test.yaml:4:47: the value of the header is not fit to be sent
        test.yaml:4:47: the header 'Host' is the gateway's to set
        test.yaml:4:47: a header is sent as it is written, and nothing is looked up for it: secrets are for 'credential'
        fits
        test.yaml:4:50: a body of the type 'text/xml' is one parameter as it is, not 2: place the others with 'in', or use application/json, multipart/form-data or application/x-www-form-urlencoded
        test.yaml:4:47: 'ordr_id' is not among the parameters: did you mean 'order_id'?
        test.yaml:4:61: 'content-type' cannot come from an argument: it says how the body is made
        test.yaml:4:52: 'order_id' stands in 'url' already
        test.yaml:4:42: 'order_id' has no place in the path: write '{order_id}' in 'url' where it belongs
        test.yaml:4:42: 'ordr_id' is not among the parameters: did you mean 'order_id'?
        test.yaml:4:45: 'b' has to be one of path, query, header, body, not 'form'
        test.yaml:4:65: 'b' stands in a header already
        test.yaml:4:61: the header 'b' is set twice
        test.yaml:4:42: the header 'host' is the gateway's to set
        test.yaml:4:36: 'file_limit' can be 64 MiB at most
        fits
    "#]].assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn a_native_that_does_not_exist_is_refused_with_the_nearest() {
    let spec = spec("name: t\ndescription: d\nendpoint: { type: native, name: slep }");
    let error = Endpoints::new().build(&spec).err().map(|e| e.to_string());
    assert_eq!(error.as_deref(), Some("test.yaml:3:27: no native function is called 'slep': did you mean 'sleep'?"));
}
