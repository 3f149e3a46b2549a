//! Block elements against the platform's rules: buttons, menus and inputs.

use serde_json::Value;

use super::blocks::{Check, Surface, image};
use super::initials;

/// The part of a block that an element stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    Section,
    Actions,
    Input,
}

/// Which spots take an element: section, actions, input.
const PLACES: [(&str, [bool; 3]); 24] = [
    ("button", [true, true, false]),
    ("workflow_button", [true, true, false]),
    ("image", [true, false, false]),
    ("overflow", [true, true, false]),
    ("checkboxes", [true, true, true]),
    ("radio_buttons", [true, true, true]),
    ("datepicker", [true, true, true]),
    ("timepicker", [true, true, true]),
    ("datetimepicker", [false, true, true]),
    ("static_select", [true, true, true]),
    ("external_select", [true, true, true]),
    ("users_select", [true, true, true]),
    ("conversations_select", [true, true, true]),
    ("channels_select", [true, true, true]),
    ("multi_static_select", [true, false, true]),
    ("multi_external_select", [true, false, true]),
    ("multi_users_select", [true, false, true]),
    ("multi_conversations_select", [true, false, true]),
    ("multi_channels_select", [true, false, true]),
    ("plain_text_input", [false, false, true]),
    ("number_input", [false, false, true]),
    ("email_text_input", [false, false, true]),
    ("url_text_input", [false, false, true]),
    ("rich_text_input", [false, false, true]),
];

/// Checks one element.
pub fn check(check: &mut Check, block: &str, element: &Value, at: &str, spot: Spot) {
    let kind = element["type"].as_str().unwrap_or_default();
    let file = kind == "file_input" && spot == Spot::Input && check.surface == Surface::Modal;
    let place = PLACES.iter().find(|(known, _)| *known == kind).map(|(_, spots)| spots[spot as usize]);
    if !file && place != Some(true) {
        return check.error(&format!("{at}/type"), format!("unsupported type: {kind}"));
    }
    if kind == "image" {
        return image(check, element, at, false);
    }
    check.action(block, element, at);
    match kind {
        "button" => button(check, element, at),
        "overflow" => {
            check.fields(element, at, &["options"], &["action_id", "confirm"]);
            listed(check, element, at, 5, 75);
        }
        "checkboxes" | "radio_buttons" => {
            let initial = if kind == "checkboxes" { "initial_options" } else { "initial_option" };
            check.fields(element, at, &["options"], &["action_id", "confirm", "focus_on_load", initial]);
            listed(check, element, at, 10, 150);
        }
        "static_select" | "multi_static_select" => menu(check, element, at, kind),
        "plain_text_input" => typed(check, element, at),
        "number_input" => {
            let more = [
                "action_id",
                "initial_value",
                "min_value",
                "max_value",
                "dispatch_action_config",
                "focus_on_load",
                "placeholder",
            ];
            check.fields(element, at, &["is_decimal_allowed"], &more);
            check.text(element, at, "placeholder", 150, true);
        }
        "datepicker" => {
            check.fields(element, at, &[], &["action_id", "initial_date", "confirm", "focus_on_load", "placeholder"]);
            check.text(element, at, "placeholder", 150, true);
        }
        "timepicker" => {
            let more = ["action_id", "initial_time", "confirm", "focus_on_load", "placeholder", "timezone"];
            check.fields(element, at, &[], &more);
            check.text(element, at, "placeholder", 150, true);
        }
        "datetimepicker" => {
            check.fields(element, at, &[], &["action_id", "initial_date_time", "confirm", "focus_on_load"])
        }
        "email_text_input" | "url_text_input" | "rich_text_input" => {
            check.fields(
                element,
                at,
                &[],
                &["action_id", "initial_value", "dispatch_action_config", "focus_on_load", "placeholder"],
            );
            check.text(element, at, "placeholder", 150, true);
        }
        "file_input" => check.fields(element, at, &[], &["action_id", "filetypes", "max_files"]),
        _ => check.text(element, at, "placeholder", 150, true),
    }
    confirm(check, element, at);
    initials::check(check, element, at);
}

fn button(check: &mut Check, element: &Value, at: &str) {
    check.fields(element, at, &["text"], &["action_id", "url", "value", "style", "confirm", "accessibility_label"]);
    check.text(element, at, "text", 75, true);
    check.string(element, at, "value", 2_000);
    check.string(element, at, "url", 3_000);
    check.string(element, at, "accessibility_label", 75);
    if element.get("style").is_some_and(|style| !matches!(style.as_str(), Some("primary" | "danger"))) {
        check.error(&format!("{at}/style"), "must be one of: primary, danger");
    }
}

fn confirm(check: &mut Check, element: &Value, at: &str) {
    let Some(dialog) = element.get("confirm").filter(|dialog| !dialog.is_null()) else { return };
    let at = format!("{at}/confirm");
    check.fields(dialog, &at, &["text"], &["title", "confirm", "deny", "style"]);
    check.text(dialog, &at, "title", 100, true);
    check.text(dialog, &at, "text", 300, false);
    check.text(dialog, &at, "confirm", 30, true);
    check.text(dialog, &at, "deny", 30, true);
}

fn menu(check: &mut Check, element: &Value, at: &str, kind: &str) {
    let many = kind.starts_with("multi_");
    let initial = if many { "initial_options" } else { "initial_option" };
    let mut more = vec!["action_id", "options", "option_groups", "confirm", "focus_on_load", "placeholder", initial];
    if many {
        more.push("max_selected_items");
    }
    check.fields(element, at, &[], &more);
    check.text(element, at, "placeholder", 150, true);
    if element["options"].is_null() == element["option_groups"].is_null() {
        check.error(at, "one of options and option_groups is required");
    }
    listed(check, element, at, 100, 150);
    for (number, group) in check.list(element, at, "option_groups", 100).iter().enumerate() {
        let at = format!("{at}/option_groups/{number}");
        check.fields(group, &at, &["label", "options"], &[]);
        check.text(group, &at, "label", 75, true);
        listed(check, group, &at, 100, 150);
    }
}

/// The options of a list, each within its bounds and none twice.
fn listed(check: &mut Check, element: &Value, at: &str, most: usize, value: usize) {
    let mut seen = std::collections::BTreeSet::new();
    for (number, option) in check.list(element, at, "options", most).iter().enumerate() {
        let at = format!("{at}/options/{number}");
        check.fields(option, &at, &["text", "value"], &["description", "url"]);
        check.text(option, &at, "text", 75, false);
        check.text(option, &at, "description", 75, false);
        check.string(option, &at, "value", value);
        if let Some(value) = option["value"].as_str()
            && !seen.insert(value)
        {
            check.error(&at, format!("value \"{value}\" is there twice"));
        }
    }
}

fn typed(check: &mut Check, element: &Value, at: &str) {
    let more = [
        "action_id",
        "initial_value",
        "multiline",
        "min_length",
        "max_length",
        "dispatch_action_config",
        "focus_on_load",
        "placeholder",
    ];
    check.fields(element, at, &[], &more);
    check.text(element, at, "placeholder", 150, true);
}
