//! What stands out: a tool that is suddenly called much more than before, and sessions that call tools in a row which
//! nobody else calls together. A hint for people to look, never a verdict.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use contract::{
    Node, NodeKind, SessionKey, StoreDown, TurnId,
    records::{Measure, Stores, TurnQuery},
};

use crate::fared::TURNS_MOST;

/// Calls are compared by so many minutes.
const WINDOW: u64 = 15;
/// Windows before one that it is compared with, at least; with fewer nothing is known of what is usual.
const PAST: u64 = 8;
/// Fewer calls than this in a window are never a rise.
const CALLS: u64 = 20;
/// So many times as many as in the mean of the past.
const TIMES: f64 = 3.0;
/// Standard deviations of a count with that mean above it.
const DEVIATIONS: f64 = 4.0;
/// Calls of one session are in a row when the next one comes within this time, microseconds.
const ROW_US: u64 = 10 * 60 * 1_000_000;
/// Different tools of a row that nothing else joins.
const UNRELATED: usize = 5;
/// Other sessions in which two tools follow each other, for them to belong together.
const TOGETHER: usize = 2;
/// Sessions that have to be there for a comparison.
const SESSIONS: usize = 5;

/// Something that stands out.
#[derive(Debug, Clone, PartialEq)]
pub enum Unusual {
    Rise { tool: String, from_minute: u64, calls: u64, usual: f64 },
    Row { session: SessionKey, turn: TurnId, tools: Vec<String> },
}

/// What stood out since a time, by what the store has of it.
pub async fn unusual(stores: &Stores, since_ms: u64, now_ms: u64) -> Result<Vec<Unusual>, StoreDown> {
    let mut found = rises(&stores.trees.measures(since_ms).await?, now_ms / 60_000);
    let query = TurnQuery { since_ms: Some(since_ms), most: TURNS_MOST, ..TurnQuery::default() };
    let mut sessions = BTreeMap::<String, Vec<Called>>::new();
    for line in stores.trees.turns(&query).await?.iter().filter(|line| line.calls > 0) {
        let nodes = stores.trees.tree(line.turn).await?;
        let calls = sessions.entry(line.session.to_string()).or_default();
        calls.extend(nodes.iter().filter(|node| is_of_the_turn(node)).map(|node| Called::of(&line.session, node)));
    }
    found.extend(rows(sessions.into_values().collect()));
    Ok(found)
}

/// What a pipeline calls belongs together by its spec.
fn is_of_the_turn(node: &Node) -> bool {
    node.kind == NodeKind::Call && node.names_a_tool() && node.path.as_ref().is_none_or(|path| path.depth() <= 1)
}

/// The highest rise of each tool.
fn rises(measures: &[Measure], minute_now: u64) -> Vec<Unusual> {
    let mut tools = BTreeMap::<&str, BTreeMap<u64, u64>>::new();
    // Windows end now, so that the newest one is whole.
    let window = |minute: u64| minute_now.saturating_sub(minute) / WINDOW;
    for measure in measures {
        *tools.entry(&measure.tool).or_default().entry(window(measure.minute)).or_default() += measure.calls();
    }
    tools.iter().filter_map(|(tool, windows)| rise(tool, windows, minute_now)).collect()
}

/// `windows` counts back from now.
fn rise(tool: &str, windows: &BTreeMap<u64, u64>, minute_now: u64) -> Option<Unusual> {
    let oldest = *windows.last_key_value()?.0;
    let (mut before, mut highest) = (0, None::<(f64, u64, u64, f64)>);
    for ago in (0..=oldest).rev() {
        let calls = windows.get(&ago).copied().unwrap_or(0);
        let past = oldest - ago;
        let mean = before as f64 / past.max(1) as f64;
        let is_rise = past >= PAST
            && calls >= CALLS
            && calls as f64 >= TIMES * mean
            && calls as f64 > mean + DEVIATIONS * mean.max(1.0).sqrt();
        let times = calls as f64 / mean.max(0.1);
        if is_rise && highest.is_none_or(|(most, ..)| times > most) {
            highest = Some((times, ago, calls, mean));
        }
        before += calls;
    }
    let (_, ago, calls, usual) = highest?;
    let from_minute = minute_now.saturating_sub((ago + 1) * WINDOW - 1);
    Some(Unusual::Rise { tool: tool.to_owned(), from_minute, calls, usual })
}

/// A call of a session.
struct Called {
    session: SessionKey,
    turn: TurnId,
    tool: String,
    at_us: u64,
}

impl Called {
    fn of(session: &SessionKey, node: &Node) -> Self {
        Self { session: session.clone(), turn: node.turn, tool: node.tool.clone(), at_us: node.started_us }
    }
}

