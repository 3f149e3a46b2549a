//! The keys that every layer may hold, read from a file.

use std::{sync::Arc, time::Duration};

use contract::{Address, Locale, records::By, text};

use crate::{
    Deliver, ExecutionMode, PolicyLayer,
    manner::{Detail, Gate, Mentions, Sessions, WhileBusy},
    names::{Names, Takes},
    prompt,
    reader::Reader,
    rules::{
        Allow, Approve, Block, Mark, Only, Place, SomeApproval, SomeApprovers, SomeGating, SomeLimits, SomeReplies,
        Stated, What,
    },
    tree::{self, Key, Kind, Node},
    when::When,
};

/// The keys that [`read`] understands.
pub(crate) const KEYS: [&str; 14] = [
    "toolsets",
    "tools",
    "permissions",
    "approve",
    "only",
    "approvers",
    "approval",
    "limits",
    "gating",
    "replies",
    "sessions",
    "while_busy",
    "schedules",
    "prompt",
];

/// A block of `layer` from those of `fields` that are [`KEYS`].
pub(crate) fn read(
    reader: &mut Reader,
    names: &Names,
    layer: PolicyLayer,
    title: &str,
    at: tree::Place,
    fields: &[&(Key, Node)],
) -> Block {
    let mut block = Block::new(layer, title, place(reader, at));
    for (key, tree) in fields {
        match key.name.as_str() {
            "toolsets" => granted(reader, &mut block, key, tree, What::Toolset),
            "tools" => granted(reader, &mut block, key, tree, What::Tool),
            "permissions" => permissions(reader, &mut block, tree),
            "approve" => approve(reader, &mut block, tree),
            "only" => only(reader, names, &mut block, tree),
            "approvers" => block.approvers = approvers(reader, names, tree),
            "approval" => block.approval = approval(reader, tree),
            "limits" => block.limits = limits(reader, layer, tree),
            "gating" => block.gating = gating(reader, names, tree),
            "replies" => block.replies = replies(reader, tree),
            "schedules" => block.schedules = schedules(reader, names, tree),
            "sessions" => block.sessions = reader.word(tree, "sessions", &SESSIONS),
            "while_busy" => block.while_busy = reader.word(tree, "while_busy", &WHILE_BUSY),
            "prompt" => block.prompt = prompt::read(reader, tree),
            _ => {}
        }
    }
    block
}

fn place(reader: &Reader, at: tree::Place) -> Place {
    Place { file: Arc::clone(&reader.file), at }
}

fn marks(reader: &mut Reader, tree: &Node, what: What, key: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    for item in reader.items(tree, key) {
        if let Some(name) = reader.text(item, key) {
            let (name, written) = (name.to_owned(), format!("{key}: {name}"));
            marks.push(Mark { what, name, written, place: place(reader, item.at) });
        }
    }
    marks
}

fn granted(reader: &mut Reader, block: &mut Block, key: &Key, tree: &Node, what: What) {
    for (sub, list) in reader.fields(tree, &key.name, &["allow", "deny"]) {
        let found = marks(reader, list, what, &format!("{}.{}", key.name, sub.name));
        if sub.name == "deny" {
            block.deny.extend(found);
        } else {
            let place = place(reader, sub.at);
            block.allow.get_or_insert_with(|| Allow { place, marks: Vec::new() }).marks.extend(found);
        }
    }
}

fn permissions(reader: &mut Reader, block: &mut Block, tree: &Node) {
    for (sub, list) in reader.fields(tree, "permissions", &["deny", "approve"]) {
        let found = marks(reader, list, What::Label, &format!("permissions.{}", sub.name));
        if sub.name == "deny" {
            block.deny.extend(found);
        } else {
            block.approve.extend(found.into_iter().map(|mark| Approve { mark, when: None, by: None }));
        }
    }
}

fn approve(reader: &mut Reader, block: &mut Block, tree: &Node) {
    for (key, body) in reader.entries(tree, "approve") {
        let (mut when, mut by) = (None, None);
        for (sub, value) in reader.fields(body, &format!("approve.{}", key.name), &["when", "by"]) {
            if sub.name == "when" {
                when = reader.text(value, "when").and_then(|written| condition(reader, value.at, written));
            } else {
                by = reader.word(value, "by", &[("approver", By::Approver), ("requester", By::Requester)]);
            }
        }
        let (name, written) = (key.name.clone(), format!("approve: {}", key.name));
        let mark = Mark { what: What::Tool, name, written, place: place(reader, key.at) };
        block.approve.push(Approve { mark, when, by });
    }
}

