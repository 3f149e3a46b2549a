//! A turn's call tree as text: parents before children, in order of start, with durations and layers in words.
//!
//! Records may be incomplete: a child may come before its parent, twice, or point at itself. Everything is shown
//! once, nothing fails.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write,
};

use contract::{CallId, Node, NodeKind, State, text::one_line};

use crate::ink::{Ink, Tone, duration, ending};

/// From here on deeper nodes are not indented further.
const DEEPEST: usize = 24;
/// Most characters of what was asked, and of a line of detail.
const SUMMARY: usize = 72;
const DETAIL: usize = 400;

/// How much to show.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub ink: Ink,
    /// A line below what failed, for operators: cause, request, rule.
    pub details: bool,
}

impl Style {
    pub const PLAIN: Self = Self { ink: Ink::Plain, details: false };
}

/// The tree, a line for each node, without a last line end.
pub fn draw(nodes: &[Node], style: Style) -> String {
    let lines = order(&newest(nodes));
    let from = nodes.iter().map(|node| node.started_us).min().unwrap_or_default();
    let left = lines.iter().map(|line| line.left().chars().count()).max().unwrap_or_default();
    let mut out = String::new();
    for line in &lines {
        line.write(&mut out, left, from, style);
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
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

/// A line of the drawing.
struct Line<'a> {
    shown: Shown<'a>,
    branches: String,
}

enum Shown<'a> {
    Node(&'a Node),
    /// Stands for a parent that was never recorded.
    Missing(CallId),
    /// Above nodes that are each other's parents.
    Circle,
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
            let missing = parent.filter(|parent| !known.contains_key(parent) && !family.missing.contains(parent));
            family.missing.extend(missing);
            family.children.entry(parent).or_default().push(node);
        }
        family
    }

    fn under(&self, parent: Option<CallId>) -> &[&'a Node] {
        self.children.get(&parent).map_or(&[], Vec::as_slice)
    }
}

fn order<'a>(known: &BTreeMap<CallId, &'a Node>) -> Vec<Line<'a>> {
    let family = Family::of(known);
    let mut drawn = Drawn { family: &family, seen: HashSet::new(), lines: Vec::with_capacity(known.len()) };
    let mut tops: Vec<Shown<'a>> = family.root.map(Shown::Node).into_iter().collect();
    tops.extend(family.under(None).iter().map(|node| Shown::Node(node)));
    tops.extend(family.missing.iter().map(|call| Shown::Missing(*call)));
    for top in tops {
        drawn.walk(top);
    }
    // What is left has no way up to a root: nodes that are each other's ancestors.
    let left: Vec<_> = known.values().copied().filter(|node| !drawn.seen.contains(&node.call)).collect();
    if !left.is_empty() {
        drawn.lines.push(Line { shown: Shown::Circle, branches: String::new() });
        for node in left {
            drawn.walk(Shown::Node(node));
        }
    }
    drawn.lines
}

struct Drawn<'a, 'f> {
    family: &'f Family<'a>,
    seen: HashSet<CallId>,
    lines: Vec<Line<'a>>,
}

impl<'a> Drawn<'a, '_> {
    /// Draws a node and all below it; a stack of our own, since a tree may be deeper than the thread's.
    fn walk(&mut self, top: Shown<'a>) {
        let mut stack = vec![(top, String::new(), String::new(), 0_usize)];
        while let Some((shown, branches, below, depth)) = stack.pop() {
            let call = match &shown {
                Shown::Node(node) if !self.seen.insert(node.call) => continue,
                Shown::Node(node) => Some(node.call),
                Shown::Missing(call) => Some(*call),
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
            self.lines.push(Line { shown, branches });
        }
    }
}

impl Line<'_> {
    fn left(&self) -> String {
        match &self.shown {
            Shown::Node(node) => format!("{}{} {}", self.branches, mark(node.state), name(node)),
            Shown::Missing(call) => format!("{}? call {} was not recorded", self.branches, call.0),
            Shown::Circle => "? calls whose parents form a circle".into(),
        }
    }

    fn write(&self, out: &mut String, width: usize, from: u64, style: Style) {
        let Shown::Node(node) = &self.shown else {
            let _ = writeln!(out, "{}", style.ink.paint(Tone::Open, &self.left()));
            return;
        };
        let tone = Tone::of(node.state, node.code);
        let pad = " ".repeat(width.saturating_sub(self.left().chars().count()));
        let took = node.duration_us.map(duration).unwrap_or_else(|| "…".into());
        let start = format!("+{}", duration(node.started_us.saturating_sub(from)));
        let _ = write!(
            out,
            "{}{} {}{pad}  {}  {took:>10}  {}",
            style.ink.paint(Tone::Quiet, &self.branches),
            style.ink.paint(tone, mark(node.state)),
            style.ink.paint(Tone::Strong, &name(node)),
            style.ink.paint(Tone::Quiet, &format!("{start:>10}")),
            style.ink.paint(tone, &ending(node.state, node.code)),
        );
        for word in remarks(node) {
            let _ = write!(out, "  {}", style.ink.paint(Tone::Quiet, &word));
        }
        out.push('\n');
        if style.details && !node.detail.is_empty() {
            let indent = self.branches.replace("├─ ", "│  ").replace("└─ ", "   ") + "  ";
            let _ = writeln!(out, "{indent}{}", style.ink.paint(Tone::Quiet, &one_line(&node.detail, DETAIL)));
        }
    }
}

fn name(node: &Node) -> String {
    let path = node.path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    match node.kind {
        NodeKind::Turn => "turn".into(),
        NodeKind::ModelStep => format!("model{path}"),
        NodeKind::Approval => format!("approval{path}"),
        NodeKind::Call => format!("{}{path}", one_line(&node.tool, 64)),
    }
}

fn mark(state: State) -> &'static str {
    match state {
        State::Ok => "✓",
        State::Running => "●",
        State::Failed => "✗",
        State::Denied => "⊘",
        State::Cancelled => "■",
        State::Unknown => "?",
        State::NotStarted => "–",
        State::Interrupted => "!",
        State::Parked => "…",
    }
}

fn remarks(node: &Node) -> Vec<String> {
    let mut words = Vec::new();
    if node.queued_us >= 1_000 {
        words.push(format!("waited {}", duration(node.queued_us)));
    }
    if node.attempts > 1 {
        words.push(format!("{} attempts", node.attempts));
    }
    words.extend(node.marks.iter().map(|mark| one_line(mark, SUMMARY)));
    if !node.args.is_empty() {
        words.push(one_line(&node.args, SUMMARY));
    }
    words
}

#[cfg(test)]
mod tests;
