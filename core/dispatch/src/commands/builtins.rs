//! What the gateway answers itself, by name. Pure.

use contract::TurnId;
use serde_json::{Map, Value, json};

use super::Command;

/// What the gateway answers itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Builtin {
    Start,
    Help,
    Tools(String),
    /// The tools and toolsets that the session uses alone from now on; all of them where it says nothing.
    Mount(Option<Vec<String>>),
    Trace(String),
    Stop,
    New,
    Status,
    Sessions,
    /// A place in the list of sessions, or an id.
    Resume(String),
    /// Something to keep; what is kept, where it says nothing.
    Keep(String),
    /// The number of something that was kept.
    Forget(String),
    /// A yes to a call that waits: its id.
    Approve(String),
    /// A no: its id, and why.
    Deny(String),
    Approvals,
    /// What is written behind it; nothing lists what there is.
    Schedule(String),
    /// A press of Details.
    Details(TurnId),
}

impl Builtin {
    /// Whether its answer is for the one who asked alone, where a platform can do that.
    pub fn is_private(&self) -> bool {
        match self {
            Self::Start
            | Self::Help
            | Self::Tools(_)
            | Self::Trace(_)
            | Self::Stop
            | Self::Status
            | Self::Sessions
            | Self::Keep(_)
            | Self::Forget(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Approvals
            | Self::Schedule(_)
            | Self::Details(_) => true,
            // They concern everybody in the conversation.
            Self::New | Self::Resume(_) | Self::Mount(_) => false,
        }
    }

    /// The built-in of that name, with what is written behind it.
    pub(super) fn named(name: &str, rest: &str) -> Option<Self> {
        let rest = rest.trim();
        Some(match name {
            "start" => Self::Start,
            "help" => Self::Help,
            "tools" => tools(rest),
            "trace" => Self::Trace(rest.to_owned()),
            "stop" => Self::Stop,
            "new" => Self::New,
            "status" => Self::Status,
            "sessions" => Self::Sessions,
            "resume" => Self::Resume(rest.to_owned()),
            "keep" => Self::Keep(rest.to_owned()),
            "forget" => Self::Forget(rest.to_owned()),
            "approvals" => Self::Approvals,
            "schedule" | "schedules" => Self::Schedule(rest.to_owned()),
            "approve" => Self::Approve(rest.to_owned()),
            "deny" => Self::Deny(rest.to_owned()),
            _ => return None,
        })
    }
}

/// `only NAME NAME` and `all` are about the session; any other word narrows the list that is shown.
fn tools(rest: &str) -> Builtin {
    let mut words = rest.split_whitespace();
    match (words.next(), words.next()) {
        (Some(only), _) if only.eq_ignore_ascii_case("only") => {
            let names = rest[only.len()..].split(|c: char| c.is_whitespace() || c == ',');
            Builtin::Mount(Some(names.filter(|name| !name.is_empty()).map(str::to_owned).collect()))
        }
        (Some(all), None) if all.eq_ignore_ascii_case("all") => Builtin::Mount(None),
        _ => Builtin::Tools(rest.to_owned()),
    }
}

/// Name and one line of help for each built-in, in the order in which people are shown them.
pub const BUILTINS: [(&str, &str); 15] = [
    ("help", "what can be done here"),
    ("tools", "the tools that you can use here; /tools WORD narrows it"),
    ("trace", "what happened in a request: /trace REF"),
    ("stop", "stop what is running for you"),
    ("new", "start a new conversation; /resume goes back to the one before"),
    ("status", "what is running and how the gateway fares"),
    ("sessions", "your earlier conversations here"),
    ("resume", "go back to an earlier conversation: /resume NUMBER"),
    ("keep", "keep something about you in mind: /keep TEXT; alone, what is kept"),
    ("forget", "forget something that was kept: /forget NUMBER"),
    ("approvals", "calls that wait for an answer of yours"),
    ("approve", "let a call that waits run: /approve ID"),
    ("deny", "do not let it run: /deny ID REASON"),
    ("schedule", "run something when it is time: /schedule add WHEN say WHAT; alone, your schedules"),
    ("start", "the first words"),
];

/// JSON Schema of a built-in's arguments.
pub(crate) fn parameters(name: &str) -> Value {
    let one = |field: &str, description: &str, required: bool| {
        let mut properties = Map::new();
        properties.insert(field.to_owned(), json!({ "type": "string", "description": description }));
        match required {
            true => json!({ "type": "object", "required": [field], "properties": properties }),
            false => json!({ "type": "object", "properties": properties }),
        }
    };
    match name {
        "schedule" => scheduling(),
        "trace" => one("reference", "what stands at the end of an answer", true),
        "tools" => one("word", "a word that narrows the list; 'only NAME NAME' or 'all' for this session", false),
        "resume" => one("session", "its number in /sessions", true),
        "keep" => one("text", "what to keep; nothing to see what is kept", false),
        "forget" => one("number", "its number in /keep", true),
        "approve" => one("id", "what stands on the question", true),
        "deny" => {
            let text = |description: &str| json!({ "type": "string", "description": description });
            let properties =
                json!({ "id": text("what stands on the question"), "why": text("a reason for whoever asked") });
            json!({ "type": "object", "required": ["id"], "properties": properties })
        }
        _ => json!({ "type": "object" }),
    }
}

fn scheduling() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let action = json!({ "type": "string", "enum": ["list", "add", "pause", "resume", "remove", "run"],
                         "description": "what to do; nothing lists your schedules" });
    json!({ "type": "object", "properties": {
        "action": action,
        "when": text("to add: every weekday at 8:00, every 15 minutes, at 2026-12-01 09:00, or 0 8 * * 1-5"),
        "say": text("to add: a command, or words"),
        "zone": text("to add: a time zone, as Europe/Berlin"),
        "to": text("to add: where the answers go, as slack:main/C0123; here if nothing is said"),
        "id": text("to pause, resume, remove or run: the id in the list"),
    } })
}

