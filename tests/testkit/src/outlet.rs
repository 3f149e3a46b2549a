//! An outlet in the test's hand: it records what is sent, and fails as it is told.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use contract::{
    Address, Audience, Caller, DeliveryError, DeliveryKey, FileRef, Indicator, Op, Outlet, Pace, Part, Receipt, Reply,
    Scope, Source, Why, seams::ByteStream,
};
use dispatch::say;

/// What the outlet does with a request instead of carrying it out.
#[derive(Debug, Clone)]
pub enum Fault {
    Wait(Duration),
    NotSent,
    /// Carried out, but the answer is lost.
    UnsureAfter,
    UnsureBefore,
    Refused(Why),
    /// The adapter's code crashes.
    Panic,
}

/// A request that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// `post`, `replace`, `draft`, `remove`.
    pub op: &'static str,
    pub conversation: String,
    pub text: String,
    pub buttons: Vec<String>,
    pub audience: Audience,
}

/// Records requests, fails as told.
#[derive(Default)]
pub struct Recorder(Mutex<State>);

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    faults: VecDeque<Fault>,
    next: u64,
    begun: usize,
    indicated: Vec<(Indicator, Option<String>)>,
    /// By the platform's id: what a person sees.
    standing: BTreeMap<String, String>,
    /// By the key under which it was posted.
    posted: HashMap<String, Receipt>,
    finds: bool,
    /// How often it is yet to ask who looks up something to wait.
    busy: u32,
    private: bool,
    /// Answers in the making leave no message.
    fleeting: bool,
    pace: Pace,
    slow: Duration,
    part_chars: Option<usize>,
    roles: Vec<String>,
    /// Of which conversation it says no roles just now.
    silent_on: Option<String>,
    file: Option<bytes::Bytes>,
}

