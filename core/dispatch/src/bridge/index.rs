//! Finds tools by words: BM25 over names, descriptions, parameters and examples. Pure.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, Tokenizer};
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
    scorer: Scorer<u32>,
    /// How many tools have a word.
    having: HashMap<u32, usize>,
    tools: usize,
}

impl Index {
    pub fn of(tools: &[Arc<Tool>]) -> Self {
        let texts: Vec<String> = tools.iter().map(|tool| text(tool)).collect();
        let words = Words { singles: true };
        let lengths: usize = texts.iter().map(|text| words.tokenize(text).len()).sum();
        let average = lengths as f32 / tools.len().max(1) as f32;
        let builder = EmbedderBuilder::<u32, Words>::with_avgdl(average);
        let embedder = builder.tokenizer(words).build();
        let (mut scorer, mut having) = (Scorer::new(), HashMap::new());
        for (id, text) in (0..).zip(&texts) {
            let words = each_once(embedder.embed(text));
            for word in words.indices() {
                *having.entry(*word).or_default() += 1;
            }
            scorer.upsert(&id, words);
        }
        let sought = EmbedderBuilder::<u32, Words>::with_avgdl(average).build();
        Self { sought, scorer, having, tools: tools.len() }
    }

    /// The tools of a view that fit, the best first; how many fit in all.
    pub fn search(&self, query: &str, view: &ToolSet, most: usize) -> (Vec<usize>, usize) {
        let query = contract::text::cut(query, QUERY_MAX);
        let words = self.telling(each_once(self.sought.embed(&query)));
        let mut found: Vec<(f32, usize)> = self
            .scorer
            .matches(&words)
            .into_iter()
            .filter_map(|found| Some((found.score, usize::try_from(found.id).ok()?)))
            .filter(|(_, ix)| view.contains(*ix))
            .collect();
        // The same order each time, also of those that fit alike.
        found.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
        let count = found.len();
        (found.into_iter().take(most).map(|(_, ix)| ix).collect(), count)
    }

    /// Without words that most tools have, which tell nothing, unless there are no others.
    fn telling(&self, mut words: Embedding<u32>) -> Embedding<u32> {
        let tells = |word: &u32| self.having.get(word).is_some_and(|having| having * 2 <= self.tools);
        if words.indices().any(tells) {
            words.0.retain(|word| tells(&word.index));
        }
        words
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
