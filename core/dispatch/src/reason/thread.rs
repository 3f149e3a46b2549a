//! What the model reads in a turn: the words of the system, what is remembered, the message, the steps so far.
//!
//! Grows by what each step gave; what was told stays as it was told, so that providers' caches hold, until the window
//! is full: then the oldest turns fall out whole, and of a long turn the oldest results are shortened first.

use std::sync::Arc;

use contract::{Call, Kind, Outcome, records::ModelStep};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    artefacts, bridge,
    lane::joined,
    model::{About, Answered, Prompt, Said, Wish},
    planner::{Planned, TurnView},
    reason::{
        asked,
        budget::{self, Budget},
        call_id, flat, history,
        judge::{Record, Why},
        legal, system, told,
    },
    session,
};

/// What is left of a result that is shortened, in characters.
const SHORTENED: usize = 400;
/// Least characters of a message that is longer than the window.
const MESSAGE_LEAST: usize = 2_000;

/// A planner's own from step to step of a turn.
#[derive(Default)]
pub(crate) struct Thread {
    judged: Record,
    /// Which calls of each step failed as they had failed before.
    again: Vec<Vec<bool>>,
    begun: Option<Begun>,
    /// Messages that were said while the turn ran and are among what is told.
    joined: usize,
}

struct Begun {
    system: String,
    tools: Arc<Value>,
    messages: Vec<Said>,
    /// Where each earlier turn ends; the last is where this turn begins.
    borders: Vec<usize>,
    /// What stands ahead of the oldest entry, whichever it is.
    ahead: String,
    /// Steps whose results are among the messages.
    steps: usize,
    budget: Budget,
    /// Tokens that a prompt may have.
    room: u64,
    /// Tokens of what stands in every prompt.
    fixed: u64,
}

impl Thread {
    /// Once a turn: memory is read, the message stands at the end.
    pub async fn begin(&mut self, turn: &TurnView<'_>, about: &About) {
        if self.begun.is_some() {
            return;
        }
        let delegates = turn.under.map_or(0, |under| under.delegations) < turn.cx.limits.delegation;
        let list = turn.list();
        let offer = list.offer(about.context_tokens, delegates);
        if offer.is_bridged {
            turn.cx.snapshot.prepare_index(&turn.cx.inner.tasks);
        }
        let tools = offer.described.clone();
        let system = system::text(turn);
        let fixed = budget::tokens(&system) + offer.tokens;
        // What this turn's results will need is free from the beginning, so that history need not move for each of them.
        let room = budget::room(about);
        let free = (room - room / 4).saturating_sub(fixed + budget::tokens(turn.record.message.text()));
        let free = usize::try_from(free).unwrap_or(usize::MAX);
        let memory = match &turn.record.message.kind {
            _ if turn.under.is_some() => session::Memory::default(),
            Kind::Retold { before, .. } => session::retold(before, free),
            _ => session::recall(turn.cx, free).await,
        };
        let (mut messages, borders) = history::told(&memory, !turn.record.message.address.direct);
        messages.push(asked::said(turn, &turn.record.message, about, history::known(&memory)).await);
        let budget = Budget::of(about, turn.cx.limits.result_chars);
        let ahead = history::ahead(&memory);
        let mut begun = Begun { system, tools, messages, borders, ahead, steps: 0, budget, room, fixed };
        begun.put_ahead();
        begun.fit(room - room / 4);
        self.begun = Some(begun);
    }

    /// A step's calls as they are to be run: none at a tool that was refused in this turn.
    pub fn planned(&self, step: &ModelStep) -> Vec<Planned> {
        let planned = |call: &Call| match self.judged.refused(bridge::named(call)) {
            Some(failure) => Planned { call: call.clone(), unreadable: Some(failure.clone()) },
            None => Planned::wished(call),
        };
        step.calls.iter().map(planned).collect()
    }

    /// How a step's calls ended.
    pub fn ended(&mut self, step: &ModelStep, outcomes: &[Outcome]) {
        let again = self.judged.take(step, outcomes);
        self.again.push(again);
    }

    pub(super) fn verdict(&self) -> Option<Why> {
        self.judged.verdict()
    }

