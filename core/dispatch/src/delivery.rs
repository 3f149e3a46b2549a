//! Brings stored replies to their platforms: in order and paced per conversation, part by part, once; what may have
//! arrived already says so. For all platforms alike: an outlet carries out one request and never sleeps.

mod doubt;
mod files;
mod post;
mod queue;
mod send;

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use contract::{
    Address, Audience, Code, Content, DeliveryKey, Part, Receipt, Reply, SessionKey, TurnId,
    records::{Change, Delivery, DeliveryState, Record},
    seams::Fence,
};
use futures_util::FutureExt;
use tracing::warn;

pub(crate) use post::{open, post};
pub(crate) use queue::Deliveries;

use doubt::{Doubt, doubt, remove_draft, settle_draft};
use queue::conversation;
use send::{Sent, pause, send};

use crate::{
    call::{TurnCx, new_delivery},
    gateway::{Connected, Inner},
    progress::UnderWay,
    turn::{Over, now_ms, persist_of},
};

/// What has to be delivered before a turn's record is done. Counts its deliveries and the turn itself.
pub(crate) struct Settling {
    left: AtomicU32,
    keep_message: AtomicBool,
    /// Where the reply is fetched.
    keep_reply: bool,
}

impl Settling {
    /// Of a turn that was asked there.
    pub fn new(asked_at: &Address) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicU32::new(1),
            keep_message: AtomicBool::new(false),
            keep_reply: asked_at.platform.is_pull(),
        })
    }

    pub fn keep_message(&self, keep: bool) {
        self.keep_message.store(keep, Ordering::Relaxed);
    }

    fn add(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    /// One is settled; the last gets the change that ends the record.
    pub fn settle(&self) -> Option<Change> {
        let keep_message = self.keep_message.load(Ordering::Relaxed);
        let keep_reply = self.keep_reply;
        (self.left.fetch_sub(1, Ordering::AcqRel) == 1).then_some(Change::Done { keep_message, keep_reply })
    }
}

/// A delivery under way.
pub(crate) struct Job {
    turn: TurnId,
    session: SessionKey,
    delivery: Delivery,
    reply: Arc<Reply>,
    settling: Arc<Settling>,
    /// The request for the current part may have been made by an earlier life.
    doubtful: bool,
    /// The mark stands in the reply itself, from its first part on.
    marked_from_start: bool,
    /// The mark goes out before the next part, as a message of its own.
    announce: bool,
    /// What is sent stands beside the parts and has a key of its own: whoever finds it has not found the part.
    beside: bool,
    /// Requests for the current part whose outcome is open.
    unsure: u32,
    /// How often it was sent on to another address.
    detours: u32,
    /// The reply itself was refused: what goes out says that there is one.
    last_resort: bool,
    /// What the turn was showing when it ended: this goes out behind it.
    behind: Option<UnderWay>,
    /// Under which it is written; nothing for a message without a record. Fixed: a partition that was lost and came
    /// back has another one, and then the record was taken up anew.
    fence: Option<Fence>,
}

impl Job {
    pub fn new(
        (turn, session): (TurnId, &SessionKey),
        delivery: Delivery,
        reply: Arc<Reply>,
        settling: Arc<Settling>,
        fence: Option<Fence>,
    ) -> Self {
        Self {
            turn,
            session: session.clone(),
            delivery,
            reply,
            settling,
            doubtful: false,
            marked_from_start: false,
            announce: false,
            beside: false,
            unsure: 0,
            detours: 0,
            last_resort: false,
            behind: None,
            fence,
        }
    }

    /// A message that is tried as long as the process lives, and not kept.
    fn fleeting(to: Address, reply: Reply) -> Self {
        let (session, settling) = (SessionKey::of(&to), Settling::new(&to));
        Self::new((TurnId::new(), &session), new_delivery(0, to, None), Arc::new(reply), settling, None)
    }

    /// Whether it is a turn's own reply of which nothing has arrived, not even that it cannot be shown.
    fn recorded_and_untold(&self) -> bool {
        self.is_turns_own() && self.delivery.receipts.is_empty() && !self.last_resort
    }

    /// Whether the answer is for one person alone and cannot take the place of what everybody saw of its progress.
    fn is_beside_its_draft(&self) -> bool {
        self.reply.audience == Audience::Sender
    }

