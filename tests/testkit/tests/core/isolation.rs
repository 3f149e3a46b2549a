//! Chats of three platforms at once: each sees its own tools, and no way leads to those of another.

use std::sync::Arc;

use contract::{
    Accepted, Action, Address, Heard, Message, Outlet, Platform, State,
    records::{ApprovalId, Missed},
};
use dispatch::{NewSchedule, model::Said};
use testkit::{
    Gate, InABox, Scripted, Setup, message,
    model::{Heard as Prompted, says, wants},
    press, until,
};

const CHATS: [Platform; 3] = [Platform::Discord, Platform::Telegram, Platform::Slack];

/// For each platform a tool to look with, and one to pay with that asks somebody first.
fn tools() -> String {
    let tool = |platform: Platform, name: &str, label: &str| {
        format!(
            "name: {platform}_{name}\ntoolset: {platform}\ndescription: What {platform} may {name}\n\
             permissions: [{label}]\nparameters: {{ type: object, required: [id], properties: {{ id: {{ type: string }} }} }}\n\
             endpoint: {{ type: native, name: gate }}\n"
        )
    };
    let all = CHATS.iter().flat_map(|platform| [tool(*platform, "look", "read"), tool(*platform, "pay", "money")]);
    all.collect::<Vec<_>>().join("---\n")
}

fn policy(platform: Platform) -> (String, String) {
    let text = format!(
        "platform: {platform}\ntoolsets: {{ allow: [{platform}] }}\npermissions: {{ approve: [money] }}\n\
         approvers: {{ users: [\"id:boss\"], deliver: [conversation] }}\n\
         limits: {{ messages_per_minute: 1000000, delegation: 1, calls_per_turn: 32 }}\n"
    );
    (format!("{platform}.yaml"), text)
}

async fn three_chats(model: &Arc<Scripted>, gate: &Gate) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.unwrap();
    let mut setup = Setup::new(stores).model(model).gate(gate);
    setup.tools = tools();
    setup.policies = CHATS.iter().map(|platform| policy(*platform)).collect();
    let gateway = setup.start().ready().await;
    for platform in [Platform::Discord, Platform::Slack] {
        let outlet: Arc<dyn Outlet> = gateway.outlet.clone();
        gateway.gateway.connect(platform, "main", outlet, gateway.outlet.clone());
    }
    gateway
}

/// A message in the platform's group, which bears the same name everywhere.
fn said(platform: Platform, who: &str, text: &str) -> Message {
    let mut message = message(platform, "general", who, text);
    message.address.direct = false;
    message.heard = Heard::Addressed;
    message
}

fn pressed(platform: Platform, who: &str, action: Action) -> Message {
    let mut press = press(platform, "general", who, action);
    press.address.direct = false;
    press.heard = Heard::Addressed;
    press
}

/// Where the words of a prompt come from: each chat begins with its platform's name.
fn chat_of(heard: &Prompted) -> Platform {
    let Said::Person { text, .. } = &heard.messages[0] else { panic!("{:?}", heard.messages[0]) };
    *CHATS.iter().find(|platform| text.starts_with(platform.as_str())).unwrap()
}

