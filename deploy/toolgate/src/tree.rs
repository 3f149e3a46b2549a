//! A turn's call tree as text: parents before children, in order of start, with durations and layers in words.

use std::fmt::Write;

use contract::{Node, NodeKind, State, text::one_line};
use dispatch::tree::{Row, Shown, has_tokens, rows, tokens};

use crate::ink::{Ink, Tone, duration, ending};

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
    let rows = rows(nodes);
    let from = nodes.iter().map(|node| node.started_us).min().unwrap_or_default();
    let left = rows.iter().map(|row| left_of(row).chars().count()).max().unwrap_or_default();
    let mut out = String::new();
    for row in &rows {
        write_row(&mut out, row, left, from, style);
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// What stands at the left: branches, mark and name.
fn left_of(row: &Row<'_>) -> String {
    match row.shown {
        Shown::Node(node) => format!("{}{} {}", row.branches, mark(node.state), name(node)),
        Shown::Missing(call) => format!("{}? call {} was not recorded", row.branches, call.0),
        Shown::Circle => "? calls whose parents form a circle".into(),
    }
}

fn write_row(out: &mut String, row: &Row<'_>, width: usize, from: u64, style: Style) {
    let left = left_of(row);
    let Shown::Node(node) = row.shown else {
        let _ = writeln!(out, "{}", style.ink.paint(Tone::Open, &left));
        return;
    };
    let tone = Tone::of(node.state, node.code);
    let pad = " ".repeat(width.saturating_sub(left.chars().count()));
    let took = node.duration_us.map(duration).unwrap_or_else(|| "…".into());
    let start = format!("+{}", duration(node.started_us.saturating_sub(from)));
    let _ = write!(
        out,
        "{}{} {}{pad}  {}  {took:>10}  {}",
        style.ink.paint(Tone::Quiet, &row.branches),
        style.ink.paint(tone, mark(node.state)),
        style.ink.paint(Tone::Strong, &name(node)),
        style.ink.paint(Tone::Quiet, &format!("{start:>10}")),
        style.ink.paint(tone, &ending(node.state, node.code)),
    );
    for word in remarks(node) {
        let _ = write!(out, "  {}", style.ink.paint(Tone::Quiet, &word));
    }
    out.push('\n');
    if !style.details {
        return;
    }
    let indent = row.branches.replace("├─ ", "│  ").replace("└─ ", "   ") + "  ";
    let told = if node.told.is_empty() { String::new() } else { format!("told: {}", node.told) };
    for line in [&node.detail, &told].into_iter().filter(|line| !line.is_empty()) {
        let _ = writeln!(out, "{indent}{}", style.ink.paint(Tone::Quiet, &one_line(line, DETAIL)));
    }
}

fn name(node: &Node) -> String {
    let path = node.path.as_ref().map(|path| format!(" {path}")).unwrap_or_default();
    match node.kind {
        NodeKind::Turn => "turn".into(),
        NodeKind::ModelStep => format!("model{path} {}", one_line(&node.tool, 64)).trim_end().to_owned(),
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
    words.extend(node.usage.as_ref().filter(|usage| has_tokens(usage)).map(tokens));
    let cost = node.usage.map_or(0, |usage| usage.cost_micros);
    if cost > 0 {
        words.push(format!("cost {}.{:06}", cost / 1_000_000, cost % 1_000_000));
    }
    words.extend(node.marks.iter().map(|mark| one_line(mark, SUMMARY)));
    if !node.args.is_empty() {
        words.push(one_line(&node.args, SUMMARY));
    }
    if node.kind == NodeKind::ModelStep && node.code.is_none() && !node.result.is_empty() {
        words.push(format!("“{}”", one_line(&node.result, SUMMARY)));
    }
    words
}

#[cfg(test)]
mod tests;
