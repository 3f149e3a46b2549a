//! `GET /metrics`: what is counted since the process began, in the text format that Prometheus scrapes. At most about
//! 2,000 lines, since tools and tenants beyond a number are counted as `other`.

use std::{fmt::Write, sync::Arc};

use axum::{
    Extension,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use dispatch::{AuditHealth, BOUNDS_US, Counted, Guarded, Spent, TraceHealth};

use crate::{gate::Who, problem::Problem, routes::App};

/// Tools whose state now is told, and models.
const GAUGES: usize = 30;

pub async fn metrics(State(app): State<Arc<App>>, Extension(who): Extension<Who>) -> Result<Response, Problem> {
    who.operator()?;
    let gateway = &app.gateway;
    let text = page(&Told {
        counted: gateway.counted(),
        guarded: gateway.guarded(),
        audit: gateway.audit_health(),
        traces: gateway.trace_health(),
        spent: gateway.spent(),
        load: gateway.load(),
        partitions: gateway.partitions_held(),
        hooks: gateway.stages().into_iter().map(|of| (of.name, [of.calls, of.refused, of.failed])).collect(),
    });
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// What the page tells.
struct Told {
    counted: Counted,
    guarded: Vec<Guarded>,
    audit: Vec<AuditHealth>,
    traces: TraceHealth,
    spent: Vec<Spent>,
    load: (usize, usize, usize),
    partitions: usize,
    /// How often each was asked, refused, and came to no decision.
    hooks: Vec<(Arc<str>, [u64; 3])>,
}

fn page(told: &Told) -> String {
    let mut page = Page(String::with_capacity(16 * 1024), "");
    calls(&mut page, &told.counted);
    durations(&mut page, &told.counted);
    guards(&mut page, &told.guarded);
    gateway(&mut page, told);
    trail(&mut page, &told.audit);
    models(&mut page, &told.spent);
    hooks(&mut page, &told.hooks);
    page.0
}

fn calls(page: &mut Page, counted: &Counted) {
    page.of("toolgate_calls_total", "counter", "Calls that ended, by what became of them.");
    for of in &counted.calls {
        let code = of.code.map_or("ok", contract::Code::as_str);
        let labels = [("tool", &*of.tool), ("platform", of.platform.as_str()), ("tenant", &of.tenant), ("code", code)];
        page.line("", &labels, of.calls);
    }
    page.of("toolgate_attempts_total", "counter", "Attempts of calls; more than calls where some were repeated.");
    for tool in &counted.tools {
        page.line("", &[("tool", &tool.tool)], tool.attempts);
    }
}

fn durations(page: &mut Page, counted: &Counted) {
    page.of("toolgate_call_duration_seconds", "histogram", "How long calls took, waiting for a place included.");
    for tool in &counted.tools {
        for (bound, within) in BOUNDS_US.iter().zip(tool.within) {
            let bound = seconds(*bound);
            page.line("_bucket", &[("tool", &tool.tool), ("le", &bound)], within);
        }
        page.line("_bucket", &[("tool", &tool.tool), ("le", "+Inf")], tool.calls);
        page.line("_sum", &[("tool", &tool.tool)], seconds(tool.sum_us));
        page.line("_count", &[("tool", &tool.tool)], tool.calls);
    }
}

fn guards(page: &mut Page, guarded: &[Guarded]) {
    let shown = &guarded[..guarded.len().min(GAUGES)];
    page.of("toolgate_tool_running", "gauge", "Calls under a tool's limit that run now.");
    shown.iter().for_each(|tool| page.line("", &[("tool", &tool.tool)], tool.running));
    page.of("toolgate_tool_waiting", "gauge", "Calls that wait for a place under their tool's limit.");
    shown.iter().for_each(|tool| page.line("", &[("tool", &tool.tool)], tool.waiting));
    page.of("toolgate_breaker_open", "gauge", "Tools whose circuit breaker lets no call through.");
    let open = guarded.iter().filter(|tool| tool.is_open).take(GAUGES);
    open.for_each(|tool| page.line("", &[("tool", &tool.tool)], 1));
}

fn gateway(page: &mut Page, told: &Told) {
    let (lanes, deliveries, turns) = told.load;
    for (name, help, value) in [
        ("toolgate_turns_running", "Turns that run now.", turns as u64),
        ("toolgate_conversations", "Conversations with turns that run or wait.", lanes as u64),
        ("toolgate_deliveries_waiting", "Conversations whose replies wait to be sent.", deliveries as u64),
        (
            "toolgate_partitions",
            "Partitions that this process works on; none means that it stands by.",
            told.partitions as u64,
        ),
        ("toolgate_trace_records_waiting", "Records of call trees that wait for the store.", told.traces.waiting),
    ] {
        page.of(name, "gauge", help);
        page.line("", &[], value);
    }
    page.of("toolgate_trace_records_lost_total", "counter", "Records of call trees that were lost.");
    page.line("", &[], told.traces.dropped);
}

fn trail(page: &mut Page, audit: &[AuditHealth]) {
    page.of("toolgate_audit_waiting", "gauge", "Events that wait for a place of the audit trail.");
    audit.iter().for_each(|to| page.line("", &[("to", to.name)], to.waiting));
    page.of("toolgate_audit_lost_total", "counter", "Events that a place of the audit trail never got.");
    audit.iter().for_each(|to| page.line("", &[("to", to.name)], to.lost));
}

fn models(page: &mut Page, spent: &[Spent]) {
    let mut models = std::collections::BTreeMap::<&str, [u64; 4]>::new();
    for of in spent {
        let sums = models.entry(&of.model).or_default();
        for (sum, n) in sums.iter_mut().zip([of.steps, of.failed, of.usage.input, of.usage.output]) {
            *sum += n;
        }
    }
    for (n, name, help) in [
        (0, "toolgate_model_steps_total", "Steps that language models were asked for."),
        (1, "toolgate_model_steps_failed_total", "Steps that language models gave no answer for."),
        (2, "toolgate_model_input_tokens_total", "Tokens that language models read."),
        (3, "toolgate_model_output_tokens_total", "Tokens that language models wrote."),
    ] {
        page.of(name, "counter", help);
        models.iter().take(GAUGES).for_each(|(model, sums)| page.line("", &[("model", model)], sums[n]));
    }
}

/// There are at most 64.
fn hooks(page: &mut Page, hooks: &[(Arc<str>, [u64; 3])]) {
    for (n, name, help) in [
        (0, "toolgate_hook_calls_total", "Calls that hooks were asked about."),
        (1, "toolgate_hook_refused_total", "Calls and answers that hooks refused."),
        (2, "toolgate_hook_failed_total", "Calls on which hooks came to no decision, or which they were not told of."),
    ] {
        page.of(name, "counter", help);
        hooks.iter().for_each(|(hook, counts)| page.line("", &[("hook", hook)], counts[n]));
    }
}

fn seconds(us: u64) -> String {
    format!("{}", us as f64 / 1_000_000.0)
}

/// The page so far. A line is of the name that was given last.
struct Page(String, &'static str);

impl Page {
    fn of(&mut self, name: &'static str, kind: &str, help: &str) {
        self.1 = name;
        // Writing into a text cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(self.1);
        self.0.push_str(suffix);
        for (n, (label, text)) in labels.iter().enumerate() {
            self.0.push(if n == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"");
            escape(text, &mut self.0);
            self.0.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::{Code, Platform};
    use dispatch::{CountedCalls, CountedTool};

    use super::*;

    #[test]
    fn the_page_is_what_prometheus_reads() {
        let of = |code, calls| CountedCalls {
            tool: "weather".into(),
            platform: Platform::Slack,
            tenant: "a \"b\"\\\n".into(),
            code,
            calls,
        };
        let mut within = [3; BOUNDS_US.len()];
        within[0] = 1;
        let tool = CountedTool { tool: "weather".into(), calls: 3, attempts: 4, within, sum_us: 31_500 };
        let text = page(&Told {
            counted: Counted { calls: vec![of(None, 2), of(Some(Code::Timeout), 1)], tools: vec![tool] },
            guarded: vec![Guarded { tool: "weather".into(), running: 2, waiting: 1, is_open: true }],
            audit: vec![AuditHealth { name: "store", waiting: 5, lost: 0, is_full: false }],
            traces: TraceHealth { waiting: 0, dropped: 7 },
            spent: Vec::new(),
            load: (1, 2, 3),
            partitions: 16,
            hooks: vec![("judge".into(), [5, 2, 1])],
        });
        let shown: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let first = [
            r#"toolgate_calls_total{tool="weather",platform="slack",tenant="a \"b\"\\\n",code="ok"} 2"#,
            r#"toolgate_calls_total{tool="weather",platform="slack",tenant="a \"b\"\\\n",code="timeout"} 1"#,
            r#"toolgate_attempts_total{tool="weather"} 4"#,
            r#"toolgate_call_duration_seconds_bucket{tool="weather",le="0.005"} 1"#,
            r#"toolgate_call_duration_seconds_bucket{tool="weather",le="0.01"} 3"#,
        ];
        assert_eq!(shown[..5], first);
        for line in [
            r#"toolgate_call_duration_seconds_bucket{tool="weather",le="+Inf"} 3"#,
            r#"toolgate_call_duration_seconds_sum{tool="weather"} 0.0315"#,
            r#"toolgate_breaker_open{tool="weather"} 1"#,
            "toolgate_turns_running 3",
            "toolgate_trace_records_lost_total 7",
            r#"toolgate_audit_waiting{to="store"} 5"#,
            r#"toolgate_hook_refused_total{hook="judge"} 2"#,
        ] {
            assert!(shown.contains(&line), "{line} in {text}");
        }
        let names = text.lines().filter(|line| line.starts_with("# TYPE"));
        assert_eq!(names.count(), 21);
    }
    #[test]
    fn the_board_asks_for_figures_that_are_there() {
        let board = include_str!("../../../deploy/grafana/toolgate.json");
        let board: serde_json::Value = serde_json::from_str(board).unwrap();
        let source = include_str!("metrics.rs");
        let asked: Vec<_> =
            board["panels"].as_array().unwrap().iter().flat_map(|p| p["targets"].as_array().unwrap()).collect();
        assert_eq!(asked.len(), 5);
        for target in asked {
            let words = target["expr"].as_str().unwrap().split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let names: Vec<_> = words.filter(|word| word.starts_with("toolgate_")).collect();
            assert!(!names.is_empty());
            for name in names {
                let name = name.trim_end_matches("_bucket");
                assert!(source.contains(&format!("\"{name}\"")), "{name}");
            }
        }
    }
}
