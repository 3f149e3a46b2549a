//! Brings stored replies to their platforms: in order and paced per conversation, part by part, once; what may have
//! arrived already says so. For all platforms alike: an outlet carries out one request and never sleeps.

use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use contract::{
    Address, Audience, Bucket, Code, Content, DeliveryError, DeliveryKey, FileRef, Op, Part, Platform, Receipt, Reply,
    Scope, SessionKey, TurnId, Why,
    records::{Change, Delivery, DeliveryState, Record},
    reply::DUPLICATE_MARK,
    seams::{ByteStream, Condition, Fence},
};
use futures_util::FutureExt;
use tokio::time::Instant;
use tools::{Fault, ToolFailure};
use tracing::warn;

use crate::{
    call::{TurnCx, new_delivery},
    gateway::{Connected, Inner},
    turn::{Over, now_ms, persist_of},
};

/// A request that takes longer may have been carried out or not.
const SEND_DEADLINE: Duration = Duration::from_secs(60);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// How long an unreachable platform is tried.
const UNREACHABLE_MAX: Duration = Duration::from_secs(3_600);
/// Most sends of one part whose outcome stays open; each repeat carries the mark.
const UNSURE_MAX: u32 = 3;
/// A longer wait is said to operators.
const LONG_WAIT: Duration = Duration::from_secs(60);

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
    /// Requests for the current part whose outcome is open.
    unsure: u32,
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
            unsure: 0,
            fence,
        }
    }

    /// A message that is tried as long as the process lives, and not kept.
    fn fleeting(to: Address, reply: Reply) -> Self {
        let (session, settling) = (SessionKey::of(&to), Settling::new(&to));
        Self::new((TurnId::new(), &session), new_delivery(0, to, None), Arc::new(reply), settling, None)
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

type Conversation = (Platform, String, String);
type Account = (Platform, String);

fn conversation(to: &Address) -> Conversation {
    (to.platform, to.account.clone(), to.conversation.clone())
}

/// Conversations that have something to send, each with a task of its own.
#[derive(Default)]
pub(crate) struct Deliveries {
    queues: Mutex<HashMap<Conversation, VecDeque<Job>>>,
    paces: Mutex<Paces>,
}

#[derive(Default)]
struct Paces {
    accounts: HashMap<Account, Tokens>,
    conversations: HashMap<Conversation, Tokens>,
}

/// A bucket's state: tokens as the time at which it is full again.
#[derive(Clone, Copy)]
struct Tokens {
    full_at: Instant,
    not_before: Instant,
}

impl Default for Tokens {
    fn default() -> Self {
        let now = Instant::now();
        Self { full_at: now, not_before: now }
    }
}

impl Tokens {
    /// Takes a token; when it may be used.
    fn take(&mut self, bucket: Bucket, now: Instant) -> Instant {
        let room = bucket.every * bucket.burst.saturating_sub(1);
        let at = self.not_before.max(now).max(self.full_at.checked_sub(room).unwrap_or(now));
        self.full_at = self.full_at.max(at) + bucket.every;
        at
    }
}

/// Most conversations whose pace is remembered; a full bucket is no state worth keeping.
const PACES_MAX: usize = 10_000;

impl Deliveries {
    /// Whether nothing stands before a new delivery to the conversation.
    pub fn is_free(&self, to: &Address) -> bool {
        !self.lock().contains_key(&conversation(to))
    }

    pub fn waiting(&self) -> usize {
        self.lock().values().map(VecDeque::len).sum()
    }

    fn next(&self, of: &Conversation) -> Option<Job> {
        let mut queues = self.lock();
        let next = queues.get_mut(of)?.pop_front();
        if next.is_none() {
            queues.remove(of);
        }
        next
    }

    /// When the next message to the address may go out.
    fn place(&self, to: &Address, pace: contract::Pace) -> Instant {
        let now = Instant::now();
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        if paces.conversations.len() > PACES_MAX {
            paces.conversations.retain(|_, t| t.full_at > now || t.not_before > now);
        }
        let account = paces.accounts.entry((to.platform, to.account.clone())).or_default();
        let mut at = account.not_before.max(now);
        if let Some(bucket) = pace.account {
            at = at.max(account.take(bucket, now));
        }
        if let Some(bucket) = pace.conversation {
            at = at.max(paces.conversations.entry(conversation(to)).or_default().take(bucket, now));
        }
        at
    }

    fn hold_account(&self, to: &Address, until: Instant) {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        paces.accounts.entry((to.platform, to.account.clone())).or_default().not_before = until;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Conversation, VecDeque<Job>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
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
            deliver(&inner, job).await;
        }
    });
}

