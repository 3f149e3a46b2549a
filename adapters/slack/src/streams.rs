//! Streams: an answer in the making as a message in a thread to which text is added, where Slack takes one.
//!
//! A stream only grows. Whatever else is to happen to its message, it is stopped first, and is then a message like any
//! other, which is edited.

use std::{
    collections::HashMap,
    time::{Duration, Instant, SystemTime},
};

use contract::{Address, Audience, DeliveryError, DeliveryKey, Opaque, Part, Receipt, Scope, TurnId, Why};
use serde_json::{Value, json};

use crate::{
    Slack,
    api::Problem,
    inbound::{Slip, array, text},
    lock,
    memory::Recent,
    outlet::Sent,
    post, refusal,
};

/// What a receipt says of a message that was begun as a stream.
const STREAM: &str = "stream";
/// Streams that grow at once: each needs one of the twenty stops that a minute has.
const MOST_OPEN: usize = 10;
/// Slack ends a stream by itself before this; whoever began it is gone.
const OPEN_FOR: Duration = Duration::from_secs(900);
/// After this time a conversation that refused is tried again.
const REFUSED_FOR: Duration = Duration::from_secs(3_600);
/// Characters of one request.
const MOST_TEXT: usize = 12_000;
/// Twenty starts a minute are Slack's; with as many stops as there are streams, half of them can be used.
const STARTS: Budget = Budget { burst: 5, every: Duration::from_secs(12), next: None };
/// A hundred a minute.
const APPENDS: Budget = Budget { burst: 20, every: Duration::from_millis(750), next: None };
/// Fifty changes of messages a minute, of which answers need some.
const EDITS: Budget = Budget { burst: 10, every: Duration::from_millis(1_500), next: None };

/// How often something may be done in the whole workspace.
#[derive(Debug)]
struct Budget {
    burst: u32,
    every: Duration,
    /// When it would be full again.
    next: Option<Instant>,
}

impl Budget {
    /// Takes one; else how long it is until there is one.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let next = self.next.map_or(now, |next| next.max(now));
        let room = self.every * (self.burst - 1);
        match (next - now).checked_sub(room).filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                self.next = Some(next + self.every);
                Ok(())
            }
        }
    }

    /// There is none for so long.
    fn hold(&mut self, wait: Duration) {
        self.next = Some(Instant::now() + wait + self.every * (self.burst - 1));
    }
}

/// Conversation and message.
type Place = (String, String);

#[derive(Debug)]
struct Open {
    turn: TurnId,
    /// What it says; nothing while that is not known.
    said: Option<String>,
    grew: Instant,
}

/// What is remembered of streams.
pub(crate) struct Streams {
    open: HashMap<Place, Open>,
    refused: Recent<String, Instant>,
    starts: Budget,
    appends: Budget,
    edits: Budget,
}

impl Default for Streams {
    fn default() -> Self {
        let (open, refused) = (HashMap::new(), Recent::default());
        Self { open, refused, starts: STARTS, appends: APPENDS, edits: EDITS }
    }
}

impl Streams {
    fn may_start(&mut self, conversation: &str) -> bool {
        let now = Instant::now();
        self.open.retain(|_, open| now - open.grew < OPEN_FOR);
        let refused = self.refused.get(&conversation.to_owned()).is_some_and(|since| now - *since < REFUSED_FOR);
        !refused && self.open.len() < MOST_OPEN && self.starts.take(now).is_ok()
    }

    fn opened(&mut self, place: Place, turn: TurnId, said: Option<String>) {
        self.open.insert(place, Open { turn, said, grew: Instant::now() });
    }

    /// What is to be added so that the stream says `new`; nothing where adding cannot do it.
    fn rest(&self, place: &Place, new: &str) -> Option<String> {
        let said = self.open.get(place)?.said.as_deref()?;
        // A little less is no other text: what is half written is held back.
        if said.starts_with(new) {
            return Some(String::new());
        }
        Some(new.strip_prefix(said)?.to_owned()).filter(|rest| rest.chars().count() <= MOST_TEXT)
    }

    fn says(&mut self, place: &Place, said: Option<String>) {
        if let Some(open) = self.open.get_mut(place) {
            (open.said, open.grew) = (said, Instant::now());
        }
    }

    /// Whether a stream is one of this turn, or of nobody who is known.
    fn is_free(&self, place: &Place, turn: TurnId) -> bool {
        self.open.get(place).is_none_or(|open| open.turn == turn)
    }
}

fn is_stream(receipt: &Receipt) -> bool {
    receipt.private.reveal() == STREAM
}

fn stream(message: &str) -> Receipt {
    Receipt { message: message.to_owned(), private: Opaque::new(STREAM).unwrap_or_default() }
}

