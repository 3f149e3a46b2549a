//! One shard: a socket that is held, resumed after whatever ends it, and left behind when it goes silent.

use std::{ops::ControlFlow, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use contract::{Core, Stopped};
use futures_util::{FutureExt, StreamExt};
use serde_json::Value;
use tokio::{
    pin,
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use twilight_gateway::{
    CloseFrame, Message, Shard as Socket, ShardId,
    error::{ReceiveMessageError, ReceiveMessageErrorType},
};

use super::{
    Event, Memory, Report, back_off,
    door::{self, Door, Free},
    fatal,
    keeper::Shard,
};
use crate::{Discord, answers, intake::Intake, random};

/// Events that wait to be taken in. When more come the socket is left, and resumed when there is room.
const QUEUE: usize = 1_000;
/// Interactions at work.
const MOST_INTERACTIONS: usize = 500;
/// Connections in a row after which their session is given up, should it be what cannot be borne.
const PANICS: u32 = 3;
/// How often it is looked whether there is room.
const ROOM: Duration = Duration::from_millis(500);
/// How long the last things may take once we are to stop.
const FAREWELL: Duration = Duration::from_secs(3);
const GOODBYE: Duration = Duration::from_millis(300);
/// Discord wants one to five seconds between a refused session and a new one; in units of the time between identifies.
const AFTER_REFUSAL: (f64, f64) = (0.2, 0.8);
/// What else is dispatched says nothing to us.
const WANTED: [&str; 6] =
    ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_REACTION_ADD", "INTERACTION_CREATE", "READY", "THREAD_LIST_SYNC"];
const WANTED_KINDS: [&str; 3] = ["GUILD_", "CHANNEL_", "THREAD_"];
const UNWANTED: [&str; 4] = ["GUILD_MEMBER", "GUILD_EMOJIS", "GUILD_STICKERS", "CHANNEL_PINS"];

const DISPATCH: u64 = 0;
const RECONNECT: u64 = 7;
const INVALID_SESSION: u64 = 9;

/// Holds a shard until shutdown. Ends by itself only for what a person must mend.
pub(super) async fn run(
    discord: Arc<Discord>,
    core: Core,
    door: Arc<Door>,
    id: ShardId,
    leaving: CancellationToken,
) -> Result<(), Stopped> {
    let part = if id.total() == 1 { discord.part() } else { format!("{}/{}", discord.part(), id.number()) };
    let report = Arc::new(Report::new(core.health.clone(), part));
    let memory = Arc::new(Memory::default());
    let (events, queue) = mpsc::channel(QUEUE);
    let holds = watch::Sender::new(false);
    let shard = Shard { discord, core, door, id, report, memory, holds };
    tokio::select! {
        () = shard.recall() => {}
        () = leaving.cancelled() => return Ok(()),
    }
    let mut live = Live { shard: &shard, events, interactions: JoinSet::new(), failures: 0 };
    let intake = Intake::new(&shard.discord, &shard.core, &shard.memory, &shard.report).run(queue);
    pin!(intake);
    let ended = tokio::select! {
        biased;
        () = leaving.cancelled() => Ok(()),
        ended = live.hold() => ended,
        never = shard.keep() => match never {},
        () = &mut intake => Ok(()),
    };
    let Live { events, mut interactions, .. } = live;
    drop(events);
    let last = async {
        while interactions.join_next().await.is_some() {}
        intake.await;
    };
    // What does not come to its end comes again after the restart.
    let _ = timeout(FAREWELL, last).await;
    shard.finish().await;
    ended
}

/// What follows a connection.
enum Ended {
    Fatal(Stopped),
    /// The next one, after that time.
    Again(Duration),
    /// The next one, when there is room for its events.
    Full,
    /// Another process is connected for this shard.
    Another,
}

/// What a frame was.
#[derive(Default)]
struct Heard {
    is_greeting: bool,
    /// To be taken in.
    event: Option<Event>,
}

/// A shard at work.
struct Live<'a> {
    shard: &'a Shard,
    events: mpsc::Sender<Event>,
    interactions: JoinSet<()>,
    failures: u32,
}

impl Live<'_> {
    async fn hold(&mut self) -> Result<(), Stopped> {
        let mut holds = self.shard.holds.subscribe();
        loop {
            // The sender lives as long as we do.
            let _ = holds.wait_for(|holds| *holds).await;
            let ended = tokio::select! {
                ended = AssertUnwindSafe(self.connection()).catch_unwind() => ended,
                _ = holds.wait_for(|holds| !holds) => Ok(Ended::Another),
            };
            // Whatever the library made of what it was sent: one frame must not silence a bot for ever.
            let ended = ended.unwrap_or_else(|_| {
                tracing::error!(account = self.shard.discord.account, "a connection ended by a panic");
                match self.failures {
                    // A session brings again what was not received.
                    PANICS.. => self.shard.memory.forget(),
                    _ => self.shard.memory.go_to_the_front(),
                }
                Ended::Again(self.pause("what the gateway sends cannot be read"))
            });
            match ended {
                Ended::Fatal(stopped) => return Err(stopped),
                Ended::Again(wait) => sleep(wait).await,
                Ended::Another => {
                    // Whoever has it meanwhile may come further.
                    let _ = holds.wait_for(|holds| *holds).await;
                    self.shard.recall().await;
                }
                Ended::Full => {
                    while self.events.capacity() < QUEUE / 2 {
                        sleep(ROOM).await;
                    }
                }
            }
        }
    }

    /// One socket from its opening to whatever ends it.
    async fn connection(&mut self) -> Ended {
        let shard = self.shard;
        let timing = &shard.discord.config.timing;
        let session = shard.memory.received();
        if session.is_none() {
            shard.door.admit(shard.id, &shard.report).await;
        }
        let mut socket = shard.door.socket(shard.id, session.as_ref());
        let mut is_greeted = false;
        let mut quiet_until = Instant::now() + timing.greeting;
        loop {
            let said = tokio::select! {
                said = socket.next() => said,
                () = sleep_until(quiet_until) => {
                    shard.report.socket("the gateway says nothing: the connection is rebuilt");
                    return Ended::Again(back_off(&mut self.failures, timing.backoff));
                }
            };
            let text = match said {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => return self.closed(frame.as_ref()),
                None => return self.closed(None),
                Some(Err(error)) => match error.kind() {
                    // It may be an event that only the library does not understand.
                    ReceiveMessageErrorType::Deserializing { event } => event.clone(),
                    _ => return self.lost(&error),
                },
            };
            match self.heard(&text) {
                ControlFlow::Continue(Heard { is_greeting, event }) => {
                    is_greeted |= is_greeting;
                    if let Some(event) = event
                        && !self.pass_on(event).await
                    {
                        goodbye(&mut socket).await;
                        return Ended::Full;
                    }
                }
                ControlFlow::Break(ended) => {
                    goodbye(&mut socket).await;
                    return ended;
                }
            }
            // Until it is greeted it has one deadline, whatever it says.
            if is_greeted {
                quiet_until = Instant::now() + timing.silence;
            }
        }
    }

    fn closed(&mut self, frame: Option<&CloseFrame<'_>>) -> Ended {
        let code = frame.map_or(0, |frame| frame.code);
        if let Some(stopped) = fatal::of(code) {
            return Ended::Fatal(stopped);
        }
        if fatal::ends_session(code) {
            self.shard.memory.forget();
        }
        tracing::info!(account = self.shard.discord.account, code, "the gateway closed the connection");
        Ended::Again(self.pause("the connection to the gateway was closed"))
    }

    fn lost(&mut self, error: &ReceiveMessageError) -> Ended {
        tracing::info!(account = self.shard.discord.account, %error, "the gateway was lost");
        // Where the session was to be resumed nobody may be any more.
        self.shard.memory.go_to_the_front();
        Ended::Again(self.pause("the gateway cannot be reached"))
    }

    /// The first time it is tried again nearly at once, and operators are not bothered.
    fn pause(&mut self, why: &str) -> Duration {
        let most = self.shard.discord.config.timing.backoff;
        if self.failures > 0 {
            self.shard.report.socket(why);
        }
        back_off(&mut self.failures, most)
    }

    /// Whether there was room for an event in time. Else it does not count as received, and comes again.
    async fn pass_on(&self, event: Event) -> bool {
        let shard = self.shard;
        let at = event.at();
        let has_room =
            matches!(timeout(shard.discord.config.timing.pressure, self.events.send(event)).await, Ok(Ok(())));
        match has_room {
            true => shard.memory.count(at),
            false => shard.report.socket("more comes than is taken in: the connection waits"),
        }
        has_room
    }

    /// Takes a frame; what it was, or what follows when the connection is over.
    fn heard(&mut self, frame: &str) -> ControlFlow<Ended, Heard> {
        let memory = &self.shard.memory;
        let Ok(mut frame) = serde_json::from_str::<Value>(frame) else {
            tracing::warn!(account = self.shard.discord.account, "a frame is no JSON and is passed over");
            return ControlFlow::Continue(Heard::default());
        };
        match frame["op"].as_u64() {
            Some(DISPATCH) => ControlFlow::Continue(self.dispatched(&mut frame)),
            Some(RECONNECT) => ControlFlow::Break(Ended::Again(self.pause("the gateway wants a new connection"))),
            Some(INVALID_SESSION) => {
                let can_resume = frame["d"] == true;
                if !can_resume {
                    memory.forget();
                }
                tracing::info!(account = self.shard.discord.account, can_resume, "the session was refused");
                let (least, range) = AFTER_REFUSAL;
                self.failures += 1;
                ControlFlow::Break(Ended::Again(
                    self.shard.discord.config.timing.identify.mul_f64(least + range * random()),
                ))
            }
            _ => ControlFlow::Continue(Heard::default()),
        }
    }

    fn dispatched(&mut self, frame: &mut Value) -> Heard {
        let shard = self.shard;
        let (Some(seq), Some(name)) = (frame["s"].as_u64(), frame["t"].as_str().map(str::to_owned)) else {
            tracing::warn!(account = shard.discord.account, "an event without a name or number is passed over");
            return Heard::default();
        };
        let is_greeting = matches!(name.as_str(), "READY" | "RESUMED");
        if name == "READY" {
            match door::begun(&frame["d"], seq) {
                Some(session) => shard.memory.begin(session),
                None => shard.memory.forget(),
            }
        }
        if is_greeting {
            tracing::info!(
                account = shard.discord.account,
                shard = shard.id.number(),
                name,
                "is connected to the gateway"
            );
            self.failures = 0;
            shard.report.up();
        }
        if !is_wanted(&name) {
            shard.memory.pass(seq);
            return Heard { is_greeting, event: None };
        }
        let event = shard.memory.event(seq, name, frame["d"].take());
        if event.name == "INTERACTION_CREATE" {
            self.interaction(event);
            return Heard::default();
        }
        Heard { is_greeting, event: Some(event) }
    }

    /// An interaction does not wait behind messages: its time is short.
    fn interaction(&mut self, event: Event) {
        while self.interactions.try_join_next().is_some() {}
        let shard = self.shard;
        shard.memory.count(event.at());
        if self.interactions.len() >= MOST_INTERACTIONS {
            tracing::warn!(account = shard.discord.account, "too many interactions at once: one is not answered");
            shard.memory.done(&event);
            return;
        }
        let (discord, core, memory) = (shard.discord.clone(), shard.core.clone(), shard.memory.clone());
        self.interactions.spawn(async move {
            let answering = AssertUnwindSafe(answers::answer(&discord, &core, &event.data));
            if answering.catch_unwind().await.is_err() {
                tracing::error!(account = discord.account, "an interaction could not be read and is passed over");
            }
            memory.done(&event);
        });
    }
}

fn is_wanted(name: &str) -> bool {
    let is_of = |kinds: &[&str]| kinds.iter().any(|kind| name.starts_with(kind));
    WANTED.contains(&name) || (is_of(&WANTED_KINDS) && !is_of(&UNWANTED))
}

/// Lets the library close the socket in a way that keeps the session.
async fn goodbye(socket: &mut Socket<Free>) {
    socket.close(CloseFrame::RESUME);
    let closing = async {
        while let Some(Ok(said)) = socket.next().await {
            if said.is_close() {
                return;
            }
        }
    };
    let _ = timeout(GOODBYE, closing).await;
}
