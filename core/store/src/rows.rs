//! Nodes and lines as they are stored: without names of fields, digests as bytes, so that a call takes about a
//! hundred bytes. Types of their own, since the words of the contract may change and stored rows may not.

use contract::{
    Bodies, CallId, CallPath, Code, Node, NodeKind, Place, Platform, SessionKey, State, StoreDown, TurnId, Usage,
    records::{Measure, TurnLine},
};
use serde::{Deserialize, Serialize};

use crate::pack::{Sixteen, Unreadable, pack, pack_row, unpack};

/// Turns of schedules are listed among the calls of tools under this name, which no tool has.
pub const SCHEDULED: &str = "schedule:";

#[derive(Serialize, Deserialize)]
struct NodeRow {
    call: u32,
    path: Option<CallPath>,
    parent: Option<u32>,
    kind: u8,
    tool: String,
    spec: Option<Sixteen>,
    state: u8,
    code: Option<Code>,
    started_us: u64,
    duration_us: Option<u64>,
    queued_us: u64,
    attempts: u32,
    args_digest: Option<Sixteen>,
    args_bytes: u32,
    result_bytes: u32,
    args: String,
    result: String,
    detail: String,
    upstream_status: Option<u16>,
    marks: Vec<String>,
    /// Packed with names: only the turn's own node has it.
    place: Option<Vec<u8>>,
    // Rows of before there were models end here.
    #[serde(default)]
    told: String,
    /// Tokens of the prompt, those from a cache, tokens said, millionths of a currency.
    #[serde(default)]
    usage: Option<[u64; 4]>,
    #[serde(default)]
    result_digest: Option<Sixteen>,
    /// What it was given, and what came of it.
    #[serde(default)]
    bodies: Option<[String; 2]>,
}

/// A node without its turn, which names the place where the row is kept.
pub fn pack_node(node: &Node) -> Result<Vec<u8>, StoreDown> {
    pack_row(&NodeRow {
        call: node.call.0,
        path: node.path.clone(),
        parent: node.parent.map(|parent| parent.0),
        kind: kind_number(node.kind),
        tool: node.tool.clone(),
        spec: node.spec.map(Sixteen),
        state: state_number(node.state),
        code: node.code,
        started_us: node.started_us,
        duration_us: node.duration_us,
        queued_us: node.queued_us,
        attempts: node.attempts,
        args_digest: node.args_digest.map(Sixteen),
        args_bytes: node.args_bytes,
        result_bytes: node.result_bytes,
        args: node.args.clone(),
        result: node.result.clone(),
        detail: node.detail.clone(),
        upstream_status: node.upstream_status,
        marks: node.marks.clone(),
        place: node.place.as_deref().map(pack).transpose()?,
        told: node.told.clone(),
        usage: node.usage.map(|usage| [usage.input, usage.cached, usage.output, usage.cost_micros]),
        result_digest: node.result_digest.map(Sixteen),
        bodies: node.bodies.as_deref().map(|bodies| [bodies.args.clone(), bodies.result.clone()]),
    })
}

pub fn unpack_node(turn: TurnId, bytes: &[u8]) -> Result<Node, Unreadable> {
    let row: NodeRow = unpack("node", bytes)?;
    let kind = kind_of(row.kind).ok_or_else(|| unknown("node", "kind", row.kind))?;
    let state = state_of(row.state).ok_or_else(|| unknown("node", "state", row.state))?;
    let place = row.place.map(|bytes| unpack::<Place>("place of a turn", &bytes)).transpose()?;
    Ok(Node {
        path: row.path,
        parent: row.parent.map(CallId),
        tool: row.tool,
        spec: row.spec.map(|digest| digest.0),
        state,
        code: row.code,
        duration_us: row.duration_us,
        queued_us: row.queued_us,
        attempts: row.attempts,
        args_digest: row.args_digest.map(|digest| digest.0),
        args_bytes: row.args_bytes,
        result_bytes: row.result_bytes,
        args: row.args,
        result: row.result,
        detail: row.detail,
        upstream_status: row.upstream_status,
        marks: row.marks,
        place: place.map(Box::new),
        told: row.told,
        result_digest: row.result_digest.map(|digest| digest.0),
        bodies: row.bodies.map(|[args, result]| Box::new(Bodies { args, result })),
        usage: row.usage.map(|[input, cached, output, cost_micros]| Usage { input, cached, output, cost_micros }),
        ..Node::new(turn, CallId(row.call), kind, row.started_us)
    })
}

/// Names who counted a measure and for whom: a life, a platform, a tenant.
pub fn measured_by(boot: &str, measure: &Measure) -> String {
    match measure.platform {
        Some(platform) => format!("{boot}/{platform}/{}", measure.tenant),
        None => boot.to_owned(),
    }
}

/// The platform and the tenant of such a name.
pub fn counted_for(by: &str) -> (Option<Platform>, String) {
    let mut words = by.splitn(3, '/').skip(1);
    let platform = words.next().and_then(|platform| platform.parse().ok());
    (platform, words.next().unwrap_or_default().to_owned())
}

