//! People's names and languages, which Slack's events do not carry: looked up beside the way of a message, so that a
//! later one has them. Nobody waits for it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use contract::{Locale, Message};
use tokio::time::Instant;

use crate::{
    Slack,
    api::Problem,
    inbound::{Slip, text},
    lock,
    memory::Recent,
};

/// Slack takes a hundred look-ups a minute.
const EVERY: Duration = Duration::from_millis(700);
/// An app without the scope is not asked again before.
const WITHOUT_SCOPE: Duration = Duration::from_secs(3_600);

/// Who is known so far.
pub(crate) struct People {
    known: Mutex<Recent<String, Person>>,
    /// When the next look-up may be made.
    due: Mutex<Instant>,
}

/// What is known of somebody; nothing yet while it is looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Person {
    name: String,
    locale: Option<String>,
}

impl People {
    pub(crate) fn new() -> Self {
        Self { known: Mutex::default(), due: Mutex::new(Instant::now()) }
    }

    /// Adds what is known of the sender; gives the id that is to be looked up, if it is and may be now.
    pub(crate) fn complete(&self, message: &mut Message) -> Option<String> {
        let id = &message.sender.id;
        if let Some(person) = lock(&self.known).get(id) {
            message.locale = message.locale.take().or_else(|| person.locale.clone());
            if message.sender.name.is_empty() {
                message.sender.name.clone_from(&person.name);
            }
            return None;
        }
        if message.from_bot || !id.starts_with(['U', 'W']) || Instant::now() < *lock(&self.due) {
            return None;
        }
        *lock(&self.due) = Instant::now() + EVERY;
        lock(&self.known).put(id.clone(), Person::default());
        Some(id.clone())
    }

    /// Looks somebody up.
    pub(crate) async fn look_up(slack: Arc<Slack>, people: Arc<Self>, id: String) {
        match slack.api.ask("users.info", &[("user", &id), ("include_locale", "true")]).await {
            Ok(answer) => {
                let user = answer.get("user").cloned().unwrap_or_default();
                let profile = |key| user.get("profile").and_then(|profile| text(profile, key));
                let name = profile("display_name").or_else(|| profile("real_name")).or_else(|| text(&user, "name"));
                let locale = text(&user, "locale").map(str::to_lowercase);
                lock(&people.known).put(id, Person { name: name.unwrap_or_default().to_owned(), locale });
            }
            Err(problem) => {
                tracing::debug!(account = slack.account, ?problem, "somebody was not looked up");
                let pause = match &problem {
                    Problem::Wait(wait) => *wait + EVERY,
                    Problem::Refused { code, .. } if code == "missing_scope" => WITHOUT_SCOPE,
                    Problem::Refused { code, .. } => return slack.ended(code),
                    Problem::NotSent(_) | Problem::Unsure(_) => EVERY * 10,
                };
                *lock(&people.due) = Instant::now() + pause;
                lock(&people.known).take(&id);
            }
        }
    }
}

/// The language in which the sender is answered goes along with the address: the outlet has words of its own.
pub(crate) fn tell_locale(message: &mut Message) -> Locale {
    let locale = words::locale_of(message, None);
    if locale != Locale::default() {
        message.address.private = Slip { locale, ..Slip::of(&message.address.private) }.opaque();
    }
    locale
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message() -> Message {
        let payload = json!({"event": {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": "x", "ts": "1.1"}});
        crate::inbound::event(&payload, &Default::default(), "main").expect("a message")
    }

    #[test]
    fn somebody_is_looked_up_once_and_known_then() {
        let people = People::new();
        let mut first = message();
        assert_eq!(people.complete(&mut first).as_deref(), Some("U1"));
        assert_eq!(people.complete(&mut first), None, "it is under way");
        assert_eq!((first.locale.clone(), first.sender.name.as_str()), (None, ""));
        lock(&people.known).put("U1".into(), Person { name: "Ann".into(), locale: Some("zh-cn".into()) });
        let mut second = message();
        assert_eq!(people.complete(&mut second), None);
        assert_eq!((second.locale.as_deref(), second.sender.name.as_str()), (Some("zh-cn"), "Ann"));
        assert_eq!(tell_locale(&mut second), Locale::ZhHans);
        let slip = Slip::of(&second.address.private);
        assert_eq!((slip.locale, slip.user.as_str()), (Locale::ZhHans, "U1"));
        assert_eq!((tell_locale(&mut first), Slip::of(&first.address.private).locale), (Locale::En, Locale::En));
    }
}