    fn is_turns_own(&self) -> bool {
        self.fence.is_some() && self.delivery.n == 0
    }

    /// From part `n` on it may be a repeat, and says so.
    fn mark(&mut self, n: u32) {
        self.delivery.marked = true;
        match n {
            0 => (self.marked_from_start, self.announce) = (true, false),
            // A part in the middle has no room for it.
            _ => self.announce = true,
        }
    }
}

/// Takes a delivery into its conversation's queue.
pub(crate) fn enqueue(inner: &Arc<Inner>, job: Job) {
    let of = conversation(&job.delivery.to);
    {
        let mut queues = inner.deliveries.lock();
        let is_new = !queues.contains_key(&of);
        queues.entry(of.clone()).or_default().push_back(job);
        if !is_new {
            return;
        }
    }
    let inner = inner.clone();
    let tasks = inner.tasks.clone();
    tasks.spawn(async move {
        while let Some(job) = inner.deliveries.next(&of) {
            if inner.kill.is_cancelled() {
                return;
            }
            // What waited longer than we stay keeps those behind it waiting too.
            if deliver(&inner, job).await.is_err() && inner.stop.is_cancelled() {
                return;
            }
        }
    });
}

/// A message without a record: tried, not kept.
pub(crate) fn say_once(inner: &Arc<Inner>, to: &Address, reply: Reply) {
    if !to.platform.is_pull() && !inner.deliveries.is_crowded(to) {
        enqueue(inner, Job::fleeting(to.clone(), reply));
    }
}

/// Goes on with what an earlier life left of a turn's deliveries.
pub(crate) fn resume(inner: &Arc<Inner>, record: &Record, fence: Fence) {
    let settling = Settling::new(&record.message.address);
    let reply = Arc::new(record.reply.clone().unwrap_or_default());
    settling.keep_message(reply.buttons.iter().any(|b| matches!(b.action, contract::Action::TryAgain(_))));
    let open = record.deliveries.iter().filter(|d| !d.state.is_settled());
    let mut last = None;
    for delivery in open {
        // The turn's own place is used by its first open delivery.
        if last.is_some() {
            settling.add();
        }
        let content = delivery.reply.clone().map_or_else(|| reply.clone(), Arc::new);
        let of = (record.id, &record.session);
        let mut job = Job::new(of, delivery.clone(), content, settling.clone(), Some(fence));
        job.doubtful = matches!(delivery.state, DeliveryState::Sending { .. });
        last = Some(());
        enqueue(inner, job);
    }
    if last.is_none() {
        let (inner, record, tasks) = (inner.clone(), record.clone(), inner.tasks.clone());
        tasks.spawn(async move {
            let done = settling.settle();
            // When it is not ours any more, the new owner ends it.
            let _ = persist_of(&inner, fence, record.id, &record.session, done.as_slice()).await;
        });
    }
}

/// Messages that a turn's tools stored before its process died go out, whatever becomes of the turn.
pub(crate) fn resume_posts(cx: &Arc<TurnCx>, record: &Record) {
    for delivery in record.deliveries.iter().filter(|d| d.n != 0 && !d.state.is_settled()) {
        let Some(reply) = delivery.reply.clone() else { continue };
        cx.settling.add();
        let of = (record.id, &record.session);
        let mut job = Job::new(of, delivery.clone(), Arc::new(reply), cx.settling.clone(), cx.fence);
        job.doubtful = matches!(delivery.state, DeliveryState::Sending { .. });
        enqueue(&cx.inner, job);
    }
}

/// What shows an approval: stored by whoever asks, and on its way from now on.
pub(crate) fn show(cx: &Arc<TurnCx>, delivery: Delivery, reply: Reply) {
    cx.settling.add();
    let of = (cx.id, &cx.session);
    enqueue(&cx.inner, Job::new(of, delivery, Arc::new(reply), cx.settling.clone(), cx.fence));
}

