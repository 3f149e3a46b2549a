//! Call trees, put together when they are read. Pure.
//!
//! Records may be incomplete: a child may come before its parent, twice, or point at itself. Everything is shown once,
//! nothing fails, and the work grows with the number of nodes, however deep they hang.

use std::collections::{BTreeMap, HashMap, HashSet};

use contract::{CallId, Node, NodeKind, State, Usage};

/// From here on deeper nodes are not indented further.
const DEEPEST: usize = 24;

/// A line of a tree as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// What stands before it: `│  ├─ `.
    pub branches: String,
    pub shown: Shown<'a>,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shown<'a> {
    Node(&'a Node),
    /// Stands for a parent that was never recorded.
    Missing(CallId),
    /// Above nodes that are each other's parents.
    Circle,
}

/// Rows from the top: children under their parents, siblings in the order of their start.
pub fn rows(nodes: &[Node]) -> Vec<Row<'_>> {
    let known = newest(nodes);
    let family = Family::of(&known);
    let mut drawn = Drawn { family: &family, seen: HashSet::new(), rows: Vec::with_capacity(known.len()) };
    let mut tops: Vec<_> = family.root.map(Shown::Node).into_iter().collect();
    tops.extend(family.under(None).iter().map(|node| Shown::Node(node)));
    tops.extend(family.missing.iter().map(|call| Shown::Missing(*call)));
    for top in tops {
        drawn.walk(top);
    }
    // What is left has no way up to a root: nodes that are each other's ancestors.
    let left: Vec<_> = known.values().copied().filter(|node| !drawn.seen.contains(&node.call)).collect();
    if !left.is_empty() {
        drawn.rows.push(Row { branches: String::new(), shown: Shown::Circle });
        for node in left {
            drawn.walk(Shown::Node(node));
        }
    }
    drawn.rows
}

/// The last word on each node: a record that ended replaces one that did not, else the later replaces the earlier.
fn newest(nodes: &[Node]) -> BTreeMap<CallId, &Node> {
    let mut known: BTreeMap<CallId, &Node> = BTreeMap::new();
    for node in nodes {
        let old = known.get(&node.call);
        if old.is_none_or(|old| old.state == State::Running || node.state != State::Running) {
            known.insert(node.call, node);
        }
    }
    known
}

/// What hangs under what.
struct Family<'a> {
    children: HashMap<Option<CallId>, Vec<&'a Node>>,
    missing: Vec<CallId>,
    root: Option<&'a Node>,
}

impl<'a> Family<'a> {
    fn of(known: &BTreeMap<CallId, &'a Node>) -> Self {
        let root = known.values().copied().find(|node| node.kind == NodeKind::Turn);
        let mut family = Self { children: HashMap::new(), missing: Vec::new(), root };
        let mut nodes: Vec<_> = known.values().copied().collect();
        nodes.sort_by_key(|node| (node.started_us, node.call));
        for node in nodes {
            if root.is_some_and(|root| root.call == node.call) {
                continue;
            }
            let parent = node.parent.or(root.map(|root| root.call));
            let siblings = family.children.entry(parent).or_default();
            if let Some(parent) = parent.filter(|parent| siblings.is_empty() && !known.contains_key(parent)) {
                family.missing.push(parent);
            }
            siblings.push(node);
        }
        family
    }

    fn under(&self, parent: Option<CallId>) -> &[&'a Node] {
        self.children.get(&parent).map_or(&[], Vec::as_slice)
    }
}

struct Drawn<'a, 'f> {
    family: &'f Family<'a>,
    seen: HashSet<CallId>,
    rows: Vec<Row<'a>>,
}

impl<'a> Drawn<'a, '_> {
    /// Draws a node and all below it; a stack of our own, since a tree may be deeper than the thread's.
    fn walk(&mut self, top: Shown<'a>) {
        let mut stack = vec![(top, String::new(), String::new(), 0_usize)];
        while let Some((shown, branches, below, depth)) = stack.pop() {
            let call = match shown {
                Shown::Node(node) if !self.seen.insert(node.call) => continue,
                Shown::Node(node) => Some(node.call),
                Shown::Missing(call) => Some(call),
                Shown::Circle => None,
            };
            let children = call.map_or(&[][..], |call| self.family.under(Some(call)));
            let fresh: Vec<_> = children.iter().filter(|child| !self.seen.contains(&child.call)).collect();
            for (i, child) in fresh.iter().enumerate().rev() {
                let last = i + 1 == fresh.len();
                let (branch, under) = match (depth < DEEPEST, last) {
                    (true, true) => (format!("{below}└─ "), format!("{below}   ")),
                    (true, false) => (format!("{below}├─ "), format!("{below}│  ")),
                    (false, _) => (format!("{below}▸ "), below.clone()),
                };
                stack.push((Shown::Node(child), branch, under, depth + 1));
            }
            self.rows.push(Row { branches, shown });
        }
    }
}

