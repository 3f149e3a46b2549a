use std::path::Path;

use expect_test::{Expect, expect};

use super::*;
use crate::config;

const WEATHER: &str = "\
name: weather
toolset: weather
description: Forecast for a city
parameters: { type: object, required: [city], properties: { city: { type: string } } }
returns: { type: object }
permissions: [read]
endpoint: { method: GET, url: \"http://127.0.0.1:1/weather\" }
execution: { concurrency_limit: 4, timeout: 5s }
";

/// A folder with a configuration, one tool and one policy.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for name in ["tools", "platform-policies"] {
            std::fs::create_dir(folder.0.path().join(name)).unwrap();
        }
        folder.with("tools/weather.yaml", WEATHER).with(
            "platform-policies/telegram.yaml",
            "platform: telegram\ntoolsets: { allow: [weather] }\nnames: { ops: \"id:7\" }\nonly: { \"tool:weather\": [ops] }\n",
        )
    }

    fn with(self, file: &str, text: &str) -> Self {
        std::fs::write(self.0.path().join(file), text).unwrap();
        self
    }

    fn loaded(&self, text: &str) -> Result<config::Loaded, Vec<Finding>> {
        config::parse(Some(&self.0.path().join("toolgate.yaml")), text, [])
    }

    fn config(&self) -> Config {
        self.loaded("").unwrap().config
    }

    fn check(&self, said: &Said, expected: Expect) {
        let folder = format!("{}/", self.0.path().display());
        let text = said.text.replace(&folder, "");
        let text = text.lines().filter(|line| !line.starts_with("version ")).collect::<Vec<_>>().join("\n");
        expected.assert_eq(&text.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>());
    }
}

fn on_telegram(sender: &str) -> Who {
    Who {
        platform: Some(Platform::Telegram),
        tenant: None,
        space: None,
        conversation: None,
        sender: Some(sender.into()),
        role: Vec::new(),
    }
}

