//! What a schema may cost: its size, its depth, and how much it unfolds to. Checked once, when it is compiled.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{SchemaError, shape::Kind};

pub const MAX_SIZE: usize = 256 * 1024;
pub const MAX_DEPTH: usize = 64;
/// Most bytes of a subschema's pointer, of which each has one of its own.
const MAX_POINTER: usize = 4096;
/// Most subschemas once every reference is unfolded.
pub const MAX_EXPANSION: u64 = 10_000;
/// Most subschemas that one value may be held against through a recursive reference.
const MAX_VISITS: f64 = 2_000.0;

/// Checks everything; the answer is the deepest instance that may be validated, if the schema limits it.
pub fn check(root: &Value) -> Result<Option<usize>, SchemaError> {
    depth(root)?;
    let size = serde_json::to_vec(root).map_or(usize::MAX, |bytes| bytes.len());
    if size > MAX_SIZE {
        return Err(SchemaError::new("", format!("larger than {} KiB", MAX_SIZE / 1024)));
    }
    let mut walk = Walk { root, anchors: HashMap::new(), nodes: Vec::new(), index: HashMap::new() };
    walk.collect_anchors(root);
    let start = walk.visit(root, "")?;
    walk.refuse_loops()?;
    walk.refuse_expansion(start)?;
    Ok(walk.deepest())
}

/// Level by level, because a value may be deeper than the stack allows.
fn depth(root: &Value) -> Result<(), SchemaError> {
    let mut level = vec![root];
    for _ in 0..=MAX_DEPTH {
        level = level.into_iter().flat_map(children).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    Err(SchemaError::new("", format!("nested deeper than {MAX_DEPTH} levels")))
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// How a subschema is reached: for the same value, or for a child of it (under a name, or under any).
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Step {
    Same,
    Child(String),
    AnyChild,
}

/// The direct subschemas of a schema: how each is reached, its pointer's tail, itself.
pub fn subschemas(schema: &Value) -> Vec<(Step, String, &Value)> {
    let mut out = Vec::new();
    let Value::Object(map) = schema else { return out };
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(items)) => {
                out.extend(items.iter().enumerate().map(|(i, s)| (Step::Same, format!("{keyword}/{i}"), s)));
            }
            ("not" | "if" | "then" | "else", _) => out.push((Step::Same, keyword.clone(), value)),
            ("dependentSchemas", Value::Object(map)) => {
                out.extend(map.iter().map(|(k, s)| (Step::Same, format!("{keyword}/{}", escape(k)), s)));
            }
            ("properties", Value::Object(map)) => {
                out.extend(map.iter().map(|(k, s)| (Step::Child(k.clone()), format!("{keyword}/{}", escape(k)), s)));
            }
            ("patternProperties", Value::Object(map)) => {
                out.extend(map.iter().map(|(k, s)| (Step::AnyChild, format!("{keyword}/{}", escape(k)), s)));
            }
            ("prefixItems", Value::Array(items)) => {
                out.extend(
                    items.iter().enumerate().map(|(i, s)| (Step::Child(i.to_string()), format!("{keyword}/{i}"), s)),
                );
            }
            ("items" | "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "contains", _) => {
                out.push((Step::AnyChild, keyword.clone(), value));
            }
            ("propertyNames", _) => out.push((Step::AnyChild, keyword.clone(), value)),
            _ => {}
        }
    }
    out
}

pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

struct Walk<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    nodes: Vec<Node>,
    /// By address: a subschema is one node however it is reached.
    index: HashMap<*const Value, usize>,
}

struct Node {
    path: String,
    edges: Vec<(Step, usize)>,
}

