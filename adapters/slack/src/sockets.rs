//! Holds the account's sockets: opens what is missing, one at a time and not in a loop, and begins a new one before an old
//! one ends.

use std::{collections::HashMap, sync::Arc, time::Duration};

use contract::{Core, Stopped, seams::Condition};
use serde_json::json;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Slack,
    api::{As, Problem},
    inbound::{Me, text},
    intake::Intake,
    random, refusal, socket,
};

const FIRST_BACKOFF: Duration = Duration::from_millis(200);
/// A socket that lives so long was a good one: the next is opened at once.
const STEADY: Duration = Duration::from_secs(5);
/// Slack opens no more, and one that is to end needs a place beside its successor.
const MOST_SOCKETS: usize = 9;
/// News of sockets that wait to be read.
const MOST_NEWS: usize = 64;

/// What a socket tells.
#[derive(Debug)]
pub(crate) enum News {
    /// It says hello.
    Open,
    /// It will end soon; until then it is still listened to.
    Leaving,
    /// It ended, or did not come about.
    Ended(End),
}

/// Why a socket ended.
#[derive(Debug)]
pub(crate) enum End {
    Closed(String),
    Refused(Problem),
    /// A person must act.
    Stopped(Stopped),
}

/// A socket's way to its keeper.
pub(crate) struct Teller {
    id: u64,
    news: mpsc::Sender<(u64, News)>,
}

impl Teller {
    pub(crate) async fn tell(&self, news: News) {
        // A keeper that is gone needs no news.
        let _ = self.news.send((self.id, news)).await;
    }
}

/// Who we are; asked until it is answered.
pub(crate) async fn introduce(slack: &Slack, core: &Core) -> Result<Me, Stopped> {
    let mut failures = 0;
    loop {
        let problem = match slack.api.call("auth.test", &json!({})).await {
            Ok(answer) => match text(&answer, "user_id") {
                Some(user) => {
                    let is_whole = answer["is_enterprise_install"] == true;
                    return Ok(Me {
                        user: user.to_owned(),
                        bot: text(&answer, "bot_id").map(str::to_owned),
                        app: text(&answer, "app_id").map(str::to_owned),
                        team: text(&answer, "team_id").unwrap_or_default().to_owned(),
                        organisation: text(&answer, "enterprise_id").filter(|_| is_whole).map(str::to_owned),
                    });
                }
                None => Problem::Unsure("an answer without a user".into()),
            },
            Err(problem) => problem,
        };
        if let Some(stopped) = refusal::fatal(&problem) {
            return Err(stopped);
        }
        core.health.set(&slack.part(), Condition::Degraded(trouble(&problem)));
        sleep(wait(&problem, failures, slack.config.timing.backoff)).await;
        failures += 1;
    }
}

/// Keeps the sockets open until shutdown.
pub(crate) async fn hold(
    slack: &Arc<Slack>,
    intake: &Arc<Intake>,
    shutdown: &CancellationToken,
) -> Result<(), Stopped> {
    let (news, heard) = mpsc::channel(MOST_NEWS);
    intake.report.line(Condition::Degraded("no socket is open yet".into()));
    let mut keeper = Keeper {
        slack: slack.clone(),
        intake: intake.clone(),
        stop: shutdown.child_token(),
        open: HashMap::new(),
        tasks: JoinSet::new(),
        news,
        heard,
        next: 0,
        failures: 0,
        due: Instant::now(),
    };
    let ended = tokio::select! {
        biased;
        () = shutdown.cancelled() => Ok(()),
        ended = keeper.keep() => ended,
    };
    // They stop reading, acknowledge what is being taken in, and close.
    keeper.stop.cancel();
    keeper.heard.close();
    while keeper.tasks.join_next().await.is_some() {}
    ended
}

/// A socket as it is known here.
struct Line {
    since: Instant,
    is_open: bool,
    is_leaving: bool,
}

struct Keeper {
    slack: Arc<Slack>,
    intake: Arc<Intake>,
    stop: CancellationToken,
    open: HashMap<u64, Line>,
    tasks: JoinSet<()>,
    news: mpsc::Sender<(u64, News)>,
    heard: mpsc::Receiver<(u64, News)>,
    next: u64,
    failures: u32,
    /// Before then no further socket is opened.
    due: Instant,
}

impl Keeper {
    async fn keep(&mut self) -> Result<(), Stopped> {
        loop {
            let staying = self.open.values().filter(|line| !line.is_leaving);
            let is_opening = staying.clone().any(|line| !line.is_open);
            let wants = !is_opening && staying.count() < self.slack.config.timing.sockets.clamp(1, MOST_SOCKETS);
            tokio::select! {
                Some((id, news)) = self.heard.recv() => self.hear(id, news)?,
                () = sleep_until(self.due), if wants => self.begin(),
                Some(_) = self.tasks.join_next() => {}
            }
        }
    }