fn rows(mut sessions: Vec<Vec<Called>>) -> Vec<Unusual> {
    if sessions.len() < SESSIONS {
        return Vec::new();
    }
    for calls in &mut sessions {
        calls.sort_by_key(|call| call.at_us);
    }
    let pairs: Vec<HashSet<(&str, &str)>> = sessions.iter().map(|calls| neighbours(calls)).collect();
    let mut together = HashMap::<(&str, &str), usize>::new();
    for pair in pairs.iter().flatten() {
        *together.entry(*pair).or_default() += 1;
    }
    // A pair of the session itself does not speak for it.
    let belong = |a: &str, b: &str| stem(a) == stem(b) || together.get(&pair(a, b)).is_some_and(|n| *n > TOGETHER);
    sessions.iter().filter_map(|calls| longest_row(calls, belong)).collect()
}

/// Tools that follow each other, in the order of their names.
fn neighbours(calls: &[Called]) -> HashSet<(&str, &str)> {
    calls.windows(2).map(|two| pair(&two[0].tool, &two[1].tool)).collect()
}

fn pair<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    if a <= b { (a, b) } else { (b, a) }
}

/// `orders` of `orders_list` and of `orders.cancel`: tools of one name belong together.
fn stem(tool: &str) -> &str {
    tool.split(['_', '.', '-', '/']).next().unwrap_or(tool)
}

fn longest_row(calls: &[Called], belong: impl Fn(&str, &str) -> bool) -> Option<Unusual> {
    let mut longest: Option<(BTreeSet<&str>, &Called)> = None;
    let mut row: BTreeSet<&str> = BTreeSet::new();
    let mut last: Option<&Called> = None;
    for call in calls {
        let goes_on =
            last.is_some_and(|last| call.at_us.saturating_sub(last.at_us) <= ROW_US && !belong(&last.tool, &call.tool));
        if !goes_on {
            row.clear();
        }
        row.insert(&call.tool);
        if longest.as_ref().is_none_or(|(tools, _)| row.len() > tools.len()) {
            longest = Some((row.clone(), call));
        }
        last = Some(call);
    }
    let (tools, call) = longest.filter(|(tools, _)| tools.len() >= UNRELATED)?;
    let tools = tools.into_iter().map(str::to_owned).collect();
    Some(Unusual::Row { session: call.session.clone(), turn: call.turn, tools })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(tool: &str, minute: u64, ok: u64) -> Measure {
        Measure { tool: tool.into(), minute, ok, ..Measure::default() }
    }

    #[test]
    fn a_tool_that_is_called_much_more_than_before_stands_out() {
        let now = 10_000;
        let steady = (0..300).map(|ago| measure("steady", now - ago, 2));
        let mut all: Vec<_> = steady.collect();
        all.extend((20..300).step_by(5).map(|ago| measure("risen", now - ago, 1)));
        all.extend((0..10).map(|ago| measure("risen", now - ago, 9)));
        // Of a new tool it is not known what is usual.
        all.extend((0..10).map(|ago| measure("new", now - ago, 50)));
        let found = rises(&all, now);
        let [Unusual::Rise { tool, from_minute, calls, usual }] = &found[..] else { panic!("{found:?}") };
        assert_eq!((tool.as_str(), *from_minute, *calls), ("risen", now - 14, 90));
        assert!((2.0..3.5).contains(usual), "{usual}");
    }

    fn session(name: &str, tools: &[&str]) -> Vec<Called> {
        let called = |(n, tool): (usize, &&str)| Called {
            session: SessionKey::from_text(name),
            turn: TurnId::default(),
            tool: (*tool).to_owned(),
            at_us: n as u64 * 1_000_000,
        };
        tools.iter().enumerate().map(called).collect()
    }

    #[test]
    fn a_row_of_tools_that_nobody_else_calls_together_stands_out() {
        let usual = ["search", "page", "summary", "mail", "calendar", "weather"];
        let mut sessions: Vec<_> = (0..6).map(|n| session(&format!("usual {n}"), &usual)).collect();
        sessions.push(session("one toolset", &["files_a", "files_b", "files_c", "files_d", "files_e", "files_f"]));
        sessions.push(session("odd", &["users", "keys", "backup", "shell", "payments", "upload"]));
        let found = rows(sessions);
        let [Unusual::Row { session, tools, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!((session.to_string().as_str(), tools.len()), ("odd", 6));
    }

    #[test]
    fn without_others_to_compare_with_nothing_is_said() {
        assert_eq!(rows(vec![session("odd", &["users", "keys", "backup", "shell", "payments", "upload"])]), []);
    }
}
