//! Signs of life while a turn runs: typing at once, one progress message after two seconds.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contract::{
    Action, Address, Button, DeliveryError, DeliveryKey, Indicator, Locale, Op, Outlet, Receipt, Reply, TurnId, Why,
    records::{Change, DeliveryState, Record},
};
use tokio::{sync::Notify, time::Instant};

use crate::{
    call::{TurnCx, new_delivery},
    gateway::Inner,
    intake::EXPRESS,
    show,
};

/// A turn that is quicker shows nothing.
const TYPING_AFTER: Duration = Duration::from_millis(300);
const MESSAGE_AFTER: Duration = Duration::from_secs(2);

/// How long a platform may look for a progress message that an earlier life posted.
const FIND_DEADLINE: Duration = Duration::from_secs(5);
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
    lines: Vec<Line>,
    said: Option<String>,
    /// The newest text of an answer in the making.
    draft: Option<Arc<str>>,
    stopped: bool,
    receipt: Option<Receipt>,
    /// The message may be there, and cannot be changed: no second one is put beside it.
    doubtful: bool,
    /// An earlier life may have posted it and died before it knew.
    lost: bool,
}

struct Line {
    tool: String,
    ended: Option<bool>,
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

    pub fn started(&self, tool: &str) {
        if self.outlet.is_some() {
            self.lock().lines.push(Line { tool: tool.to_owned(), ended: None });
            self.changed.notify_one();
        }
    }

    pub fn ended(&self, tool: &str, ok: bool) {
        if self.outlet.is_some() {
            let mut state = self.lock();
            if let Some(line) = state.lines.iter_mut().find(|l| l.tool == tool && l.ended.is_none()) {
                line.ended = Some(ok);
            }
            drop(state);
            self.changed.notify_one();
        }
    }

    pub fn said(&self, text: &str) {
        self.lock().said = Some(contract::text::one_line(text, 200));
        self.changed.notify_one();
    }

    /// The answer in the making, whole so far.
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
        self.receipt().is_some() || !self.to.private.is_empty()
    }

    /// Says, once, that the turn waits for people. Best effort, as all signs of life.
    pub async fn waits(&self, cx: &TurnCx, words: &str) {
        let Some(outlet) = self.outlet.as_ref().filter(|_| !self.quiet) else { return };
        self.show(cx, &**outlet, words).await;
    }

    pub fn receipt(&self) -> Option<Receipt> {
        self.lock().receipt.clone()
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
    }

    fn keep(&self, cx: &TurnCx, receipt: &Receipt) {
        cx.inner.running.shows(cx.id, receipt);
        self.lock().receipt = Some(receipt.clone());
    }

    /// Runs until [`Progress::stop`]; a request under way is waited for, so that its receipt is known.
    pub async fn run(&self, cx: &TurnCx) {
        let Some(outlet) = &self.outlet else { return };
        let began = Instant::now();
        let mut type_at = began + TYPING_AFTER;
        let mut show_at = began + MESSAGE_AFTER;
        let mut shown = String::new();
        loop {
            self.wait(type_at.min(show_at)).await;
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
            if now >= show_at {
                let text = self.text(began, cx.locale);
                // What the platform has no room for is left to the answer.
                if !self.quiet && text != shown && cx.inner.deliveries.spare(&self.to, outlet.pace(&self.to)) {
                    self.show(cx, &**outlet, &text).await;
                    shown = text;
                }
                show_at = Instant::now() + outlet.edit_pace(&self.to).max(Duration::from_secs(1));
            }
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

    async fn show(&self, cx: &TurnCx, outlet: &dyn Outlet, text: &str) {
        let reply = Reply {
            buttons: vec![Button {
                label: words::button(Action::Cancel(cx.id), cx.locale),
                action: Action::Cancel(cx.id),
            }],
            locale: cx.locale,
            ..Reply::text(text)
        };
        let Some(part) = outlet.render(&reply, &self.to).into_iter().next() else { return };
        let before = self.receipt();
        if self.lock().doubtful {
            return;
        }
        if before.is_none() && self.record(cx, None).await.is_err() {
            return;
        }
        let key = draft_key(cx.id);
        let sent = tokio::time::timeout(
            Duration::from_secs(10),
            outlet.send(&self.to, Op::Draft(before.as_ref(), &part), &key),
        );
        match sent.await {
            Ok(Ok(receipt)) => {
                let is_new = before.is_none();
                self.keep(cx, &receipt);
                if is_new {
                    // Lost is noticed by the turn; a store that is away only costs a second message after a crash.
                    let _ = self.record(cx, Some(receipt)).await;
                }
            }
            Ok(Err(DeliveryError::Wait { until, .. })) => {
                let wait = until.duration_since(std::time::SystemTime::now()).unwrap_or_default();
                self.wait(Instant::now() + wait.min(Duration::from_secs(600))).await;
            }
            Ok(Err(DeliveryError::Unsure(_))) | Err(_) => self.lock().doubtful = before.is_none(),
            Ok(Err(DeliveryError::NotSent(_) | DeliveryError::Refused(_))) => {}
        }
    }

    async fn record(&self, cx: &TurnCx, draft: Option<Receipt>) -> Result<(), contract::records::ChangeError> {
        let mut delivery = new_delivery(0, self.to.clone(), None);
        delivery.state = DeliveryState::Drafting;
        delivery.draft = draft;
        cx.change(&[Change::Delivery(delivery)]).await
    }

    fn text(&self, began: Instant, locale: Locale) -> String {
        let state = self.lock();
        let ended = state.lines.iter().filter(|l| l.ended.is_some()).count();
        let mut text = words::progress_counted(ended, state.lines.len(), locale);
        for line in state.lines.iter().take(16) {
            let mark = match line.ended {
                None => "⏳",
                Some(true) => "✅",
                Some(false) => "⚠️",
            };
            text.push_str(&format!("\n- {mark} `{}`", line.tool));
        }
        if state.lines.len() > 16 {
            text.push_str(&format!("\n- {}", words::progress_more(state.lines.len() - 16, locale)));
        }
        if let Some(said) = &state.said {
            text.push_str(&format!("\n\n{}", crate::say::escape(&words::progress_said(said, locale))));
        }
        if state.lines.is_empty() {
            text = words::progress_timed(began.elapsed().as_secs(), locale);
        }
        text
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
