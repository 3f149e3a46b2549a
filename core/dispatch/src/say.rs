//! Outcomes become a reply: content and typed parts, never platform markup. Pure.

mod plain;

use contract::{Action, Button, Code, Content, Failure, Locale, Notice, Outcome, Reply, TurnId, text};
use policies::Limits;
use serde_json::{Map, Value};

pub use plain::plain;

use crate::{planner::TurnView, snapshot::ToolList};

/// Rows and columns that a table of results may have; more is shown as JSON.
const TABLE_ROWS: usize = 30;
const TABLE_COLUMNS: usize = 6;

/// A reply in the making.
pub(crate) struct Saying<'a> {
    turn: &'a TurnView<'a>,
    limits: Limits,
    content: Vec<Content>,
    /// Several commands: each answer says whose it is.
    many: bool,
    answered: usize,
    /// The last content ends in a line of ours, which the next line follows without a gap.
    in_lines: bool,
    failures: Vec<(Failure, bool)>,
    ran: usize,
    /// Calls beyond the limit since it was said.
    unsaid: usize,
}

impl<'a> Saying<'a> {
    pub fn new(turn: &'a TurnView<'a>, commands: usize) -> Self {
        let limits = turn.snapshot.policies.limits(turn.caller);
        Self {
            turn,
            limits,
            content: Vec::new(),
            many: commands > 1,
            answered: 0,
            in_lines: false,
            failures: Vec::new(),
            ran: 0,
            unsaid: 0,
        }
    }

    pub fn builtin(&mut self, content: Vec<Content>) {
        self.answered += 1;
        self.add(content);
    }

    pub fn outcome(&mut self, outcome: &Outcome) {
        self.answered += 1;
        self.ran += 1;
        match &outcome.result {
            Ok(value) => self.result(outcome, value),
            Err(failure) => self.failure(outcome, failure),
        }
    }

    fn result(&mut self, outcome: &Outcome, value: &Value) {
        if self.many
            && let Some(line) = in_one_line(value)
        {
            self.text(&format!("**{}.** `{}` — {}", self.answered, outcome.tool, escape(&line)));
            return;
        }
        let most = self.limits.result_chars as usize;
        let shown = shown(value, self.markdown(&outcome.tool), most, self.turn.locale);
        if !self.many {
            self.add(shown);
            return;
        }
        self.text(&format!("**{}.** `{}`", self.answered, outcome.tool));
        self.add(shown);
    }

    /// Lines of a batch join into one document, so that they look like one answer.
    fn text(&mut self, markdown: &str) {
        match self.content.last_mut() {
            Some(Content::Text(last)) => {
                // A backslash before the end of a line is CommonMark's break within a paragraph.
                last.push_str(if self.in_lines { "\\\n" } else { "\n\n" });
                last.push_str(markdown);
            }
            _ => self.content.push(Content::Text(markdown.to_owned())),
        }
        self.in_lines = true;
    }

    fn add(&mut self, content: impl IntoIterator<Item = Content>) {
        self.content.extend(content);
        self.in_lines = false;
    }

    fn failure(&mut self, outcome: &Outcome, failure: &Failure) {
        // A thousand commands too many are not a thousand times the same answer.
        if failure.code == Code::LimitReached && self.failures.last().is_some_and(|(last, _)| last == failure) {
            self.unsaid += 1;
            return;
        }
        if self.many {
            self.text(&format!("**{}.** `{}`", self.answered, text::one_line(&outcome.tool, 64)));
        }
        let tool = (failure.code != Code::ToolUnknown).then_some(outcome.tool.as_str());
        self.add([Content::Notice(Notice::of(failure, tool, Some(self.turn.record.id)))]);
        self.failures.push((failure.clone(), outcome.repeatable));
    }

    /// Whether the tool says that its answer is Markdown (`returns: {type: string, contentMediaType: text/markdown}`).
    fn markdown(&self, tool: &str) -> bool {
        let tool = self.turn.snapshot.tools.get(tool);
        let declared = tool.and_then(|t| t.spec.returns.as_ref()).and_then(|r| r.get("contentMediaType"));
        declared.and_then(Value::as_str) == Some("text/markdown")
    }

    pub fn reply(mut self) -> Reply {
        if self.unsaid > 0 {
            self.text(&words::same_holds(self.unsaid, self.turn.locale));
        }
        if self.content.is_empty() {
            self.content.push(Content::Plain(words::no_output(self.turn.locale)));
        }
        let buttons = self.buttons();
        // Commands of the gateway's own refuse without a call that failed.
        let refused = self.content.iter().any(|content| matches!(content, Content::Notice(_)));
        let failed = refused || !self.failures.is_empty();
        Reply { content: self.content, buttons, failed, ..Reply::default() }
    }

