//! Finds tools by words: BM25 over names, descriptions, parameters and examples. Pure.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bm25::{Embedder, EmbedderBuilder, Embedding, Tokenizer};
use policies::ToolSet;
use serde_json::Value;
use tools::Tool;

use super::words::Words;

/// How much more a word of the name counts than one of the description.
const NAME_WEIGHT: usize = 4;
/// Most characters of a tool that are read.
const CHARS_MAX: usize = 4_000;
/// Most characters of what is looked for.
const QUERY_MAX: usize = 400;

/// The tools of a snapshot by their words.
pub(crate) struct Index {
    sought: Embedder<u32, Words>,
    /// The tools that have a word, and how much it says of each.
    having: HashMap<u32, Vec<(usize, f32)>>,
    tools: usize,
}

impl Index {
    pub fn of(tools: &[Arc<Tool>]) -> Self {
        let texts: Vec<String> = tools.iter().map(|tool| text(tool)).collect();
        let words = Words { singles: true };
        let lengths: usize = texts.iter().map(|text| words.tokenize(text).len()).sum();
        let average = lengths as f32 / tools.len().max(1) as f32;
        let embedder = EmbedderBuilder::<u32, Words>::with_avgdl(average).tokenizer(words).build();
        let mut having: HashMap<u32, Vec<(usize, f32)>> = HashMap::new();
        for (ix, text) in texts.iter().enumerate() {
            for word in each_once(embedder.embed(text)).0 {
                having.entry(word.index).or_default().push((ix, word.value));
            }
        }
        let sought = EmbedderBuilder::<u32, Words>::with_avgdl(average).build();
        Self { sought, having, tools: tools.len() }
    }

    /// The tools of a view that fit, the best first; how many fit in all.
    pub fn search(&self, query: &str, view: &ToolSet, most: usize) -> (Vec<usize>, usize) {
        let query = contract::text::cut(query, QUERY_MAX);
        let mut scores = vec![0.0; self.tools];
        for tools in self.telling(&each_once(self.sought.embed(&query))) {
            let weight = self.weight(tools.len());
            for (ix, value) in tools {
                scores[*ix] += weight * value;
            }
        }
        let mut found: Vec<usize> =
            view.iter().filter(|ix| scores.get(*ix).is_some_and(|score| *score > 0.0)).collect();
        // The same order each time, also of those that fit alike.
        found.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        let count = found.len();
        found.truncate(most);
        (found, count)
    }

    /// By the tools that have a word; without words that most tools have, which tell nothing, unless there are no others.
    fn telling(&self, words: &Embedding<u32>) -> Vec<&[(usize, f32)]> {
        let mut known: Vec<_> = words.indices().filter_map(|word| self.having.get(word)).map(Vec::as_slice).collect();
        let tells = |tools: &[(usize, f32)]| tools.len() * 2 <= self.tools;
        if known.iter().any(|tools| tells(tools)) {
            known.retain(|tools| tells(tools));
        }
        known
    }

    /// What a word is worth that so many tools have.
    fn weight(&self, having: usize) -> f32 {
        let (all, having) = (self.tools as f32, having as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }
}

fn each_once(mut words: Embedding<u32>) -> Embedding<u32> {
    let mut seen = HashSet::new();
    words.0.retain(|word| seen.insert(word.index));
    words
}

/// Everything of a tool by which it may be found.
fn text(tool: &Tool) -> String {
    let spec = &tool.spec;
    let mut text = format!("{} ", tool.name).repeat(NAME_WEIGHT);
    text.push_str(&format!("{}\n{}\n", spec.toolset, spec.description));
    parameters(&spec.parameters, &mut text);
    for example in &spec.examples {
        text.push_str(&example.say);
        text.push('\n');
    }
    contract::text::cut(&text, CHARS_MAX)
}

/// Names and descriptions, at any depth.
fn parameters(schema: &Value, text: &mut String) {
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        text.push_str(description);
        text.push('\n');
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, schema) in properties {
            text.push_str(name);
            text.push('\n');
            parameters(schema, text);
        }
    }
    if let Some(items) = schema.get("items") {
        parameters(items, text);
    }
}