    fn begin(&mut self) {
        let id = self.next;
        self.next += 1;
        self.open.insert(id, Line { since: Instant::now(), is_open: false, is_leaving: false });
        let (slack, intake, stop) = (self.slack.clone(), self.intake.clone(), self.stop.clone());
        let teller = Teller { id, news: self.news.clone() };
        self.tasks.spawn(async move {
            let opened = tokio::select! {
                opened = open(&slack) => opened,
                () = stop.cancelled() => return,
            };
            let ended = match opened {
                Ok(url) => socket::listen(&slack, &intake, &url, &stop, &teller).await,
                Err(end) => end,
            };
            teller.tell(News::Ended(ended)).await;
        });
    }

    fn hear(&mut self, id: u64, news: News) -> Result<(), Stopped> {
        match news {
            News::Open => {
                if let Some(line) = self.open.get_mut(&id) {
                    line.is_open = true;
                }
                self.intake.report.line(Condition::Ready);
            }
            News::Leaving => {
                if let Some(line) = self.open.get_mut(&id) {
                    line.is_leaving = true;
                    // One that is told to go as soon as it came must not be replaced in a loop.
                    self.failures = if line.since.elapsed() < STEADY { self.failures + 1 } else { 0 };
                    if self.failures > 1 {
                        self.due = Instant::now() + back_off(self.failures, self.slack.config.timing.backoff);
                    }
                }
            }
            News::Ended(End::Stopped(stopped)) => return Err(stopped),
            News::Ended(end) => self.ended(id, end),
        }
        Ok(())
    }

    fn ended(&mut self, id: u64, end: End) {
        let Some(line) = self.open.remove(&id) else { return };
        let why = match &end {
            End::Refused(problem) => trouble(problem),
            End::Closed(why) => why.clone(),
            End::Stopped(stopped) => stopped.why.clone(),
        };
        tracing::debug!(account = self.slack.account, why, "a socket ended");
        if line.is_open && line.since.elapsed() >= STEADY {
            self.failures = 0;
        } else if !line.is_leaving || !line.is_open {
            let most = self.slack.config.timing.backoff;
            let pause = match &end {
                End::Refused(problem) => wait(problem, self.failures, most),
                End::Closed(_) | End::Stopped(_) => back_off(self.failures, most),
            };
            self.failures += 1;
            self.due = self.due.max(Instant::now() + pause);
        }
        if !self.open.values().any(|line| line.is_open) {
            self.intake.report.line(Condition::Degraded(format!("no socket is open: {why}")));
        }
    }
}

/// Asks for a socket's address.
async fn open(slack: &Slack) -> Result<String, End> {
    match slack.api.call_as(As::App, "apps.connections.open", &json!({})).await {
        Ok(answer) => {
            let url = text(&answer, "url").unwrap_or_default();
            let is_known = url.parse().is_ok_and(|url| slack.api.hosts.knows(&url));
            is_known
                .then(|| url.to_owned())
                .ok_or_else(|| End::Closed("the socket's address is none of the platform's".into()))
        }
        Err(problem) => Err(match refusal::fatal(&problem) {
            Some(stopped) => End::Stopped(stopped),
            None if problem.is("missing_scope") => End::Stopped(crate::api::stopped(
                "the app-level token has not the scope connections:write",
                &[
                    "https://api.slack.com/apps → your app → Basic Information → App-Level Tokens → Generate, with the scope connections:write",
                    "set it as 'app_token'",
                ],
            )),
            None => End::Refused(problem),
        }),
    }
}

fn trouble(problem: &Problem) -> String {
    match problem {
        Problem::Refused { code, .. } => format!("Slack refuses: {code}"),
        Problem::Wait(_) => "Slack asks to wait".into(),
        Problem::NotSent(words) | Problem::Unsure(words) => format!("Slack does not answer: {words}"),
    }
}

/// How long after a failure it is tried again: what the platform says, else by chance.
fn wait(problem: &Problem, failures: u32, most: Duration) -> Duration {
    match problem {
        Problem::Wait(wait) => *wait + Duration::from_millis(50),
        Problem::Refused { .. } | Problem::NotSent(_) | Problem::Unsure(_) => back_off(failures, most),
    }
}

/// Full jitter over a range that doubles with each failure.
fn back_off(failures: u32, most: Duration) -> Duration {
    let range = FIRST_BACKOFF.saturating_mul(1 << failures.min(12)).min(most);
    range.mul_f64(random() as f64 / u64::MAX as f64).max(FIRST_BACKOFF.min(most) / 10)
}
