//! Environment variables that replace keys: `TOOLGATE__PLATFORMS__TELEGRAM__TOKEN=env:OTHER`.

use std::sync::Arc;

use super::{
    finding::{Finding, finding_at},
    yaml::{Key, Spot, Tree, Value},
};

/// What such a variable's name begins with.
pub const PREFIX: &str = "TOOLGATE__";

/// Puts each variable's value in its place. Values are read as YAML, so lists and maps can be written too.
pub fn apply(tree: &mut Tree, variables: impl IntoIterator<Item = (String, String)>) -> Vec<Finding> {
    let mut found: Vec<_> = variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
    // The environment has no order of its own; the outer key goes before what is inside of it.
    found.sort();
    found.into_iter().filter_map(|(name, text)| replace(tree, &name, &text).err()).collect()
}

fn replace(tree: &mut Tree, name: &str, text: &str) -> Result<(), Finding> {
    let spot = Spot { line: 0, column: 0, variable: Some(Arc::from(name)) };
    let value = value_of(name, text, &spot)?;
    let parts: Vec<_> = name[PREFIX.len()..].split("__").collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(finding_at(name, &spot, "a key is missing between two underscores"));
    }
    let mut at = tree;
    for part in &parts {
        at = step(at, part, &spot).ok_or_else(|| {
            finding_at(name, &spot, format!("'{}' stands inside of something that is not a map", part.to_lowercase()))
        })?;
    }
    *at = value;
    Ok(())
}

fn value_of(name: &str, text: &str, spot: &Spot) -> Result<Tree, Finding> {
    let flow = text.starts_with(['[', '{']);
    let number = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
    if flow || number || matches!(text, "true" | "false") {
        let read = Tree::parse(name, text).map_err(|error| finding_at(name, spot, error.message))?;
        return Ok(read.moved_to(spot));
    }
    Ok(Tree { spot: spot.clone(), value: Value::Text(text.to_owned()) })
}

/// The place of a key, made when it is not there; a number counts in a list.
fn step<'a>(tree: &'a mut Tree, part: &str, spot: &Spot) -> Option<&'a mut Tree> {
    if matches!(tree.value, Value::Null) {
        tree.value = Value::Map(Vec::new());
    }
    match &mut tree.value {
        Value::Map(pairs) => {
            let known = pairs.iter().position(|(key, _)| key.text.eq_ignore_ascii_case(part));
            let at = known.unwrap_or_else(|| {
                let key = Key { spot: spot.clone(), text: part.to_lowercase() };
                pairs.push((key, Tree { spot: spot.clone(), value: Value::Null }));
                pairs.len() - 1
            });
            Some(&mut pairs[at].1)
        }
        Value::List(items) => items.get_mut(part.parse::<usize>().ok()?),
        _ => None,
    }
}
