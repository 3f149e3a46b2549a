//! The language models: the `model` key.

use std::time::Duration;

use models::{Api, Price, Settings};

use super::{
    read::{Reader, Table},
    secret::Secret,
    yaml::{Spot, Tree, Value},
};

/// The model that is asked, and those that answer in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    pub first: Model,
    pub fallback: Vec<Model>,
}

/// One model as the configuration has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Where it stands in the file.
    pub spot: Spot,
    pub api: Api,
    pub name: String,
    /// Without a slash at its end.
    pub base_url: String,
    pub api_key: Option<Secret>,
    pub context_tokens: u32,
    pub output_tokens: u32,
    pub temperature: Option<f64>,
    pub sees_images: bool,
    pub timeout: Duration,
    pub price: Price,
}

/// What `provider` may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    Asked(Api),
    Scripted,
    None,
}

const PROVIDERS: [(&str, Provider); 6] = [
    ("openai", Provider::Asked(Api::Chat)),
    ("ollama", Provider::Asked(Api::Ollama)),
    ("anthropic", Provider::Asked(Api::Anthropic)),
    ("gemini", Provider::Asked(Api::Gemini)),
    ("scripted", Provider::Scripted),
    ("none", Provider::None),
];

impl Models {
    pub fn all(&self) -> impl Iterator<Item = &Model> {
        std::iter::once(&self.first).chain(&self.fallback)
    }

    /// `model: none` and a model without a mistake; anything else is an error of the reader's.
    pub(super) fn read(reader: &mut Reader, tree: Tree) -> Option<Self> {
        if matches!(&tree.value, Value::Text(word) if word == "none") {
            return None;
        }
        let mut table = reader.table("model", tree)?;
        let first = Model::read(reader, &mut table);
        let fallback = match table.take("fallback") {
            Some(tree) if matches!(tree.value, Value::List(_)) => fallback(reader, tree),
            Some(tree) => {
                reader.error(&tree.spot, "'model.fallback' must be a list of models");
                Vec::new()
            }
            None => Vec::new(),
        };
        reader.finish(table);
        Some(Self { first: first?, fallback })
    }
}

fn fallback(reader: &mut Reader, tree: Tree) -> Vec<Model> {
    let mut all = Vec::new();
    for (n, item) in reader.list(tree).into_iter().enumerate() {
        let Some(mut table) = reader.table(&format!("model.fallback[{n}]"), item) else { continue };
        all.extend(Model::read(reader, &mut table));
        reader.finish(table);
    }
    all
}

impl Model {
    fn read(reader: &mut Reader, table: &mut Table) -> Option<Self> {
        let spot = table.spot.clone();
        let api = provider(reader, table);
        let name = table.take("name").map(|tree| reader.text(&table.name("name"), &tree));
        let base_url = table.take("base_url").map(|tree| reader.url(&table.name("base_url"), &tree));
        let has_key = table.has("api_key");
        let api_key = table.take("api_key").and_then(|tree| reader.secret(&table.name("api_key"), &tree));
        let context = tokens(reader, table, "context_tokens");
        let output = tokens(reader, table, "max_output_tokens");
        let temperature = number(reader, table, "temperature", 2.0);
        let sees_images = flag(reader, table, "images").unwrap_or(false);
        let timeout = table.take("timeout").and_then(|tree| reader.duration(&table.name("timeout"), &tree));
        let price = price(reader, table);
        let api = api?;
        if name.is_none() && !table.is_misspelt("name") {
            reader.error(&spot, format!("'{}' is missing: which model is to be asked?", table.name("name")));
        }
        if base_url.is_none() && !has_key && wants_a_key(api) && !table.is_misspelt("api_key") {
            let message =
                format!("'{}' is missing: {} answers nobody without a key", table.name("api_key"), api.home());
            reader.error(&spot, message);
        }
        let usual = Settings::new(api, "");
        let context_tokens = context.unwrap_or(usual.context_tokens);
        let output_tokens = output.unwrap_or_else(|| models::output_tokens(context_tokens));
        if output_tokens >= context_tokens {
            let path = table.name("max_output_tokens");
            reader.error(&spot, format!("'{path}' must be less than 'context_tokens', which is {context_tokens}"));
        }
        Some(Self {
            spot,
            api,
            name: name??,
            base_url: base_url.unwrap_or_else(|| Some(api.home().to_owned()))?,
            api_key,
            context_tokens,
            output_tokens,
            temperature,
            sees_images,
            timeout: timeout.unwrap_or(usual.timeout),
            price,
        })
    }