/// A message without a record: tried, not kept.
pub(crate) fn say_once(inner: &Arc<Inner>, to: &Address, reply: Reply) {
    if !to.platform.is_pull() {
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

/// A tool's message to another conversation: durable, then on its way.
pub(crate) async fn post(cx: &Arc<TurnCx>, tool: &str, to: Address, reply: Reply, n: u32) -> Result<(), ToolFailure> {
    // An earlier life stored it, and it goes out or has gone out already.
    if cx.posted.contains(&n) {
        return Ok(());
    }
    may_write(cx, tool, &to).await?;
    let mut delivery = new_delivery(n, to, Some(reply.clone()));
    delivery.to.reply_to = None;
    cx.change(&[Change::Delivery(delivery.clone())]).await.map_err(|error| {
        ToolFailure::new(Fault::Unavailable, "the message could not be stored, so it was not sent")
            .cause(contract::Private::new(error.to_string()))
    })?;
    cx.settling.add();
    let of = (cx.id, &cx.session);
    enqueue(&cx.inner, Job::new(of, delivery, Arc::new(reply), cx.settling.clone(), cx.fence));
    Ok(())
}

/// A person may have us write where that person may write: in the same conversation, or where the platform says that
/// the person is a member and the destination's policy shows the tool.
async fn may_write(cx: &TurnCx, tool: &str, to: &Address) -> Result<(), ToolFailure> {
    let refused =
        || ToolFailure::input_refused("that conversation does not exist, or you cannot write there", Vec::new());
    let Some(connected) = cx.inner.outlet(to) else { return Err(refused()) };
    let caller = &cx.caller;
    if caller.platform == Platform::Console {
        return Ok(());
    }
    if (caller.platform, &caller.account) != (to.platform, &to.account) {
        return Err(refused());
    }
    if caller.conversation == to.conversation {
        return Ok(());
    }
    let policies = &cx.inner.snapshot.load().policies.clone();
    let there = contract::Caller {
        tenant: policies.tenant(to.platform, to.space.as_deref(), &to.conversation).to_owned(),
        conversation: to.conversation.clone(),
        thread: to.thread.clone(),
        space: to.space.clone(),
        roles: Vec::new(),
        ..caller.clone()
    };
    match connected.source.roles(&there).await {
        Ok(roles) if !roles.is_empty() => {
            let there = contract::Caller { roles, ..there };
            policies::permit(policies, policies, &there, tool, None).map(drop).map_err(|_| refused())
        }
        Ok(_) | Err(DeliveryError::Refused(_)) => Err(refused()),
        Err(error) => Err(ToolFailure::new(Fault::Unavailable, "the platform did not say whether you may write there")
            .cause(contract::Private::new(error.to_string()))),
    }
}

/// A file that the turn's message names.
pub(crate) async fn open(cx: &TurnCx, file: &FileRef) -> Result<ByteStream, ToolFailure> {
    let unavailable = || ToolFailure::new(Fault::Unavailable, "the file cannot be fetched from the chat any more");
    let to = cx.address.as_ref().ok_or_else(unavailable)?;
    let connected = cx.inner.outlet(to).ok_or_else(unavailable)?;
    connected.source.open(file).await.map_err(|e| unavailable().cause(contract::Private::new(e.to_string())))
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

async fn deliver(inner: &Arc<Inner>, mut job: Job) {
    let Some(connected) = inner.outlet(&job.delivery.to) else {
        warn!(turn = %job.turn, to = %job.delivery.to.platform, "no adapter for this delivery; it waits for the next start");
        return;
    };
    // A crash of an adapter's code costs this message, not those that wait behind it.
    let sending = AssertUnwindSafe(parts(inner, &connected, &mut job)).catch_unwind().await;
    let ended = sending.unwrap_or_else(|_| Err(Stop::Failed(Code::Internal, "the adapter's code panicked".into())));
    let state = match ended {
        Ok(()) => DeliveryState::Done,
        Err(Stop::Over) => return,
        Err(Stop::Failed(code, why)) => {
            warn!(turn = %job.turn, n = job.delivery.n, why, "delivery failed");
            DeliveryState::Failed(code)
        }
    };
    job.delivery.state = state;
    let mut changes = vec![Change::Delivery(job.delivery.clone())];
    changes.extend(job.settling.settle());
    // When it is not ours any more, the new owner settles it.
    let _ = write(inner, &job, &changes).await;
}

async fn write(inner: &Inner, job: &Job, changes: &[Change]) -> Result<(), Over> {
    let Some(fence) = job.fence else { return Ok(()) };
    persist_of(inner, fence, job.turn, &job.session, changes).await
}

/// Sends part after part, from where the record stands.
async fn parts(inner: &Arc<Inner>, connected: &Connected, job: &mut Job) -> Result<(), Stop> {
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
        match doubt(connected, job, n).await {
            Doubt::Arrived(receipt) => {
                keep_receipt(job, n, receipt);
                n += 1;
            }
            Doubt::Open => job.mark(n),
            Doubt::Harmless => {}
        }
    }
    n = go_on_from(connected, job, n);
    let mut rendered = render(connected, job);
    while let Some(part) = rendered.get(n as usize).cloned() {
        if std::mem::take(&mut job.announce) && !announced(inner, connected, job, n).await? {
            job.announce = true;
            rendered = render(connected, job);
            continue;
        }
        match send(inner, connected, job, n, &part).await? {
            Sent::Receipt(receipt) => keep_receipt(job, n, receipt),
            Sent::RenderAgain => {
                rendered = render(connected, job);
                continue;
            }
        }
        n += 1;
        if (n as usize) < rendered.len() {
            // Sent and the next one's start are one write.
            job.delivery.state = DeliveryState::Sending { part: n };
            write(inner, job, &[Change::Delivery(job.delivery.clone())]).await?;
        }
    }
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
        content: vec![Content::Plain(DUPLICATE_MARK.into())],
        audience: job.reply.audience,
        ..Reply::default()
    };
    let Some(part) = connected.outlet.render(&words, &job.delivery.to).into_iter().next() else { return Ok(true) };
    Ok(matches!(send(inner, connected, job, n, &part).await?, Sent::Receipt(_)))
}

fn keep_receipt(job: &mut Job, n: u32, receipt: Receipt) {
    job.delivery.receipts.truncate(n as usize);
    job.delivery.receipts.push(receipt);
    job.unsure = 0;
}

/// What is known of a part that an earlier life may have sent.
enum Doubt {
    Arrived(Receipt),
    /// Sent again, with the mark.
    Open,
    /// Replacing again changes nothing.
    Harmless,
}

async fn doubt(connected: &Connected, job: &Job, n: u32) -> Doubt {
    if n == 0 && job.delivery.draft.is_some() {
        return Doubt::Harmless;
    }
    let key = DeliveryKey { turn: job.turn, n: job.delivery.n, part: n };
    let finding = connected.outlet.send(&job.delivery.to, Op::Find, &key);
    match tokio::time::timeout(SEND_DEADLINE, finding).await {
        Ok(Ok(receipt)) => Doubt::Arrived(receipt),
        Ok(Err(_)) | Err(_) => Doubt::Open,
    }
}

enum Sent {
    Receipt(Receipt),
    /// Address, audience or mark changed: the parts are to be made anew.
    RenderAgain,
}

/// Sends one part until the platform has taken or refused it.
async fn send(inner: &Arc<Inner>, connected: &Connected, job: &mut Job, n: u32, part: &Part) -> Result<Sent, Stop> {
    let mut part = part.clone();
    let began = Instant::now();
    let mut tries = 0;
    loop {
        let at = inner.deliveries.place(&job.delivery.to, connected.outlet.pace(&job.delivery.to));
        pause(inner, at.saturating_duration_since(Instant::now())).await?;
        if job.delivery.state != (DeliveryState::Sending { part: n }) {
            job.delivery.state = DeliveryState::Sending { part: n };
            write(inner, job, &[Change::Delivery(job.delivery.clone())]).await?;
        }
        let key = DeliveryKey { turn: job.turn, n: job.delivery.n, part: n };
        let draft = job.delivery.draft.clone().filter(|_| n == 0);
        let op = draft.as_ref().map_or(Op::Post(&part), |receipt| Op::Replace(receipt, &part));
        let sending = tokio::time::timeout(SEND_DEADLINE, connected.outlet.send(&job.delivery.to, op, &key));
        let error = match sending.await {
            Ok(Ok(receipt)) => return Ok(Sent::Receipt(receipt)),
            Ok(Err(error)) => error,
            Err(_) => DeliveryError::Unsure("no answer in time".into()),
        };
        tries += 1;
        match error {
            DeliveryError::Wait { scope, until } => wait(inner, job, n, scope, until).await?,
            DeliveryError::NotSent(why) => {
                if began.elapsed() > UNREACHABLE_MAX {
                    return Err(Stop::Failed(Code::DeliveryRefused, why));
                }
                pause(inner, backoff(tries)).await?;
            }
            DeliveryError::Unsure(why) => {
                job.unsure += 1;
                if job.unsure >= UNSURE_MAX {
                    return Err(Stop::Failed(Code::DeliveryRefused, why));
                }
                pause(inner, backoff(tries)).await?;
                if draft.is_none() {
                    job.mark(n);
                    return Ok(Sent::RenderAgain);
                }
            }
            DeliveryError::Refused(why) => match refused(connected, job, why, draft.is_some(), &part)? {
                Next::Plain => part.body = String::new(),
                Next::RenderAgain => {
                    // What changed is durable before the next request.
                    job.delivery.state = DeliveryState::Ready { part: n, due_ms: 0 };
                    return Ok(Sent::RenderAgain);
                }
            },
        }
    }
}

enum Next {
    Plain,
    RenderAgain,
}

/// What is to be done about a refusal; an error when nothing is left.
fn refused(connected: &Connected, job: &mut Job, why: Why, replacing: bool, part: &Part) -> Result<Next, Stop> {
    let failed = |why: &Why| Err(Stop::Failed(Code::DeliveryRefused, why.to_string()));
    match why {
        Why::Markup if !part.body.is_empty() => {
            warn!(turn = %job.turn, "the platform refused our markup; sent again without");
            Ok(Next::Plain)
        }
        // The progress message is gone or too old: the answer is a message of its own.
        _ if replacing => {
            job.delivery.draft = None;
            Ok(Next::RenderAgain)
        }
        Why::Moved(to) => {
            job.delivery.to.conversation = to;
            Ok(Next::RenderAgain)
        }
        Why::Gone => match connected.outlet.fallback(&job.delivery.to) {
            Some(to) if to != job.delivery.to => {
                job.delivery.to = to;
                Ok(Next::RenderAgain)
            }
            _ => failed(&Why::Gone),
        },
        Why::Unsupported if job.reply.audience == Audience::Sender => {
            job.reply = Arc::new(for_everyone(&job.reply));
            Ok(Next::RenderAgain)
        }
        why => failed(&why),
    }
}

/// A private reply where the platform cannot be private: only the sentences that anybody may read.
fn for_everyone(reply: &Reply) -> Reply {
    let mut reply = Reply { audience: Audience::Everyone, ..reply.clone() };
    for content in &mut reply.content {
        if let Content::Notice(notice) = content {
            notice.problems.clear();
            notice.usage = None;
        }
    }
    reply
}

async fn wait(inner: &Arc<Inner>, job: &mut Job, n: u32, scope: Scope, until: SystemTime) -> Result<(), Stop> {
    let wait = until.duration_since(SystemTime::now()).unwrap_or_default();
    if scope == Scope::Account {
        inner.deliveries.hold_account(&job.delivery.to, Instant::now() + wait);
    }
    let part = format!("delivery to {}", job.delivery.to.written());
    if wait > LONG_WAIT {
        let words = format!("the platform asks to wait {} s", wait.as_secs());
        inner.health.set(&part, Condition::Degraded(words));
    }
    if wait > Duration::from_secs(1) {
        let due_ms = now_ms() + u64::try_from(wait.as_millis()).unwrap_or(u64::MAX / 2);
        job.delivery.state = DeliveryState::Ready { part: n, due_ms };
        write(inner, job, &[Change::Delivery(job.delivery.clone())]).await?;
    }
    pause(inner, wait).await?;
    if wait > LONG_WAIT {
        inner.health.set(&part, Condition::Ready);
    }
    Ok(())
}

/// Full jitter: anything up to the bound, which doubles.
fn backoff(tries: u32) -> Duration {
    let bound = Duration::from_millis(500).saturating_mul(1 << tries.min(10)).min(BACKOFF_MAX);
    let random = TurnId::new().0.random() % 1_000;
    bound.mul_f64(random as f64 / 1_000.0).max(Duration::from_millis(50))
}

async fn pause(inner: &Inner, time: Duration) -> Result<(), Stop> {
    if time.is_zero() {
        return Ok(());
    }
    // A long wait does not hold up the leaving: the record says when it goes on.
    let leaving = async {
        if time > Duration::from_secs(5) { inner.stop.cancelled().await } else { inner.kill.cancelled().await }
    };
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        () = leaving => Err(Stop::Over),
    }
}
