use std::time::Duration;

use contract::Platform;
use expect_test::expect;
use policies::{Admission, ExecutionMode, Gate, Hearing, Limits, Sessions};

use crate::{caller, compile, lines, tools, try_compile};

const LAYERS: &str = r#"
# slack.yaml
platform: slack
limits: { calls_per_turn: 64, turn_timeout: 2m, result_chars: 1000 }
gating: { groups: everyone, direct: allowlist, allowlist: ["id:U1", "channel:C9"] }
replies: { detail: full, mentions: [users, roles], locale: zh-Hans }
conversations: { "channel:C1": { limits: { calls_per_turn: 40 }, gating: { groups: mention, bots: true } } }
senders: { "id:U1": { limits: { calls_per_turn: 90, execution_mode: sequential }, replies: { detail: plain } } }
# tenants.yaml
tenant_rules: { acme: { limits: { calls_per_turn: 50 }, gating: { groups: nobody }, replies: { locale: auto } } }
"#;

#[test]
fn numbers_take_the_least_of_all_layers() {
    let policies = compile(LAYERS);
    let calls = |who| policies.limits(&caller(who)).calls_per_turn;
    assert_eq!(calls("slack"), 64);
    assert_eq!(calls("slack tenant:acme"), 50);
    assert_eq!(calls("slack tenant:acme channel:C1"), 40);
    assert_eq!(calls("slack id:U1"), 64);
    assert_eq!(calls("web"), 32);
    let limits = policies.limits(&caller("slack id:U1"));
    assert_eq!(limits.turn_timeout, Duration::from_secs(120));
    assert_eq!(limits.execution_mode, ExecutionMode::Sequential);
    assert_eq!(policies.limits(&caller("web")), Limits::default());
}

#[test]
fn manner_takes_the_narrowest_that_speaks() {
    let policies = compile(LAYERS);
    let groups = |who| policies.manner(&caller(who)).gating.groups;
    assert_eq!(groups("web"), Gate::Mention);
    assert_eq!(groups("slack"), Gate::Everyone);
    assert_eq!(groups("slack tenant:acme"), Gate::Nobody);
    assert_eq!(groups("slack tenant:acme channel:C1"), Gate::Mention);
    expect![[r#"
        Manner {
            gating: Gating {
                groups: Mention,
                direct: Allowlist,
                bots: true,
                bot_turns: 4,
                edits: false,
                listed: true,
            },
            replies: Replies {
                detail: Plain,
                reference: true,
                private_errors: true,
                mentions: Mentions {
                    users: true,
                    roles: true,
                    everyone: false,
                },
                locale: None,
            },
            sessions: Conversation,
            while_busy: Queue,
        }
    "#]]
    .assert_debug_eq(&policies.manner(&caller("slack id:U1 channel:C1 tenant:acme")));
}

#[test]
fn an_allowlist_hears_whom_it_names() {
    let policies = compile(LAYERS);
    let hears = |who| policies.manner(&caller(who)).gating.admission(true, true) == Admission::Heard;
    assert!(hears("slack id:U1"));
    assert!(hears("slack id:U2 channel:C9"));
    assert!(!hears("slack id:U2"));
}

#[test]
fn without_a_word_groups_must_mention_and_people_need_not() {
    let gating = compile("# web.yaml\nplatform: web\n").manner(&caller("web")).gating;
    assert_eq!(gating.admission(true, false), Admission::Heard);
    assert_eq!(gating.admission(false, true), Admission::Heard);
    assert_eq!(gating.admission(false, false), Admission::NotHeard);
    assert_eq!(gating.bot_turns, 4);
}

#[test]
fn pairing_hears_the_list_and_asks_others_who_address_us() {
    let policies = compile(
        "# web.yaml\nplatform: web\ngating: { groups: pairing, direct: pairing, allowlist: ['id:U1'], bots: true, bot_turns: 2 }\n",
    );
    let admission = |who, direct, addressed| policies.manner(&caller(who)).gating.admission(direct, addressed);
    assert_eq!(admission("web id:U1", true, true), Admission::Heard);
    assert_eq!(admission("web id:U1", false, false), Admission::NotHeard);
    assert_eq!(admission("web id:U2", true, false), Admission::IfPaired);
    assert_eq!(admission("web id:U2", false, true), Admission::IfPaired);
    assert_eq!(admission("web id:U2", false, false), Admission::NotHeard);
    assert_eq!(policies.manner(&caller("web")).gating.bot_turns, 2);
    let hearing = |who, direct| policies.manner(&caller(who)).gating.hearing(direct);
    assert_eq!((hearing("web id:U1", false), hearing("web id:U2", false)), (Hearing::Addressed, Hearing::Paired));
    // Where no rule speaks, and where one shuts all out.
    assert_eq!((hearing("slack", false), hearing("slack", true)), (Hearing::Addressed, Hearing::Always));
    let shut = compile("# web.yaml\nplatform: web\ngating: { groups: nobody }\n").manner(&caller("web")).gating;
    assert_eq!((shut.hearing(false), shut.hearing(true)), (Hearing::Never, Hearing::Always));
}

#[test]
fn messages_in_a_minute_are_the_least_of_all_layers() {
    let policies = compile(
        "# web.yaml\nplatform: web\nlimits: { messages_per_minute: 30 }\nsenders: { 'id:U1': { limits: { messages_per_minute: 90 } }, 'id:U2': { limits: { messages_per_minute: 5 } } }\n",
    );
    let least = |who| policies.limits(&caller(who)).messages_per_minute;
    assert_eq!([least("web"), least("web id:U1"), least("web id:U2"), least("slack")], [30, 30, 5, 60]);
}

#[test]
fn a_session_is_of_the_conversation_or_of_each_person_and_kept_as_long_as_its_tenant_says() {
    let policies = compile(
        r#"
# slack.yaml
platform: slack
limits: { sessions_kept: 90d }
names: { support: "channel:C1" }
conversations: { support: { sessions: person } }
# tenants.yaml
tenant_rules:
  acme: { match: [{ platform: slack, space: T1 }], limits: { sessions_kept: 30d } }
"#,
    );
    let of = |who| policies.manner(&caller(who)).sessions;
    assert_eq!((of("slack"), of("slack channel:C1")), (Sessions::Conversation, Sessions::Person));
    let kept: Vec<_> = policies.retention().0.into_iter().map(|r| (r.platform, r.tenant, r.keep.as_secs())).collect();
    let days = |days: u64| days * 86_400;
    assert_eq!(kept, [(Some(Platform::Slack), None, days(90)), (None, Some("acme".to_owned()), days(30))]);
    let wrong = |text| match try_compile(text, &tools()) {
        Err(errors) => lines(&errors),
        Ok(_) => panic!("it is taken"),
    };
    expect![[r#"
        slack.yaml:4:39: 'sessions_kept' cannot stand in a rule for some: one for the platform or the tenant
    "#]]
    .assert_eq(&wrong(
        "# slack.yaml\nplatform: slack\nnames: { support: 'channel:C1' }\nconversations: { support: { limits: { sessions_kept: 1d } } }\n",
    ));
    expect![[r#"
        slack.yaml:3:11: 'sessions' does not know 'people': one of conversation, person
    "#]]
    .assert_eq(&wrong("# slack.yaml\nplatform: slack\nsessions: people\n"));
}
