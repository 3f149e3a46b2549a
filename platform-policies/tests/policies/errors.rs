use expect_test::{Expect, expect};
use policies::{Policies, Source};

use crate::{lines, sources, tools, try_compile, view};

/// Everything wrong with some files, warnings after errors.
#[track_caller]
fn wrong(text: &str, expect: Expect) {
    let said = match try_compile(text, &tools()) {
        Ok((_, warnings)) => warnings.iter().map(|warning| format!("warning: {warning}\n")).collect(),
        Err(errors) => lines(&errors),
    };
    expect.assert_eq(&said);
}

#[test]
fn an_unknown_key_names_the_nearest() {
    wrong(
        r#"
# discord.yaml
platform: discord
tolsets: { allow: [orders] }
tools: { alow: [order_query] }
limits: { calls_per_trun: 3 }
gating: { group: mention }
whatever: 1
conversations: { "channel:C1": { platform: x } }
senders: { "id:U1": { conversations: {} } }
permissions: { allow: [money] }
"#,
        expect![[r#"
            discord.yaml:3:1: unknown key 'tolsets': did you mean 'toolsets'?
            discord.yaml:4:10: unknown key 'alow': did you mean 'allow'?
            discord.yaml:5:11: unknown key 'calls_per_trun': did you mean 'calls_per_turn'?
            discord.yaml:6:11: unknown key 'group': did you mean 'groups'?
            discord.yaml:7:1: unknown key 'whatever': known here: platform, names, conversations, senders, toolsets, tools, permissions, approve, only, approvers, approval, limits, gating, replies, sessions, while_busy, schedules, prompt
            discord.yaml:8:34: unknown key 'platform': known here: senders, toolsets, tools, permissions, approve, only, approvers, approval, limits, gating, replies, sessions, while_busy, schedules, prompt
            discord.yaml:9:23: unknown key 'conversations': known here: toolsets, tools, permissions, approve, only, approvers, approval, limits, gating, replies, sessions, while_busy, schedules, prompt
            discord.yaml:10:16: unknown key 'allow': known here: deny, approve
        "#]],
    );
}

#[test]
fn an_unknown_platform_toolset_tool_or_label_names_the_nearest() {
    wrong(
        "# a.yaml\nplatform: telegramm\n",
        expect![[r#"
        a.yaml:2:11: 'platform' does not know 'telegramm': did you mean 'telegram'?
    "#]],
    );
    wrong(
        "# web.yaml\nplatform: web\ntoolsets: { allow: [order, nowhere] }\ntools: { allow: [oder_query] }\n",
        expect![[r#"
            web.yaml:3:21: unknown toolset 'order': did you mean 'orders'?
            web.yaml:3:28: unknown toolset 'nowhere'
            web.yaml:4:18: unknown tool 'oder_query': did you mean 'order_query'?
        "#]],
    );
    wrong(
        "# web.yaml\nplatform: web\npermissions: { deny: [mony], approve: [xyz] }\nonly: { \"label:shel\": [] }\n",
        expect![[r#"
            web.yaml:3:23: unknown label 'mony': did you mean 'money'?
            web.yaml:3:40: unknown label 'xyz': declared in labels.yaml: read, write, write_files, money, delete, shell, network
            web.yaml:4:9: unknown label 'shel': did you mean 'shell'?
        "#]],
    );
}

#[test]
fn what_is_not_yaml_is_told_in_words_for_people() {
    wrong(
        "# web.yaml\nplatform: web\n toolsets: {}\n",
        expect![[r#"
        web.yaml:3:10: no ':' fits here: is the line too far right, or a text with ': ' in it without quotes?
    "#]],
    );
    wrong(
        "# web.yaml\nplatform: web\ntools:\n  deny: []\n allow: []\n",
        expect![[r#"
        web.yaml:5:2: this does not go on the map above: its keys begin in one column, and each has its ':'
    "#]],
    );
    wrong(
        "# web.yaml\nplatform: web\ntools: { deny: [a, b }\n",
        expect![[r#"
        web.yaml:3:16: mismatched bracket '[' closed by '}'
    "#]],
    );
    wrong(
        "# web.yaml\nplatform: web\ntools: { deny: [a]\nlimits: {}\n",
        expect![[r#"
        web.yaml:4:1: a ',' or the closing '}' is missing here
    "#]],
    );
}

#[test]
fn what_is_denied_need_not_exist() {
    wrong(
        r#"
# web.yaml
platform: web
toolsets: { deny: [browser] }
tools: { deny: [long_gone] }
only: { "tool:archive": [] }
approve: { nothing: {} }
"#,
        expect![[r#"
            warning: web.yaml:3:20: unknown toolset 'browser'
            warning: web.yaml:4:17: unknown tool 'long_gone'
            warning: web.yaml:6:12: unknown tool 'nothing'
            warning: web.yaml:5:9: unknown tool 'archive'
        "#]],
    );
}

#[test]
fn a_slip_in_a_restriction_is_an_error() {
    wrong(
        r#"
# web.yaml
platform: web
toolsets: { deny: [shel] }
tools: { deny: [order_refunds, long_gone] }
only: { "tool:order_qery": [], "toolset:order": [] }
approve: { send_mesage: {} }
"#,
        expect![[r#"
            web.yaml:3:20: unknown toolset 'shel': did you mean 'shell'?
            web.yaml:4:17: unknown tool 'order_refunds': did you mean 'order_refund'?
            web.yaml:6:12: unknown tool 'send_mesage': did you mean 'send_message'?
            web.yaml:5:9: unknown tool 'order_qery': did you mean 'order_query'?
            web.yaml:5:32: unknown toolset 'order': did you mean 'orders'?
        "#]],
    );
}

#[test]
fn a_quarantined_tool_takes_no_other_with_it() {
    let text = "# web.yaml\nplatform: web\ntoolsets: { allow: [weather, broken] }\n";
    let parsed = Policies::parse(&sources(text)).unwrap().policies;
    let (policies, warnings) = parsed.compile_with_quarantine(&tools(), &["broken"]).unwrap();
    assert_eq!(view(&policies, "web"), "weather_query");
    expect![[r#"
        web.yaml:3:30: unknown toolset 'broken'
    "#]]
    .assert_eq(&lines(&warnings));
}

#[test]
fn a_quarantined_name_is_known_and_a_slip_beside_it_is_not() {
    let restricted = |name: &str| {
        let text =
            format!("# web.yaml\nplatform: web\ntoolsets: {{ allow: [weather] }}\ntools: {{ deny: [{name}] }}\n");
        let parsed = Policies::parse(&sources(&text)).unwrap().policies;
        parsed.compile_with_quarantine(&tools(), &["weather_queue"]).map(|(_, warnings)| lines(&warnings))
    };
    assert_eq!(restricted("weather_queue").unwrap(), "");
    expect![[r#"
        web.yaml:4:17: unknown tool 'weathr_queue': did you mean 'weather_queue'?
    "#]]
    .assert_eq(&lines(&restricted("weathr_queue").unwrap_err()));
}

#[test]
fn a_bare_name_is_not_an_identity() {
    wrong(
        r##"
# slack.yaml
platform: slack
names: { ops: "role:S1", room: "channel:C1", "a:b": "id:U1", bad: "Bob", worse: ["id:", "id:@bob", "role:a b", "user:U1", "id:*", "channel:C1/", "channel:/5"] }
only: { "tool:run": [opps, Bob, room, "slak:id:U1", "slack:T1/U1", 12], run: [ops] }
senders: { Bob: {}, room: {} }
conversations: { general: {}, ops: {} }
gating: { allowlist: ["#general"] }
approvers: { users: [Bob], deliver: [conversation, somewhere, "slack:main/C1"] }
"##,
        expect![[r#"
            slack.yaml:3:46: 'a:b' cannot be a name: a name has no ':', '/' or space in it
            slack.yaml:3:67: 'Bob' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:3:82: 'id:' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:3:89: 'id:@bob' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:3:100: 'role:a b' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:3:112: 'user:U1' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:3:123: 'id:*' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:3:131: 'channel:C1/' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:3:146: 'channel:/5' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:4:22: 'opps' is neither declared under 'names' nor an id: did you mean 'ops'?
            slack.yaml:4:28: 'Bob' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:4:33: 'room' names a channel; 'tool:run' takes people and roles
            slack.yaml:4:39: 'slak:id:U1' is neither declared under 'names' nor an id: did you mean 'slack'?
            slack.yaml:4:53: 'slack:T1/U1' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:4:68: 'tool:run' takes a text, not '12'
            slack.yaml:4:73: 'run' does not say what it is: write 'tool:NAME', 'toolset:NAME' or 'label:NAME'
            slack.yaml:5:12: 'Bob' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:5:21: 'room' names a channel; 'senders' takes people and roles
            slack.yaml:6:18: 'general' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:6:31: 'ops' names people; 'conversations' takes channels
            slack.yaml:7:23: '#general' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:8:22: 'Bob' is neither declared under 'names' nor an id: write id:…, role:… or channel:…, since display names can be taken by anybody
            slack.yaml:8:52: nothing can be delivered to 'somewhere': one of conversation, private, or PLATFORM:ACCOUNT/CONVERSATION
        "#]],
    );
}

#[test]
fn broken_yaml_is_told_with_line_and_column() {
    for (text, expect) in [
        (
            "platform: web\nplatform: web\n",
            expect![[r#"
                platform-policies/web.yaml:2:1: 'platform' stands here twice, first in line 1
            "#]],
        ),
        (
            "platform: web\ntools:\n\tdeny: []\n",
            expect![[r#"
                platform-policies/web.yaml:3:2: a tab where YAML wants spaces (tabs disallowed within this context (block indentation))
            "#]],
        ),
        (
            "platform: web\ntools: { deny: [a\n",
            expect![[r#"
            platform-policies/web.yaml:2:16: unclosed bracket '['
        "#]],
        ),
        (
            "platform: web\n---\nplatform: api\n",
            expect![[r#"
            platform-policies/web.yaml:3:1: a second document begins here: one file holds one policy
        "#]],
        ),
        (
            "",
            expect![[r#"
                platform-policies/web.yaml:1:1: the file is empty: who wants none of it removes the file
            "#]],
        ),
        (
            "- platform: web\n",
            expect![[r#"
                platform-policies/web.yaml:1:1: 'the file' takes a mapping, not a list
            "#]],
        ),
        (
            "platform: web\ntools: { ? [a] : 1 }\n",
            expect![[r#"
                platform-policies/web.yaml:2:12: a key has to be a word
            "#]],
        ),
    ] {
        wrong_source(text, expect);
    }
}

#[track_caller]
fn wrong_source(text: &str, expect: Expect) {
    let parsed = Policies::parse(&[Source::new("platform-policies/web.yaml", text)]);
    expect.assert_eq(&lines(&parsed.err().unwrap_or_default()));
}

#[test]
fn an_alias_bomb_and_a_deep_nest_are_refused() {
    let mut bomb = "platform: web\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let below = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{below}]\n"));
    }
    wrong_source(
        &bomb,
        expect![[r#"
            platform-policies/web.yaml:6:10: too large once aliases are filled in
        "#]],
    );
    wrong_source(
        &format!("platform: {}", "[".repeat(100_000)),
        expect![[r#"
            platform-policies/web.yaml:1:111: nested too deeply
        "#]],
    );
}

#[test]
fn words_that_look_like_booleans_stay_words() {
    wrong(
        "# web.yaml\nplatform: web\nreplies: { reference: yes, locale: no }\ngating: { bots: on }\n",
        expect![[r#"
            web.yaml:3:23: 'reference' takes true or false, not 'yes'
            web.yaml:3:36: 'locale' does not know 'no': one of auto, en, zh-Hans
            web.yaml:4:17: 'bots' takes true or false, not 'on'
        "#]],
    );
}

#[test]
fn a_language_is_one_that_we_speak() {
    wrong(
        "# web.yaml\nplatform: web\nreplies: { locale: zh-hans }\n",
        expect![[r#"
        web.yaml:3:20: 'locale' does not know 'zh-hans': did you mean 'zh-Hans'?
    "#]],
    );
    wrong(
        "# web.yaml\nplatform: web\nreplies: { locale: fr }\n",
        expect![[r#"
        web.yaml:3:20: 'locale' does not know 'fr': one of auto, en, zh-Hans
    "#]],
    );
    wrong(
        "# web.yaml\nplatform: web\nreplies: { locale: 5 }\n",
        expect![[r#"
        web.yaml:3:20: 'locale' takes auto, en, zh-Hans, not '5'
    "#]],
    );
}

#[test]
fn values_of_the_wrong_kind_are_told_together() {
    wrong(
        r#"
# web.yaml
platform: web
tools: [order_query]
toolsets: { allow: orders, deny: [1, [x]] }
limits: { calls_per_turn: 0, concurrent_calls: many, call_depth: 1_000, turn_timeout: 300, execution_mode: sequentialy }
gating: { groups: mentions }
replies: { mentions: [user], detail: x }
only: []
approve: { run: { by: somebody } }
"#,
        expect![[r#"
            web.yaml:3:8: 'tools' takes a mapping, not a list
            web.yaml:4:20: 'toolsets.allow' takes a list, not 'orders'
            web.yaml:4:35: 'toolsets.deny' takes a text, not '1'
            web.yaml:4:38: 'toolsets.deny' takes a text, not a list
            web.yaml:5:27: 'calls_per_turn' takes a whole number from 1, not '0'
            web.yaml:5:48: 'concurrent_calls' takes a whole number from 1, not 'many'
            web.yaml:5:66: 'call_depth' takes a whole number from 1, not '1_000'
            web.yaml:5:87: 'turn_timeout' takes a time with its unit: for example 300s
            web.yaml:5:108: 'execution_mode' does not know 'sequentialy': did you mean 'sequential'?
            web.yaml:6:19: 'groups' does not know 'mentions': did you mean 'mention'?
            web.yaml:7:23: 'mentions' does not know 'user': did you mean 'users'?
            web.yaml:7:38: 'detail' does not know 'x': one of plain, full
            web.yaml:8:7: 'only' takes a mapping, not a list
            web.yaml:9:23: 'by' does not know 'somebody': one of approver, requester
        "#]],
    );
}

#[test]
fn two_tenants_of_one_place_are_an_error() {
    wrong(
        r#"
# tenants.yaml
tenant_rules:
  a: { match: [{ platform: slack, space: T1 }] }
  b: { match: [{ platform: telegram, conversation: -1001 }, { platform: slack }] }
  c: { match: [{ platform: slack, space: T2 }] }
  d: { match: [{ platform: telegram, conversation: "-1001" }] }
  e: { match: [{ space: T3 }, { platform: slacc }, { platform: telegram, conversation: 1.5 }, { platform: web, spase: x }] }
  f: { match: [{ platform: web }, { platform: api }], only: { "tool:run": ["id:U1", "api:id:U1"] } }
"#,
        expect![[r#"
            tenants.yaml:7:16: a match needs its platform: for example { platform: slack, space: T0FIN }
            tenants.yaml:7:43: 'platform' does not know 'slacc': did you mean 'slack'?
            tenants.yaml:7:88: 'conversation' would lose digits: write it in quotes
            tenants.yaml:7:112: unknown key 'spase': did you mean 'space'?
            tenants.yaml:8:76: 'id:U1' does not say on which platform: write 'slack:id:…', or match one platform only
            tenants.yaml:4:61: tenants 'a' and 'b' match one place: tell them apart by space or conversation
            tenants.yaml:5:16: tenants 'b' and 'c' match one place: tell them apart by space or conversation
            tenants.yaml:6:16: tenants 'b' and 'd' match one place: tell them apart by space or conversation
        "#]],
    );
}

#[test]
fn one_platform_has_one_file() {
    wrong(
        "# a.yaml\nplatform: web\n# b.yaml\nplatform: web\n# c.yaml\nnames: {}\n",
        expect![[r#"
        b.yaml:2:1: another file is for platform 'web' already
        c.yaml:1:1: the file does not say which platform it is for: begin with 'platform: telegram' or another one
    "#]],
    );
}

#[test]
fn what_has_no_effect_is_said() {
    wrong(
        r#"
# web.yaml
platform: web
approve: { run: { when: "a > 1", by: requester } }
approvers: { users: [] }
gating: { direct: pairing }
replies: { detail: full, reference: false, private_errors: true, mentions: [], locale: auto }
names: { ops: [] }
"#,
        expect![[r#"
            warning: web.yaml:7:10: the name 'ops' stands for nobody
        "#]],
    );
}

#[test]
fn a_label_that_only_a_tool_has_is_noticed() {
    wrong(
        "# labels.yaml\nlabels: { read: x, mony: y, shell: z, write: w, write_files: v }\n",
        expect![[r#"
        warning: labels.yaml:1:1: tool 'order_refund' has the label 'money', which is not declared here: did you mean 'mony'?
    "#]],
    );
    wrong(
        "# labels.yaml\nlabels: { read: , write: [x] }\nlables: {}\n",
        expect![[r#"
            labels.yaml:2:15: 'read' takes a text, not nothing
            labels.yaml:2:26: 'write' takes a text, not a list
            labels.yaml:3:1: unknown key 'lables': did you mean 'labels'?
        "#]],
    );
}

#[test]
fn a_folder_is_read_and_what_is_overlooked_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("web.yaml", "platform: web\n");
    write("api.yml", "platform: api\n");
    write("notes.txt", "no policy");
    let loaded = Policies::load(dir.path()).unwrap();
    assert_eq!(loaded.policies.platforms().collect::<Vec<_>>(), [contract::Platform::Web]);
    let said = lines(&loaded.warnings).replace(&dir.path().display().to_string(), "DIR");
    expect![[r#"
        DIR/api.yml:1:1: this file is not read: policy files end in .yaml
    "#]]
    .assert_eq(&said);
    write("web.yaml", "platform: web\nlimits: { calls_per_turn: -1 }\n");
    let said = lines(&Policies::load(dir.path()).unwrap_err()).replace(&dir.path().display().to_string(), "DIR");
    expect![[r#"
        DIR/web.yaml:2:27: 'calls_per_turn' takes a whole number from 1, not '-1'
    "#]]
    .assert_eq(&said);
    assert!(Policies::load(&dir.path().join("missing")).is_err());
}

#[test]
fn an_empty_file_is_no_file_without_rules() {
    for name in ["web.yaml", "tenants.yaml", "labels.yaml"] {
        let said = lines(&Policies::parse(&[Source::new(name, "# soon\n")]).unwrap_err());
        assert_eq!(said, format!("{name}:1:1: the file is empty: who wants none of it removes the file\n"));
    }
}

#[test]
fn a_time_that_no_clock_holds_is_refused() {
    wrong(
        "# web.yaml\nplatform: web\nlimits: { turn_timeout: 99999999999h }\n",
        expect![[r#"
            web.yaml:3:25: 'turn_timeout' cannot be '99999999999h': write it like 500ms, 300s, 5m or 1h
        "#]],
    );
}

#[test]
fn nesting_without_end_is_refused() {
    for text in ["[".repeat(200_000), "a:\n".to_owned() + &"- ".repeat(200_000), "{a: ".repeat(50_000)] {
        let said = lines(&Policies::parse(&[Source::new("web.yaml", &*text)]).unwrap_err());
        assert!(said.contains("nested too deeply"), "{said}");
    }
}