/// What a parked turn had to show when its process died goes out. Its record is not done by that.
pub(crate) fn resume_shown(inner: &Arc<Inner>, record: &Record, fence: Fence) {
    for delivery in record.deliveries.iter().filter(|d| d.n != 0 && !d.state.is_settled()) {
        let Some(reply) = delivery.reply.clone() else { continue };
        let settling = Settling::new(&record.message.address);
        settling.add();
        let of = (record.id, &record.session);
        let mut job = Job::new(of, delivery.clone(), Arc::new(reply), settling, Some(fence));
        job.doubtful = matches!(delivery.state, DeliveryState::Sending { .. });
        enqueue(inner, job);
    }
}

/// Puts something else in the place of a message that was sent; tried, not kept.
pub(crate) fn change_once(inner: &Arc<Inner>, to: &Address, receipt: Receipt, reply: Reply) {
    let mut job = Job::fleeting(to.clone(), reply);
    job.delivery.draft = Some(receipt);
    enqueue(inner, job);
}

/// Why a delivery goes no further in this process.
enum Stop {
    /// Not ours any more, or we are leaving: the record says how far it came.
    Over,
    Failed(Code, String),
}

impl From<Over> for Stop {
    fn from(_: Over) -> Self {
        Self::Over
    }
}

async fn deliver(inner: &Arc<Inner>, mut job: Job) -> Result<(), Over> {
    let Some(connected) = inner.outlet(&job.delivery.to) else {
        warn!(turn = %job.turn, to = %job.delivery.to.platform, "no adapter for this delivery; it waits for the next start");
        return Ok(());
    };
    // A crash of an adapter's code costs this message, not those that wait behind it.
    let sending = AssertUnwindSafe(parts(inner, &connected, &mut job)).catch_unwind().await;
    let ended = sending.unwrap_or_else(|_| Err(Stop::Failed(Code::Internal, "the adapter's code panicked".into())));
    let state = match ended {
        Ok(()) => DeliveryState::Done,
        Err(Stop::Over) => return Err(Over),
        Err(Stop::Failed(code, why)) => {
            warn!(turn = %job.turn, n = job.delivery.n, why, "delivery failed");
            DeliveryState::Failed(code)
        }
    };
    job.delivery.state = state;
    let mut changes = vec![Change::Delivery(job.delivery.clone())];
    changes.extend(job.settling.settle());
    // When it is not ours any more, the new owner settles it.
    write(inner, &job, &changes).await
}

async fn write(inner: &Inner, job: &Job, changes: &[Change]) -> Result<(), Over> {
    let Some(fence) = job.fence else { return Ok(()) };
    persist_of(inner, fence, job.turn, &job.session, changes).await
}

/// Sends part after part, from where the record stands.
async fn parts(inner: &Arc<Inner>, connected: &Connected, job: &mut Job) -> Result<(), Stop> {
    settle_draft(inner, connected, job).await;
    let mut n = match job.delivery.state {
        DeliveryState::Ready { part, due_ms } => {
            pause(inner, Duration::from_millis(due_ms.saturating_sub(now_ms()))).await?;
            part
        }
        DeliveryState::Sending { part } => part,
        DeliveryState::Drafting => 0,
        DeliveryState::Done | DeliveryState::Failed(_) => return Ok(()),
    };
    if std::mem::take(&mut job.doubtful) {
        let key = DeliveryKey { turn: job.turn, n: job.delivery.n, part: n };
        let doubt = match n == 0 && job.delivery.draft.is_some() && !job.is_beside_its_draft() {
            // Replacing again changes nothing.
            true => Doubt::Harmless,
            false => doubt(inner, connected, job, &key).await?,
        };
        match doubt {
            Doubt::Arrived(receipt) => {
                keep_receipt(job, n, receipt);
                n += 1;
            }
            Doubt::Open => job.mark(n),
            Doubt::Harmless => {}
        }
    }
    let _in_memory = files::fetch(inner, connected, job).await?;
    n = go_on_from(connected, job, n);
    let mut rendered = render(connected, job);
    while let Some(part) = rendered.get(n as usize).cloned() {
        if std::mem::take(&mut job.announce) && !announced(inner, connected, job, n).await? {
            job.announce = true;
            rendered = render(connected, job);
            continue;
        }
        match send(inner, connected, job, n, &part).await {
            Ok(Sent::Receipt(receipt)) => keep_receipt(job, n, receipt),
            Ok(Sent::RenderAgain) => {
                rendered = render(connected, job);
                continue;
            }
            Err(Stop::Failed(code, why)) => {
                say_that_more_is_missing(inner, connected, job, n).await?;
                return Err(Stop::Failed(code, why));
            }
            Err(Stop::Over) => return Err(Stop::Over),
        }
        n += 1;
        if (n as usize) < rendered.len() {
            // Sent and the next one's start are one write.
            job.delivery.state = DeliveryState::Sending { part: n };
            write(inner, job, &[Change::Delivery(job.delivery.clone())]).await?;
        }
    }
    remove_draft(connected, job).await;
    Ok(())
}

