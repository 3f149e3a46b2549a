use expect_test::{Expect, expect};

use super::*;

/// The configuration of the design page, key by key.
const FULL: &str = r#"
listen: 127.0.0.1:8787
admin_token: env:TOOLGATE_ADMIN_TOKEN
clients:
  desktop:  { token: env:DESKTOP_TOKEN, platform: api, tenant: desktop }
store: sqlite:toolgate.db
tools: [tools/]
policies: platform-policies/
platforms:
  telegram: { token: env:TELEGRAM_TOKEN, mode: polling }
  discord:  { token: env:DISCORD_TOKEN }
  slack:    { bot_token: env:SLACK_BOT_TOKEN, app_token: env:SLACK_APP_TOKEN }
audit: required
model: { provider: ollama, name: "qwen3:8b", base_url: "http://127.0.0.1:11434", context_tokens: 32768 }
mcp_servers:
  - { id: my_mcp_server, url: "http://127.0.0.1:3000/mcp", transport: streamable-http }
  - { id: files, transport: stdio, command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv/files] }
credential_store:
  order_api:  { type: bearer, token: env:ORDER_TOKEN }
  report_api: { type: oauth2_client_credentials, token_url: https://host/token, client_id: env:A, client_secret: env:B, scopes: [read] }
  hook_api:   { type: hmac, secret: env:C, algorithm: sha256, header: X-Signature, signed: [timestamp, body] }
"#;

fn read(text: &str) -> Result<Loaded, Vec<Finding>> {
    parse(Some(Path::new("conf/toolgate.yaml")), text, [])
}

fn check(text: &str, expected: Expect) {
    let lines = match read(text) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    };
    expected.assert_eq(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn every_key_is_read_and_what_comes_later_is_said() {
    check(FULL, expect![""]);
    let config = read(FULL).unwrap().config;
    assert_eq!(config.tools, [Path::new("conf/tools/")]);
    assert_eq!(config.store.to_string(), "sqlite:conf/toolgate.db");
    assert_eq!(config.platforms.telegram[0].named.name, "main");
    assert_eq!(config.clients[0].tenant.as_deref(), Some("desktop"));
}

#[test]
fn nothing_at_all_means_the_defaults() {
    let config = parse(None, "", []).unwrap().config;
    assert_eq!(config.listen.to_string(), "127.0.0.1:8787");
    assert_eq!(config.store.to_string(), "sqlite:toolgate.db");
    assert_eq!((config.file, config.platforms.telegram.len()), (None, 0));
}

#[test]
fn mistakes_are_placed_and_the_nearest_key_is_named() {
    check(
        "lisen: 127.0.0.1:1\nplatforms:\n  telegrm: { token: env:T }\n  telegram: { tokn: env:T, mode: pollin }\n",
        expect![[r#"
            conf/toolgate.yaml:1:1: unknown key 'lisen': did you mean 'listen'?
            conf/toolgate.yaml:3:3: unknown key 'telegrm' in 'platforms': did you mean 'telegram'?
            conf/toolgate.yaml:4:15: unknown key 'tokn' in 'platforms.telegram': did you mean 'token'?
            conf/toolgate.yaml:4:34: 'platforms.telegram.mode' must be one of polling, webhook: did you mean 'polling'?
        "#]],
    );
    check(
        "listen: 8787\nstore: mysql://x\nzzz: 1\n",
        expect![[r#"
            conf/toolgate.yaml:1:9: 'listen' must be an address and a port such as 127.0.0.1:8787 or [::1]:8787
            conf/toolgate.yaml:2:8: 'store' must be sqlite:FILE, redis://HOST:PORT/DB or rediss://…
            conf/toolgate.yaml:3:1: unknown key 'zzz': known here: vault, listen, admin_token, clients, store, store_sync, store_prefix, tools, policies, platforms, model, credential_store, mcp_servers, hooks, limits, log, audit
        "#]],
    );
    check(
        "- a\n",
        expect![[r#"
        conf/toolgate.yaml:1:1: 'the file' must be a map, not a list
    "#]],
    );
    check(
        "limits: { lane: 0, drain: soon }\nlog: { level: info, format: xml }\n",
        expect![[r#"
        conf/toolgate.yaml:1:17: 'limits.lane' must be a whole number above 0
        conf/toolgate.yaml:1:27: 'limits.drain' must be a time such as 500ms, 30s, 5m, 24h or 7d
        conf/toolgate.yaml:2:29: 'log.format' must be one of text, json
    "#]],
    );
}

#[test]
fn a_literal_secret_is_refused_and_never_repeated() {
    let text = "admin_token: sk_live_1\nclients: { a: { token: 123456789 } }\n\
                platforms: { telegram: { token: '123:sk_live_2' }, slack: { bot_token: xoxb-sk_live_3 } }\n\
                credential_store: { x: { type: bearer, token: sk_live_4 } }\n";
    check(
        text,
        expect![[r#"
            conf/toolgate.yaml:1:14: 'admin_token': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
            conf/toolgate.yaml:2:24: 'clients.a.token': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
            conf/toolgate.yaml:3:33: 'platforms.telegram.token': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
            conf/toolgate.yaml:3:59: 'platforms.slack.app_token' is missing: Socket Mode needs it (or write 'mode: events' with a 'signing_secret')
            conf/toolgate.yaml:3:72: 'platforms.slack.bot_token': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
            conf/toolgate.yaml:4:47: 'credential_store.x.token': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
        "#]],
    );
    let all = read(text).unwrap_err().iter().map(ToString::to_string).collect::<String>();
    assert!(!all.contains("sk_live") && !all.contains("123456789"));
}

#[test]
fn a_list_of_accounts_needs_names_of_their_own() {
    check(
        "platforms:\n  telegram:\n    - { token: env:A }\n    - { name: b, token: env:B }\n    - { name: b, token: env:C }\n",
        expect![[r#"
            conf/toolgate.yaml:3:7: 'platforms.telegram[0].name' is missing: accounts in a list need names
            conf/toolgate.yaml:5:7: two accounts of 'telegram' are named 'b'
        "#]],
    );
    let config =
        read("platforms: { telegram: [{ name: a, token: env:A, api_url: 'http://127.0.0.1:1/t/' }] }").unwrap();
    assert_eq!(config.config.platforms.telegram[0].named.api_url.as_deref(), Some("http://127.0.0.1:1/t"));
}

#[test]
fn a_webhook_needs_address_and_secret() {
    check(
        "platforms: { telegram: { token: env:T, mode: webhook, webhook: { url: 'https://h/x', secret: literal } } }",
        expect![[r#"
            conf/toolgate.yaml:1:94: 'platforms.telegram.webhook.secret': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
        "#]],
    );
    check(
        "platforms: { telegram: { token: env:T, mode: webhook } }",
        expect![[r#"
        conf/toolgate.yaml:1:46: 'platforms.telegram.webhook' is missing: { url: https://…, secret: env:NAME }
    "#]],
    );
    check(
        "platforms: { telegram: { token: env:T, webhook: { secret: env:S } } }",
        expect![[r#"
        conf/toolgate.yaml:1:49: 'platforms.telegram.webhook.url' is missing: the address under which Telegram finds us
    "#]],
    );
    check(
        "platforms: { telegram: { token: env:T, mode: polling, webhook: { url: 'https://h/x', secret: env:S } } }",
        expect![[r#"
            conf/toolgate.yaml:1:64: 'platforms.telegram.webhook' has no use where 'mode' is polling
        "#]],
    );
    let hooked = "platforms: { telegram: { token: env:T, webhook: { url: 'https://h/x/', secret: env:S } } }";
    let config = read(hooked).unwrap().config;
    assert_eq!(config.platforms.telegram[0].webhook.as_ref().unwrap().url, "https://h/x");
}

#[test]
fn a_webhook_is_https_and_leads_to_us() {
    let hooked = |rest: &str| {
        format!("platforms: {{ telegram: {{ name: shop, token: env:T, webhook: {{ {rest}, secret: env:S }} }} }}")
    };
    check(
        &hooked("url: 'http://h/hooks/telegram/shop'"),
        expect![[r#"
        conf/toolgate.yaml:1:68: 'platforms.telegram.webhook.url' must begin with https://: Telegram sends updates to nothing else
    "#]],
    );
    check(
        &hooked("url: 'https://h/x'"),
        expect![[r#"
        conf/toolgate.yaml:1:68: 'platforms.telegram.webhook.url' does not end in /hooks/telegram/shop: requests must arrive there; a proxy may rewrite it
    "#]],
    );
    check(&hooked("url: 'https://h/y/hooks/telegram/shop/'"), expect![[r#""#]]);
    check(
        &hooked("urll: 'https://h/hooks/telegram/shop'"),
        expect![[r#"
        conf/toolgate.yaml:1:63: unknown key 'urll' in 'platforms.telegram.webhook': did you mean 'url'?
    "#]],
    );
    let elsewhere =
        hooked("url: 'http://h/hooks/telegram/shop'").replace("token:", "api_url: 'http://127.0.0.1:1', token:");
    check(&elsewhere, expect![[r#""#]]);
}

#[test]
fn discord_and_slack_say_what_they_need() {
    check(
        "platforms: { discord: { token: env:T, application_id: app, shards: 0, gateway_url: 'http://h' } }",
        expect![[r#"
            conf/toolgate.yaml:1:55: 'platforms.discord.application_id' must be an id: digits, as the Developer Portal shows it
            conf/toolgate.yaml:1:68: 'platforms.discord.shards' must be a whole number above 0
            conf/toolgate.yaml:1:84: 'platforms.discord.gateway_url' must be a URL such as ws://127.0.0.1:8080, without a user in it
        "#]],
    );
    check(
        "platforms: { slack: { bot_token: env:B } }",
        expect![[r#"
        conf/toolgate.yaml:1:21: 'platforms.slack.app_token' is missing: Socket Mode needs it (or write 'mode: events' with a 'signing_secret')
    "#]],
    );
    check(
        "platforms: { slack: { bot_token: env:B, mode: events, app_token: env:A } }",
        expect![[r#"
        conf/toolgate.yaml:1:21: 'platforms.slack.signing_secret' is missing: with 'mode: events' it proves that Slack is who asks
    "#]],
    );
    check(
        "platforms: { slack: { app_token: env:A } }",
        expect![[r#"
        conf/toolgate.yaml:1:21: 'platforms.slack.bot_token' is missing
    "#]],
    );
    let events = "platforms: { slack: { bot_token: env:B, mode: events, signing_secret: env:S } }";
    let config = read(events).unwrap().config;
    assert!(matches!(config.platforms.slack[0].events, SlackEvents::Http { .. }));
    let numbered = read("platforms: { discord: { token: env:T, application_id: 1234567890123456789, shards: 2 } }");
    let account = &numbered.unwrap().config.platforms.discord[0];
    assert_eq!((account.application_id.as_deref(), account.shards), (Some("1234567890123456789"), Some(2)));
}

#[test]
fn a_variable_replaces_a_key_and_is_named_in_its_errors() {
    let variables = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let with = variables(&[
        ("TOOLGATE__LISTEN", "127.0.0.1:9"),
        ("TOOLGATE__TOOLS", "[a, b]"),
        ("TOOLGATE__PLATFORMS__TELEGRAM__TOKEN", "env:OTHER"),
        ("TOOLGATE__LIMITS__LANE", "5"),
        ("TOOLGATE_ADMIN_TOKEN", "not an override"),
    ]);
    let config = parse(None, "platforms: { telegram: { token: env:T } }", with).unwrap().config;
    assert_eq!(config.listen.to_string(), "127.0.0.1:9");
    assert_eq!((config.tools.len(), config.limits.lane), (2, 5));
    assert_eq!(config.platforms.telegram[0].token.reference(), "env:OTHER");

    let wrong =
        variables(&[("TOOLGATE__LISEN", "x"), ("TOOLGATE__LISTEN__PORT", "1"), ("TOOLGATE__ADMIN_TOKEN", "sk_live_1")]);
    let errors = parse(None, "listen: 127.0.0.1:1", wrong).unwrap_err();
    let text = errors.iter().map(|line| format!("{line}\n")).collect::<String>();
    expect![[r#"
        TOOLGATE__LISTEN__PORT: 'port' stands inside of something that is not a map
        TOOLGATE__ADMIN_TOKEN: 'admin_token': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
        TOOLGATE__LISEN: unknown key 'lisen': did you mean 'listen'?
    "#]].assert_eq(&text);
}

#[test]
fn a_password_in_the_store_is_not_printed() {
    let loaded = read("store: redis://u:hunter2@127.0.0.1:6379/0").unwrap();
    assert_eq!(loaded.config.store.to_string(), "redis://***@127.0.0.1:6379/0");
    assert!(!format!("{:?}", loaded.config).contains("hunter2"));
    check(
        "store: redis://u:hunter2@127.0.0.1:6379/0",
        expect![[r#"
        conf/toolgate.yaml:1:8: 'store' has a password in it: put the whole URL into a secret and write store: env:NAME
    "#]],
    );
    check(
        "store: redis-cluster://a,b",
        expect![[r#"
        conf/toolgate.yaml:1:8: 'store' 'redis-cluster' is not supported in this version; use redis:// with one server
    "#]],
    );
    check("store: env:STORE_URL", expect![[r#""#]]);
}

#[test]
fn the_audit_trail_has_each_place_once() {
    let read = |text: &str| read(&format!("audit: {text}\n")).map(|loaded| loaded.config.audit);
    assert_eq!(read("best_effort").unwrap(), Audit::default());
    assert_eq!(read("required").unwrap(), Audit { required: true, ..Audit::default() });
    let posted = Posted { url: "https://siem.example/in".into(), token: None };
    let all = Audit {
        stdout: false,
        store: true,
        file: Some("conf/a.jsonl".into()),
        http: Some(posted),
        required: true,
        kept: Duration::from_secs(86_400),
    };
    let text = "{ to: [store, { file: a.jsonl }, { http: 'https://siem.example/in' }], mode: required, kept: 1d }";
    assert_eq!(read(text).unwrap(), all);
    let none = read("{ to: [] }").unwrap();
    assert!(!none.stdout && !none.store && none.file.is_none() && none.http.is_none());
    check(
        "audit: { to: [store, sdtout, store, { file: a }, { file: b }, { fil: c }], kep: 1d }",
        expect![[r#"
            conf/toolgate.yaml:1:22: 'audit.to' must be one of stdout, store: did you mean 'stdout'?
            conf/toolgate.yaml:1:30: 'audit.to' names a place of this kind twice
            conf/toolgate.yaml:1:50: 'audit.to' names a place of this kind twice
            conf/toolgate.yaml:1:63: 'audit.to' needs stdout, store, '{ file: PATH }' or '{ http: URL }'
            conf/toolgate.yaml:1:65: unknown key 'fil' in 'audit.to': did you mean 'file'?
            conf/toolgate.yaml:1:76: unknown key 'kep' in 'audit': did you mean 'kept'?
        "#]],
    );
}
