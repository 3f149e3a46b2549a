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
fn a_server_is_a_program_or_an_address() {
    let text = r#"
credential_store: { team: { type: bearer, token: env:TEAM_TOKEN } }
mcp_servers:
  - { id: files, command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv], env: { LOG: debug, API_TOKEN: env:T } }
  - { id: search, url: "https://search.example/mcp", headers: { X-Team: core, authorization: "Bearer env:TOKEN" }, toolset: web, timeout: 5s }
  - { id: team, url: "http://127.0.0.1:3000/mcp", transport: streamable-http, credential: team }
"#;
    let servers = config(text).mcp_servers;
    let shown: Vec<_> = servers.iter().map(|known| format!("{} {:?}\n", known.toolset, known.server)).collect();
    expect_test::expect![[r#"
        files Server { id: "files", via: Stdio { command: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv"], env: [("LOG", [Written("debug")]), ("API_TOKEN", [Written(""), Secret(Source(env:T))])], folder: Some("conf") }, timeout: 30s }
        web Server { id: "search", via: Http { url: "https://search.example/mcp", headers: [("x-team", [Written("core")]), ("authorization", [Written("Bearer "), Secret(Source(env:TOKEN))])] }, timeout: 5s }
        team Server { id: "team", via: Http { url: "http://127.0.0.1:3000/mcp", headers: [("authorization", [Written("Bearer "), Secret(Source(env:TEAM_TOKEN))])] }, timeout: 30s }
    "#]].assert_eq(&shown.concat());
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_no_secret_is_repeated() {
    let text = r#"
mcp_servers:
  - { command: [x] }
  - { id: Files, command: [x] }
  - { id: a, url: "http://127.0.0.1:1/mcp", command: [x] }
  - { id: b, url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer hunter22", accept: x } }
  - { id: c, command: npx server, timeout: soon }
  - { id: d, transport: sse, url: "http://127.0.0.1:1/sse" }
  - { id: e, url: "http://127.0.0.1:1/mcp", credential: nobody, env: { A: b } }
  - { id: f, transport: stdio, headers: { a: b } }
  - { id: g, comand: [x] }
  - { id: h, command: [x], env: { GITHUB_TOKEN: ghp_1234 } }
  - { id: h, command: [x] }
"#;
    let said = lines(text);
    assert!(!said.contains("hunter22") && !said.contains("ghp_"), "{said}");
    expect_test::expect![[r#"
        conf/toolgate.yaml:3:5: 'mcp_servers[0].id' is missing: how do tools call the server?
        conf/toolgate.yaml:4:11: 'mcp_servers[1].id' must be at most 32 of a-z, 0-9, '_' and '-'
        conf/toolgate.yaml:5:19: 'mcp_servers[2].url' is for a server over HTTP, not for one over stdio
        conf/toolgate.yaml:6:71: 'mcp_servers[3].headers.Authorization': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
        conf/toolgate.yaml:6:90: the header 'accept' is the protocol's to set
        conf/toolgate.yaml:7:23: 'mcp_servers[4].command' must be a list of words: there is no shell
        conf/toolgate.yaml:7:44: 'mcp_servers[4].timeout' must be a time such as 500ms, 30s, 5m, 24h or 7d
        conf/toolgate.yaml:8:5: the transport 'sse' of 2024 is not spoken: most servers offer streamable-http by now
        conf/toolgate.yaml:9:57: 'mcp_servers[6].credential': there is no credential 'nobody' in 'credential_store'
        conf/toolgate.yaml:9:70: 'mcp_servers[6].env' is for 'transport: stdio'
        conf/toolgate.yaml:10:5: 'mcp_servers[7].command' is missing: how is the server started?
        conf/toolgate.yaml:10:41: 'mcp_servers[7].headers' is for a server over HTTP; a process is given secrets in 'env'
        conf/toolgate.yaml:11:5: 'mcp_servers[8].url' is missing; a server that is a program has 'command' in its place
        conf/toolgate.yaml:11:14: unknown key 'comand' in 'mcp_servers[8]': did you mean 'command'?
        conf/toolgate.yaml:12:49: 'mcp_servers[9].env.GITHUB_TOKEN': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
        conf/toolgate.yaml:13:5: two MCP servers are called 'h'
    "#]].assert_eq(&said);
}
