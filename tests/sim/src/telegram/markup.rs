//! Keyboards under messages: what of them is legal, and how they look.

use serde_json::Value;

use super::error::ApiError;
use super::transcript::Button;

const MOST_BUTTONS: usize = 100;
const MOST_IN_A_ROW: usize = 8;
const MOST_DATA: usize = 64;

/// Checks a `reply_markup`; what is no keyboard of a known kind is refused.
pub fn check(markup: Option<Value>) -> Result<Option<Value>, ApiError> {
    let Some(markup) = markup else { return Ok(None) };
    if !markup.is_object() {
        return Err(ApiError::broken("markup", "object expected as reply markup"));
    }
    if markup.get("inline_keyboard").is_none() {
        let empty = markup.as_object().is_some_and(serde_json::Map::is_empty);
        return Ok((!empty).then_some(markup));
    }
    let mut total = 0;
    for row in rows(&markup)? {
        if row.len() > MOST_IN_A_ROW {
            return Err(ApiError::broken("buttons_per_row", "REPLY_MARKUP_TOO_LONG"));
        }
        for button in row {
            check_button(button)?;
        }
        total += row.len();
    }
    if total > MOST_BUTTONS {
        return Err(ApiError::broken("buttons", "REPLY_MARKUP_TOO_LONG"));
    }
    Ok((total > 0).then_some(markup))
}

/// The same for an edit, which takes keyboards under messages only.
pub fn check_inline(markup: Option<Value>) -> Result<Option<Value>, ApiError> {
    match check(markup)? {
        Some(other) if other.get("inline_keyboard").is_none() => {
            Err(ApiError::broken("markup", "inline keyboard expected"))
        }
        checked => Ok(checked),
    }
}

fn rows(markup: &Value) -> Result<Vec<&Vec<Value>>, ApiError> {
    let wrong = || ApiError::broken("markup", "field \"inline_keyboard\" must be of type Array");
    let rows = markup["inline_keyboard"].as_array().ok_or_else(wrong)?;
    rows.iter()
        .map(|row| row.as_array().ok_or_else(|| ApiError::broken("markup", "inline keyboard row must be an Array")))
        .collect()
}

fn check_button(button: &Value) -> Result<(), ApiError> {
    let refuse = |why: &str| Err(ApiError::broken("button", format!("can't parse inline keyboard button: {why}")));
    let Some(text) = button["text"].as_str() else { return refuse("Field \"text\" must be of type String") };
    if super::text::is_blank(text) {
        return refuse("Text must be non-empty");
    }
    if let Some(data) = button.get("callback_data") {
        let length = data.as_str().map(str::len).unwrap_or_default();
        return if (1..=MOST_DATA).contains(&length) {
            Ok(())
        } else {
            Err(ApiError::broken("callback_data", "BUTTON_DATA_INVALID"))
        };
    }
    if let Some(url) = button.get("url") {
        let url = url.as_str().unwrap_or_default();
        return match super::html::link(url) {
            Some(_) => Ok(()),
            None => Err(ApiError::broken(
                "button_url",
                format!("inline keyboard button URL '{url}' is invalid: Wrong HTTP URL"),
            )),
        };
    }
    let others = [
        "web_app",
        "login_url",
        "switch_inline_query",
        "switch_inline_query_current_chat",
        "switch_inline_query_chosen_chat",
        "copy_text",
        "callback_game",
        "pay",
    ];
    if others.iter().any(|kind| button.get(kind).is_some()) {
        Ok(())
    } else {
        refuse("Text buttons are unallowed in the inline keyboard")
    }
}

/// The buttons of a message as a person sees them.
pub fn buttons(markup: Option<&Value>) -> Vec<Button> {
    let Some(rows) = markup.and_then(|markup| markup["inline_keyboard"].as_array()) else { return Vec::new() };
    let of_row = |(row, buttons): (usize, &Value)| -> Vec<Button> {
        let seen = |button: &Value| {
            let text = button["text"].as_str().unwrap_or_default().to_owned();
            let url = button["url"].as_str().map(str::to_owned);
            let id = button["callback_data"]
                .as_str()
                .map(str::to_owned)
                .or_else(|| url.clone())
                .unwrap_or_else(|| text.clone());
            Button { id, text, row, url, ..Button::default() }
        };
        buttons.as_array().into_iter().flatten().map(seen).collect()
    };
    rows.iter().enumerate().flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check_row(row: Value, expected: Expect) {
        let shown = match check(Some(json!({"inline_keyboard": [row]}))) {
            Ok(kept) => format!("{} buttons", buttons(kept.as_ref()).len()),
            Err(error) => format!("{} [{}]", error.description, error.rule.unwrap_or("no rule")),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_keyboard_keeps_the_documented_limits() {
        check_row(json!([{"text": "Go", "callback_data": "x"}]), expect!["1 buttons"]);
        check_row(json!([{"text": "Go", "callback_data": "é".repeat(32)}]), expect!["1 buttons"]);
        check_row(
            json!([{"text": "Go", "callback_data": "é".repeat(33)}]),
            expect!["Bad Request: BUTTON_DATA_INVALID [callback_data]"],
        );
        check_row(
            json!([{"text": "Go", "callback_data": ""}]),
            expect!["Bad Request: BUTTON_DATA_INVALID [callback_data]"],
        );
        check_row(
            json!([{"text": " ", "callback_data": "x"}]),
            expect!["Bad Request: can't parse inline keyboard button: Text must be non-empty [button]"],
        );
        check_row(
            json!([{"text": "Go"}]),
            expect![
                "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard [button]"
            ],
        );
        check_row(json!([{"text": "Go", "url": "https://e.test"}]), expect!["1 buttons"]);
        check_row(
            json!([{"text": "Go", "url": "e"}]),
            expect!["Bad Request: inline keyboard button URL 'e' is invalid: Wrong HTTP URL [button_url]"],
        );
        check_row(
            json!(vec![json!({"text": "Go", "callback_data": "x"}); 9]),
            expect!["Bad Request: REPLY_MARKUP_TOO_LONG [buttons_per_row]"],
        );
        check_row(json!([]), expect!["0 buttons"]);
        check_row(json!(5), expect!["Bad Request: inline keyboard row must be an Array [markup]"]);
    }

    #[test]
    fn a_keyboard_has_at_most_a_hundred_buttons() {
        let row = vec![json!({"text": "Go", "callback_data": "x"}); 8];
        assert!(check(Some(json!({"inline_keyboard": vec![row.clone(); 12]}))).is_ok());
        assert_eq!(
            check(Some(json!({"inline_keyboard": vec![row; 13]}))).expect_err("104 buttons").rule,
            Some("buttons")
        );
    }
}
