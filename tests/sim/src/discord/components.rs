//! The rules for components: rows of buttons and menus, the newer layout, and the fields of a form.

use std::collections::BTreeSet;

use serde_json::Value;

use super::error::Form;

const ROW: u64 = 1;
const BUTTON: u64 = 2;
const LABEL: u64 = 18;

/// What is collected over all components of one message.
#[derive(Default)]
struct Seen {
    ids: BTreeSet<String>,
    count: usize,
    text: usize,
}

/// Checks the components of a message, in rows or in the newer layout.
pub fn message(form: &mut Form, components: &Value, v2: bool) {
    let Some(list) = components.as_array() else {
        if !components.is_null() {
            form.wrong(
                "components_type",
                "components",
                "LIST_TYPE_CONVERT",
                "Only iterables may be used in a ListType",
            );
        }
        return;
    };
    let mut seen = Seen::default();
    if !v2 && list.len() > 5 {
        form.wrong("component_rows", "components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
    }
    for (at, component) in list.iter().enumerate() {
        let path = format!("components.{at}");
        match component["type"].as_u64() {
            Some(ROW) => row(form, &path, component, &mut seen),
            Some(kind) if v2 => layout(form, &path, kind, component, &mut seen),
            _ => form.choice(&format!("{path}.type"), if v2 { "(1, 9, 10, 12, 13, 14, 17)" } else { "(1,)" }),
        }
    }
    if seen.count > 40 {
        form.wrong(
            "component_count",
            "components",
            "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
            "The total number of components cannot exceed 40",
        );
    }
    if seen.text > 4_000 {
        form.wrong(
            "component_text",
            "components",
            "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
            "The total displayable text size cannot exceed 4000",
        );
    }
}

fn row(form: &mut Form, path: &str, row: &Value, seen: &mut Seen) {
    seen.count += 1;
    let inner = row["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    let path = format!("{path}.components");
    if inner.is_empty() || inner.len() > 5 {
        form.wrong("row_length", &path, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
    }
    let menus = inner.iter().filter(|one| one["type"] != BUTTON).count();
    if menus > 0 && inner.len() > 1 {
        form.wrong(
            "row_width",
            &path,
            "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
            "The specified component exceeds the maximum width",
        );
    }
    for (at, one) in inner.iter().enumerate() {
        let path = format!("{path}.{at}");
        seen.count += 1;
        match one["type"].as_u64() {
            Some(BUTTON) => button(form, &path, one, seen),
            Some(3 | 5..=8) => menu(form, &path, one, seen),
            _ => form.choice(&format!("{path}.type"), "(2, 3, 5, 6, 7, 8)"),
        }
    }
}

fn custom_id(form: &mut Form, path: &str, one: &Value, seen: &mut Seen) {
    let id = one["custom_id"].as_str().unwrap_or_default();
    let path = format!("{path}.custom_id");
    form.length("custom_id", &path, id, 1, 100);
    if !id.is_empty() && !seen.ids.insert(id.to_owned()) {
        form.wrong(
            "custom_id_unique",
            &path,
            "COMPONENT_CUSTOM_ID_DUPLICATED",
            "Component custom id cannot be duplicated",
        );
    }
}

fn button(form: &mut Form, path: &str, button: &Value, seen: &mut Seen) {
    let label = button["label"].as_str().unwrap_or_default();
    form.length("button_label", &format!("{path}.label"), label, 0, 80);
    let style = button["style"].as_u64();
    if label.is_empty() && !button["emoji"].is_object() && style != Some(6) {
        form.wrong(
            "button_label",
            path,
            "BUTTON_COMPONENT_REQUIRES_LABEL_OR_EMOJI",
            "A button must have a label or an emoji",
        );
    }
    match style {
        Some(1..=4) => {
            custom_id(form, path, button, seen);
            if !button["url"].is_null() {
                form.wrong(
                    "button_url",
                    &format!("{path}.url"),
                    "BUTTON_COMPONENT_URL_INVALID",
                    "Only links have a url",
                );
            }
        }
        Some(5) => {
            let url = button["url"].as_str().unwrap_or_default();
            form.length("button_url", &format!("{path}.url"), url, 1, 512);
            if !url.is_empty() && !["http://", "https://", "discord://"].iter().any(|scheme| url.starts_with(scheme)) {
                form.wrong(
                    "button_url",
                    &format!("{path}.url"),
                    "URL_TYPE_INVALID_SCHEME",
                    "Scheme must be one of ('http', 'https', 'discord').",
                );
            }
            if !button["custom_id"].is_null() {
                form.wrong(
                    "button_url",
                    path,
                    "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
                    "A custom id and url cannot both be specified",
                );
            }
        }
        Some(6) if !button["sku_id"].is_null() => {}
        _ => form.choice(&format!("{path}.style"), "(1, 2, 3, 4, 5, 6)"),
    }
}

fn menu(form: &mut Form, path: &str, menu: &Value, seen: &mut Seen) {
    custom_id(form, path, menu, seen);
    form.length(
        "menu_placeholder",
        &format!("{path}.placeholder"),
        menu["placeholder"].as_str().unwrap_or_default(),
        0,
        150,
    );
    let (least, most) = (menu["min_values"].as_u64().unwrap_or(1), menu["max_values"].as_u64().unwrap_or(1));
    let options = menu["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = menu["type"] == 3;
    let bound = if texts { options.len() as u64 } else { 25 };
    if least > 25 || !(1..=25).contains(&most) || least > most || (texts && most > bound) {
        form.wrong(
            "menu_values",
            &format!("{path}.max_values"),
            "NUMBER_TYPE_MAX",
            format!("int value should be less than or equal to {bound}."),
        );
    }
    if !texts {
        return;
    }
    if options.is_empty() || options.len() > 25 {
        form.wrong(
            "menu_options",
            &format!("{path}.options"),
            "BASE_TYPE_BAD_LENGTH",
            "Must be between 1 and 25 in length.",
        );
    }
    let mut values = BTreeSet::new();
    for (at, option) in options.iter().enumerate() {
        let path = format!("{path}.options.{at}");
        for (name, least) in [("label", 1), ("value", 1), ("description", 0)] {
            let text = option[name].as_str().unwrap_or_default();
            form.length("menu_option", &format!("{path}.{name}"), text, least, 100);
        }
        if !values.insert(option["value"].as_str().unwrap_or_default()) {
            form.wrong(
                "menu_option_unique",
                &format!("{path}.value"),
                "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
                "The specified option value is already used",
            );
        }
    }
}

/// Components of the newer layout: sections, texts, pictures, files, lines and boxes.
fn layout(form: &mut Form, path: &str, kind: u64, one: &Value, seen: &mut Seen) {
    seen.count += 1;
    let inner = one["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    match kind {
        9 => {
            if inner.is_empty() || inner.len() > 3 {
                form.wrong(
                    "section",
                    &format!("{path}.components"),
                    "BASE_TYPE_BAD_LENGTH",
                    "Must be between 1 and 3 in length.",
                );
            }
            for (at, text) in inner.iter().enumerate() {
                layout(form, &format!("{path}.components.{at}"), 10, text, seen);
            }
            match one["accessory"]["type"].as_u64() {
                Some(BUTTON) => button(form, &format!("{path}.accessory"), &one["accessory"], seen),
                Some(11) => {}
                _ => form.required(&format!("{path}.accessory")),
            }
            seen.count += 1;
        }
        10 => {
            let text = one["content"].as_str().unwrap_or_default();
            form.length("component_text", &format!("{path}.content"), text, 1, 4_000);
            seen.text += text.chars().count();
        }
        12 => {
            if !one["items"].as_array().is_some_and(|items| (1..=10).contains(&items.len())) {
                form.wrong(
                    "gallery",
                    &format!("{path}.items"),
                    "BASE_TYPE_BAD_LENGTH",
                    "Must be between 1 and 10 in length.",
                );
            }
        }
        13 if !one["file"]["url"].as_str().is_some_and(|url| url.starts_with("attachment://")) => {
            form.required(&format!("{path}.file.url"))
        }
        13 | 14 => {}
        17 => {
            for (at, part) in inner.iter().enumerate() {
                let path = format!("{path}.components.{at}");
                match part["type"].as_u64() {
                    Some(ROW) => row(form, &path, part, seen),
                    Some(kind @ (9 | 10 | 12 | 13 | 14)) => layout(form, &path, kind, part, seen),
                    _ => form.choice(&format!("{path}.type"), "(1, 9, 10, 12, 13, 14)"),
                }
            }
        }
        _ => form.choice(&format!("{path}.type"), "(1, 9, 10, 12, 13, 14, 17)"),
    }
}

/// Checks a form: its title, and fields in rows or under labels.
pub fn modal(form: &mut Form, data: &Value) {
    form.length("modal_title", "data.title", data["title"].as_str().unwrap_or_default(), 1, 45);
    let mut seen = Seen::default();
    custom_id(form, "data", data, &mut seen);
    let list = data["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    if list.is_empty() || list.len() > 5 {
        form.wrong("modal_fields", "data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
    }
    for (at, part) in list.iter().enumerate() {
        let path = format!("data.components.{at}");
        match part["type"].as_u64() {
            Some(ROW) => match part["components"].as_array().map(Vec::as_slice) {
                Some([input]) => text_input(form, &format!("{path}.components.0"), input, true, &mut seen),
                _ => form.wrong(
                    "modal_row",
                    &format!("{path}.components"),
                    "BASE_TYPE_BAD_LENGTH",
                    "Must be 1 in length.",
                ),
            },
            Some(LABEL) => {
                form.length("modal_label", &format!("{path}.label"), part["label"].as_str().unwrap_or_default(), 1, 45);
                form.length(
                    "modal_description",
                    &format!("{path}.description"),
                    part["description"].as_str().unwrap_or_default(),
                    0,
                    100,
                );
                let (path, inner) = (format!("{path}.component"), &part["component"]);
                match inner["type"].as_u64() {
                    Some(4) => text_input(form, &path, inner, false, &mut seen),
                    Some(3 | 5..=8) => menu(form, &path, inner, &mut seen),
                    Some(19) => custom_id(form, &path, inner, &mut seen),
                    _ => form.choice(&format!("{path}.type"), "(3, 4, 5, 6, 7, 8, 19)"),
                }
            }
            Some(10) => form.length(
                "modal_text",
                &format!("{path}.content"),
                part["content"].as_str().unwrap_or_default(),
                1,
                4_000,
            ),
            _ => form.choice(&format!("{path}.type"), "(1, 10, 18)"),
        }
    }
}

fn text_input(form: &mut Form, path: &str, input: &Value, labelled: bool, seen: &mut Seen) {
    custom_id(form, path, input, seen);
    if input["type"] != 4 {
        form.choice(&format!("{path}.type"), "(4,)");
    }
    if !matches!(input["style"].as_u64(), Some(1 | 2)) {
        form.choice(&format!("{path}.style"), "(1, 2)");
    }
    if labelled {
        form.length("modal_label", &format!("{path}.label"), input["label"].as_str().unwrap_or_default(), 1, 45);
    }
    form.length(
        "modal_placeholder",
        &format!("{path}.placeholder"),
        input["placeholder"].as_str().unwrap_or_default(),
        0,
        100,
    );
    form.length("modal_value", &format!("{path}.value"), input["value"].as_str().unwrap_or_default(), 0, 4_000);
    let (least, most) = (input["min_length"].as_u64().unwrap_or(0), input["max_length"].as_u64().unwrap_or(4_000));
    if least > 4_000 || !(1..=4_000).contains(&most) || least > most {
        form.wrong(
            "modal_length",
            &format!("{path}.max_length"),
            "NUMBER_TYPE_MAX",
            "int value should be between 1 and 4000.",
        );
    }
}