    /// Takes the steps that ended since among what is told. What a failed call was told, or one that was cut, stands on
    /// its node too.
    pub async fn absorb(&mut self, turn: &TurnView<'_>) {
        let Some(begun) = &mut self.begun else { return };
        for (n, (step, outcomes)) in turn.plan.iter().zip(turn.steps).enumerate().skip(begun.steps) {
            begun.messages.push(Said::Model(answered(step)));
            let again = self.again.get(n).map_or(&[][..], Vec::as_slice);
            let told = begun.told(turn, outcomes, again).await;
            for ((call, outcome), content) in step.calls.iter().zip(outcomes).zip(told) {
                let failed = outcome.result.is_err();
                if failed || content.is_cut {
                    turn.cx.told(&outcome.path, &content.text);
                }
                let (call, tool) = (call_id(&call.path), legal(&call.tool));
                begun.messages.push(Said::Result { call, tool, content: content.text, failed });
            }
            begun.steps += 1;
        }
        begun.offer_reading();
        begun.shorten_oldest(begun.budget.turn);
        begun.fit(begun.room);
    }

    /// What the person said since.
    pub async fn join(&mut self, turn: &TurnView<'_>, about: &About) {
        let Some(begun) = self.begun.as_mut().filter(|_| turn.under.is_none()) else { return };
        let joined = joined::joined(turn.cx, turn.plan.is_empty()).await;
        for record in &joined[self.joined.min(joined.len())..] {
            turn.cx.brings(&record.message.files);
            begun.messages.push(asked::said(turn, &record.message, about, String::new()).await);
            self.joined += 1;
            begun.fit(begun.room);
        }
    }

    /// After its model found it too long all the same. False when nothing more can be left out.
    pub fn shrink(&mut self) -> bool {
        let Some(begun) = &mut self.begun else { return false };
        let before = begun.weight();
        begun.room = before / 2;
        begun.fit(begun.room);
        begun.weight() < before
    }

    /// Something that only the next step is told.
    pub fn note(&mut self, text: &str) -> Noted<'_> {
        if let Some(begun) = &mut self.begun {
            begun.messages.push(Said::Person { text: noted(text), images: Vec::new() });
        }
        Noted(self)
    }

    pub fn prompt(&self, deadline: Instant) -> Option<Prompt<'_>> {
        let Begun { system, tools, messages, .. } = self.begun.as_ref()?;
        Some(Prompt { system, tools, messages, deadline })
    }

    /// The same for a step without tools: some providers take no call in a history where no tool is listed.
    pub fn flat(&self, note: Option<&str>) -> Option<(&str, Vec<Said>)> {
        let begun = self.begun.as_ref()?;
        let mut messages = flat::told(&begun.messages);
        if let Some(note) = note {
            flat::push(&mut messages, noted(note), Vec::new());
        }
        Some((&begun.system, messages))
    }
}

/// A thread with a note at its end, which goes with this.
pub(crate) struct Noted<'a>(&'a mut Thread);

impl Noted<'_> {
    pub fn thread(&self) -> &Thread {
        self.0
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        if let Some(begun) = &mut self.0.begun {
            begun.messages.pop();
        }
    }
}

fn noted(text: &str) -> String {
    format!("[From the gateway, not from a person: {text}]")
}

/// A result as it is told.
struct Content {
    text: String,
    is_cut: bool,
}

impl Begun {
    async fn told(&self, turn: &TurnView<'_>, outcomes: &[Outcome], again: &[bool]) -> Vec<Content> {
        let again = again.iter().copied().chain(std::iter::repeat(false));
        let whole: Vec<_> = outcomes.iter().zip(again).map(|(o, again)| told::Whole::of(o, again)).collect();
        let sizes: Vec<usize> = whole.iter().map(|w| w.chars).collect();
        let most = self.budget.share(&sizes);
        let mut told = Vec::with_capacity(whole.len());
        for (whole, outcome) in whole.into_iter().zip(outcomes) {
            let is_cut = whole.chars > most;
            // What is read on is kept already.
            let kept = match is_cut && outcome.result.is_ok() && outcome.tool != artefacts::READ {
                true => artefacts::keep(turn.cx, whole.text()).await,
                false => None,
            };
            told.push(Content { is_cut, text: whole.within(most, kept) });
        }
        told
    }

    /// Once something was kept there is something to read on in; until then the tool would only cost its description.
    fn offer_reading(&mut self) {
        let is_kept = |said: &Said| match said {
            Said::Result { content, failed: false, .. } => artefacts::noted(content).is_some(),
            _ => false,
        };
        let Value::Array(tools) = &*self.tools else { return };
        let named = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
        if tools.iter().any(|tool| named(tool) == artefacts::READ) || !self.messages[self.own()..].iter().any(is_kept) {
            return;
        }
        let mut tools = tools.clone();
        let reading = artefacts::described();
        self.fixed += budget::json(&reading);
        tools.push(reading);
        tools.sort_by_key(named);
        self.tools = Arc::new(Value::Array(tools));
    }

