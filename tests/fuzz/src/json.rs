//! Changes a payload as JSON, so that most of what is tried can be read at all.

use serde_json::{Map, Value, json};

/// Deeper and larger payloads are changed as bytes.
const MOST_PLACES: usize = 4_000;
/// One change in so many is one of bytes.
const BYTES: u64 = 6;

/// A mutator for `fuzz_mutator!`.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    most: usize,
    seed: u32,
    bytes: impl Fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut dice = Dice(u64::from(seed) << 1 | 1);
    let read = serde_json::from_slice::<Value>(&data[..size]).ok();
    let Some(mut payload) = read.filter(|_| dice.below(BYTES) > 0) else { return bytes(data, size, most) };
    for _ in 0..=dice.below(4) {
        change(&mut payload, &mut dice);
    }
    let Ok(written) = serde_json::to_vec(&payload) else { return bytes(data, size, most) };
    if written.len() > most {
        return bytes(data, size, most);
    }
    data[..written.len()].copy_from_slice(&written);
    written.len()
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % most.max(1)
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let at = self.below(of.len() as u64);
        &of[usize::try_from(at).expect("it is below a length")]
    }
}

fn change(payload: &mut Value, dice: &mut Dice) {
    let mut places = Vec::new();
    collect(payload, String::new(), &mut places);
    let place = dice.one(&places).clone();
    let other = payload.pointer(dice.one::<String>(&places)).cloned().unwrap_or_default();
    match dice.below(6) {
        0 => set(payload, &place, odd(dice)),
        1 => set(payload, &place, other),
        2 => remove(payload, &place),
        3 => rename(payload, &place, dice),
        4 => repeat(payload, &place),
        _ => write(payload, &place, dice),
    }
}

/// The places of all values, as JSON pointers.
fn collect(value: &Value, at: String, places: &mut Vec<String>) {
    if places.len() >= MOST_PLACES {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                collect(inner, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), places);
            }
        }
        Value::Array(items) => {
            for (n, inner) in items.iter().enumerate() {
                collect(inner, format!("{at}/{n}"), places);
            }
        }
        _ => {}
    }
    places.push(at);
}

fn set(payload: &mut Value, place: &str, value: Value) {
    if let Some(at) = payload.pointer_mut(place) {
        *at = value;
    }
}

fn parent<'a, 'p>(payload: &'a mut Value, place: &'p str) -> Option<(&'a mut Value, &'p str)> {
    let (parent, key) = place.rsplit_once('/')?;
    Some((payload.pointer_mut(parent)?, key))
}

fn remove(payload: &mut Value, place: &str) {
    match parent(payload, place) {
        Some((Value::Object(fields), key)) => drop(fields.remove(key)),
        Some((Value::Array(items), key)) => {
            if let Some(at) = key.parse().ok().filter(|at: &usize| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

/// The value takes the place of another of its siblings, or a name that platforms use.
fn rename(payload: &mut Value, place: &str, dice: &mut Dice) {
    if let Some((Value::Object(fields), key)) = parent(payload, place) {
        let Some(value) = fields.remove(key) else { return };
        let siblings: Vec<String> = fields.keys().cloned().collect();
        let named = if dice.below(2) == 0 || siblings.is_empty() {
            (*dice.one::<&str>(&NAMES)).to_owned()
        } else {
            dice.one(&siblings).clone()
        };
        fields.insert(named, value);
    }
}

/// An item comes once more; what stands alone becomes a list, or a part of itself.
fn repeat(payload: &mut Value, place: &str) {
    match parent(payload, place) {
        Some((Value::Array(items), key)) => {
            if let Some(item) = key.parse().ok().and_then(|at: usize| items.get(at)).cloned() {
                items.push(item);
            }
        }
        Some((Value::Object(fields), key)) => {
            if let Some(value) = fields.get_mut(key) {
                *value = match value.take() {
                    Value::Object(inner) => {
                        let mut outer: Map<String, Value> = inner.clone();
                        outer.insert(key.to_owned(), Value::Object(inner));
                        Value::Object(outer)
                    }
                    other => json!([other]),
                };
            }
        }
        _ => {}
    }
}

/// Something is written into a text, or a number is moved.
fn write(payload: &mut Value, place: &str, dice: &mut Dice) {
    match payload.pointer_mut(place) {
        Some(Value::String(text)) => {
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let at = *dice.one(&cuts);
            match dice.below(3) {
                0 => text.truncate(at),
                _ => text.insert_str(at, dice.one::<&str>(&WORDS)),
            }
        }
        Some(Value::Number(number)) => {
            let by = [-1, 1, 2, 255, 65_536, -4_000][usize::try_from(dice.below(6)).expect("it is below six")];
            let moved = number.as_i64().map(|number| number.saturating_add(by));
            *payload.pointer_mut(place).expect("it was there") = json!(moved);
        }
        Some(other) => *other = odd(dice),
        None => {}
    }
}

fn odd(dice: &mut Dice) -> Value {
    match dice.below(16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX),
        5 => json!(i64::MIN),
        6 => json!(1e308),
        7 => json!(""),
        8 => json!("👨‍👩‍👧‍👦".repeat(40)),
        9 => json!("\u{0}\u{200B}\u{FFFD} "),
        10 => json!([]),
        11 => json!({}),
        12 => json!([[{}], null, [["x"]]]),
        13 => json!("99999999999999999999"),
        14 => json!("1700000000.000100"),
        _ => json!(dice.one::<&str>(&WORDS)),
    }
}

const WORDS: [&str; 24] = [
    "@everyone",
    "<@U1>",
    "<@1>",
    "<@&2>",
    "<#C1|x>",
    "<!here>",
    "<!subteam^S1>",
    "<https://e.test|x>",
    "&lt;",
    "&amp;amp;",
    "`",
    "```",
    "*",
    "_",
    "~",
    "\\",
    "\n",
    "/gate id=1",
    ":smile:",
    "👍🏽",
    "e\u{301}",
    "\u{10FFFF}",
    "汉字",
    "\u{202E}",
];

const NAMES: [&str; 28] = [
    "text",
    "content",
    "event",
    "message",
    "type",
    "data",
    "options",
    "components",
    "blocks",
    "elements",
    "entities",
    "caption",
    "attachments",
    "files",
    "rich_message",
    "quote",
    "reply_to_message",
    "previous_message",
    "referenced_message",
    "member",
    "resolved",
    "value",
    "values",
    "view",
    "state",
    "message_snapshots",
    "media_group_id",
    "subtype",
];