/// The tree as text of fixed width: parents and children, durations, how each ended. `with_bodies`: for those who may
/// see arguments and details.
pub fn draw_text(nodes: &[Node], with_bodies: bool) -> String {
    let mut out = String::new();
    for row in rows(nodes) {
        out.push_str(&row.branches);
        match row.shown {
            Shown::Node(node) => out.push_str(&label(node, with_bodies)),
            Shown::Missing(_) => out.push_str("(parent not recorded)"),
            Shown::Circle => out.push_str("(each other's parents)"),
        }
        out.push('\n');
    }
    out
}

fn label(node: &Node, with_bodies: bool) -> String {
    let name = match node.kind {
        NodeKind::Turn => "turn",
        NodeKind::ModelStep => &format!("model {}", node.tool),
        NodeKind::Approval => "approval",
        NodeKind::Call => &node.tool,
    };
    let mut text = contract::text::one_line(name, 64);
    if with_bodies && node.kind == NodeKind::ModelStep && !node.result.is_empty() && node.code.is_none() {
        text.push_str(&format!(" “{}”", contract::text::one_line(&node.result, 60)));
    }
    if with_bodies && node.kind == NodeKind::Call && !node.args.is_empty() {
        text.push_str(&format!(" {}", contract::text::one_line(&node.args, 60)));
    }
    if with_bodies && node.kind == NodeKind::Approval && !node.result.is_empty() {
        text.push_str(&format!(": {}", contract::text::one_line(&node.result, 100)));
    }
    text.push_str(&format!("  {}", shown_state(node, with_bodies).as_str()));
    if let Some(code) = shown_code(node, with_bodies) {
        text.push_str(&format!(" [{code}]"));
    }
    if let Some(usage) = node.usage.as_ref().filter(|usage| has_tokens(usage)) {
        text.push_str(&format!("  {}", tokens(usage)));
    }
    if let Some(us) = node.duration_us {
        text.push_str(&format!("  {}", duration(us)));
    }
    if node.attempts > 1 {
        text.push_str(&format!("  {} attempts", node.attempts));
    }
    text
}

/// A tool may cost something and read and say nothing.
pub fn has_tokens(usage: &Usage) -> bool {
    usage.input > 0 || usage.output > 0
}

/// `812 → 55 tokens`: those of the prompt, and those of what was said.
pub fn tokens(usage: &Usage) -> String {
    let cached = if usage.cached > 0 { format!(" ({} cached)", usage.cached) } else { String::new() };
    format!("{}{cached} → {} tokens", usage.input, usage.output)
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
        for name in ["a  ok", "orphan", "x", "y", "self", "(parent not recorded)", "(each other's parents)"] {
            assert!(text.contains(name), "{name} in {text}");
        }
        assert_eq!(text.lines().count(), 8);
    }

    #[test]
    fn a_very_deep_tree_costs_no_more_than_its_nodes() {
        let nodes: Vec<_> = (0..20_000).map(|i| node(i, i.checked_sub(1), "deep")).collect();
        let rows = rows(&nodes);
        assert_eq!(rows.len(), 20_000);
        assert!(rows.iter().all(|row| row.branches.chars().count() <= 3 * DEEPEST + 2));
    }

    proptest::proptest! {
        #[test]
        fn every_node_is_drawn_once(parents in proptest::collection::vec(0u32..12, 1..12)) {
            let nodes: Vec<_> = parents.iter().enumerate().map(|(i, p)| {
                let call = u32::try_from(i).unwrap();
                node(call, (i > 0).then_some(*p), "t")
            }).collect();
            let drawn: Vec<_> = rows(&nodes)
                .into_iter()
                .filter_map(|row| match row.shown {
                    Shown::Node(node) => Some(node.call),
                    Shown::Missing(_) | Shown::Circle => None,
                })
                .collect();
            let mut unique = drawn.clone();
            unique.sort_unstable();
            unique.dedup();
            proptest::prop_assert_eq!(unique.len(), nodes.len());
            proptest::prop_assert_eq!(drawn.len(), nodes.len());
        }
    }
}