impl Recorder {
    /// Every file that a message names holds this.
    pub fn files_hold(&self, bytes: &'static [u8]) {
        self.lock().file = Some(bytes.into());
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    pub fn fail_next(&self, faults: impl IntoIterator<Item = Fault>) {
        self.lock().faults.extend(faults);
    }

    /// Requests that came in, carried out or not.
    pub fn begun(&self) -> usize {
        self.lock().begun
    }

    /// How often typing was shown.
    pub fn indicated(&self) -> usize {
        self.indicators().iter().filter(|(indicator, _)| *indicator == Indicator::Typing).count()
    }

    /// Every indicator, with the message that it was for.
    pub fn indicators(&self) -> Vec<(Indicator, Option<String>)> {
        self.lock().indicated.clone()
    }

    /// The texts that a person sees at the end: posted, replaced, not removed.
    pub fn standing(&self) -> Vec<String> {
        self.lock().standing.values().cloned().collect()
    }

    /// It can look up what was posted under a key.
    pub fn can_find(&self) {
        self.lock().finds = true;
    }

    /// It asks to wait so often before it looks up what was posted.
    pub fn finds_after(&self, waits: u32) {
        (self.lock().finds, self.lock().busy) = (true, waits);
    }

    /// It can show a message to its sender alone.
    pub fn can_be_private(&self) {
        self.lock().private = true;
    }

    /// It has a form of its own for answers in the making, which leaves no message.
    pub fn has_drafts(&self) {
        self.lock().fleeting = true;
    }

    pub fn takes(&self, pace: Pace) {
        self.lock().pace = pace;
    }

    /// Renders replies in parts of so many characters.
    pub fn split_at(&self, chars: usize) {
        self.lock().part_chars = Some(chars);
    }

    pub fn take_time(&self, slow: Duration) {
        self.lock().slow = slow;
    }

    /// The roles that everybody has everywhere.
    pub fn roles_are(&self, roles: &[&str]) {
        self.lock().roles = roles.iter().map(|r| (*r).to_owned()).collect();
    }

    /// It does not say who has which roles in a conversation.
    pub fn says_nothing_of(&self, conversation: Option<&str>) {
        self.lock().silent_on = conversation.map(str::to_owned);
    }

    /// Waits until so many requests were carried out.
    pub async fn wait_for(&self, count: usize) -> Vec<Seen> {
        for _ in 0..3_000 {
            let seen = self.seen();
            if seen.len() >= count {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("only {} of {count} requests came: {:?}", self.seen().len(), self.seen());
    }

    /// Requests without progress messages: what stays.
    pub fn finals(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| matches!(seen.op, "post" | "replace")).collect()
    }

    /// Waits until so many messages were sent that stay.
    pub async fn wait_for_finals(&self, count: usize) -> Vec<Seen> {
        crate::until(&format!("{count} messages that stay"), || self.finals().len() >= count).await;
        self.finals()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &DeliveryKey) -> Result<Receipt, DeliveryError> {
        let mut state = self.lock();
        if !state.finds {
            return Err(DeliveryError::Refused(Why::Unsupported));
        }
        if state.busy > 0 {
            state.busy -= 1;
            let until = SystemTime::now() + Duration::from_millis(20);
            return Err(DeliveryError::Wait { scope: Scope::Account, until });
        }
        state.posted.get(&key.to_string()).cloned().ok_or(DeliveryError::Refused(Why::Gone))
    }

    fn carry_out(&self, to: &Address, op: &Op<'_>, key: &DeliveryKey) -> Receipt {
        let mut state = self.lock();
        let (name, part, old) = match op {
            Op::Post(part) => ("post", Some(part), None),
            Op::Replace(old, part) => ("replace", Some(part), Some((*old).clone())),
            Op::Draft(old, part, _) => ("draft", Some(part), old.cloned()),
            Op::Remove(old) => ("remove", None, Some((*old).clone())),
            Op::Find => ("find", None, None),
        };
        let text = part.map(|p| if p.body.is_empty() { p.plain.clone() } else { p.body.clone() }).unwrap_or_default();
        state.seen.push(Seen {
            op: name,
            conversation: to.conversation.clone(),
            text: text.clone(),
            audience: part.map(|p| p.audience).unwrap_or_default(),
            buttons: part.map(|p| p.buttons.iter().map(|b| b.action.to_string()).collect()).unwrap_or_default(),
        });
        if state.fleeting && matches!(op, Op::Draft(None, _, Some(_))) {
            return Receipt::fleeting();
        }
        state.next += 1;
        let message = state.next.to_string();
        let receipt = old.unwrap_or_else(|| {
            let receipt = Receipt { message, private: contract::Opaque::default() };
            state.posted.insert(key.to_string(), receipt.clone());
            receipt
        });
        match part {
            Some(_) => state.standing.insert(receipt.message.clone(), text),
            None => state.standing.remove(&receipt.message),
        };
        receipt
    }
}

#[async_trait]
impl Outlet for Recorder {
    fn render(&self, reply: &Reply, _to: &Address) -> Vec<Part> {
        let mut text = say::plain(reply);
        if reply.maybe_repeated {
            text = format!("{}\n{text}", contract::reply::DUPLICATE_MARK);
        }
        let chars: Vec<char> = text.chars().collect();
        let size = self.lock().part_chars.unwrap_or(usize::MAX).min(chars.len().max(1));
        let mut parts: Vec<_> = chars
            .chunks(size)
            .map(|chunk| Part {
                body: chunk.iter().collect(),
                plain: chunk.iter().collect(),
                buttons: Vec::new(),
                files: Vec::new(),
                audience: reply.audience,
            })
            .collect();
        if let Some(last) = parts.last_mut() {
            last.buttons.clone_from(&reply.buttons);
        }
        parts
    }

    async fn send(&self, to: &Address, op: Op<'_>, key: &DeliveryKey) -> Result<Receipt, DeliveryError> {
        if matches!(op, Op::Find) {
            return self.find(key);
        }
        let (fault, slow) = {
            let mut state = self.lock();
            state.begun += 1;
            (state.faults.pop_front(), state.slow)
        };
        // Without markup there is none to refuse.
        let is_plain = matches!(&op, Op::Post(part) | Op::Replace(_, part) if part.body.is_empty());
        let fault = fault.filter(|fault| !(is_plain && matches!(fault, Fault::Refused(Why::Markup))));
        if !slow.is_zero() {
            tokio::time::sleep(slow).await;
        }
        match fault {
            None => Ok(self.carry_out(to, &op, key)),
            Some(Fault::Wait(time)) => {
                Err(DeliveryError::Wait { scope: Scope::Conversation, until: SystemTime::now() + time })
            }
            Some(Fault::NotSent) => Err(DeliveryError::NotSent("told to".into())),
            Some(Fault::UnsureBefore) => Err(DeliveryError::Unsure("told to".into())),
            Some(Fault::UnsureAfter) => {
                self.carry_out(to, &op, key);
                Err(DeliveryError::Unsure("told to".into()))
            }
            Some(Fault::Panic) => panic!("the outlet crashes on purpose"),
            Some(Fault::Refused(why)) => Err(DeliveryError::Refused(why)),
        }
    }

    async fn indicate(&self, to: &Address, indicator: Indicator) {
        self.lock().indicated.push((indicator, to.reply_to.clone()));
    }

    fn can_be_private(&self, to: &Address) -> bool {
        to.direct || self.lock().private
    }

    fn pace(&self, _to: &Address) -> Pace {
        self.lock().pace
    }

    fn fallback(&self, to: &Address) -> Option<Address> {
        to.thread.is_some().then(|| Address { thread: None, ..to.clone() })
    }
}

#[async_trait]
impl Source for Recorder {
    async fn open(&self, _file: &FileRef) -> Result<ByteStream, DeliveryError> {
        let file = self.lock().file.clone();
        let bytes = file.ok_or(DeliveryError::Refused(Why::Gone))?;
        Ok(Box::pin(futures_util::stream::iter([Ok(bytes)])))
    }

    async fn roles(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        let state = self.lock();
        let is_away = state.silent_on.as_ref().is_some_and(|place| *place == who.conversation);
        if is_away { Err(DeliveryError::NotSent("away".into())) } else { Ok(state.roles.clone()) }
    }

    async fn roles_to_write(&self, who: &Caller) -> Result<Vec<String>, DeliveryError> {
        self.roles(who).await
    }
}
