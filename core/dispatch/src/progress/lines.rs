//! The calls of a turn as its progress message lists them, each of which can be stopped by itself.

use contract::{Action, Button, CallId, Locale, TurnId};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Lines that are shown; of the others their number.
const LINES_MAX: usize = 16;
/// Calls that have a button of their own.
const STOPS_MAX: usize = 3;
/// A call that is quicker has none.
const STOP_AFTER: Duration = Duration::from_secs(5);

/// The calls so far, in the order of their starts.
#[derive(Default)]
pub(super) struct Lines(Vec<Line>);

struct Line {
    call: CallId,
    tool: String,
    since: Instant,
    ended: Option<bool>,
    /// Ends the call alone; nothing once it has ended.
    stop: Option<CancellationToken>,
}

impl Lines {
    pub fn begin(&mut self, call: CallId, tool: &str, stop: CancellationToken) {
        self.0.push(Line { call, tool: tool.to_owned(), since: Instant::now(), ended: None, stop: Some(stop) });
    }

    pub fn end(&mut self, call: CallId, ok: bool) {
        if let Some(line) = self.0.iter_mut().find(|line| line.call == call && line.ended.is_none()) {
            (line.ended, line.stop) = (Some(ok), None);
        }
    }

    /// Whether the call runs and is ended by this.
    pub fn stop(&self, call: CallId) -> bool {
        let stop = self.0.iter().find(|line| line.call == call).and_then(|line| line.stop.as_ref());
        stop.inspect(|stop| stop.cancel()).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn text(&self, locale: Locale) -> String {
        let ended = self.0.iter().filter(|line| line.ended.is_some()).count();
        let mut text = words::progress_counted(ended, self.0.len(), locale);
        for line in self.0.iter().take(LINES_MAX) {
            let mark = match line.ended {
                None => "⏳",
                Some(true) => "✅",
                Some(false) => "⚠️",
            };
            text.push_str(&format!("\n- {mark} `{}`", line.tool));
        }
        if let Some(more) = self.0.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
            text.push_str(&format!("\n- {}", words::progress_more(more, locale)));
        }
        text
    }

    /// One for each of the calls that take longest.
    pub fn buttons(&self, turn: TurnId, locale: Locale) -> Vec<Button> {
        let long = self.0.iter().filter(|line| line.stop.is_some() && line.since.elapsed() >= STOP_AFTER);
        let button = |line: &Line| Button {
            label: words::button_stop_call(&line.tool, locale),
            action: Action::CancelCall(turn, line.call),
        };
        long.take(STOPS_MAX).map(button).collect()
    }
}
