//! The body of a message: what was rendered, and what every message of ours has. Pure.

use contract::{Action, Button, Part, text};
use serde_json::{Value, json};
use serenity::{
    all::ButtonStyle,
    builder::{CreateActionRow, CreateAllowedMentions, CreateButton},
};

/// Shown to one person.
pub(crate) const EPHEMERAL: u64 = 1 << 6;
/// No previews of what a text links to.
const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// Components of the second version have no content beside them.
const COMPONENTS_V2: u64 = 1 << 15;
const PER_ROW: usize = 5;
const MOST_ROWS: usize = 5;
const LONGEST_LABEL: usize = 80;
/// What stands where nothing does; an empty message is refused.
const NOTHING: &str = "\u{2026}";

/// A new message.
pub(super) fn of(part: &Part) -> Value {
    let rendered = serde_json::from_str(&part.body).ok().filter(Value::is_object);
    let mut message = rendered.unwrap_or_else(|| json!({"content": part.plain}));
    if message["allowed_mentions"].is_null() {
        message["allowed_mentions"] = nobody();
    }
    message["allowed_mentions"]["replied_user"] = json!(false);
    let has_embeds = message["embeds"].as_array().is_some_and(|embeds| !embeds.is_empty());
    let flags = message["flags"].as_u64().unwrap_or(0);
    // The flag would hide our own embeds as well.
    if !has_embeds && flags & COMPONENTS_V2 == 0 {
        message["flags"] = json!(flags | SUPPRESS_EMBEDS);
    }
    let says_something = message["content"].as_str().is_some_and(|content| !content.trim().is_empty());
    if !says_something && !has_embeds && part.files.is_empty() && message["components"].is_null() {
        message["content"] = json!(NOTHING);
    }
    if !part.buttons.is_empty() {
        let mut rows = message["components"].as_array().cloned().unwrap_or_default();
        let left = MOST_ROWS.saturating_sub(rows.len());
        rows.extend(self::rows(&part.buttons).into_iter().take(left));
        message["components"] = Value::Array(rows);
    }
    message
}

/// A message in another one's place: what the new one does not have goes.
pub(super) fn whole(part: &Part) -> Value {
    let mut message = of(part);
    // A message that had no embeds may hide them.
    if message["embeds"].is_array() && message["flags"].is_null() {
        message["flags"] = json!(0);
    }
    for (key, nothing) in [("content", json!("")), ("embeds", json!([])), ("components", json!([]))] {
        if message[key].is_null() {
            message[key] = nothing;
        }
    }
    if part.files.is_empty() {
        message["attachments"] = json!([]);
    }
    message
}

/// Nobody is pinged.
pub(crate) fn nobody() -> Value {
    serde_json::to_value(CreateAllowedMentions::new().replied_user(false)).expect("a list of nobody is plain JSON")
}

fn rows(buttons: &[Button]) -> Vec<Value> {
    let rows = buttons.chunks(PER_ROW).map(|row| CreateActionRow::Buttons(row.iter().map(button).collect()));
    rows.map(|row| serde_json::to_value(row).expect("a row of buttons is plain JSON")).collect()
}

fn button(button: &Button) -> CreateButton {
    let style = match button.action {
        Action::Cancel(_) => ButtonStyle::Danger,
        Action::TryAgain(_) => ButtonStyle::Primary,
        Action::CancelCall(..) | Action::Details(_) | Action::AllowSession(_) | Action::DenyWhy(_) => {
            ButtonStyle::Secondary
        }
        Action::Allow(_) => ButtonStyle::Success,
        Action::Deny(_) => ButtonStyle::Danger,
    };
    let mut label = text::one_line(&button.label, LONGEST_LABEL);
    while label.encode_utf16().count() > LONGEST_LABEL {
        label.pop();
    }
    // A button without words is refused with the whole message.
    let label = if label.is_empty() { NOTHING.to_owned() } else { label };
    CreateButton::new(button.action.to_string()).label(label).style(style)
}

#[cfg(test)]
mod tests {
    use contract::{Audience, TurnId};
    use expect_test::expect;

    use super::*;

    fn part(body: &str, plain: &str) -> Part {
        Part {
            body: body.into(),
            plain: plain.into(),
            buttons: Vec::new(),
            files: Vec::new(),
            audience: Audience::Everyone,
        }
    }

    #[test]
    fn a_message_pings_nobody_and_shows_no_previews() {
        expect![[
            r#"{"content":"hi","allowed_mentions":{"parse":[],"users":[],"roles":[],"replied_user":false},"flags":4}"#
        ]]
        .assert_eq(&of(&part("", "hi")).to_string());
        expect![[r#"{"embeds":[{"title":"x"}],"allowed_mentions":{"parse":["users"],"replied_user":false}}"#]]
            .assert_eq(
                &of(&part(r#"{"embeds":[{"title":"x"}],"allowed_mentions":{"parse":["users"]}}"#, "x")).to_string(),
            );
        assert_eq!(of(&part("", " \u{200b}"))["content"], " \u{200b}");
        assert_eq!(of(&part("", ""))["content"], NOTHING);
    }

    #[test]
    fn what_takes_the_place_of_another_leaves_nothing_of_it() {
        expect![[r#"{"content":"hi","allowed_mentions":{"parse":[],"users":[],"roles":[],"replied_user":false},"flags":4,"embeds":[],"components":[],"attachments":[]}"#]]
            .assert_eq(&whole(&part("", "hi")).to_string());
        let embed = whole(&part(r#"{"embeds":[{"title":"x"}]}"#, "x"));
        assert_eq!((&embed["flags"], &embed["content"]), (&json!(0), &json!("")), "the embed is shown");
    }

    #[test]
    fn buttons_are_of_a_kind_and_a_number_that_discord_takes() {
        let action = Action::Cancel(TurnId::new());
        let button = |label: &str| Button { label: label.into(), action };
        let mut buttons = vec![button("  "), button(&"😀".repeat(90))];
        buttons.extend((0..60).map(|n| button(&n.to_string())));
        let message = of(&Part { buttons, ..part("", "x") });
        let rows = message["components"].as_array().expect("rows");
        assert_eq!(rows.len(), MOST_ROWS);
        assert!(rows.iter().all(|row| row["type"] == 1 && row["components"].as_array().is_some_and(|c| c.len() <= 5)));
        let first = &rows[0]["components"];
        assert_eq!(
            (&first[0]["label"], &first[0]["style"], &first[0]["type"]),
            (&json!(NOTHING), &json!(4), &json!(2))
        );
        assert_eq!(first[0]["custom_id"], action.to_string());
        assert!(first[1]["label"].as_str().is_some_and(|label| label.encode_utf16().count() <= 80));
    }
}