/// A schedule whose parts were collected one by one, as it would have been written.
fn scheduled(args: &Map<String, Value>) -> String {
    let given = |field: &str| args.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let action = given("action").unwrap_or(if given("when").or(given("say")).is_some() { "add" } else { "list" });
    if action != "add" {
        return format!("{action} {}", given("id").unwrap_or_default());
    }
    let part = |word: &str, field: &str| given(field).map(|text| format!(" {word} {text}")).unwrap_or_default();
    format!(
        "add {}{}{}{}",
        given("when").unwrap_or_default(),
        part("zone", "zone"),
        part("to", "to"),
        part("say", "say")
    )
}

/// The built-in of a name whose arguments a platform collected one by one.
pub(super) fn filled(name: &str, args: &Map<String, Value>) -> Option<Command> {
    if name == "schedule" {
        return Some(Command::Builtin(Builtin::Schedule(scheduled(args))));
    }
    let schema = parameters(name);
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flat_map(|fields| fields.keys());
    let words = fields.filter_map(|field| match args.get(field) {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        Some(Value::Null) | None => None,
        Some(value) => Some(value.to_string()),
    });
    let rest = words.collect::<Vec<_>>().join(" ");
    Builtin::named(name, &rest).map(Command::Builtin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_narrows_the_list_and_only_and_all_are_about_the_session() {
        let names = |names: &[&str]| Builtin::Mount(Some(names.iter().map(|name| (*name).to_owned()).collect()));
        assert_eq!(tools(""), Builtin::Tools(String::new()));
        assert_eq!(tools("weather"), Builtin::Tools("weather".into()));
        assert_eq!(tools("all of it"), Builtin::Tools("all of it".into()));
        assert_eq!(tools("only orders, weather"), names(&["orders", "weather"]));
        assert_eq!(tools("ONLY  orders"), names(&["orders"]));
        assert_eq!(tools("only"), names(&[]));
        assert_eq!(tools("All"), Builtin::Mount(None));
    }

    #[test]
    fn what_a_platform_collected_is_what_would_have_been_written() {
        let args = |args: Value| args.as_object().cloned().unwrap();
        let read = |name, given| match filled(name, &args(given)) {
            Some(Command::Builtin(builtin)) => builtin,
            other => panic!("{other:?}"),
        };
        assert_eq!(read("resume", json!({ "session": 2 })), Builtin::Resume("2".into()));
        assert_eq!(read("keep", json!({})), Builtin::Keep(String::new()));
        assert_eq!(read("tools", json!({ "word": "all" })), Builtin::Mount(None));
        assert_eq!(filled("weather", &args(json!({}))), None);
    }
}
