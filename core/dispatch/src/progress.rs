//! Signs of life while a turn runs: typing at once, then one message that lists what runs and grows into the answer.

mod fit;
mod lines;
mod sending;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract::{
    Action, Address, Button, CallId, DeliveryKey, Indicator, Outlet, Part, Receipt, Reply, TurnId,
    records::{DeliveryState, Record},
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{call::TurnCx, gateway::Inner, intake::EXPRESS, show};
use fit::fit;
use lines::Lines;
pub(crate) use sending::{UnderWay, look_for};

/// A turn that is quicker shows nothing.
const TYPING_AFTER: Duration = Duration::from_millis(300);
/// An answer that is there sooner is never seen in the making.
const DRAFT_AFTER: Duration = Duration::from_secs(1);
const MESSAGE_AFTER: Duration = Duration::from_secs(2);
/// How often it is looked whether there is something new to show.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What a platform drops by itself is shown again after this time; Telegram keeps a draft for half a minute.
const FADES_AFTER: Duration = Duration::from_secs(20);

pub(crate) fn draft_key(turn: TurnId) -> DeliveryKey {
    DeliveryKey { turn, n: 0, part: DeliveryKey::DRAFT }
}

/// What a turn shows of itself.
pub(crate) struct Progress {
    outlet: Option<Arc<dyn Outlet>>,
    to: Address,
    /// The answer is for the sender alone: nothing is said of its making where everybody reads.
    quiet: bool,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    lines: Lines,
    said: Option<String>,
    /// The newest text of an answer in the making.
    draft: Option<Arc<str>>,
    stopped: bool,
    receipt: Option<Receipt>,
    /// When something was shown that the platform drops by itself.
    fleeting: Option<Instant>,
    /// It is stored that something may be shown.
    stored: bool,
    /// Left to whoever sends next.
    under_way: Option<UnderWay>,
    /// The message may be there, and cannot be changed: no second one is put beside it.
    doubtful: bool,
    /// An earlier life may have posted it and died before it knew.
    lost: bool,
}

/// What is shown at present.
#[derive(Default, PartialEq)]
struct Shown {
    text: String,
    buttons: Vec<Button>,
    /// It is the text of an answer, which grows.
    grows: bool,
}

/// What a message would be, and of a draft how much of it: what comes after a cut changes nothing.
struct Face {
    shown: Shown,
    part: Part,
    cut: Option<String>,
}

impl Progress {
    pub fn new(inner: &Inner, record: &Record) -> Self {
        let to = record.message.address.clone();
        let outlet = inner.outlet(&to).map(|c| c.outlet);
        // A progress message that an earlier life posted is the one that the answer replaces.
        let delivery = record.deliveries.iter().find(|d| d.n == 0);
        let receipt = delivery.and_then(|d| d.draft.clone());
        let lost = receipt.is_none() && delivery.is_some_and(|d| d.state == DeliveryState::Drafting);
        let state = State { receipt, lost, ..State::default() };
        // What is answered beside the lane are questions about us.
        let quiet = record.session.as_str().ends_with(EXPRESS) && show::can_be_private(inner, &to);
        Self { outlet, to, quiet, state: Mutex::new(state), changed: Notify::new() }
    }

    /// For a call without a conversation.
    pub fn silent(to: Address) -> Self {
        Self { outlet: None, to, quiet: true, state: Mutex::default(), changed: Notify::new() }
    }

    /// A call has begun; what ends it, by itself or with the turn.
    pub fn started(&self, call: CallId, tool: &str, turns: &CancellationToken) -> CancellationToken {
        if self.outlet.is_none() {
            return turns.clone();
        }
        let stop = turns.child_token();
        let mut state = self.lock();
        // What was said before the calls is no beginning of the answer.
        state.draft = None;
        state.lines.begin(call, tool, stop.clone());
        stop
    }

    pub fn ended(&self, call: CallId, ok: bool) {
        if self.outlet.is_some() {
            self.lock().lines.end(call, ok);
        }
    }

    /// Ends one call; whether it ran.
    pub fn stop_call(&self, call: CallId) -> bool {
        self.lock().lines.stop(call)
    }

    pub fn said(&self, text: &str) {
        self.lock().said = Some(contract::text::one_line(text, 200));
    }

    /// The answer in the making, whole so far; the newest takes the place of what was not shown yet.
    pub fn drafted(&self, text: &str) {
        if self.outlet.is_some() {
            self.lock().draft = Some(Arc::from(text));
        }
    }

    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Whether something of the turn is shown, or a platform waits to be told something.
    pub fn is_begun(&self) -> bool {
        let is_shown = {
            let state = self.lock();
            state.receipt.is_some() || state.under_way.is_some()
        };
        is_shown || !self.to.private.is_empty()
    }

