//! Signs of life while a turn runs: typing at once, then one message that lists what runs and grows into the answer.

mod fit;
mod lines;

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract::{
    Action, Address, Button, CallId, DeliveryError, DeliveryKey, Indicator, Op, Outlet, Part, Receipt, Reply, Scope,
    TurnId, Why,
    records::{Change, DeliveryState, Record},
};
use futures_util::FutureExt;
use tokio::{sync::Notify, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    call::{TurnCx, new_delivery},
    gateway::Inner,
    intake::EXPRESS,
    show,
};
use fit::fit;
use lines::Lines;

/// A turn that is quicker shows nothing.
const TYPING_AFTER: Duration = Duration::from_millis(300);
/// An answer that is there sooner is never seen in the making.
const DRAFT_AFTER: Duration = Duration::from_secs(1);
const MESSAGE_AFTER: Duration = Duration::from_secs(2);
/// How often it is looked whether there is something new to show.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Most time that a platform has for showing it.
const SEND_DEADLINE: Duration = Duration::from_secs(10);
/// The longest wait that a platform is believed.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How long a platform may look for a progress message that an earlier life posted.
const FIND_DEADLINE: Duration = Duration::from_secs(5);

pub(crate) fn draft_key(turn: TurnId) -> DeliveryKey {
    DeliveryKey { turn, n: 0, part: DeliveryKey::DRAFT }
}

/// A request that shows something, under way; it goes to its end whatever becomes of the turn.
pub(crate) struct UnderWay(JoinHandle<Result<Receipt, DeliveryError>>);