fn only(reader: &mut Reader, names: &Names, block: &mut Block, tree: &Node) {
    for (key, list) in reader.entries(tree, "only") {
        let who = names.list(reader, list, &key.name, Takes::People);
        let (what, name) = match key.name.split_once(':') {
            Some(("tool", name)) => (What::Tool, name),
            Some(("toolset", name)) => (What::Toolset, name),
            Some(("label", name)) => (What::Label, name),
            _ => {
                let hint = Some("write 'tool:NAME', 'toolset:NAME' or 'label:NAME'".to_owned());
                reader.error(key.at, format!("'{}' does not say what it is", text::one_line(&key.name, 64)), hint);
                continue;
            }
        };
        let whom = as_written(list);
        let (name, written) = (name.to_owned(), format!("only: {}", key.name));
        block.only.push(Only { mark: Mark { what, name, written, place: place(reader, key.at) }, who, whom });
    }
}

fn condition(reader: &mut Reader, at: tree::Place, written: &str) -> Option<Arc<When>> {
    match When::read(written) {
        Ok(when) => Some(Arc::new(when)),
        Err(fault) => {
            let message =
                format!("the condition cannot be read at character {}: expected {}", fault.at, fault.expected);
            let hint = "write it like: amount > 100 and currency != 'EUR'".to_owned();
            reader.error(at, message, Some(hint));
            None
        }
    }
}

fn approvers(reader: &mut Reader, names: &Names, tree: &Node) -> SomeApprovers {
    let mut approvers = SomeApprovers::default();
    for (sub, list) in reader.fields(tree, "approvers", &["users", "deliver"]) {
        if sub.name == "users" {
            let who = names.list(reader, list, "approvers.users", Takes::People);
            approvers.users = Some(Stated { who, whom: as_written(list) });
            continue;
        }
        let mut places = Vec::new();
        for item in reader.items(list, "approvers.deliver") {
            let Some(given) = reader.text(item, "approvers.deliver") else { continue };
            match deliver(given) {
                Some(place) => places.push(place),
                None => {
                    let hint = "one of conversation, private, or PLATFORM:ACCOUNT/CONVERSATION".to_owned();
                    let message = format!("nothing can be delivered to '{}'", text::one_line(given, 64));
                    reader.error(item.at, message, Some(hint));
                }
            }
        }
        approvers.deliver = Some(places);
    }
    approvers
}

/// Whose schedules, made elsewhere, may be answered here.
fn schedules(reader: &mut Reader, names: &Names, tree: &Node) -> Option<Stated> {
    let fields = reader.fields(tree, "schedules", &["from"]);
    let (_, list) = fields.first()?;
    let who = names.list(reader, list, "schedules.from", Takes::People);
    Some(Stated { who, whom: as_written(list) })
}

fn deliver(given: &str) -> Option<Deliver> {
    match given {
        "conversation" => Some(Deliver::Conversation),
        "private" => Some(Deliver::Private),
        _ => Address::named(given).filter(|to| !to.platform.is_pull()).map(Deliver::To),
    }
}

fn as_written(list: &Node) -> Vec<String> {
    let items = match &list.kind {
        Kind::Seq(items) => items.as_slice(),
        Kind::Scalar(_) | Kind::Map(_) => &[],
    };
    items.iter().filter_map(|item| Some(item.value().as_str()?.to_owned())).collect()
}

/// The longest time that a call waits for people.
const LONGEST_WAIT: Duration = Duration::from_secs(7 * 24 * 3_600);

fn approval(reader: &mut Reader, tree: &Node) -> SomeApproval {
    let mut approval = SomeApproval::default();
    for (key, value) in reader.fields(tree, "approval", &["expires", "two"]) {
        match key.name.as_str() {
            "expires" => {
                approval.expires = duration(reader, value, "expires");
                if approval.expires.is_some_and(|time| time.is_zero() || time > LONGEST_WAIT) {
                    reader.error(value.at, "'expires' is from 1s to 168h", None);
                }
            }
            _ => approval.two = reader.boolean(value, &key.name),
        }
    }
    approval
}

/// Whose memory a session is.
const SESSIONS: [(&str, Sessions); 2] = [("conversation", Sessions::Conversation), ("person", Sessions::Person)];

const WHILE_BUSY: [(&str, WhileBusy); 4] = [
    ("queue", WhileBusy::Queue),
    ("steer", WhileBusy::Steer),
    ("interrupt", WhileBusy::Interrupt),
    ("collect", WhileBusy::Collect),
];