    pub fn receipt(&self) -> Option<Receipt> {
        self.lock().receipt.clone()
    }

    /// A request that was not waited for; what comes next goes out behind it.
    pub fn under_way(&self) -> Option<UnderWay> {
        self.lock().under_way.take()
    }

    /// Whether a message may be there of which nothing is known, and nobody has looked.
    pub fn is_lost(&self) -> bool {
        let state = self.lock();
        state.lost || state.doubtful
    }

    /// Runs until [`Progress::stop`]; a request under way then is left to whoever sends next.
    pub async fn run(&self, cx: &Arc<TurnCx>) {
        let Some(outlet) = &self.outlet else { return };
        let began = Instant::now();
        let (mut type_at, mut look_at) = (began + TYPING_AFTER, began + DRAFT_AFTER);
        let (mut shown, mut cut) = (Shown::default(), None);
        loop {
            self.wait(type_at.min(look_at)).await;
            if self.lock().stopped {
                return;
            }
            let now = Instant::now();
            if now >= type_at {
                cx.inner.indicators.shown(cx.id, &self.to);
                // The answer does not wait for a platform that is slow to show it.
                tokio::select! {
                    () = outlet.indicate(&self.to, Indicator::Typing) => {}
                    () = self.stopped() => return,
                }
                type_at = now + outlet.typing_lasts();
            }
            if now < look_at {
                continue;
            }
            look_at = Instant::now() + LOOK_EVERY;
            let Some(face) = self.face(cx, &**outlet, began, cut.as_deref()) else { continue };
            if face.shown == shown && !self.fades() {
                continue;
            }
            // What the platform has no room for is left to the answer.
            if cx.inner.deliveries.spare(&self.to, outlet.pace(&self.to)) {
                (shown, cut) = (face.shown, face.cut);
                let grown = shown.grows.then_some(shown.text.as_str());
                self.show(cx, outlet, face.part, grown).await;
            }
            look_at = Instant::now() + outlet.edit_pace(&self.to).max(Duration::from_secs(1));
        }
    }

    /// Until then, or until it is stopped.
    async fn wait(&self, until: Instant) {
        let _ = tokio::time::timeout_at(until, self.stopped()).await;
    }

    async fn stopped(&self) {
        while !self.lock().stopped {
            self.changed.notified().await;
        }
    }

    /// Whether what is shown is about to go by itself.
    fn fades(&self) -> bool {
        self.lock().fleeting.is_some_and(|at| at.elapsed() >= FADES_AFTER)
    }

    /// What is to be shown now. Nothing while what is shown was cut and the draft goes on behind the cut.
    fn face(&self, cx: &TurnCx, outlet: &dyn Outlet, began: Instant, cut: Option<&str>) -> Option<Face> {
        if self.quiet {
            return None;
        }
        let draft = self.lock().draft.clone();
        let text = draft.as_deref().map(fit::ready).filter(|text| !text.is_empty());
        if let Some(text) = text {
            if cut.is_some_and(|cut| text.starts_with(cut)) && !self.fades() {
                return None;
            }
            let (len, part) = fit(text, |text| outlet.render(&self.reply(cx, text, Vec::new()), &self.to))?;
            let begun = text[..len].to_owned();
            let cut = (len < text.len()).then(|| begun.clone());
            return Some(Face { shown: Shown { text: begun, buttons: Vec::new(), grows: true }, part, cut });
        }
        if began.elapsed() < MESSAGE_AFTER {
            return None;
        }
        let (text, buttons) = self.listing(cx, began);
        let part = outlet.render(&self.reply(cx, &text, buttons.clone()), &self.to).into_iter().next()?;
        Some(Face { shown: Shown { text, buttons, grows: false }, part, cut: None })
    }

    fn reply(&self, cx: &TurnCx, text: &str, stops: Vec<Button>) -> Reply {
        let cancel = Action::Cancel(cx.id);
        let mut buttons = vec![Button { label: words::button(cancel, cx.locale), action: cancel }];
        buttons.extend(stops);
        Reply { buttons, locale: cx.locale, ..Reply::text(text) }
    }

    /// What runs, and the buttons of what takes long.
    fn listing(&self, cx: &TurnCx, began: Instant) -> (String, Vec<Button>) {
        let state = self.lock();
        let mut text = match state.lines.is_empty() {
            true => words::progress_timed(began.elapsed().as_secs(), cx.locale),
            false => state.lines.text(cx.locale),
        };
        if let Some(said) = state.said.as_ref().filter(|_| !state.lines.is_empty()) {
            text.push_str(&format!("\n\n{}", crate::say::escape(&words::progress_said(said, cx.locale))));
        }
        (text, state.lines.buttons(cx.id, cx.locale))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