impl<'a> Walk<'a> {
    fn collect_anchors(&mut self, value: &'a Value) {
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = value.get(key).and_then(Value::as_str) {
                self.anchors.insert(name, value);
            }
        }
        for child in children(value) {
            self.collect_anchors(child);
        }
    }

    /// Depth is bounded by the schema's own, plus the references on the way: each is followed once.
    fn visit(&mut self, schema: &'a Value, path: &str) -> Result<usize, SchemaError> {
        let mut pending = vec![(schema, path.to_owned())];
        let start = self.node(schema, path);
        let mut done = HashSet::new();
        while let Some((schema, path)) = pending.pop() {
            let at = self.node(schema, &path);
            if !done.insert(at) {
                continue;
            }
            check_keywords(schema, &path)?;
            let mut edges = Vec::new();
            for (step, tail, child) in subschemas(schema) {
                let child_path = format!("{path}/{tail}");
                if child_path.len() > MAX_POINTER {
                    let message = format!("the names on the way to it are longer than {MAX_POINTER} bytes");
                    return Err(SchemaError::new(&contract::text::cut(&child_path, 80), message));
                }
                edges.push((step, self.node(child, &child_path)));
                pending.push((child, child_path));
            }
            for keyword in ["$ref", "$dynamicRef"] {
                if let Some(target) = schema.get(keyword) {
                    let (target, target_path) = self.resolve(target, &format!("{path}/{keyword}"))?;
                    edges.push((Step::Same, self.node(target, &target_path)));
                    pending.push((target, target_path));
                }
            }
            self.nodes[at].edges = edges;
        }
        Ok(start)
    }

    fn node(&mut self, schema: &'a Value, path: &str) -> usize {
        *self.index.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.nodes.push(Node { path: path.to_owned(), edges: Vec::new() });
            self.nodes.len() - 1
        })
    }

    fn resolve(&self, target: &Value, at: &str) -> Result<(&'a Value, String), SchemaError> {
        let Some(text) = target.as_str() else { return Err(SchemaError::new(at, "must be a text")) };
        let own = self.root.get("$id").and_then(Value::as_str).unwrap_or("\u{0}");
        let local =
            text.strip_prefix(own.trim_end_matches('#')).filter(|rest| rest.is_empty() || rest.starts_with('#'));
        let Some(fragment) = local.unwrap_or(text).strip_prefix('#').or(local) else {
            let message = format!("'{text}' lies outside of this schema: nothing is fetched, copy it into '$defs'");
            return Err(SchemaError::new(at, message));
        };
        let fragment = percent_decoded(fragment);
        let found = match fragment.as_str() {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(pointer),
            name => self.anchors.get(name).copied(),
        };
        match found {
            Some(target) => Ok((target, fragment)),
            None => Err(SchemaError::new(at, format!("'{text}' points to nothing"))),
        }
    }

    /// A schema that needs itself for the same value never comes to an end.
    fn refuse_loops(&self) -> Result<(), SchemaError> {
        let same = |n: usize| self.nodes[n].edges.iter().filter(|(s, _)| *s == Step::Same).map(|(_, to)| *to);
        let mut state = vec![0_u8; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut stack = vec![(start, false)];
            while let Some((node, leaving)) = stack.pop() {
                if leaving {
                    state[node] = 2;
                } else if state[node] == 0 {
                    state[node] = 1;
                    stack.push((node, true));
                    for to in same(node) {
                        match state[to] {
                            0 => stack.push((to, false)),
                            1 => return Err(SchemaError::new(&self.nodes[to].path, "refers to itself without an end")),
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn refuse_expansion(&self, start: usize) -> Result<(), SchemaError> {
        let mut known = vec![None; self.nodes.len()];
        let mut open = vec![false; self.nodes.len()];
        let mut stack = vec![(start, false)];
        while let Some((node, leaving)) = stack.pop() {
            if leaving {
                // What is still open is an ancestor: a recursive reference, which costs only as the value goes deeper.
                let sum =
                    self.nodes[node].edges.iter().map(|(_, to)| known[*to].unwrap_or(1)).fold(1, u64::saturating_add);
                known[node] = Some(sum);
            } else if !open[node] {
                open[node] = true;
                stack.push((node, true));
                stack.extend(self.nodes[node].edges.iter().filter(|(_, to)| !open[*to]).map(|(_, to)| (*to, false)));
            }
        }
        match known[start] {
            Some(sum) if sum > MAX_EXPANSION => {
                Err(SchemaError::new("", format!("unfolds to more than {MAX_EXPANSION} parts through its references")))
            }
            _ => Ok(()),
        }
    }

    /// How deep a value may be when recursive references branch: each level multiplies the work.
    fn deepest(&self) -> Option<usize> {
        if !self.is_recursive() {
            return None;
        }
        let reach: Vec<HashSet<usize>> = if self.nodes.len() > 2_000 { Vec::new() } else { self.reachable() };
        let most = (0..self.nodes.len())
            .filter(|n| reach.get(*n).is_none_or(|r| r.contains(n)))
            .map(|n| self.branching(n, &reach))
            .max()?;
        (most > 1).then(|| {
            let levels = MAX_VISITS.ln() / f64::from(u32::try_from(most).unwrap_or(u32::MAX)).ln();
            levels.clamp(2.0, 64.0).floor() as usize
        })
    }

    /// Whether taking away what nothing refers to, again and again, leaves anything.
    fn is_recursive(&self) -> bool {
        let mut incoming = vec![0_usize; self.nodes.len()];
        self.nodes.iter().flat_map(|n| &n.edges).for_each(|(_, to)| incoming[*to] += 1);
        let mut free: Vec<usize> = (0..incoming.len()).filter(|n| incoming[*n] == 0).collect();
        let mut taken = 0;
        while let Some(node) = free.pop() {
            taken += 1;
            for (_, to) in &self.nodes[node].edges {
                incoming[*to] -= 1;
                if incoming[*to] == 0 {
                    free.push(*to);
                }
            }
        }
        taken < self.nodes.len()
    }

    fn reachable(&self) -> Vec<HashSet<usize>> {
        let from = |start: usize| {
            let (mut seen, mut pending) = (HashSet::new(), vec![start]);
            while let Some(node) = pending.pop() {
                pending.extend(self.nodes[node].edges.iter().map(|(_, to)| *to).filter(|to| seen.insert(*to)));
            }
            seen
        };
        (0..self.nodes.len()).map(from).collect()
    }

    /// How often one child of a value is held against schemas that lead back to `start`.
    fn branching(&self, start: usize, reach: &[HashSet<usize>]) -> usize {
        let back = |to: &usize| reach.get(*to).is_none_or(|r| r.contains(&start));
        let (mut named, mut any): (HashMap<&str, usize>, usize) = (HashMap::new(), 0);
        let (mut pending, mut visits) = (vec![start], 0_u64);
        while let Some(node) = pending.pop() {
            visits += 1;
            if visits > MAX_EXPANSION {
                break;
            }
            for (step, to) in &self.nodes[node].edges {
                match step {
                    Step::Same => pending.push(*to),
                    Step::Child(name) if back(to) => *named.entry(name).or_default() += 1,
                    Step::AnyChild if back(to) => any += 1,
                    Step::Child(_) | Step::AnyChild => {}
                }
            }
        }
        named.values().max().copied().unwrap_or(0) + any
    }
}

/// Keywords whose faults the validator would tell poorly, or not at all.
fn check_keywords(schema: &Value, path: &str) -> Result<(), SchemaError> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err(SchemaError::new(path, "must be a schema: an object, or true or false"));
    }
    if !path.is_empty() && schema.get("$id").is_some() {
        return Err(SchemaError::new(path, "'$id' inside of a schema is not supported: use '$defs' and '$ref'"));
    }
    check_type(schema, path)?;
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        check_pattern(pattern, &format!("{path}/pattern"))?;
    }
    if let Some(map) = schema.get("patternProperties").and_then(Value::as_object) {
        for pattern in map.keys() {
            check_pattern(pattern, &format!("{path}/patternProperties/{}", escape(pattern)))?;
        }
    }
    Ok(())
}

fn check_type(schema: &Value, path: &str) -> Result<(), SchemaError> {
    let names = match schema.get("type") {
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
        None => &[],
    };
    let known = Kind::ALL.map(Kind::as_str);
    for name in names {
        let text = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
        if name.is_string() && known.contains(&text.as_str()) {
            continue;
        }
        let near = contract::text::nearest(&text, known).map(|near| format!(": did you mean '{near}'?"));
        let known = near.unwrap_or_else(|| format!(": one of {}", known.join(", ")));
        let message = format!("unknown type '{}'{known}", contract::text::one_line(&text, 40));
        return Err(SchemaError::new(&format!("{path}/type"), message));
    }
    Ok(())
}

fn check_pattern(pattern: &str, path: &str) -> Result<(), SchemaError> {
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &pattern.as_bytes()[at..];
        let fault = match rest {
            [b'(', b'?', b'=' | b'!', ..] | [b'(', b'?', b'<', b'=' | b'!', ..] => "look-around",
            [b'\\', b'1'..=b'9', ..] => "a back-reference",
            _ => {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
                continue;
            }
        };
        let message = format!("the pattern uses {fault}, which is not supported: patterns run in linear time");
        return Err(SchemaError::new(path, message));
    }
    Ok(())
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u8::from_str_radix(d, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