#[derive(Serialize, Deserialize)]
struct LineRow {
    state: u8,
    code: Option<Code>,
    platform: contract::Platform,
    tenant: String,
    session: SessionKey,
    sender: String,
    asked: String,
    calls: u32,
    started_us: u64,
    duration_us: u64,
}

pub fn pack_line(line: &TurnLine) -> Result<Vec<u8>, StoreDown> {
    pack_row(&LineRow {
        state: state_number(line.state),
        code: line.code,
        platform: line.platform,
        tenant: line.tenant.clone(),
        session: line.session.clone(),
        sender: line.sender.clone(),
        asked: line.asked.clone(),
        calls: line.calls,
        started_us: line.started_us,
        duration_us: line.duration_us,
    })
}

pub fn unpack_line(turn: TurnId, bytes: &[u8]) -> Result<TurnLine, Unreadable> {
    let row: LineRow = unpack("line of a turn", bytes)?;
    let state = state_of(row.state).ok_or_else(|| unknown("line of a turn", "state", row.state))?;
    Ok(TurnLine {
        turn,
        state,
        code: row.code,
        platform: row.platform,
        tenant: row.tenant,
        session: row.session,
        sender: row.sender,
        asked: row.asked,
        calls: row.calls,
        started_us: row.started_us,
        duration_us: row.duration_us,
    })
}

/// What `--failed` lists.
pub fn has_failed(line: &TurnLine) -> bool {
    line.state != State::Ok || line.code.is_some()
}

/// Whether the node is a call that has ended: what the index of tools lists.
pub fn is_ended_call(node: &Node) -> bool {
    node.kind == NodeKind::Call && node.state != State::Running && node.names_a_tool()
}

fn unknown(what: &'static str, field: &str, number: u8) -> Unreadable {
    Unreadable { what, why: format!("its {field} is {number}") }
}

/// In the order of their stored numbers, which never change.
const KINDS: [NodeKind; 4] = [NodeKind::Turn, NodeKind::ModelStep, NodeKind::Call, NodeKind::Approval];

fn kind_number(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Turn => 0,
        NodeKind::ModelStep => 1,
        NodeKind::Call => 2,
        NodeKind::Approval => 3,
    }
}

fn kind_of(number: u8) -> Option<NodeKind> {
    KINDS.get(usize::from(number)).copied()
}

/// In the order of their stored numbers, which never change.
const STATES: [State; 9] = [
    State::Running,
    State::Ok,
    State::Failed,
    State::Denied,
    State::Cancelled,
    State::Unknown,
    State::NotStarted,
    State::Interrupted,
    State::Parked,
];

pub fn state_number(state: State) -> u8 {
    match state {
        State::Running => 0,
        State::Ok => 1,
        State::Failed => 2,
        State::Denied => 3,
        State::Cancelled => 4,
        State::Unknown => 5,
        State::NotStarted => 6,
        State::Interrupted => 7,
        State::Parked => 8,
    }
}

fn state_of(number: u8) -> Option<State> {
    STATES.get(usize::from(number)).copied()
}

#[cfg(test)]
mod tests {
    use contract::Digest;

    use super::*;

    #[test]
    fn stored_numbers_are_read_as_what_they_were_written_for() {
        assert!(STATES.iter().all(|state| state_of(state_number(*state)) == Some(*state)));
        assert!(KINDS.iter().all(|kind| kind_of(kind_number(*kind)) == Some(*kind)));
    }

    #[test]
    fn what_a_models_step_took_is_kept_and_a_row_of_before_there_were_models_is_read() {
        let usage = Some(Usage { input: 812, cached: 600, output: 55, cost_micros: 7 });
        let node = Node { told: "no".into(), usage, ..Node::new(TurnId::new(), CallId(1), NodeKind::ModelStep, 1) };
        let row = pack_node(&node).unwrap();
        assert_eq!(unpack_node(node.turn, &row).unwrap(), node);
        let plain = Node { told: String::new(), usage: None, ..node };
        let mut before = pack_node(&plain).unwrap();
        // An array of so many, without its last four: an empty text and nothing, three times.
        assert_eq!(before[before.len() - 4..], [0xa0, 0xc0, 0xc0, 0xc0]);
        before.truncate(before.len() - 4);
        let fields = before.windows(3).position(|head| head[0] == 0xdc).expect("the row is an array");
        before[fields + 2] -= 4;
        assert_eq!(unpack_node(plain.turn, &before).unwrap(), plain);
    }

    #[test]
    fn a_node_without_previews_takes_about_a_hundred_bytes() {
        let node = Node {
            path: Some(CallPath::top(1, 3)),
            parent: Some(CallId(1000)),
            tool: "weather_query".into(),
            spec: Some(Digest::of(b"spec")),
            state: State::Ok,
            duration_us: Some(51_234),
            attempts: 1,
            args_digest: Some(Digest::of(b"args")),
            args_bytes: 30,
            result_bytes: 1200,
            ..Node::new(TurnId::new(), CallId(1003), NodeKind::Call, 1_790_000_000_000_000)
        };
        let row = pack_node(&node).unwrap();
        assert!(row.len() < 110, "{} bytes", row.len());
        assert_eq!(unpack_node(node.turn, &row).unwrap(), node);
    }
}
