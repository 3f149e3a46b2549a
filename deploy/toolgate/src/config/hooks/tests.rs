use std::path::Path;

use crate::config::{Config, parse};

fn lines(text: &str) -> String {
    match parse(Some(Path::new("conf/toolgate.yaml")), text, []) {
        Ok(loaded) => loaded.warnings.iter().map(|line| format!("warning {line}\n")).collect(),
        Err(errors) => errors.iter().map(|line| format!("{line}\n")).collect(),
    }
}

fn config(text: &str) -> Config {
    parse(Some(Path::new("conf/toolgate.yaml")), text, []).unwrap().config
}

#[test]
fn hooks_keep_the_order_of_the_file() {
    let text = r#"
hooks:
  region:  { defaults: { region: eu, limit: 20 }, tenants: [acme], platforms: slack }
  refunds: { stage: before, webhook: "https://checks.example/refunds", headers: { authorization: "Bearer env:TOKEN" }, tools: [refund_*], timeout: 2s }
  seen:    { stage: after, command: [./seen, --json], env: { LOG: debug }, toolsets: orders }
  watch:   { stage: before, class: observer, command: [./watch] }
  pii:     { mask: [email, card], labels: [pii] }
  short:   { summary: 4000 }
  price:   { cost: 0.002, tools: [web_search] }
"#;
    let hooks = config(text).hooks;
    let shown: Vec<_> = hooks.iter().map(|hook| format!("{} {:?} {:?}\n", hook.name, hook.does, hook.only)).collect();
    expect_test::expect![[r#"
        region Fills(Defaults({"region": String("eu"), "limit": Number(20)})) Only { tools: [], toolsets: [], labels: [], tenants: [Name("acme")], platforms: [Slack] }
        refunds Asks { at: Before, via: Webhook { url: "https://checks.example/refunds", headers: [("authorization", [Written("Bearer "), Secret(Source(env:TOKEN))])] }, class: Policy, timeout: 2s } Only { tools: [Name("refund_*")], toolsets: [], labels: [], tenants: [], platforms: [] }
        seen Asks { at: After, via: Program { argv: ["./seen", "--json"], env: [("LOG", [Written("debug")])], folder: Some("conf") }, class: Observer, timeout: 5s } Only { tools: [], toolsets: [Name("orders")], labels: [], tenants: [], platforms: [] }
        watch Asks { at: Before, via: Program { argv: ["./watch"], env: [], folder: Some("conf") }, class: Observer, timeout: 5s } Only { tools: [], toolsets: [], labels: [], tenants: [], platforms: [] }
        pii Masks(Mask([Email, Card])) Only { tools: [], toolsets: [], labels: [Name("pii")], tenants: [], platforms: [] }
        short Shortens(Summary { above: 4000 }) Only { tools: [], toolsets: [], labels: [], tenants: [], platforms: [] }
        price Costs(Cost { micros: 2000 }) Only { tools: [Name("web_search")], toolsets: [], labels: [], tenants: [], platforms: [] }
    "#]].assert_eq(&shown.concat());
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_no_secret_is_repeated() {
    let text = r#"
hooks:
  Bad: { mask: all }
  a: { stage: before }
  b: { webhook: "http://127.0.0.1:1", command: [x], stage: before }
  c: { webhook: "ftp://x", stage: sooner }
  d: { command: "x y", stage: before }
  e: { command: [], timeout: 2h }
  f: { stage: after, class: policy, command: [x] }
  g: { webhok: "http://127.0.0.1:1", stage: before }
  h: { mask: [iban] }
  i: { mask: all, stage: before, tools: [] }
  j: { summary: 10 }
  k: { cost: free }
  l: { webhook: "http://127.0.0.1:1", stage: before, headers: { Authorization: "Bearer hunter22", host: x } }
  m: { defaults: {}, platforms: [irc] }
"#;
    let said = lines(text);
    assert!(!said.contains("hunter22"), "{said}");
    expect_test::expect![[r#"
        conf/toolgate.yaml:3:3: a hook's name must be at most 32 of a-z, 0-9, '_' and '-'
        conf/toolgate.yaml:4:6: 'hooks.a' says nothing to do: it needs one of webhook, command, defaults, mask, summary, cost
        conf/toolgate.yaml:5:6: 'hooks.b' is one of webhook, command, not several
        conf/toolgate.yaml:6:17: 'hooks.c.webhook' must be a URL such as http://127.0.0.1:8080, without a user in it
        conf/toolgate.yaml:6:35: 'hooks.c.stage' must be one of request, before, execution, transform, after
        conf/toolgate.yaml:7:17: 'hooks.d.command' must be a list of words: there is no shell
        conf/toolgate.yaml:8:6: 'hooks.e.stage' is missing: one of request, before, execution, transform, after
        conf/toolgate.yaml:8:17: 'hooks.e.command' is empty: which program is to be asked?
        conf/toolgate.yaml:8:30: 'hooks.e.timeout' must be above 0 and at most 60 s
        conf/toolgate.yaml:9:29: a hook at the stage 'after' decides nothing: its class is 'observer'
        conf/toolgate.yaml:10:8: unknown key 'webhok' in 'hooks.g': did you mean 'webhook'?
        conf/toolgate.yaml:11:15: 'hooks.h.mask' must be one of email, phone, card
        conf/toolgate.yaml:12:19: unknown key 'stage' in 'hooks.i': known here: tools, toolsets, labels, tenants, platforms, mask
        conf/toolgate.yaml:12:41: 'hooks.i.tools' is empty: leave it out where all are meant
        conf/toolgate.yaml:13:17: 'hooks.j.summary' must be at least 200 characters
        conf/toolgate.yaml:14:14: 'hooks.k.cost' must be what an attempt costs: a number from 0.000001 to 1000000
        conf/toolgate.yaml:15:80: 'hooks.l.headers.Authorization': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
        conf/toolgate.yaml:15:99: the header 'host' is set by the gateway
        conf/toolgate.yaml:16:18: 'hooks.m.defaults' names no argument
        conf/toolgate.yaml:16:34: 'hooks.m.platforms' must be one of discord, telegram, slack, web, api, console, mcp
    "#]].assert_eq(&said);
}
