//! What is said of changes of tools, without a gateway and by one.

use super::*;
use crate::cli::{Add, Change, ToolName};

const NAP: &str = "name: nap\ndescription: Sleeps in the gateway, for tests\nparameters: { type: object }\n\
                   returns: { type: object }\nendpoint: { type: native, name: sleep }\n";

fn added(folder: &Folder, remote: &crate::cli::Remote) -> Add {
    Add { spec: folder.0.path().join("nap.yaml"), publish: false, seen: None, remote: remote.clone() }
}

fn named(name: &str, remote: &crate::cli::Remote) -> ToolName {
    ToolName { name: name.into(), remote: remote.clone() }
}

fn change(name: &str, message: &str, remote: &crate::cli::Remote) -> Change {
    Change { named: named(name, remote), message: message.into(), seen: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_gateway_the_store_is_changed() {
    let folder = Folder::new().with("nap.yaml", NAP);
    let config = without_gateway(&folder);
    let remote = acting("1").remote;
    let said = [
        add_tools(&config, &added(&folder, &remote)).await,
        add_tools(&config, &added(&folder, &remote)).await,
        publish_tool(&config, &change("nap", "", &remote), None).await,
        deprecate_tool(&config, &change("nap", "use sleep", &remote)).await,
        rollback_tool(&config, &named("nap", &remote), None).await,
        remove_tool(&config, &change("nap", "", &remote)).await,
        publish_tool(&config, &change("nap", "", &remote), None).await,
        remove_tool(&config, &change("npa", "", &remote)).await,
        remove_tool(&config, &change("weather", "it rains", &remote)).await,
        refresh_tool(&config, &named("weather", &remote)).await,
    ];
    let folder_name = format!("{}/", folder.0.path().display());
    let told: String =
        said.iter().map(|said| format!("{} {}\n", said.exit as u8, said.text.replace(&folder_name, ""))).collect();
    expect![[r#"
        0 'nap' was added as version 1; it waits for 'publish'
        0 'nap': this version was added already, and waits to be published
        0 'nap' is published, version 2
        0 'nap' is deprecated: it can still be called, and says so
        0 'nap' is as it was in version 2, now version 4
        0 'nap' is removed; 'rollback' brings it back
        1 'nap': it was removed, so it cannot be published: 'rollback' brings it back, or add it anew
        1 there is no tool 'npa': did you mean 'nap'?
        0 'weather' of tools/weather.yaml:1 is switched off until it is published again
        0 what was remembered of 'weather' is thrown away
    "#]]
    .assert_eq(&told);
    let history = tool_history(&config, &named("nap", &remote), None).await;
    let did: Vec<_> =
        history.json["changes"].as_array().unwrap().iter().map(|change| change["what"].as_str().unwrap()).collect();
    assert_eq!(did, ["removed", "rolled back", "deprecated", "published", "added"]);
    let text = tool_history(&config, &named("nap", &remote), Some(1)).await;
    assert_eq!(text.text, NAP);
    assert_eq!(tool_history(&config, &named("nap", &remote), Some(9)).await.exit, Exit::Failed);
    let shown = show(&config, "weather", &remote).await;
    assert!(shown.text.contains("switched off") && shown.text.contains(": it rains"), "{}", shown.text);
}

#[tokio::test]
async fn what_is_wrong_with_a_spec_is_said_as_the_gateway_found_it() {
    let folder = Folder::new().with("nap.yaml", NAP);
    let finding =
        json!({ "file": "nap.yaml", "line": 3, "column": 1, "message": "wrong\u{1b}[2J", "hint": "write it right" });
    let remote = answering("/v1/tools", 422, json!({ "errors": [finding], "warnings": [finding] })).await;
    let said = add_tools(&folder.config(), &added(&folder, &remote)).await;
    assert_eq!(said.exit, Exit::BadConfig);
    folder.check(
        &said,
        expect![[r#"
        error: nap.yaml:3:1: wrong [2J: write it right
        warning: nap.yaml:3:1: wrong [2J: write it right
        nothing was changed
    "#]],
    );
    let remote = answering("/v1/tools", 503, json!({ "detail": "the store does not answer" })).await;
    assert_eq!(add_tools(&folder.config(), &added(&folder, &remote)).await.exit, Exit::Restart);
    let nowhere = Add { spec: "nowhere.yaml".into(), ..added(&folder, &remote) };
    assert_eq!(add_tools(&folder.config(), &nowhere).await.exit, Exit::Usage);
}