    fn buttons(&self) -> Vec<Button> {
        let turn = self.turn.record.id;
        let mut buttons = Vec::new();
        if self.is_worth_trying_again() {
            buttons.push(self.button(Action::TryAgain(turn)));
        }
        // One plain answer needs no button under it.
        if !self.failures.is_empty() || self.ran > 1 {
            buttons.push(self.button(Action::Details(turn)));
        }
        buttons
    }

    fn button(&self, action: Action) -> Button {
        Button { label: words::button(action, self.turn.locale), action }
    }

    /// Everything that the message asked for may be repeated, and a failure may pass by itself.
    fn is_worth_trying_again(&self) -> bool {
        let may_pass = self.failures.iter().any(|(failure, repeatable)| failure.is_retryable(*repeatable));
        may_pass && self.commands_are_repeatable()
    }

    fn commands_are_repeatable(&self) -> bool {
        let outcomes = self.turn.steps.iter().flatten();
        outcomes.into_iter().all(|o| self.turn.snapshot.tools.is_repeatable(&o.tool))
    }
}

/// A result as a person sees it.
fn shown(value: &Value, markdown: bool, most: usize, locale: Locale) -> Vec<Content> {
    match value {
        Value::Null => vec![Content::Plain(words::no_output(locale))],
        Value::String(s) if s.trim().is_empty() => vec![Content::Plain(words::no_output(locale))],
        Value::String(s) if markdown => vec![Content::Text(cut(s, most, locale))],
        Value::String(s) => vec![Content::Plain(cut(s, most, locale))],
        Value::Bool(_) | Value::Number(_) => vec![Content::Plain(value.to_string())],
        Value::Object(map) if is_readable(map) => vec![Content::Text(document(map, most, locale))],
        Value::Array(items) if let Some(columns) = table_columns(items) => vec![Content::Text(table(items, &columns))],
        Value::Object(_) | Value::Array(_) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            vec![Content::Code { language: "json".into(), text: cut(&text, most, locale) }]
        }
    }
}

/// A short result as part of a line: a scalar, or a few fields.
fn in_one_line(value: &Value) -> Option<String> {
    let line = match value {
        Value::Object(map) if is_flat(map) && map.len() <= 4 => {
            map.iter().map(|(key, value)| format!("{key}: {}", scalar(value))).collect::<Vec<_>>().join(", ")
        }
        Value::Object(_) | Value::Array(_) | Value::Null => return None,
        value => scalar(value),
    };
    (!line.trim().is_empty() && !line.contains('\n') && line.chars().count() <= 200).then_some(line)
}

fn cut(text: &str, most: usize, locale: Locale) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(60)).collect();
    format!("{kept}\n{}", words::cut_here(count, locale))
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

fn is_flat(map: &Map<String, Value>) -> bool {
    !map.is_empty() && map.len() <= 20 && map.values().all(is_scalar)
}

/// Fields that are scalars, short lists of them, or tables: what a person reads better than JSON.
fn is_readable(map: &Map<String, Value>) -> bool {
    let fits = |value: &Value| match value {
        Value::Array(items) => is_short_list(items) || table_columns(items).is_some(),
        value => is_scalar(value),
    };
    !map.is_empty() && map.len() <= 20 && map.values().all(fits)
}

fn is_short_list(items: &[Value]) -> bool {
    items.len() <= 20 && items.iter().all(|i| is_scalar(i) && scalar(i).chars().count() <= 100)
}

