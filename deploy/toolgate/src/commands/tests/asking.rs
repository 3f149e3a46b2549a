//! Who answers, what is refused before anybody is asked, and what `check` says of a tool that nobody can reach.

use axum::{
    Json, Router,
    http::{StatusCode, Uri},
    routing::get,
};

use super::*;
use crate::cli::{Invoke, Remote};

const NOBODY: Remote = Remote { gateway: None, token: None };

#[test]
fn a_tool_that_no_platform_offers_is_warned_of() {
    let folder = Folder::new()
        .with(
            "tools/forgotten.yaml",
            &WEATHER.replace("name: weather\ntoolset: weather", "name: forgotten\ntoolset: moon"),
        )
        .with(
            "tools/own.yaml",
            &WEATHER.replace("name: weather\ntoolset: weather", "name: own\ntoolset: moon\nplatforms: [console]"),
        )
        .with("tools/later.yaml", &WEATHER.replace("name: weather", "name: later\npublish: manual"))
        .with("tools/denied.yaml", &WEATHER.replace("name: weather", "name: denied").replace("[read]", "[shell]"))
        .with(
            "platform-policies/web.yaml",
            "platform: web\ntoolsets: { allow: [weather] }\npermissions: { deny: [shell] }\n",
        )
        .with(
            "platform-policies/telegram.yaml",
            "platform: telegram\ntoolsets: { allow: [weather] }\npermissions: { deny: [shell] }\nonly: { \"tool:weather\": [] }\n",
        )
        .with("tools/kept.yaml", &WEATHER.replace("name: weather", "name: kept"));
    folder.check(
        &check(folder.loaded("")),
        expect![[r#"
            warning: tools/denied.yaml:1:1: 'denied' is offered on no platform but the console: denied by 'permissions.deny: shell' (platform-policies/telegram.yaml:3)
            warning: tools/forgotten.yaml:1:1: 'forgotten' is offered on no platform but the console: allow toolset 'moon' in a policy
            toolgate.yaml: 6 tools, 0 chat accounts, 0 errors, 2 warnings
        "#]],
    );
}

/// A gateway that lets clients see their own tools alone.
async fn for_clients() -> Remote {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let answer = |uri: Uri| async move {
        match uri.query().unwrap_or_default() {
            query if query.contains("platform") => (StatusCode::FORBIDDEN, Json(json!({ "title": "Forbidden" }))),
            _ => (StatusCode::OK, Json(json!([{ "name": "mine", "description": "Of a client", "parameters": {} }]))),
        }
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let gateway = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, Router::new().route("/v1/tools", get(answer))).into_future());
    Remote { gateway: Some(gateway), token: None }
}

#[tokio::test]
async fn a_client_sees_its_own_tools_without_naming_a_platform() {
    let (folder, remote) = (Folder::new(), for_clients().await);
    let said = list(&folder.config(), &Who::default(), &remote).await;
    assert_eq!((said.exit, &said.json["tools"][0]["name"]), (Exit::Ok, &json!("mine")), "{}", said.text);
    let said = list(&folder.config(), &on_telegram("7"), &remote).await;
    assert!(said.exit == Exit::Failed && said.refused, "{}", said.text);
}

#[tokio::test]
async fn files_tell_of_a_tool_what_a_gateway_tells_and_what_its_owner_wants_to_know() {
    let folder = Folder::new();
    let alone = tool::shown(&folder.config(), "weather");
    let mut told = alone.json.clone();
    told.as_object_mut().unwrap().retain(|key, _| ["name", "description", "parameters"].contains(&key.as_str()));
    let remote = answering("/v1/tools", 200, json!([told])).await;
    let asked = show(&folder.config(), "weather", &remote).await;
    assert!(alone.text.starts_with(&asked.text), "{}", alone.text);
    assert!(alone.text.contains("weather.yaml:1") && alone.text.contains("repeatable  yes"), "{}", alone.text);
    assert_eq!((&alone.json["from"], &asked.json["from"]), (&json!("files"), &json!("gateway")));
    let note = format!("as the running gateway at {} says", remote.gateway.clone().unwrap());
    assert_eq!(asked.note, Some(note));

    let (alone, asked) =
        (tool::listed(&folder.config(), &on_telegram("7")), list(&folder.config(), &on_telegram("7"), &remote).await);
    assert_eq!((alone.text, &alone.json["tools"]), (asked.text, &asked.json["tools"]));
}

#[tokio::test]
async fn what_a_gateway_does_not_have_is_not_told_of_the_files_when_it_was_named() {
    let remote = answering("/v1/tools", 200, json!([{ "name": "wether", "parameters": {} }])).await;
    let said = show(&Folder::new().config(), "weather", &remote).await;
    assert_eq!(said.text, "there is no tool 'weather': did you mean 'wether'?");
    assert!(said.refused && said.json["from"] == "gateway");
}

#[tokio::test]
async fn arguments_that_are_no_json_object_are_refused_with_the_place_before_anybody_is_asked() {
    let folder = Folder::new();
    let asked =
        |params: &str| Invoke { name: "weather".into(), params: params.into(), who: Who::default(), remote: NOBODY };
    for (params, words) in [
        (
            "{city: 1}",
            "--params: not readable as JSON: key must be a string at line 1 column 2; keys and texts stand in double quotes",
        ),
        ("[1]", "--params: the arguments are a JSON object, such as '{\"city\": \"Oslo\"}'"),
    ] {
        let said = invoke(&folder.config(), &asked(params)).await;
        assert_eq!((said.exit, said.refused, said.text.as_str()), (Exit::Usage, true, words));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_refused_alone_is_told_as_by_a_gateway() {
    let folder = Folder::new().with("tools/act.yaml", ACT);
    let said = invoke(&without_gateway(&folder), &acting("soon")).await;
    let reference = said.json["reference"].as_str().unwrap_or_default();
    let text = said.text.replace(reference, "REFERENCE");
    expect![[r#"
        'act' cannot run with these arguments: one thing is wrong
          ms: expected integer, got "soon" (a whole number in digits, like 3)
          usage: /act ms
          validation · args.invalid
          toolgate trace show REFERENCE"#]]
    .assert_eq(&text);
    assert_eq!((said.exit, said.refused), (Exit::Failed, true));
    assert_eq!((&said.json["code"], &said.json["from"]), (&json!("args.invalid"), &json!("alone")));
    assert!(said.note.unwrap().starts_with("run here, alone; the gateway at http://127.0.0.1:"));
}