/// The text as a stream may show it: nobody is pinged and no address is fetched for a preview while the answer is being
/// made. The beginning of a text stays the beginning of what this gives.
fn tame(text: &str) -> String {
    let mut tame = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        tame.push(c);
        let breaks = match (c, chars.peek()) {
            ('<', Some(next)) => matches!(next, '@' | '#' | '!'),
            ('@', Some(next)) => next.is_alphanumeric(),
            ('/', Some('/')) => before == ':',
            _ => false,
        };
        if breaks {
            tame.push('\u{2060}');
        }
        before = c;
    }
    tame
}

/// A message of ours that was begun as a stream, by an earlier life that did not come to stop it.
fn is_left_over(message: &Value, me: &str) -> bool {
    let is_markdown = |block: &Value| block["type"] == "markdown";
    let has_key = post::key_of(message).is_some() || !array(message, "files").is_empty();
    let grew = message.get("streaming_state").is_some() || array(message, "blocks").iter().any(is_markdown);
    text(message, "user") == Some(me) && !has_key && grew
}

impl Slack {
    /// Begins a stream; nothing where it has to be a message.
    pub(crate) async fn begin_stream(&self, to: &Address, part: &Part, said: &str, key: &DeliveryKey) -> Option<Sent> {
        let thread = to.thread.as_ref().filter(|_| part.files.is_empty() && part.audience == Audience::Everyone)?;
        let mut body = json!({"channel": to.conversation, "thread_ts": thread});
        if !to.direct {
            // In a channel it grows before the eyes of one person; the others see its beginning and its end.
            let (user, me) = (Slip::of(&to.private).user, self.intake()?.me());
            if user.is_empty() || me.team.is_empty() || me.organisation.is_some() {
                return None;
            }
            body["recipient_user_id"] = json!(user);
            body["recipient_team_id"] = json!(me.team);
        }
        let said = tame(said);
        if said.chars().count() > MOST_TEXT || !lock(&self.streams).may_start(&to.conversation) {
            return None;
        }
        body["markdown_text"] = json!(said);
        match self.api.call("chat.startStream", &body).await {
            Ok(answer) => {
                let Some(ts) = text(&answer, "ts") else {
                    return Some(Err(DeliveryError::Unsure("an answer without a message".into())));
                };
                lock(&self.streams).opened((to.conversation.clone(), ts.to_owned()), key.turn, Some(said));
                Some(Ok(stream(ts)))
            }
            Err(Problem::Wait(wait)) => {
                lock(&self.streams).starts.hold(wait);
                None
            }
            Err(Problem::Refused { code, .. }) => {
                tracing::debug!(account = self.account, code, "a conversation takes no streams");
                if refusal::why(&code) != Why::Markup {
                    lock(&self.streams).refused.put(to.conversation.clone(), Instant::now());
                }
                None
            }
            Err(problem) => Some(Err(self.explain(problem, to))),
        }
    }

    /// Shows what an answer in the making says now: by adding to its stream, else by an edit.
    pub(crate) async fn redraft(
        &self,
        to: &Address,
        old: &Receipt,
        part: &Part,
        said: Option<&str>,
        key: &DeliveryKey,
    ) -> Sent {
        if let Some(said) = said.filter(|_| is_stream(old))
            && let Some(sent) = self.append(to, old, said).await
        {
            return sent;
        }
        let room = lock(&self.streams).edits.take(Instant::now());
        match room {
            Ok(()) => self.replace(to, old, part, key).await,
            Err(wait) => Err(later(wait)),
        }
    }

    /// Nothing where the text is not what the stream says with more behind it, or the stream has ended.
    async fn append(&self, to: &Address, old: &Receipt, said: &str) -> Option<Sent> {
        let place = (to.conversation.clone(), old.message.clone());
        let said = tame(said);
        let (before, rest) = {
            let mut streams = lock(&self.streams);
            let rest = streams.rest(&place, &said)?;
            if rest.is_empty() {
                return Some(Ok(old.clone()));
            }
            if let Err(wait) = streams.appends.take(Instant::now()) {
                return Some(Err(later(wait)));
            }
            // Should no answer come, it is not known what the stream says.
            let before = streams.open.get(&place).and_then(|open| open.said.clone());
            streams.says(&place, None);
            (before, rest)
        };
        let body = json!({"channel": place.0, "ts": place.1, "markdown_text": rest});
        match self.api.call("chat.appendStream", &body).await {
            Ok(_) => {
                lock(&self.streams).says(&place, Some(said));
                Some(Ok(old.clone()))
            }
            Err(Problem::Refused { code, .. }) => {
                tracing::debug!(account = self.account, code, "a stream takes no more");
                None
            }
            Err(problem) => {
                if matches!(problem, Problem::Wait(_) | Problem::NotSent(_)) {
                    lock(&self.streams).says(&place, before);
                }
                Some(Err(self.explain(problem, to)))
            }
        }
    }