/// Scalars first, as they stand; tables below, under their names.
fn document(map: &Map<String, Value>, most: usize, locale: Locale) -> String {
    let mut parts = vec![fields(map, most, locale)];
    for (name, value) in map {
        if let Value::Array(items) = value
            && let Some(columns) = table_columns(items)
        {
            parts.push(format!("**{}**", escape(name)));
            parts.push(table(items, &columns));
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => "–".into(),
        other => other.to_string(),
    }
}

fn fields(map: &Map<String, Value>, most: usize, locale: Locale) -> String {
    let shown = map.iter().filter_map(|(key, value)| {
        let text = match value {
            Value::Array(items) if table_columns(items).is_some() => return None,
            Value::Array(items) => items.iter().map(scalar).collect::<Vec<_>>().join(", "),
            value => scalar(value),
        };
        Some(format!("- **{}**: {}", escape(key), escape(&cut(&text, most, locale)).replace('\n', "  \n  ")))
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The columns of a list of small flat objects of one shape.
fn table_columns(items: &[Value]) -> Option<Vec<&str>> {
    let first = items.first()?.as_object()?;
    let columns: Vec<&str> = first.keys().map(String::as_str).collect();
    let fits = items.len() <= TABLE_ROWS && !columns.is_empty() && columns.len() <= TABLE_COLUMNS;
    let row_fits = |item: &Value| {
        item.as_object().is_some_and(|row| {
            row.len() == columns.len()
                && columns.iter().all(|c| row.get(*c).is_some_and(|v| is_scalar(v) && scalar(v).chars().count() <= 60))
        })
    };
    (fits && items.iter().all(row_fits)).then_some(columns)
}

fn table(items: &[Value], columns: &[&str]) -> String {
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let mut lines = vec![row(columns.iter().map(|c| escape(c)).collect())];
    lines.push(row(columns.iter().map(|_| "---".to_owned()).collect()));
    for item in items {
        let cell = |c: &&str| escape(&text::one_line(&item.get(*c).map(scalar).unwrap_or_default(), 60));
        lines.push(row(columns.iter().map(cell).collect()));
    }
    lines.join("\n")
}

/// Text as CommonMark that shows it unchanged: every ASCII mark may be escaped.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`'
                | '*'
                | '_'
                | '{'
                | '}'
                | '['
                | ']'
                | '('
                | ')'
                | '#'
                | '+'
                | '-'
                | '.'
                | '!'
                | '|'
                | '<'
                | '>'
                | '~'
                | '&'
                | '='
                | ':'
                | '@'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The words of what was said (in lower case) that can tell tools apart; a long text has not more of them than this.
fn telling_words(said: &str) -> Vec<&str> {
    let words = said.split(|c: char| !c.is_alphanumeric());
    let telling = words.filter(|w| (w.chars().count() > 2 || !w.is_ascii()) && !COMMON.contains(w));
    telling.take(40).collect()
}

/// Words that say nothing of what is looked for, although descriptions are full of them.
const COMMON: &[&str] = &[
    "about", "all", "and", "any", "are", "but", "can", "could", "does", "for", "from", "have", "hello", "how", "its",
    "not", "one", "please", "some", "that", "the", "then", "there", "this", "was", "what", "when", "which", "who",
    "will", "with", "would", "you", "your",
];

/// Tools of the view whose name or description shares words with what was said, best first, with their usage.
pub(crate) fn nearest_tools<'a>(list: &'a ToolList, said: &str, most: usize) -> Vec<(&'a str, String)> {
    let said = said.to_lowercase();
    let words = telling_words(&said);
    let mut scored: Vec<_> = list
        .tools
        .iter()
        .map(|tool| {
            let name = tool.name.to_lowercase();
            let about = tool.spec.description.to_lowercase();
            let score: usize = words
                .iter()
                .map(|w| {
                    let in_name =
                        name.split(['_', '-']).any(|part| part == *w || text::distance(part, w) <= w.len() / 4);
                    usize::from(in_name) * 3 + usize::from(about.contains(*w))
                })
                .sum();
            (score, tool)
        })
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    scored.into_iter().take(most).map(|(_, tool)| (&*tool.name, tool.usage())).collect()
}

/// The words when a reference is not known to the one who asks.
pub(crate) fn no_such_reference(reference: &str, turn: TurnId) -> Content {
    let words = match text::one_line(reference, 40) {
        none if none.is_empty() => "say which request: /trace REFERENCE".to_owned(),
        some => format!("there is no request '{some}' that you can look at"),
    };
    let failure = Failure::new(Code::InputRefused, words).hint("a reference stands at the end of each answer");
    Content::Notice(Notice::of(&failure, None, Some(turn)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_greeting_looks_for_no_tool() {
        assert!(telling_words("hello there, how are you?").is_empty());
        assert_eq!(telling_words("what is the weather in oslo"), ["weather", "oslo"]);
    }

    #[test]
    fn a_result_is_shown_by_its_shape() {
        assert_eq!(
            shown(&json!("2 * 3 and __init__"), false, 100, Locale::En),
            [Content::Plain("2 * 3 and __init__".into())]
        );
        assert_eq!(
            shown(&json!({"city":"a_b","ok":true}), false, 100, Locale::En),
            [Content::Text("- **city**: a\\_b\n- **ok**: true".into())]
        );
        let table = shown(&json!([{"id":1,"s":"x|y"},{"id":2,"s":"z"}]), false, 100, Locale::En);
        assert_eq!(table, [Content::Text("| id | s |\n| --- | --- |\n| 1 | x\\|y |\n| 2 | z |".into())]);
        assert!(matches!(&shown(&json!({"a":{"b":1}}), false, 100, Locale::En)[0], Content::Code { .. }));
        let nested =
            shown(&json!({"city":"Oslo","days":[{"sky":"rain","c":1}],"tags":["a","b"]}), false, 100, Locale::En);
        let text = "- **city**: Oslo\n- **tags**: a, b\n\n**days**\n\n| sky | c |\n| --- | --- |\n| rain | 1 |";
        assert_eq!(nested, [Content::Text(text.into())]);
        assert_eq!(shown(&json!("  "), false, 100, Locale::En), [Content::Plain("(no output)".into())]);
    }

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let Content::Plain(text) = &shown(&json!("é".repeat(500)), false, 100, Locale::En)[0] else {
            panic!("plain text")
        };
        assert!(text.ends_with("(cut here: 500 characters in all)") && text.chars().count() <= 100);
    }
}