/// A model that is bent on the tools of the other chats, and tries every way that it has.
fn intruder() -> Arc<Scripted> {
    Scripted::by(|heard| {
        let chat = chat_of(heard);
        let steps = heard.messages.iter().filter(|said| matches!(said, Said::Model(_))).count();
        let mut calls = vec![(format!("{chat}_look"), r#"{"id": "own"}"#.to_owned())];
        for other in CHATS.into_iter().filter(|other| *other != chat) {
            let foreign = format!("{other}_look");
            calls.push((foreign.clone(), r#"{"id": "by name"}"#.into()));
            calls.push(("tool_call".into(), format!(r#"{{"name": "{foreign}", "arguments": {{"id": "by bridge"}}}}"#)));
            calls.push(("tool_describe".into(), format!(r#"{{"names": ["{foreign}"]}}"#)));
            calls.push(("tool_search".into(), format!(r#"{{"query": "What {other} may look"}}"#)));
            let task = format!(r#"{{"task": "{chat} hands on", "tools": ["{foreign}"]}}"#);
            calls.push(("delegate".into(), task));
        }
        calls.push(("delegate".into(), format!(r#"{{"task": "{chat} hands all on"}}"#)));
        let calls: Vec<_> = calls.iter().map(|(tool, args)| (tool.as_str(), args.as_str())).collect();
        match steps {
            // A task that was handed on tries the same, but hands nothing on.
            0 if heard.system.contains("one task of a larger conversation") => {
                wants(&calls.into_iter().filter(|(tool, _)| *tool != "delegate").collect::<Vec<_>>())
            }
            0 => wants(&calls),
            _ => says(&format!("{chat} is done.")),
        }
    })
}

#[tokio::test]
async fn three_chats_see_three_lists_and_reach_no_tool_of_another_by_name_bridge_or_delegation() {
    let (model, gate) = (intruder(), Gate::opened());
    let gateway = three_chats(&model, &gate).await;
    let ask = |platform: Platform| gateway.say_as(said(platform, "ada", &format!("{platform}: take what you can get")));
    let [a, b, c] = CHATS;
    let turns: [_; 3] = tokio::join!(ask(a), ask(b), ask(c)).into();
    for (platform, turn) in CHATS.into_iter().zip(&turns) {
        assert_eq!(turn.text, format!("{platform} is done."), "{}", turn.tree);
        let nodes = gateway.gateway.tree(turn.turn).await.unwrap();
        for other in CHATS.into_iter().filter(|other| *other != platform) {
            let foreign: Vec<_> = nodes.iter().filter(|node| node.tool == format!("{other}_look")).collect();
            // By name and by bridge, from the turn and from the task that had all.
            assert_eq!(foreign.len(), 4, "{}", turn.tree);
            assert!(foreign.iter().all(|node| node.state == State::Denied), "{}", turn.tree);
        }
        let own = nodes.iter().filter(|node| node.tool == format!("{platform}_look")).count();
        assert_eq!(own, 2, "the turn's and the task's\n{}", turn.tree);
    }
    // What ran at all is each chat's own, once in the turn and once in its task.
    assert_eq!(gate.log().iter().filter(|line| *line == "in own").count(), 6);
    assert_eq!(gate.runs(), 6, "{:?}", gate.log());
    for heard in model.asked() {
        let chat = chat_of(&heard);
        let names = heard.tool_names();
        assert!(names.contains(&format!("{chat}_look")) && names.contains(&format!("{chat}_pay")), "{names:?}");
        let others = CHATS.into_iter().filter(|other| *other != chat);
        for other in others {
            assert!(!names.iter().any(|name| name.starts_with(other.as_str())), "{chat} sees {names:?}");
            assert!(!heard.text().contains(&format!(r#""description":"What {other} may"#)), "{}", heard.text());
        }
    }
}

#[tokio::test]
async fn no_command_of_one_chat_is_a_command_of_another() {
    let gate = Gate::opened();
    let gateway = three_chats(&Scripted::new([]), &gate).await;
    for platform in CHATS {
        let own = gateway.say_as(said(platform, "ada", &format!("/{platform}_look own"))).await;
        assert!(own.tree.contains(&format!("{platform}_look {{id: \"own\"}}  ok")), "{}", own.tree);
        for other in CHATS.into_iter().filter(|other| *other != platform) {
            let foreign = gateway.say_as(said(platform, "ada", &format!("/{other}_look x"))).await;
            let unknown = gateway.say_as(said(platform, "ada", "/nothing_look x")).await;
            let same = foreign.text.replace(&format!("{other}_look"), "nothing_look");
            assert_eq!(same, unknown.text, "a name elsewhere is like none at all");
        }
    }
    assert_eq!(gate.runs(), 3, "{:?}", gate.log());
}

/// The approvals that were shown, in their order.
fn cards(gateway: &InABox) -> Vec<ApprovalId> {
    let seen = gateway.outlet.seen();
    let buttons = seen.iter().filter(|seen| seen.op == "post").flat_map(|seen| &seen.buttons);
    let actions = buttons.filter_map(|data| data.parse().ok());
    actions.filter_map(|action| if let Action::Allow(id) = action { Some(id) } else { None }).collect()
}

#[tokio::test]
async fn a_button_that_was_forged_in_another_chat_moves_nothing() {
    let gate = Gate::opened();
    let gateway = three_chats(&Scripted::new([]), &gate).await;
    let home = Platform::Slack;
    let Accepted::Turn { id: turn, .. } = gateway.gateway_accept(said(home, "ada", "/slack_pay 100")).await else {
        panic!("no turn");
    };
    until("it is asked", || cards(&gateway).len() == 1).await;
    let card = cards(&gateway)[0];
    for elsewhere in [Platform::Discord, Platform::Telegram] {
        // The same ids there are other people, whatever they are called.
        for who in ["boss", "ada"] {
            for action in [Action::Allow(card), Action::AllowSession(card), Action::Deny(card), Action::Cancel(turn)] {
                let told = gateway.gateway_accept(pressed(elsewhere, who, action)).await;
                assert!(matches!(told, Accepted::Signal(_) | Accepted::NotForUs), "{told:?}");
            }
            for action in [Action::TryAgain(turn), Action::Details(turn)] {
                let told = match gateway.gateway_accept(pressed(elsewhere, who, action)).await {
                    Accepted::Turn { id, .. } => gateway.ended(id).await.text,
                    Accepted::Signal(words) => words,
                    Accepted::NotForUs => String::new(),
                };
                assert!(!told.contains("slack_pay") && !told.contains("100"), "{told}");
            }
        }
    }
    let approval = gateway.gateway.approval(card).await.unwrap().unwrap();
    assert!(approval.state.is_open(), "{:?}", approval.state);
    assert_eq!(gate.runs(), 0);
    // Where it belongs the same press is heard.
    gateway.gateway_accept(pressed(home, "boss", Action::Allow(card))).await;
    let said = gateway.ended(turn).await;
    assert_eq!(gate.log(), ["in 100", "out 100"], "{}", said.text);
}

/// A schedule of somebody on a platform, made by an operator so that no rule about making one stands in its way.
fn scheduled(owner: Platform, to: Platform, say: String) -> NewSchedule {
    let mut caller = testkit::caller(owner);
    caller.conversation = "general".into();
    NewSchedule {
        owner: caller,
        direct: false,
        locale: None,
        name: String::new(),
        say,
        when: "every day at 8:00".into(),
        zone: None,
        missed: Missed::Latest,
        to: Some(Address::new(to, "main", "general")),
        by_operator: true,
    }
}

#[tokio::test]
async fn a_schedule_runs_only_what_its_owner_and_its_destination_both_may() {
    let gate = Gate::opened();
    let greedy = Scripted::by(|heard| match heard.messages.last() {
        Some(Said::Person { .. }) => {
            let calls = CHATS.map(|platform| (format!("{platform}_look"), r#"{"id": "scheduled"}"#));
            wants(&calls.each_ref().map(|(tool, args)| (tool.as_str(), *args)))
        }
        _ => says("That is all."),
    });
    let gateway = three_chats(&greedy, &gate).await;
    let mut ran = 0;
    for owner in CHATS {
        for to in CHATS {
            let commands = CHATS.map(|tool| (format!("/{tool}_look scheduled"), owner == to && to == tool));
            let words = ("take what you can get".to_owned(), owner == to);
            for (say, may) in commands.into_iter().chain([words]) {
                match gateway.gateway.schedule_add(scheduled(owner, to, say.clone())).await {
                    Ok(schedule) => {
                        let turn = gateway.gateway.schedule_run_now(schedule.id).await.unwrap().unwrap();
                        let said = gateway.ended(turn).await;
                        assert_eq!(said.tree.contains(r#"_look {id: "scheduled"}  ok"#), may, "{}", said.tree);
                        assert!(gateway.gateway.schedule_remove(schedule.id).await.unwrap());
                    }
                    Err(failure) => assert!(!may, "{owner} to {to}: {say}: {failure:?}"),
                }
                ran += usize::from(may);
                assert_eq!(gate.runs(), ran, "{owner} to {to}: {say}");
            }
        }
    }
    // Each platform's own command and its own words.
    assert_eq!(ran, 2 * CHATS.len());
}
