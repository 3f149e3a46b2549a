//! How tools fared in some turns: which ran, how often each failed and how, how long they took. From the turns' own call
//! trees, so that it can be told of one session or one schedule alone; over all turns there are measures.

use std::collections::BTreeMap;

use contract::{
    Code, Node, State, StoreDown, TurnId,
    records::{TurnLine, TurnQuery},
};

use crate::gateway::Gateway;

/// Most turns whose trees are read for it, the newest.
pub const TURNS_MOST: usize = 1_000;

/// How one tool fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fared {
    pub tool: String,
    pub calls: u64,
    pub ok: u64,
    /// By code, of those that did not succeed.
    pub failed: Vec<(Code, u64)>,
    pub p50_us: u64,
    pub slowest_us: u64,
    /// The turn of the slowest call.
    pub slowest_in: TurnId,
}

/// How the turns themselves fared, and every tool that they called, the slowest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaredIn {
    /// Under the empty name; nothing when there is no turn.
    pub turns: Option<Fared>,
    pub tools: Vec<Fared>,
    /// Further turns are kept, older than these.
    pub more: bool,
}

/// Adds calls up.
#[derive(Debug, Default)]
pub struct Tally(BTreeMap<String, Calls>);

#[derive(Debug, Default)]
struct Calls {
    ok: u64,
    failed: BTreeMap<&'static str, (Code, u64)>,
    took: Vec<(u64, TurnId)>,
}

impl Tally {
    /// The ended calls of a turn's tree.
    pub fn tree(&mut self, nodes: &[Node]) {
        let has_ended = |node: &&Node| !matches!(node.state, State::Running | State::Parked);
        for node in nodes.iter().filter(|node| node.names_a_tool()).filter(has_ended) {
            self.add(&node.tool, node.state, node.code, node.duration_us.unwrap_or_default(), node.turn);
        }
    }

    fn add(&mut self, name: &str, state: State, code: Option<Code>, took_us: u64, turn: TurnId) {
        let calls = match self.0.get_mut(name) {
            Some(calls) => calls,
            None => self.0.entry(name.to_owned()).or_default(),
        };
        calls.took.push((took_us, turn));
        match (state, code) {
            (State::Ok, _) => calls.ok += 1,
            (_, code) => {
                let code = code.unwrap_or(Code::Internal);
                calls.failed.entry(code.as_str()).or_insert((code, 0)).1 += 1;
            }
        }
    }

    /// The slowest first.
    pub fn fared(self) -> Vec<Fared> {
        let mut all: Vec<_> = self.0.into_iter().filter_map(|(tool, calls)| calls.fared(tool)).collect();
        all.sort_by(|a, b| b.slowest_us.cmp(&a.slowest_us).then_with(|| a.tool.cmp(&b.tool)));
        all
    }
}

impl Calls {
    fn fared(mut self, tool: String) -> Option<Fared> {
        self.took.sort_unstable();
        let (slowest_us, slowest_in) = *self.took.last()?;
        let (p50_us, _) = self.took[(self.took.len() - 1) / 2];
        let mut failed: Vec<_> = self.failed.into_values().collect();
        failed.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let calls = self.took.len() as u64;
        Some(Fared { tool, calls, ok: self.ok, failed, p50_us, slowest_us, slowest_in })
    }
}

/// Of turns by their lines, newest first, each with its tree as `tree` reads it; at most [`TURNS_MOST`].
pub async fn fared<F>(lines: &[TurnLine], mut tree: impl FnMut(TurnId) -> F) -> Result<FaredIn, StoreDown>
where
    F: Future<Output = Result<Vec<Node>, StoreDown>>,
{
    let (mut turns, mut tools) = (Tally::default(), Tally::default());
    for line in lines.iter().take(TURNS_MOST) {
        turns.add("", line.state, line.code, line.duration_us, line.turn);
        tools.tree(&tree(line.turn).await?);
    }
    Ok(FaredIn { turns: turns.fared().pop(), tools: tools.fared(), more: lines.len() > TURNS_MOST })
}

impl Gateway {
    /// How the ended turns that a query finds fared, and the tools that they called.
    pub async fn fared(&self, query: &TurnQuery) -> Result<FaredIn, StoreDown> {
        let lines = self.turns(&TurnQuery { most: TURNS_MOST + 1, ..query.clone() }).await?;
        fared(&lines, |turn| self.tree(turn)).await
    }
}

#[cfg(test)]
mod tests {
    use contract::{CallId, NodeKind};

    use super::*;

    fn call(turn: TurnId, tool: &str, code: Option<Code>, took_us: u64) -> Node {
        let mut node = Node::new(turn, CallId(1), NodeKind::Call, 1);
        node.tool = tool.into();
        node.state = if code.is_some() { State::Failed } else { State::Ok };
        (node.code, node.duration_us) = (code, Some(took_us));
        node
    }

    #[test]
    fn each_tool_is_counted_with_its_failures_and_the_slowest_comes_first() {
        let (one, two) = (TurnId::new(), TurnId::new());
        let mut tally = Tally::default();
        tally.tree(&[call(one, "weather", None, 10), call(one, "orders", None, 40), call(one, "weather", None, 30)]);
        tally.tree(&[call(two, "weather", Some(Code::Timeout), 20), call(two, "typed", Some(Code::ToolUnknown), 99)]);
        let mut running = call(two, "weather", None, 0);
        running.state = State::Running;
        tally.tree(&[running]);
        let fared = tally.fared();
        let named: Vec<_> = fared.iter().map(|fared| fared.tool.as_str()).collect();
        assert_eq!(named, ["orders", "weather"]);
        let weather = &fared[1];
        assert_eq!((weather.calls, weather.ok), (3, 2));
        assert_eq!(weather.failed, [(Code::Timeout, 1)]);
        assert_eq!((weather.p50_us, weather.slowest_us, weather.slowest_in), (20, 30, one));
    }

    #[test]
    fn nothing_was_called_in_no_turn() {
        assert_eq!(Tally::default().fared(), []);
    }
}
