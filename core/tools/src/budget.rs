//! Cuts a large answer to what its owner allows, keeping its shape.

use serde_json::{Value, json};

/// The value itself when it fits `most` characters of JSON; else the same shape with long texts and lists cut, each
/// cut marked inside the budget.
pub fn fit(value: Value, most: usize, marks: &mut Vec<String>) -> Value {
    let size = size(&value);
    if size <= most {
        return value;
    }
    // Halving what one text, one list and one object may hold ends after a few rounds, each linear in what it keeps.
    // Each begins with the whole, so that what is said to be left out is counted once.
    let mut room = most;
    while room > 8 {
        let cut = shorten(&value, room, (room / 8).max(1));
        if self::size(&cut) <= most {
            marks.push(format!("answer cut from {size} characters to {most}"));
            return cut;
        }
        room /= 2;
    }
    marks.push(format!("answer of {size} characters left out: {most} are allowed"));
    json!(contract::text::cut(&format!("… the answer of {size} characters is too large"), most.saturating_sub(2)))
}

/// The text itself when it fits `most` characters; else its beginning and its end, with what is missing said between them.
pub fn ends(text: &str, most: usize) -> String {
    let size = text.chars().count();
    if size <= most {
        return text.to_owned();
    }
    let gap = |left_out: usize| format!("\n… ({left_out} of {size} characters are left out here) …\n");
    // As long as the longest that can stand there.
    let kept = most.saturating_sub(gap(size).chars().count());
    if kept < 2 {
        return contract::text::cut(text, most);
    }
    let (head, tail) = (kept - kept / 3, kept / 3);
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    format!("{}{}{}", &text[..at(head)], gap(size - kept), &text[at(size - tail)..])
}

/// Characters of the value as JSON.
fn size(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// Fields say what an answer is, so more of them are kept than of a list's items.
fn fields_of(items: usize) -> usize {
    items.saturating_mul(2).max(4)
}

fn shorten(value: &Value, text: usize, items: usize) -> Value {
    match value {
        Value::String(long) => Value::String(contract::text::cut(long, text)),
        Value::Array(list) => {
            let more = list.len().saturating_sub(items);
            let kept = list.iter().take(items).map(|v| shorten(v, text, items));
            kept.chain((more > 0).then(|| json!(format!("… and {more} more")))).collect()
        }
        Value::Object(map) => {
            let more = map.len().saturating_sub(fields_of(items));
            let kept = map.iter().take(fields_of(items));
            let kept = kept.map(|(k, v)| (contract::text::cut(k, text), shorten(v, text, items)));
            Value::Object(kept.chain((more > 0).then(|| ("…".into(), json!(format!("and {more} more"))))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_untouched_and_what_does_not_keeps_its_shape() {
        let mut marks = Vec::new();
        assert_eq!(fit(json!({"a": [1, 2]}), 100, &mut marks), json!({"a": [1, 2]}));
        assert!(marks.is_empty());
        let large = json!({"id": "A-17", "items": vec![json!({"name": "x".repeat(50)}); 500]});
        let cut = fit(large, 1_000, &mut marks);
        assert_eq!(cut["id"], "A-17");
        assert!(cut["items"].as_array().unwrap().last().unwrap().as_str().unwrap().contains("more"));
        assert_eq!(marks.len(), 1);
    }

    #[test]
    fn an_object_of_many_fields_keeps_its_first() {
        let large: serde_json::Map<_, _> = (0..2_000).map(|n| (format!("key_{n}"), json!("v".repeat(50)))).collect();
        let cut = fit(large.into(), 500, &mut Vec::new());
        assert!(cut["key_0"].as_str().unwrap().starts_with("vv") && size(&cut) <= 500);
        let more = 2_000 - (cut.as_object().unwrap().len() - 1);
        assert_eq!(cut["…"], format!("and {more} more"));
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("begin{}end", "日".repeat(415_820));
        let cut = ends(&text, 200);
        assert!(cut.starts_with("begin日") && cut.ends_with("日end") && cut.chars().count() <= 200, "{cut}");
        assert!(cut.contains("of 415828 characters"));
        assert_eq!(ends("short", 200), "short");
    }

    proptest! {
        #[test]
        fn the_ends_of_a_text_fit(text in ".{0,400}", most in 1_usize..300) {
            prop_assert!(ends(&text, most).chars().count() <= most);
        }

        #[test]
        fn the_budget_holds(text in "[a-z日é\"\\\\]{0,400}", keys in 0_usize..60, most in 100_usize..2_000) {
            let map: serde_json::Map<_, _> = (0..keys).map(|k| (k.to_string(), json!(text))).collect();
            let cut = fit(json!([map, text]), most, &mut Vec::new());
            prop_assert!(size(&cut) <= most);
        }
    }
}
