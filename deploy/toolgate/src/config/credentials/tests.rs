use std::path::Path;

use endpoints::credentials::Kind;
use expect_test::{Expect, expect};

use super::*;
use crate::config::{Config, Finding, parse};

fn read(text: &str) -> Result<(Config, Vec<Finding>), Vec<Finding>> {
    let loaded = parse(Some(Path::new("conf/toolgate.yaml")), text, [])?;
    Ok((loaded.config, loaded.warnings))
}

fn check(text: &str, expected: Expect) {
    let findings = match read(text) {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    expected.assert_eq(&findings.iter().map(|finding| format!("{finding}\n")).collect::<String>());
}

const EVERYTHING: &str = r#"
vault: { address: "https://vault.example.org:8200", token: env:VAULT, namespace: team }
credential_store:
  order_api: { type: bearer, token: env:A, hosts: ["api.example.org", "*.example.net"] }
  moved: { type: bearer, token: vault:secret/orders#token, header: X-Token, prefix: Token }
  asked: { type: api_key, key: file:key.txt, query: api_key }
  headed: { type: api_key, key: env:A, header: X-Key }
  people: { type: basic, username: bot, password: env:A }
  report_api:
    type: oauth2_client_credentials
    token_url: https://login.example.org/oauth/token/
    client_id: toolgate
    client_secret: env:B
    scopes: [read, write]
    audience: https://api.example.org
    client_auth: body
    params: { resource: orders }
    tenants:
      acme: { client_id: env:ACME_ID, client_secret: env:ACME }
      other: { type: bearer, token: env:OTHER }
  hook_api:
    type: hmac
    secret: env:C
    algorithm: sha512
    signed: [method, "header:content-type", timestamp, nonce, "text:x", body_digest]
    separator: ""
    encoding: base64
    key_id: key-1
"#;

#[test]
fn every_kind_is_read_with_its_usual_values() {
    let (config, warnings) = read(EVERYTHING).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let of = |name: &str| config.credentials[name].base.clone().unwrap();
    let place = |name: &str| match of(name).kind {
        Kind::Secret { place, .. } => format!("{place:?}"),
        other => panic!("{other:?}"),
    };
    expect![[r#"
        Header { name: "authorization", prefix: "Bearer " }
        Header { name: "x-token", prefix: "Token " }
        Query { name: "api_key" }
        Header { name: "x-key", prefix: "" }
    "#]]
    .assert_eq(&["order_api", "moved", "asked", "headed"].map(|name| place(name) + "\n").concat());
    expect!["Variant { kind: Basic { username: Source(bot), password: Source(env:A) }, hosts: [] }"]
        .assert_eq(&format!("{:?}", of("people")));
    expect![[r#"
        Signature {
            secret: Source(env:C),
            key_form: Text,
            algorithm: Sha512,
            signed: [
                Method,
                Header(
                    "content-type",
                ),
                Timestamp,
                Nonce,
                Text(
                    "x",
                ),
                BodyDigest,
            ],
            separator: "",
            encoding: Base64,
            header: "x-signature",
            value: "{signature}",
            timestamp: Seconds,
            timestamp_header: Some(
                "x-timestamp",
            ),
            nonce_header: Some(
                "x-nonce",
            ),
            digest_header: None,
            key_id: Some(
                Source(key-1),
            ),
            key_id_header: Some(
                "x-key-id",
            ),
        }"#]]
    .assert_eq(&match of("hook_api").kind {
        Kind::Signature(signature) => format!("{signature:#?}"),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        of("order_api").hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["api.example.org", "*.example.net"]
    );
}

#[test]
fn a_tenant_has_the_keys_of_all_but_for_its_own() {
    let (config, _) = read(EVERYTHING).unwrap();
    let settings = &config.credentials["report_api"];
    let shown = |variant: &Variant| match &variant.kind {
        Kind::OAuth(oauth) => format!(
            "{} {:?} {:?} {:?} {:?} {:?}",
            oauth.token_url, oauth.client_id, oauth.client_secret, oauth.scopes, oauth.client_auth, oauth.params
        ),
        other => format!("{other:?}"),
    };
    assert_eq!(
        shown(settings.base.as_ref().unwrap()),
        r#"https://login.example.org/oauth/token/ Source(toolgate) Source(env:B) ["read", "write"] Body [("resource", "orders")]"#
    );
    assert_eq!(
        shown(&settings.tenants["acme"]),
        r#"https://login.example.org/oauth/token/ Source(env:ACME_ID) Source(env:ACME) ["read", "write"] Body [("resource", "orders")]"#
    );
    assert!(shown(&settings.tenants["other"]).starts_with("Secret { secret: Source(env:OTHER)"));
    let text = "credential_store: { x: { type: bearer, tenants: { a: { token: env:A } } } }";
    let (config, _) = read(text).unwrap();
    assert!(config.credentials["x"].base.is_none() && config.credentials["x"].tenants.len() == 1);
}

#[test]
fn mistakes_have_places_and_the_nearest_word() {
    check(
        "credential_store:
  a: { type: beaerer, token: env:A }
  b: { type: bearer, tokn: env:A }
  c: { tpye: basic }
  d: { type: basic, username: x, password: secret-itself }
  e: { type: oauth2_client_credentials, token_url: login.example.org, client_id: x, client_secret: env:A, client_auth: header }
  f: { type: hmac, secret: env:A, signed: [timestmp, body], value: 'x={sig}', header: 'a b' }
  g: { type: bearer, token: env:A, header: X, query: q }
  h: { type: bearer, token: env:A, hosts: ['https://x.test', '*.test'] }
  i: { type: bearer, token: env:A, hosts: [] }
  j: { type: hmac, secret: env:A, signed: [key_id, body] }
  k: { type: hmac, secret: env:A }
  l: { type: bearer, tokn: env:A, tenants: { t: { token: env:B }, u: { token: literal }, v: {} } }
  m: text
vault: { token: vault:a/b#c, adress: x }
",
        expect![[r#"
            conf/toolgate.yaml:2:14: 'credential_store.a.type' must be one of bearer, api_key, basic, oauth2_client_credentials, hmac: did you mean 'bearer'?
            conf/toolgate.yaml:3:22: unknown key 'tokn' in 'credential_store.b': did you mean 'token'?
            conf/toolgate.yaml:4:8: unknown key 'tpye' in 'credential_store.c': did you mean 'type'?
            conf/toolgate.yaml:5:44: 'credential_store.d.password': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
            conf/toolgate.yaml:6:52: 'credential_store.e.token_url' must be a URL such as https://login.example.org/token, without a user in it
            conf/toolgate.yaml:6:120: 'credential_store.e.client_auth' must be one of basic, body
            conf/toolgate.yaml:7:44: 'credential_store.f.signed' must name method, host, path, query, sorted_query, timestamp, nonce, key_id, body, body_digest, header:NAME or text:WORDS: did you mean 'timestamp'?
            conf/toolgate.yaml:7:68: 'credential_store.f.value' must have {signature} in it
            conf/toolgate.yaml:7:87: 'credential_store.f.header' must be the name of a header
            conf/toolgate.yaml:8:6: 'credential_store.g' stands in a header or in the query, not in both
            conf/toolgate.yaml:9:44: 'credential_store.h.hosts' must be a host such as api.example.org, api.example.org:8443 or *.example.org
            conf/toolgate.yaml:9:62: 'credential_store.h.hosts' is every host of a whole top-level domain
            conf/toolgate.yaml:10:43: 'credential_store.i.hosts' names no host: nothing could be sent the credential
            conf/toolgate.yaml:11:6: 'credential_store.j.key_id' is missing
            conf/toolgate.yaml:12:6: 'credential_store.k.signed' is missing
            conf/toolgate.yaml:13:22: unknown key 'tokn' in 'credential_store.l': did you mean 'token'?
            conf/toolgate.yaml:13:79: 'credential_store.l.tenants.u.token': a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY
            conf/toolgate.yaml:14:6: 'credential_store.m' must be a map, not text
            conf/toolgate.yaml:15:17: 'vault.token' cannot be kept in Vault itself
            conf/toolgate.yaml:15:30: unknown key 'adress' in 'vault': did you mean 'address'?
        "#]],
    );
    check(
        "credential_store:
  a: { type: oauth2_client_credentials, token_url: 'http://login.example.org/token', client_id: x, client_secret: env:A }
  b: { type: oauth2_client_credentials, token_url: 'http://127.0.0.1:9/token', client_id: x, client_secret: env:A }
",
        expect![[r#"
            conf/toolgate.yaml:2:52: 'credential_store.a.token_url' is not encrypted: whoever is on the way reads the secret
        "#]],
    );
}