impl UnderWay {
    /// The message that was shown, where it is known.
    pub async fn ended(self) -> Option<Receipt> {
        self.0.await.ok()?.ok()
    }
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
        self.lists(call, tool, Some(stop.clone()));
        stop
    }

    /// Work that is ended with the turn only.
    pub fn listed(&self, call: CallId, tool: &str) {
        if self.outlet.is_some() {
            self.lists(call, tool, None);
        }
    }

    fn lists(&self, call: CallId, tool: &str, stop: Option<CancellationToken>) {
        let mut state = self.lock();
        // What was said before the calls is no beginning of the answer.
        state.draft = None;
        state.lines.begin(call, tool, stop);
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

    /// Says, once, that the turn waits for people. Best effort, as all signs of life.
    pub async fn waits(&self, cx: &Arc<TurnCx>, words: &str) {
        let Some(outlet) = self.outlet.as_ref().filter(|_| !self.quiet) else { return };
        let before = self.lock().under_way.take();
        if let Some(before) = before {
            let receipt = before.ended().await;
            self.sent(cx, receipt.ok_or(DeliveryError::Unsure(String::new()))).await;
        }
        let reply = self.reply(cx, words, Vec::new());
        let Some(part) = outlet.render(&reply, &self.to).into_iter().next() else { return };
        if let Some(sending) = self.sending(cx, outlet, part).await {
            let sent = sending.0.await.unwrap_or_else(|_| Err(DeliveryError::NotSent(String::new())));
            self.sent(cx, sent).await;
        }
    }

    pub fn receipt(&self) -> Option<Receipt> {
        self.lock().receipt.clone()
    }

    /// A request that was not waited for; what comes next goes out behind it.
    pub fn under_way(&self) -> Option<UnderWay> {
        self.lock().under_way.take()
    }

    /// Looks for the message that an earlier life may have posted, so that none is left beside the answer.
    pub async fn find_lost(&self, cx: &TurnCx) {
        let Some(outlet) = self.outlet.as_ref().filter(|_| self.lock().lost) else { return };
        let key = draft_key(cx.id);
        let finding = outlet.send(&self.to, Op::Find, &key);
        match tokio::time::timeout(FIND_DEADLINE, finding).await {
            Ok(Ok(receipt)) => {
                self.keep(cx, &receipt);
                // Lost is noticed by the turn; a store that is away only costs looking for it again.
                let _ = self.record(cx, Some(receipt)).await;
            }
            Ok(Err(DeliveryError::Refused(Why::Gone))) => {}
            // It cannot be told: should it be there, it stands beside the answer.
            Ok(Err(_)) | Err(_) => {}
        }
        self.lock().lost = false;
    }

    /// Whether an earlier life may have posted it, and nobody has looked.
    pub fn is_lost(&self) -> bool {
        self.lock().lost
    }

    fn keep(&self, cx: &TurnCx, receipt: &Receipt) {
        cx.inner.running.shows(cx.id, receipt);
        self.lock().receipt = Some(receipt.clone());
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
            let Some(face) = self.face(cx, &**outlet, began, cut.as_deref()).filter(|face| face.shown != shown) else {
                continue;
            };
            // What the platform has no room for is left to the answer.
            if cx.inner.deliveries.spare(&self.to, outlet.pace(&self.to)) {
                (shown, cut) = (face.shown, face.cut);
                self.show(cx, outlet, face.part).await;
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

    /// What is to be shown now. Nothing while what is shown was cut and the draft goes on behind the cut.
    fn face(&self, cx: &TurnCx, outlet: &dyn Outlet, began: Instant, cut: Option<&str>) -> Option<Face> {
        if self.quiet {
            return None;
        }
        let draft = self.lock().draft.clone();
        let text = draft.as_deref().map(fit::ready).filter(|text| !text.is_empty());
        if let Some(text) = text {
            if cut.is_some_and(|cut| text.starts_with(cut)) {
                return None;
            }
            let (len, part) = fit(text, |text| outlet.render(&self.reply(cx, text, Vec::new()), &self.to))?;
            let begun = text[..len].to_owned();
            let cut = (len < text.len()).then(|| begun.clone());
            return Some(Face { shown: Shown { text: begun, buttons: Vec::new() }, part, cut });
        }
        if began.elapsed() < MESSAGE_AFTER {
            return None;
        }
        let (text, buttons) = self.listing(cx, began);
        let part = outlet.render(&self.reply(cx, &text, buttons.clone()), &self.to).into_iter().next()?;
        Some(Face { shown: Shown { text, buttons }, part, cut: None })
    }

    fn reply(&self, cx: &TurnCx, text: &str, stops: Vec<Button>) -> Reply {
        let cancel = Action::Cancel(cx.id);
        let mut buttons = vec![Button { label: words::button(cancel, cx.locale), action: cancel }];
        buttons.extend(stops);
        Reply { buttons, locale: cx.locale, ..Reply::text(text) }
    }

    async fn show(&self, cx: &Arc<TurnCx>, outlet: &Arc<dyn Outlet>, part: Part) {
        let Some(mut sending) = self.sending(cx, outlet, part).await else { return };
        let sent = tokio::select! {
            biased;
            sent = &mut sending.0 => sent,
            () = self.stopped() => {
                self.lock().under_way = Some(sending);
                return;
            }
        };
        self.sent(cx, sent.unwrap_or_else(|_| Err(DeliveryError::NotSent(String::new())))).await;
    }

    /// Begins to show it, in a task of its own: a turn that ends meanwhile does not wait for it.
    async fn sending(&self, cx: &Arc<TurnCx>, outlet: &Arc<dyn Outlet>, part: Part) -> Option<UnderWay> {
        let before = self.receipt();
        if self.lock().doubtful || before.is_none() && self.record(cx, None).await.is_err() {
            return None;
        }
        let (outlet, to, key) = (outlet.clone(), self.to.clone(), draft_key(cx.id));
        Some(UnderWay(cx.inner.tasks.spawn(async move {
            let sending = outlet.send(&to, Op::Draft(before.as_ref(), &part), &key);
            // An adapter's code; a crash there costs the signs, not the answer.
            let sent = tokio::time::timeout(SEND_DEADLINE, AssertUnwindSafe(sending).catch_unwind()).await;
            match sent {
                Ok(Ok(sent)) => sent,
                Ok(Err(_)) | Err(_) => Err(DeliveryError::Unsure("no answer".into())),
            }
        })))
    }

    async fn sent(&self, cx: &TurnCx, sent: Result<Receipt, DeliveryError>) {
        let is_new = self.receipt().is_none();
        match sent {
            Ok(receipt) => {
                self.keep(cx, &receipt);
                if is_new {
                    // Lost is noticed by the turn; a store that is away only costs a second message after a crash.
                    let _ = self.record(cx, Some(receipt)).await;
                }
            }
            Err(DeliveryError::Wait { scope, until }) => {
                let wait = until.duration_since(std::time::SystemTime::now()).unwrap_or_default().min(LONGEST_WAIT);
                let until = Instant::now() + wait;
                if scope == Scope::Account {
                    cx.inner.deliveries.hold_account(&self.to, until);
                }
                self.wait(until).await;
            }
            Err(DeliveryError::Unsure(_)) => self.lock().doubtful = is_new,
            Err(DeliveryError::NotSent(_) | DeliveryError::Refused(_)) => {}
        }
    }

    async fn record(&self, cx: &TurnCx, draft: Option<Receipt>) -> Result<(), contract::records::ChangeError> {
        let mut delivery = new_delivery(0, self.to.clone(), None);
        delivery.state = DeliveryState::Drafting;
        delivery.draft = draft;
        cx.change(&[Change::Delivery(delivery)]).await
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