    /// Makes a message like any other of what may be a stream; one that has ended or is gone is none.
    pub(crate) async fn end_stream(
        &self,
        to: &Address,
        old: &Receipt,
        key: &DeliveryKey,
    ) -> Result<Receipt, DeliveryError> {
        if !is_stream(old) {
            return Ok(old.clone());
        }
        lock(&self.streams).open.remove(&(to.conversation.clone(), old.message.clone()));
        let body = json!({"channel": to.conversation, "ts": old.message, "metadata": post::metadata(key)});
        match self.api.call("chat.stopStream", &body).await {
            Ok(_) | Err(Problem::Refused { .. }) => {
                Ok(Receipt { message: old.message.clone(), private: Opaque::default() })
            }
            Err(problem) => Err(self.explain(problem, to)),
        }
    }

    /// Among the messages of a thread a stream that an earlier life began for this turn. It carries no key before it is
    /// stopped: what tells it is that nobody stopped it.
    pub(crate) fn left_over(&self, to: &Address, messages: &[Value], key: &DeliveryKey) -> Option<Receipt> {
        if key.part != DeliveryKey::DRAFT || to.thread.is_none() {
            return None;
        }
        let me = self.intake()?.me();
        let mut streams = lock(&self.streams);
        let all = messages.iter().rev().filter(|message| is_left_over(message, &me.user));
        let mut all = all.filter_map(|message| text(message, "ts"));
        let ts = all.find(|ts| streams.is_free(&(to.conversation.clone(), (*ts).to_owned()), key.turn))?;
        streams.opened((to.conversation.clone(), ts.to_owned()), key.turn, None);
        Some(stream(ts))
    }
}

fn later(wait: Duration) -> DeliveryError {
    DeliveryError::Wait { scope: Scope::Conversation, until: SystemTime::now() + wait }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_at_once_and_then_at_its_pace() {
        for (mut budget, per_minute) in [(STARTS, 10), (APPENDS, 100), (EDITS, 50)] {
            let begun = Instant::now();
            let mut taken = 0;
            for ms in (0..=60_000).step_by(10) {
                taken += u32::from(budget.take(begun + Duration::from_millis(ms)).is_ok());
            }
            assert_eq!(taken, per_minute);
        }
        let mut budget = STARTS;
        budget.hold(Duration::from_secs(30));
        let wait = budget.take(Instant::now()).unwrap_err();
        assert!(wait > Duration::from_secs(29) && wait <= Duration::from_secs(30), "{wait:?}");
        assert!(budget.take(Instant::now() + Duration::from_secs(30)).is_ok());
    }

    #[test]
    fn only_so_many_streams_grow_at_once_and_a_conversation_that_refused_has_none() {
        let mut streams = Streams::default();
        streams.starts.every = Duration::ZERO;
        for n in 0..MOST_OPEN {
            assert!(streams.may_start("C"));
            streams.opened(("C".into(), n.to_string()), TurnId::new(), None);
        }
        assert!(!streams.may_start("C"));
        streams.open.clear();
        streams.refused.put("C".into(), Instant::now());
        assert!(!streams.may_start("C") && streams.may_start("D"));
    }

    #[test]
    fn what_grows_is_added_to_and_what_changed_is_not() {
        let (mut streams, place) = (Streams::default(), ("C".to_owned(), "1.1".to_owned()));
        assert_eq!(streams.rest(&place, "So"), None, "nobody knows of it");
        streams.opened(place.clone(), TurnId::new(), Some("So far".into()));
        let rest = |streams: &Streams, text: &str| streams.rest(&place, text);
        assert_eq!(rest(&streams, "So far, so good").as_deref(), Some(", so good"));
        assert_eq!(rest(&streams, "So").as_deref(), Some(""), "what is half written is held back");
        assert_eq!(rest(&streams, "Once more"), None);
        assert_eq!(rest(&streams, &format!("So far{}", "x".repeat(MOST_TEXT + 1))), None);
        streams.says(&place, None);
        assert_eq!(rest(&streams, "So far, so good"), None, "an answer that did not come");
    }

    #[test]
    fn a_stream_pings_nobody_and_its_beginning_stays_its_beginning() {
        let text = "<@U1> <!channel> <#C1> @everyone ann@e.test https://e.test/?a=b ![x](http://e.test) a<b a//b 1 @ 2";
        let whole = tame(text);
        let shown = "<·@·U1> <·!channel> <·#C1> @·everyone ann@·e.test https:/·/e.test/?a=b ![x](http:/·/e.test) a<b a//b 1 @ 2";
        assert_eq!(whole.replace('\u{2060}', "·"), shown);
        for at in text.char_indices().map(|(at, _)| at) {
            assert!(whole.starts_with(&tame(&text[..at])), "{at}");
        }
    }
}