#[test]
fn a_good_configuration_is_summed_up() {
    let folder = Folder::new();
    let said = check(folder.loaded("platforms: { telegram: { token: env:T } }"));
    folder.check(
        &said,
        expect![[r#"
        toolgate.yaml: 1 tool, 1 chat account, 0 errors, 0 warnings
    "#]],
    );
    assert_eq!(said.exit, Exit::Ok);
}

#[test]
fn every_kind_of_file_is_checked() {
    let folder = Folder::new()
        .with("tools/bad.yaml", "name: bad\nendpont: { url: x }\n")
        .with("platform-policies/web.yaml", "platform: web\ntolsets: { allow: [] }\n");
    let said = check(folder.loaded("model: { provider: ollama }"));
    folder.check(
        &said,
        expect![[r#"
        error: tools/bad.yaml:1:1: a tool needs 'endpoint'
        error: tools/bad.yaml:2:1: unknown key 'endpont' in a tool: did you mean 'endpoint'?
        error: platform-policies/web.yaml:2:1: unknown key 'tolsets': did you mean 'toolsets'?
        warning: toolgate.yaml:1:8: 'model' is not active in this version
        toolgate.yaml: 1 tool, 0 chat accounts, 3 errors, 1 warning
    "#]],
    );
    assert_eq!((said.exit, &said.json["ok"]), (Exit::BadConfig, &json!(false)));
    let said = check(folder.loaded("lisen: 1"));
    folder.check(
        &said,
        expect![[r#"
        error: toolgate.yaml:1:1: unknown key 'lisen': did you mean 'listen'?
        the configuration cannot be used, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn a_tool_file_is_validated_alone() {
    let folder = Folder::new();
    let path = |name: &str| folder.0.path().join(name);
    let said = validate(&[path("tools/weather.yaml")]);
    folder.check(
        &said,
        expect![[r#"
        1 tool: weather, 0 errors, 0 warnings
    "#]],
    );
    assert_eq!(validate(&[path("tools/none.yaml")]).exit, Exit::BadConfig);
}

#[test]
fn specs_as_printed_in_tutorials_are_taken() {
    let text = "name: slow_report_service\nendpoint: { url: \"https://report-api.example.local/generate\", method: POST }\n\
                execution: { timeout: 30s, retries: 2, retry_interval: 500ms, backoff_multiplier: 2, concurrency_limit: 10, \
                circuit_breaker: { failure_threshold: 5, cooldown: 60s } }\n";
    let folder = Folder::new().with("tools/report.yaml", text);
    let said = validate(&[folder.0.path().join("tools/report.yaml")]);
    folder.check(&said, expect![[r#"
        warning: tools/report.yaml:1:1: no 'description': nobody can tell what the tool is for
        warning: tools/report.yaml:1:1: no 'returns': the answer passes unchecked
        warning: tools/report.yaml:3:14: a timeout over 5 s without 'async': a person waits that long
        warning: tools/report.yaml:3:28: 'retries' is not active in this version
        warning: tools/report.yaml:3:28: 'retries' of a tool that is not idempotent: only what was surely not carried out is repeated
        warning: tools/report.yaml:3:40: 'retry_interval' is not active in this version
        warning: tools/report.yaml:3:63: 'backoff_multiplier' is not active in this version
        warning: tools/report.yaml:3:109: 'circuit_breaker' is not active in this version
        1 tool: slow_report_service, 0 errors, 8 warnings
    "#]]);
    assert_eq!(said.exit, Exit::Ok);
}

#[test]
fn an_explanation_names_layer_rule_file_and_line() {
    let folder = Folder::new();
    folder.check(
        &explain(&folder.config(), "weather", &on_telegram("8")),
        expect![[r#"
        LAYER         SAYS     RULE                                         WHERE
        published     allowed  the tool is published                        (built in)
        platform      refused  only: tool:weather does not name the caller  platform-policies/telegram.yaml:4
        tenant        allowed  no rule for tenant 'default'                 (built in)
        conversation  allowed  no rule for this conversation                (built in)
        session       allowed  everything is mounted                        (built in)
        sender        allowed  no rule for this sender                      (built in)
        approval      allowed  no approval is asked                         (built in)
        availability  allowed  the tool is available                        (built in)

        weather is refused for '8' on telegram, tenant default
    "#]],
    );
    let said = explain(&folder.config(), "weather", &on_telegram("7"));
    assert_eq!(said.json["allowed"], true);
    folder.check(
        &explain(&folder.config(), "wether", &on_telegram("7")),
        expect![[r#"
        LAYER      SAYS     RULE                   WHERE
        published  refused  no tool has this name  (built in)

        wether is refused for '7' on telegram, tenant default
        did you mean 'weather'?
    "#]],
    );
}

#[test]
fn rules_are_shown_with_their_places() {
    let folder = Folder::new();
    folder.check(
        &policies(&folder.config(), Some(Platform::Telegram)),
        expect![[r#"
        LAYER     RULE                     WHERE
        platform  toolsets.allow: weather  platform-policies/telegram.yaml:2
        platform  only: tool:weather       platform-policies/telegram.yaml:4
    "#]],
    );
}

#[test]
fn a_list_is_what_somebody_may_use() {
    let folder = Folder::new();
    folder.check(
        &tool::listed(&folder.config(), &on_telegram("7")),
        expect![[r#"
        NAME     TOOLSET  LABELS  DESCRIPTION
        weather  weather  read    Forecast for a city
    "#]],
    );
    folder.check(
        &tool::listed(&folder.config(), &on_telegram("8")),
        expect![[r#"
        no tool can be used there
    "#]],
    );
    folder.check(
        &tool::shown(&folder.config(), "weather"),
        expect![[r#"
        weather (toolset weather)
        Forecast for a city

        usage       /weather city
        from        tools/weather.yaml:1
        labels      read
        repeatable  yes
        timeout     5 s

        parameters
        {
          "type": "object",
          "required": [
            "city"
          ],
          "properties": {
            "city": {
              "type": "string"
            }
          }
        }

        returns
        {
          "type": "object"
        }
    "#]],
    );
    folder.check(
        &tool::shown(&folder.config(), "wether"),
        expect![[r#"
        there is no tool 'wether': did you mean 'weather'?
    "#]],
    );
}

#[test]
fn a_folder_that_nobody_named_need_not_be_there() {
    let empty = tempfile::tempdir().unwrap();
    let said = check(config::parse(Some(&empty.path().join("toolgate.yaml")), "", []));
    assert_eq!(said.exit, Exit::Ok, "{}", said.text);
    let said = check(config::parse(Some(Path::new("/nowhere/toolgate.yaml")), "tools: [none/]", []));
    assert_eq!(said.exit, Exit::BadConfig);
}