fn limits(reader: &mut Reader, layer: PolicyLayer, tree: &Node) -> SomeLimits {
    let known = [
        "model_steps",
        "calls_per_turn",
        "concurrent_calls",
        "call_depth",
        "delegation",
        "turn_timeout",
        "result_chars",
        "messages_per_reply",
        "messages_per_minute",
        "sessions_kept",
        "execution_mode",
    ];
    let modes = [("parallel", ExecutionMode::Parallel), ("sequential", ExecutionMode::Sequential)];
    let mut limits = SomeLimits::default();
    for (key, value) in reader.fields(tree, "limits", &known) {
        match key.name.as_str() {
            "model_steps" => limits.model_steps = reader.count(value, &key.name),
            "calls_per_turn" => limits.calls_per_turn = reader.count(value, &key.name),
            "concurrent_calls" => limits.concurrent_calls = reader.count(value, &key.name),
            "call_depth" => limits.call_depth = reader.count(value, &key.name),
            "delegation" => limits.delegation = reader.number(value, &key.name),
            "turn_timeout" => limits.turn_timeout = duration(reader, value, &key.name),
            "result_chars" => limits.result_chars = reader.count(value, &key.name),
            "messages_per_reply" => limits.messages_per_reply = reader.count(value, &key.name),
            "messages_per_minute" => limits.messages_per_minute = reader.count(value, &key.name),
            "sessions_kept" if matches!(layer, PolicyLayer::Platform | PolicyLayer::Tenant) => {
                limits.sessions_kept = duration(reader, value, &key.name);
            }
            "sessions_kept" => {
                let hint = "one for the platform or the tenant".to_owned();
                reader.error(key.at, "'sessions_kept' cannot stand in a rule for some".to_owned(), Some(hint));
            }
            _ => limits.execution_mode = reader.word(value, &key.name, &modes),
        }
    }
    limits
}

fn duration(reader: &mut Reader, tree: &Node, what: &str) -> Option<Duration> {
    let Some(given) = crate::reader::written(tree) else {
        reader.error(tree.at, format!("'{what}' takes a time with its unit"), Some("for example 300s".to_owned()));
        return None;
    };
    let parsed = text::duration(given);
    if parsed.is_none() {
        let message = format!("'{what}' cannot be '{}'", text::one_line(given, 40));
        reader.error(tree.at, message, Some("write it like 500ms, 300s, 5m or 1h".to_owned()));
    }
    parsed
}

const GATES: [(&str, Gate); 5] = [
    ("everyone", Gate::Everyone),
    ("mention", Gate::Mention),
    ("allowlist", Gate::Allowlist),
    ("pairing", Gate::Pairing),
    ("nobody", Gate::Nobody),
];

fn gating(reader: &mut Reader, names: &Names, tree: &Node) -> SomeGating {
    let mut gating = SomeGating::default();
    for (key, value) in reader.fields(tree, "gating", &["groups", "direct", "bots", "bot_turns", "edits", "allowlist"])
    {
        match key.name.as_str() {
            "groups" => gating.groups = reader.word(value, &key.name, &GATES),
            "direct" => gating.direct = reader.word(value, &key.name, &GATES),
            "bots" => gating.bots = reader.boolean(value, &key.name),
            "bot_turns" => gating.bot_turns = reader.count(value, &key.name),
            "edits" => gating.edits = reader.boolean(value, &key.name),
            _ => gating.allowlist = Some(names.list(reader, value, "gating.allowlist", Takes::Both)),
        }
    }
    gating
}

/// Languages by their tags; `auto` follows the person.
const LOCALES: [(&str, Option<Locale>); 3] =
    [("auto", None), (Locale::En.as_str(), Some(Locale::En)), (Locale::ZhHans.as_str(), Some(Locale::ZhHans))];

fn replies(reader: &mut Reader, tree: &Node) -> SomeReplies {
    let mut replies = SomeReplies::default();
    let known = ["detail", "reference", "private_errors", "mentions", "locale"];
    for (key, value) in reader.fields(tree, "replies", &known) {
        match key.name.as_str() {
            "detail" => {
                replies.detail = reader.word(value, &key.name, &[("plain", Detail::Plain), ("full", Detail::Full)]);
            }
            "reference" => replies.reference = reader.boolean(value, &key.name),
            "private_errors" => replies.private_errors = reader.boolean(value, &key.name),
            "mentions" => replies.mentions = Some(mentions(reader, value)),
            _ => replies.locale = reader.word(value, &key.name, &LOCALES),
        }
    }
    replies
}

fn mentions(reader: &mut Reader, tree: &Node) -> Mentions {
    let mut mentions = Mentions::default();
    for item in reader.items(tree, "mentions") {
        match reader.word(item, "mentions", &[("users", 0), ("roles", 1), ("everyone", 2)]) {
            Some(0) => mentions.users = true,
            Some(1) => mentions.roles = true,
            Some(_) => mentions.everyone = true,
            None => {}
        }
    }
    mentions
}