    fn own(&self) -> usize {
        self.borders.last().copied().unwrap_or(0)
    }

    fn weight(&self) -> u64 {
        self.fixed + self.messages.iter().map(budget::tokens_of).sum::<u64>()
    }

    /// Shortens the oldest results of this turn until all together have so many characters; the last step's stay.
    fn shorten_oldest(&mut self, most: usize) {
        let mut chars: usize = self.messages[self.own()..].iter().map(result_chars).sum();
        while chars > most {
            let Some(result) = self.oldest_long_result() else { return };
            let before = result.chars().count();
            shortened(result, SHORTENED);
            chars -= before.saturating_sub(result.chars().count());
        }
    }

    /// Of this turn's steps but the last.
    fn oldest_long_result(&mut self) -> Option<&mut String> {
        let own = self.own();
        let last = self.messages.iter().rposition(|said| matches!(said, Said::Model(_))).unwrap_or(own).max(own);
        self.messages[own..last].iter_mut().find_map(long_result)
    }

    /// Leaves out what is oldest until so many tokens are not passed: turns whole, then results of this turn, then of the
    /// message its middle.
    fn fit(&mut self, room: u64) {
        let mut weight = self.weight();
        if weight <= room {
            return;
        }
        weight -= self.forget(weight - room);
        while weight > room {
            let Some(result) = self.oldest_long_result() else { break };
            weight -= shortened(result, SHORTENED);
        }
        let own = self.own();
        while weight > room {
            let Some(result) = self.messages[own..].iter_mut().filter_map(long_result).max_by_key(|r| r.len()) else {
                break;
            };
            let half = result.chars().count() / 2;
            weight -= shortened(result, half.max(SHORTENED));
        }
        if weight > room
            && let Some(Said::Person { text, .. }) = self.messages.get_mut(own)
        {
            let (tokens, chars) = (budget::tokens(text).max(1), text.chars().count() as u64);
            let kept = chars * tokens.saturating_sub(weight - room) / tokens;
            *text = tools::budget::ends(text, usize::try_from(kept).unwrap_or(usize::MAX).max(MESSAGE_LEAST));
        }
    }

    /// Drops as many of the oldest turns as have these tokens, or all; how many tokens they had.
    fn forget(&mut self, tokens: u64) -> u64 {
        let (mut freed, mut from, mut gone) = (0, 0, 0);
        for border in &self.borders {
            if freed >= tokens {
                break;
            }
            freed += self.messages[from..*border].iter().map(budget::tokens_of).sum::<u64>();
            (from, gone) = (*border, gone + 1);
        }
        self.messages.drain(..from);
        self.borders.drain(..gone);
        self.borders.iter_mut().for_each(|border| *border -= from);
        match from {
            0 => freed,
            _ => freed.saturating_sub(self.put_ahead()),
        }
    }

    /// How many tokens it has.
    fn put_ahead(&mut self) -> u64 {
        if let Some(Said::Person { text, .. }) = self.messages.first_mut() {
            text.insert_str(0, &self.ahead);
        }
        budget::tokens(&self.ahead)
    }
}

fn result_chars(said: &Said) -> usize {
    match said {
        Said::Result { content, .. } => content.chars().count(),
        _ => 0,
    }
}

fn long_result(said: &mut Said) -> Option<&mut String> {
    match said {
        Said::Result { content, .. } if content.chars().count() > SHORTENED => Some(content),
        _ => None,
    }
}

/// How many tokens it lost.
fn shortened(result: &mut String, most: usize) -> u64 {
    let before = budget::tokens(result);
    *result = told::shorter(result, most);
    before.saturating_sub(budget::tokens(result))
}

fn answered(step: &ModelStep) -> Answered {
    let wish = |call: &Call| Wish { id: call_id(&call.path), tool: legal(&call.tool), args: object(&call.args) };
    let calls = step.calls.iter().map(wish).collect();
    Answered { text: step.said.clone(), calls, carried: step.carried.clone() }
}

/// Arguments are an object to every provider, also those that could not be read.
fn object(args: &Value) -> Value {
    match args {
        Value::Object(_) => args.clone(),
        Value::String(raw) => json!({ "unreadable": contract::text::cut(raw, SHORTENED) }),
        other => json!({ "unreadable": other }),
    }
}
