//! Call trees, put together when they are read: tolerant of orphans, duplicates and cycles. Pure.

use std::collections::{BTreeMap, HashSet};

use contract::{CallId, Node, NodeKind, State};

/// A line of a tree as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    pub depth: usize,
    /// For each level above, whether more siblings follow there.
    pub lines: Vec<bool>,
    /// Whether it is the last of its siblings.
    pub last: bool,
    /// Nothing for the placeholder under which orphans hang.
    pub node: Option<&'a Node>,
}

/// Rows from the top: children under their parents, siblings in start order, orphans under a placeholder.
pub fn rows(nodes: &[Node]) -> Vec<Row<'_>> {
    let mut by_call: BTreeMap<CallId, &Node> = BTreeMap::new();
    for node in nodes {
        let newer =
            by_call.get(&node.call).is_none_or(|old| old.state == State::Running || node.state != State::Running);
        if newer {
            by_call.insert(node.call, node);
        }
    }
    let mut children: BTreeMap<Option<CallId>, Vec<&Node>> = BTreeMap::new();
    let mut orphans = Vec::new();
    for node in by_call.values().copied() {
        match node.parent {
            Some(parent) if parent != node.call && by_call.contains_key(&parent) => {
                children.entry(Some(parent)).or_default().push(node);
            }
            Some(_) => orphans.push(node),
            None if node.kind == NodeKind::Turn || by_call.len() == 1 => children.entry(None).or_default().push(node),
            None => orphans.push(node),
        }
    }
    for siblings in children.values_mut() {
        siblings.sort_by_key(|n| (n.started_us, n.call));
    }
    draw(&children, orphans, &by_call)
}

fn draw<'a>(
    children: &BTreeMap<Option<CallId>, Vec<&'a Node>>,
    orphans: Vec<&'a Node>,
    all: &BTreeMap<CallId, &'a Node>,
) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let mut seen = HashSet::new();
    let roots = children.get(&None).cloned().unwrap_or_default();
    walk(roots, 0, children, &mut seen, &mut rows);
    let mut lost = Vec::new();
    walk(orphans, 1, children, &mut seen, &mut lost);
    // What a cycle keeps from every root hangs there too, from the first of its nodes.
    for node in all.values() {
        if !seen.contains(&node.call) {
            walk(vec![node], 1, children, &mut seen, &mut lost);
        }
    }
    if !lost.is_empty() {
        rows.push(Row { depth: 0, lines: Vec::new(), last: true, node: None });
        rows.extend(lost);
    }
    rows
}

/// Depth first, without recursion: a tree may be as deep as it likes.
fn walk<'a>(
    tops: Vec<&'a Node>,
    depth: usize,
    children: &BTreeMap<Option<CallId>, Vec<&'a Node>>,
    seen: &mut HashSet<CallId>,
    rows: &mut Vec<Row<'a>>,
) {
    let mut stack: Vec<(&Node, usize, Vec<bool>, bool)> = Vec::new();
    push(&mut stack, &tops, depth, &[]);
    while let Some((node, depth, lines, last)) = stack.pop() {
        if !seen.insert(node.call) {
            continue;
        }
        if let Some(below) = children.get(&Some(node.call)) {
            let mut inner = lines.clone();
            if depth > 0 {
                inner.push(!last);
            }
            push(&mut stack, below, depth + 1, &inner);
        }
        rows.push(Row { depth, lines, last, node: Some(node) });
    }
}

fn push<'a>(stack: &mut Vec<(&'a Node, usize, Vec<bool>, bool)>, nodes: &[&'a Node], depth: usize, lines: &[bool]) {
    for (i, node) in nodes.iter().enumerate().rev() {
        stack.push((node, depth, lines.to_vec(), i + 1 == nodes.len()));
    }
}

/// The tree as text of fixed width: parents and children, durations, how each ended. `with_bodies`: for those who may
/// see arguments and details.
pub fn draw_text(nodes: &[Node], with_bodies: bool) -> String {
    let mut out = String::new();
    for row in rows(nodes) {
        for more in &row.lines {
            out.push_str(if *more { "│  " } else { "   " });
        }
        if row.depth > 0 {
            out.push_str(if row.last { "└─ " } else { "├─ " });
        }
        out.push_str(&row.node.map_or_else(|| "(parent not recorded)".into(), |node| label(node, with_bodies)));
        out.push('\n');
    }
    out
}

