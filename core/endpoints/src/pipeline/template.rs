//! Values with templates in their strings: `"{{ steps.found.results }}"` alone keeps its type, within text it is text.

use contract::text;
use minijinja::{Environment, UndefinedBehavior, Value as Rendered};
use serde_json::{Map, Value};

/// Most instructions of one template: a loop without an end is stopped, nothing useful is.
const FUEL: u64 = 200_000;

/// Evaluates templates.
pub struct Templates(Environment<'static>);

/// Why a template gave no value.
#[derive(Debug)]
pub struct Unfilled(pub String);

impl Templates {
    pub fn new() -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.set_fuel(Some(FUEL));
        env.add_filter("as_text", |text: String| as_text(&text));
        Self(env)
    }

    /// Fills every string of a value. A field whose whole value is missing is left out.
    pub fn fill(&self, value: &Value, context: &Rendered) -> Result<Value, Unfilled> {
        Ok(self.filled(value, context)?.unwrap_or(Value::Null))
    }

    fn filled(&self, value: &Value, context: &Rendered) -> Result<Option<Value>, Unfilled> {
        match value {
            Value::String(text) => self.string(text, context),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.fill(item, context));
                Ok(Some(Value::Array(items.collect::<Result<_, _>>()?)))
            }
            Value::Object(map) => {
                let mut out = Map::new();
                for (key, value) in map {
                    if let Some(value) = self.filled(value, context)? {
                        out.insert(key.clone(), value);
                    }
                }
                Ok(Some(Value::Object(out)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(Some(value.clone())),
        }
    }

    fn string(&self, text: &str, context: &Rendered) -> Result<Option<Value>, Unfilled> {
        if let Some(expression) = single(text) {
            let value = self.evaluate(expression, context)?;
            return if value.is_undefined() { Ok(None) } else { json(&value).map(Some) };
        }
        if !text.contains(['{']) {
            return Ok(Some(Value::String(text.to_owned())));
        }
        self.0.render_str(text, context).map(|text| Some(Value::String(text))).map_err(|error| unfilled(text, &error))
    }

    /// Whether the expression holds; what is missing does not.
    pub fn holds(&self, condition: &str, context: &Rendered) -> Result<bool, Unfilled> {
        Ok(self.evaluate(single(condition).unwrap_or(condition), context)?.is_true())
    }

    fn evaluate(&self, expression: &str, context: &Rendered) -> Result<Rendered, Unfilled> {
        let compiled = self.0.compile_expression(expression).map_err(|error| unfilled(expression, &error))?;
        compiled.eval(context).map_err(|error| unfilled(expression, &error))
    }

    /// The variables that a value's templates use, as dotted paths; an error when one cannot be read.
    pub fn variables(&self, value: &Value) -> Result<Vec<String>, String> {
        let mut out = Vec::new();
        self.collect(value, &mut out)?;
        out.sort();
        out.dedup();
        Ok(out)
    }

    fn collect(&self, value: &Value, out: &mut Vec<String>) -> Result<(), String> {
        match value {
            Value::String(text) => out.extend(self.used(text)?),
            Value::Array(items) => items.iter().try_for_each(|item| self.collect(item, out))?,
            Value::Object(map) => map.values().try_for_each(|item| self.collect(item, out))?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn used(&self, text: &str) -> Result<Vec<String>, String> {
        let found = match single(text) {
            Some(expression) => self.0.compile_expression(expression).map(|e| e.undeclared_variables(true)),
            None => self.0.template_from_str(text).map(|t| t.undeclared_variables(true)),
        };
        found.map(|names| names.into_iter().collect()).map_err(|error| unfilled(text, &error).0)
    }

    /// The variables of a bare expression.
    pub fn variables_of(&self, condition: &str) -> Result<Vec<String>, String> {
        let expression = single(condition).unwrap_or(condition);
        let found = self.0.compile_expression(expression).map(|e| e.undeclared_variables(true));
        found.map(|names| names.into_iter().collect()).map_err(|error| unfilled(expression, &error).0)
    }
}

/// What others wrote as part of a Markdown text: on one line, with nothing in it that is markup.
fn as_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text::one_line(text, usize::MAX).chars() {
        if c.is_ascii_punctuation() && !matches!(c, ',' | ':' | ';' | '?' | '/' | '@' | '%' | '"' | '\'') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The expression of a text that is one `{{ … }}` and nothing else.
fn single(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}") && !inner.contains("{%")).then(|| inner.trim_matches('-').trim())
}

fn json(value: &Rendered) -> Result<Value, Unfilled> {
    serde_json::to_value(value).map_err(|error| Unfilled(format!("the value cannot be passed on: {error}")))
}

fn unfilled(source: &str, error: &minijinja::Error) -> Unfilled {
    let detail = error.detail().map(|d| format!(": {d}")).unwrap_or_default();
    Unfilled(format!("'{}': {}{detail}", text::one_line(source, 120), error.kind()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(template: Value) -> Result<Value, String> {
        let context = json!({
            "args": {"topic": "tea", "n": 9007199254740993_i64, "big": 18446744073709551615_u64, "flag": true, "none": null},
            "steps": {"found": {"results": [{"url": "a"}, {"url": "b"}]}},
        });
        Templates::new().fill(&template, &Rendered::from(minijinja::value::Serde(context))).map_err(|e| e.0)
    }

    #[test]
    fn what_others_wrote_is_no_markup_in_a_markdown_text() {
        let context = json!({ "t": "**b** [x](https://e.test)\n# h, <b>" });
        let filled = Templates::new()
            .fill(&"- {{ t | as_text }}".into(), &Rendered::from(minijinja::value::Serde(context)))
            .unwrap();
        assert_eq!(filled, r"- \*\*b\*\* \[x\]\(https://e\.test\) \# h, \<b\>");
    }

    #[test]
    fn a_single_expression_keeps_its_type_and_text_is_text() {
        assert_eq!(
            fill(json!({
                "n": "{{ args.n }}", "big": "{{args.big}}", "flag": "{{ args.flag }}", "none": "{{ args.none }}",
                "list": "{{ steps.found.results | map(attribute='url') | list }}", "first": "{{ steps.found.results[0] }}",
                "text": "about {{ args.topic }}, {{ args.n }} times", "plain": "no template", "fixed": 3, "deep": [{"t": "{{ args.topic | upper }}"}],
                "quoted": "{{ '<b>' ~ args.topic }}", "missing": "{{ args.limit }}", "or": "{{ args.limit | default(5) }}",
            })),
            Ok(json!({
                "n": 9007199254740993_i64, "big": 18446744073709551615_u64, "flag": true, "none": null,
                "list": ["a", "b"], "first": {"url": "a"},
                "text": "about tea, 9007199254740993 times", "plain": "no template", "fixed": 3, "deep": [{"t": "TEA"}],
                "quoted": "<b>tea", "or": 5,
            }))
        );
    }

    #[test]
    fn what_is_missing_within_text_or_goes_on_for_ever_is_an_error() {
        for template in [
            "about {{ args.nothing }}",
            "{{ args.nothing.deeper }}",
            "{{ unknown | upper }}",
            "{% for i in range(90000) %}{% for j in range(90000) %}x{% endfor %}{% endfor %}",
        ] {
            assert!(fill(json!({ "x": template })).is_err(), "{template}");
        }
    }

    #[test]
    fn the_variables_of_templates_are_known_before_they_run() {
        let used = Templates::new()
            .variables(&json!({"a": "{{ steps.found.results }}", "b": ["{{ args.topic }} {% if item %}x{% endif %}"]}));
        assert_eq!(used, Ok(vec!["args.topic".into(), "item".into(), "steps.found.results".into()]));
        assert!(Templates::new().variables(&json!("{{ oops")).is_err());
        assert!(
            Templates::new().variables(&json!("{{ a | nofilter }}")).is_ok(),
            "filters are looked up when they run"
        );
    }
}