    /// As it is asked; the key is read again for each request.
    pub fn settings(&self) -> Settings {
        let key = self.api_key.clone().map(|secret| {
            models::key(move || {
                let secret = secret.clone();
                async move { secret.read().await.map_err(|error| error.to_string()) }
            })
        });
        Settings {
            base_url: self.base_url.clone(),
            key,
            context_tokens: self.context_tokens,
            output_tokens: self.output_tokens,
            temperature: self.temperature,
            sees_images: self.sees_images,
            timeout: self.timeout,
            price: self.price,
            ..Settings::new(self.api, &self.name)
        }
    }
}

/// Whether its makers' own server, which is asked where no address is said, wants one.
fn wants_a_key(api: Api) -> bool {
    match api {
        Api::Chat | Api::Anthropic | Api::Gemini => true,
        Api::Ollama => false,
    }
}

fn provider(reader: &mut Reader, table: &mut Table) -> Option<Api> {
    let path = table.name("provider");
    let Some(tree) = table.take("provider") else {
        if !table.is_misspelt("provider") {
            reader.error(&table.spot.clone(), format!("'{path}' is missing: openai, ollama, anthropic or gemini"));
        }
        return None;
    };
    match reader.choice(&path, &tree, &PROVIDERS)? {
        Provider::Asked(api) => Some(api),
        Provider::Scripted => {
            reader.error(
                &tree.spot,
                format!("'{path}': the scripted model is no AI and answers in `toolgate demo` alone"),
            );
            None
        }
        Provider::None => {
            reader.error(&tree.spot, format!("'{path}': to have no language model, write model: none"));
            None
        }
    }
}

fn tokens(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<u32> {
    let tree = table.take(key)?;
    let path = table.name(key);
    let whole = reader.whole(&path, &tree)?;
    match u32::try_from(whole) {
        Ok(tokens) if tokens <= 100_000_000 => Some(tokens),
        _ => {
            reader.error(&tree.spot, format!("'{path}' must be at most 100000000"));
            None
        }
    }
}

fn number(reader: &mut Reader, table: &mut Table, key: &'static str, most: f64) -> Option<f64> {
    let tree = table.take(key)?;
    let number = match tree.value {
        Value::Int(whole) => Some(whole as f64),
        Value::Float(number) => Some(number),
        _ => None,
    };
    let number = number.filter(|number| (0.0..=most).contains(number));
    if number.is_none() {
        let limit = if most == f64::MAX { "of 0 or more".to_owned() } else { format!("from 0 to {most}") };
        reader.error(&tree.spot, format!("'{}' must be a number {limit}", table.name(key)));
    }
    number
}

fn flag(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<bool> {
    let tree = table.take(key)?;
    let flag = match tree.value {
        Value::Bool(flag) => Some(flag),
        _ => None,
    };
    if flag.is_none() {
        reader.error(&tree.spot, format!("'{}' must be true or false", table.name(key)));
    }
    flag
}

/// What is not said of a cache costs what the prompt costs.
fn price(reader: &mut Reader, table: &mut Table) -> Price {
    let Some(tree) = table.take("price") else { return Price::default() };
    let Some(mut prices) = reader.table(&table.name("price"), tree) else { return Price::default() };
    let mut of = |key| number(reader, &mut prices, key, f64::MAX);
    let (input, output, cached) = (of("input"), of("output"), of("cached"));
    reader.finish(prices);
    let input = input.unwrap_or(0.0);
    Price { input, output: output.unwrap_or(0.0), cached: cached.unwrap_or(input) }
}

#[cfg(test)]
mod tests;