fn label(node: &Node, with_bodies: bool) -> String {
    let name = match node.kind {
        NodeKind::Turn => "turn",
        NodeKind::ModelStep => "model step",
        NodeKind::Approval => "approval",
        NodeKind::Call => &node.tool,
    };
    let mut text = contract::text::one_line(name, 64);
    if with_bodies && node.kind == NodeKind::Call && !node.args.is_empty() {
        text.push_str(&format!(" {}", contract::text::one_line(&node.args, 60)));
    }
    text.push_str(&format!("  {}", shown_state(node, with_bodies).as_str()));
    if let Some(code) = shown_code(node, with_bodies) {
        text.push_str(&format!(" [{code}]"));
    }
    if let Some(us) = node.duration_us {
        text.push_str(&format!("  {}", duration(us)));
    }
    if node.attempts > 1 {
        text.push_str(&format!("  {} attempts", node.attempts));
    }
    text
}

fn shown_state(node: &Node, with_bodies: bool) -> State {
    let hidden = !with_bodies && node.code == Some(contract::Code::Denied);
    if hidden { State::Failed } else { node.state }
}

/// People in chat never see that a tool was denied: for them it does not exist.
fn shown_code(node: &Node, with_bodies: bool) -> Option<&'static str> {
    let code = node.code?;
    Some(match code {
        contract::Code::Denied if !with_bodies => contract::Code::ToolUnknown.as_str(),
        code => code.as_str(),
    })
}

/// `850 µs`, `12.3 ms`, `4.20 s`.
pub fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1_000.0),
        _ => format!("{:.2} s", us as f64 / 1_000_000.0),
    }
}

#[cfg(test)]
mod tests {
    use contract::TurnId;

    use super::*;

    fn node(call: u32, parent: Option<u32>, tool: &str) -> Node {
        let kind = if parent.is_none() { NodeKind::Turn } else { NodeKind::Call };
        Node {
            parent: parent.map(CallId),
            tool: tool.into(),
            state: State::Ok,
            duration_us: Some(1_500),
            ..Node::new(TurnId::default(), CallId(call), kind, u64::from(call))
        }
    }

    fn drawn(nodes: &[Node]) -> String {
        draw_text(nodes, true)
    }

    #[test]
    fn children_stand_under_their_parents_in_start_order() {
        let nodes = [
            node(3, Some(1), "page"),
            node(0, None, ""),
            node(1, Some(0), "research"),
            node(2, Some(1), "search"),
            node(4, Some(0), "sleep"),
        ];
        expect_test::expect![[r#"
            turn  ok  1.5 ms
            ├─ research  ok  1.5 ms
            │  ├─ search  ok  1.5 ms
            │  └─ page  ok  1.5 ms
            └─ sleep  ok  1.5 ms
        "#]]
        .assert_eq(&drawn(&nodes));
    }

    #[test]
    fn orphans_cycles_and_duplicates_are_shown_and_never_fail() {
        let mut late = node(1, Some(0), "a");
        late.state = State::Running;
        let nodes = [
            node(0, None, ""),
            node(1, Some(0), "a"),
            late,
            node(5, Some(9), "orphan"),
            node(6, Some(7), "x"),
            node(7, Some(6), "y"),
            node(8, Some(8), "self"),
        ];
        let text = drawn(&nodes);
        for name in ["a  ok", "orphan", "x", "y", "self", "(parent not recorded)"] {
            assert!(text.contains(name), "{name} in {text}");
        }
        assert_eq!(text.lines().count(), 7);
    }

    proptest::proptest! {
        #[test]
        fn every_node_is_drawn_once(parents in proptest::collection::vec(0u32..12, 1..12)) {
            let nodes: Vec<_> = parents.iter().enumerate().map(|(i, p)| {
                let call = u32::try_from(i).unwrap();
                node(call, (i > 0).then_some(*p), "t")
            }).collect();
            let drawn: Vec<_> = rows(&nodes).into_iter().filter_map(|r| r.node.map(|n| n.call)).collect();
            let mut unique = drawn.clone();
            unique.sort_unstable();
            unique.dedup();
            proptest::prop_assert_eq!(unique.len(), nodes.len());
            proptest::prop_assert_eq!(drawn.len(), nodes.len());
        }
    }
}
