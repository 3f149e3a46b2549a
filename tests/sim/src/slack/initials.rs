//! What stands in an input from the start, against what the input takes: a view with anything else is refused.

use serde_json::Value;

use super::blocks::Check;
use super::interact::options;

/// The most files that an input takes.
const MOST_FILES: u64 = 10;

/// Checks the `initial_…` of an element, and the bounds that it has to keep to.
pub fn check(check: &mut Check, element: &Value, at: &str) {
    match element["type"].as_str().unwrap_or_default() {
        "plain_text_input" => typed(check, element, at),
        "number_input" => number(check, element, at),
        "email_text_input" => formed(check, element, at, "initial_value", "email address", |text| {
            text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        }),
        "url_text_input" => formed(check, element, at, "initial_value", "URL", |text| text.contains("://")),
        "datepicker" => formed(check, element, at, "initial_date", "date", is_date),
        "timepicker" => formed(check, element, at, "initial_time", "time", is_time),
        "datetimepicker" => {
            let stamp = &element["initial_date_time"];
            if !stamp.is_null() && stamp.as_u64().is_none_or(|stamp| !(1_000_000_000..10_000_000_000).contains(&stamp))
            {
                check.error(&format!("{at}/initial_date_time"), "must be a UNIX timestamp of 10 digits");
            }
        }
        "radio_buttons" | "static_select" => chosen(check, element, at, "initial_option"),
        "checkboxes" | "multi_static_select" => several(check, element, at),
        "file_input"
            if !element["max_files"].is_null()
                && element["max_files"].as_u64().is_none_or(|most| !(1..=MOST_FILES).contains(&most)) =>
        {
            check.error(&format!("{at}/max_files"), format!("must be between 1 and {MOST_FILES}"));
        }
        _ => {}
    }
    if element["focus_on_load"] == true {
        check.focus(at);
    }
}

fn typed(check: &mut Check, element: &Value, at: &str) {
    let (min, max) = (element["min_length"].as_u64().unwrap_or(0), element["max_length"].as_u64().unwrap_or(3_000));
    if min > 3_000 || !(1..=3_000).contains(&max) || min > max {
        check.error(at, "min_length and max_length lie between 0 and 3000");
    }
    let Some(value) = element.get("initial_value").filter(|value| !value.is_null()) else { return };
    let at = format!("{at}/initial_value");
    let Some(text) = value.as_str() else { return check.error(&at, "must be a string") };
    let length = text.chars().count() as u64;
    if length > max {
        check.error(&at, format!("must be less than {} characters", max + 1));
    }
    // Nothing at all is not too short: the person has still to write it.
    if (1..min).contains(&length) {
        check.error(&at, format!("must be more than {} characters", min - 1));
    }
}

fn number(check: &mut Check, element: &Value, at: &str) {
    let mut read = |name: &str| -> Option<f64> {
        let value = element.get(name).filter(|value| !value.is_null())?;
        let number = value.as_str().and_then(|text| text.parse::<f64>().ok()).filter(|number| number.is_finite());
        if number.is_none() {
            check.error(&format!("{at}/{name}"), "must be a valid number");
        }
        number
    };
    let (initial, min, max) = (read("initial_value"), read("min_value"), read("max_value"));
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        check.error(&format!("{at}/min_value"), "must not be greater than max_value");
    }
    let Some(initial) = initial else { return };
    let at = format!("{at}/initial_value");
    if min.is_some_and(|min| initial < min) {
        check.error(&at, "must not be less than min_value");
    }
    if max.is_some_and(|max| initial > max) {
        check.error(&at, "must not be greater than max_value");
    }
    if initial.fract() != 0.0 && element["is_decimal_allowed"] != true {
        check.error(&at, "must be a whole number");
    }
}

/// A text in the form that its element asks for.
fn formed(check: &mut Check, element: &Value, at: &str, name: &str, what: &str, fits: impl Fn(&str) -> bool) {
    let Some(value) = element.get(name).filter(|value| !value.is_null()) else { return };
    if value.as_str().is_none_or(|text| !fits(text)) {
        check.error(&format!("{at}/{name}"), format!("must be a valid {what}"));
    }
}

/// An option that stands there from the start is one of those that are offered, in every field.
fn chosen(check: &mut Check, element: &Value, at: &str, name: &str) {
    let initial = &element[name];
    if !initial.is_null() && !options(element).any(|option| option == initial) {
        check.error(&format!("{at}/{name}"), "must be one of the options");
    }
}

fn several(check: &mut Check, element: &Value, at: &str) {
    let most = &element["max_selected_items"];
    if !most.is_null() && most.as_u64().is_none_or(|most| most == 0) {
        check.error(&format!("{at}/max_selected_items"), "must be greater than 0");
    }
    let Some(initial) = element.get("initial_options").filter(|initial| !initial.is_null()) else { return };
    let at = format!("{at}/initial_options");
    let Some(list) = initial.as_array() else { return check.error(&at, "must be an array") };
    if list.is_empty() {
        check.error(&at, "no fewer than 1 items allowed");
    }
    if most.as_u64().is_some_and(|most| list.len() as u64 > most) {
        check.error(&at, format!("no more than {most} items allowed"));
    }
    if list.iter().any(|option| !options(element).any(|known| known == option)) {
        check.error(&at, "must be among the options");
    }
    if list.iter().enumerate().any(|(at, option)| list[..at].contains(option)) {
        check.error(&at, "an option is there twice");
    }
}

fn is_date(date: &str) -> bool {
    let parts: Vec<&str> = date.split('-').collect();
    if !parts.iter().map(|part| part.len()).eq([4, 2, 2]) {
        return false;
    }
    let numbers: Vec<u32> = parts.iter().filter_map(|part| digits(part)).collect();
    let [year, month, day] = numbers[..] else { return false };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=last).contains(&day)
}

fn is_time(time: &str) -> bool {
    let Some((hour, minute)) = time.split_once(':') else { return false };
    let within = |part: &str, most: u32| part.len() == 2 && digits(part).is_some_and(|number| number <= most);
    within(hour, 23) && within(minute, 59)
}

fn digits(part: &str) -> Option<u32> {
    part.bytes().all(|c| c.is_ascii_digit()).then(|| part.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_those_that_there_are() {
        for date in ["2026-02-28", "2024-02-29", "2000-12-31"] {
            assert!(is_date(date), "{date}");
        }
        for date in ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "today", "2026-01-+1", ""] {
            assert!(!is_date(date), "{date}");
        }
        assert!(is_time("00:00") && is_time("23:59"));
        assert!(!is_time("24:00") && !is_time("9:30") && !is_time("12:60") && !is_time("noon"));
    }
}