/// The parts as they go out; their digests are stored with what is sent.
fn render(connected: &Connected, job: &mut Job) -> Vec<Part> {
    let rendered = rendered(connected, job, job.marked_from_start);
    job.delivery.parts = rendered.iter().map(Part::digest).collect();
    rendered
}

fn rendered(connected: &Connected, job: &Job, marked: bool) -> Vec<Part> {
    match marked {
        false => connected.outlet.render(&job.reply, &job.delivery.to),
        true => {
            let reply = Reply { maybe_repeated: true, ..(*job.reply).clone() };
            connected.outlet.render(&reply, &job.delivery.to)
        }
    }
}

/// Where an earlier life's work is gone on with: at `n`, or, when it is rendered differently since, at the first part
/// that differs, with the mark.
fn go_on_from(connected: &Connected, job: &mut Job, n: u32) -> u32 {
    let before = std::mem::take(&mut job.delivery.parts);
    if n == 0 || before.is_empty() {
        job.marked_from_start |= job.delivery.marked && n == 0;
        return n;
    }
    let digests = |marked| rendered(connected, job, marked).iter().map(Part::digest).collect::<Vec<_>>();
    let same = |new: &[contract::Digest]| new.iter().zip(&before).take_while(|(new, old)| new == old).count();
    let plain = same(&digests(false));
    let marked = if job.delivery.marked { same(&digests(true)) } else { 0 };
    job.marked_from_start = marked > plain;
    let differs = u32::try_from(plain.max(marked)).unwrap_or(n);
    if differs < n {
        job.mark(differs);
    }
    n.min(differs)
}

/// Says that what follows may have arrived already. False when it has to be rendered again first.
async fn announced(inner: &Arc<Inner>, connected: &Connected, job: &mut Job, n: u32) -> Result<bool, Stop> {
    let words = Reply {
        content: vec![Content::Plain(words::maybe_repeated(job.reply.locale))],
        audience: job.reply.audience,
        locale: job.reply.locale,
        ..Reply::default()
    };
    let Some(part) = connected.outlet.render(&words, &job.delivery.to).into_iter().next() else { return Ok(true) };
    Ok(matches!(send_beside(inner, connected, job, n, &part).await?, Sent::Receipt(_)))
}

/// Sends what is none of the reply's parts before the part `n`.
async fn send_beside(
    inner: &Arc<Inner>,
    connected: &Connected,
    job: &mut Job,
    n: u32,
    part: &Part,
) -> Result<Sent, Stop> {
    job.beside = true;
    let sent = send(inner, connected, job, n, part).await;
    job.beside = false;
    sent
}

/// Nobody takes the beginning of an answer for all of it: under the parts that arrived stands that there is more.
async fn say_that_more_is_missing(
    inner: &Arc<Inner>,
    connected: &Connected,
    job: &mut Job,
    n: u32,
) -> Result<(), Over> {
    if !job.is_turns_own() || job.delivery.receipts.is_empty() || std::mem::replace(&mut job.last_resort, true) {
        return Ok(());
    }
    let reply = send::rest_cannot_be_shown(job);
    let Some(part) = connected.outlet.render(&reply, &job.delivery.to).into_iter().next() else { return Ok(()) };
    job.unsure = 0;
    match send_beside(inner, connected, job, n, &part).await {
        Ok(Sent::Receipt(receipt)) => keep_receipt(job, n, receipt),
        Ok(Sent::RenderAgain) | Err(Stop::Failed(..)) => {}
        Err(Stop::Over) => return Err(Over),
    }
    Ok(())
}

fn keep_receipt(job: &mut Job, n: u32, receipt: Receipt) {
    job.delivery.receipts.truncate(n as usize);
    job.delivery.receipts.push(receipt);
    job.unsure = 0;
}
