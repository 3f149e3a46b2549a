//! Policy files, parsed and checked as far as they can be without the tools.

use std::{path::Path, sync::Arc};

use contract::{Finding, Platform};

use crate::{
    PolicyLayer, Rule, Source, block,
    names::{Names, Takes},
    reader::{self, Reader, START},
    rules::{Place, RuleSet, Scoped, Tenant, TenantPlace, Who},
    tree::{self, Key, Node},
};

/// Parsed, checked files, not yet bound to tools.
#[derive(Debug)]
pub struct Policies {
    pub(crate) platforms: Vec<(Platform, Arc<RuleSet>)>,
    pub(crate) tenants: Vec<Arc<Tenant>>,
    pub(crate) labels: Labels,
}

/// The labels that rules may speak about.
#[derive(Debug, Clone)]
pub(crate) struct Labels {
    /// Where they are declared, for messages.
    pub file: Arc<str>,
    pub names: Vec<(String, String)>,
}

/// Policies, and what is worth a warning.
#[derive(Debug)]
pub struct Loaded {
    pub policies: Policies,
    pub warnings: Vec<Finding>,
}

impl Policies {
    /// Every `*.yaml` of a folder; its file names are shown as `folder/file`.
    pub fn load(dir: &Path) -> Result<Loaded, Vec<Finding>> {
        let unread = |path: &Path, error: &std::io::Error| {
            let (file, message) = (path.display().to_string(), format!("cannot be read: {error}"));
            vec![Finding { file, line: 1, column: 1, message, hint: None }]
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|error| unread(dir, &error))? {
            paths.push(entry.map_err(|error| unread(dir, &error))?.path());
        }
        paths.sort();
        let (mut sources, mut overlooked) = (Vec::new(), Vec::new());
        for path in paths {
            let file = path.display().to_string();
            match path.extension().and_then(|e| e.to_str()) {
                Some("yaml") => {
                    let text = std::fs::read_to_string(&path).map_err(|error| unread(&path, &error))?;
                    sources.push(Source { file, text });
                }
                Some("yml") => {
                    let hint = Some("policy files end in .yaml".to_owned());
                    let message = "this file is not read".to_owned();
                    overlooked.push(Finding { file, line: 1, column: 1, message, hint });
                }
                _ => {}
            }
        }
        let mut loaded = Self::parse(&sources)?;
        loaded.warnings.splice(0..0, overlooked);
        Ok(loaded)
    }

    /// Files named `tenants.yaml` and `labels.yaml` are what they say, every other one is a platform's. Without
    /// `labels.yaml` the shipped labels count.
    pub fn parse(files: &[Source]) -> Result<Loaded, Vec<Finding>> {
        let mut parsed = Parsed::default();
        for source in files {
            parsed.file(source);
        }
        let labels = parsed.labels.take().unwrap_or_else(shipped_labels);
        parsed.errors.extend(tenants_that_meet(&parsed.tenants));
        let policies = Self { platforms: parsed.platforms, tenants: parsed.tenants, labels };
        parsed.errors.extend(crate::compile::unknown_labels(&policies));
        if parsed.errors.is_empty() { Ok(Loaded { policies, warnings: parsed.warnings }) } else { Err(parsed.errors) }
    }

    /// Platforms that have a file.
    pub fn platforms(&self) -> impl Iterator<Item = Platform> + '_ {
        self.platforms.iter().map(|(platform, _)| *platform)
    }

    /// Tenants that have rules.
    pub fn tenants(&self) -> impl Iterator<Item = &str> {
        self.tenants.iter().map(|tenant| tenant.name.as_str())
    }

    /// Every rule that says yes or no, as written and with its place; of one platform and all tenants, or of all.
    pub fn rules(&self, platform: Option<Platform>) -> Vec<Rule> {
        let wanted = self.platforms.iter().filter(|(own, _)| platform.is_none_or(|platform| platform == *own));
        let sets = wanted.map(|(_, set)| &**set).chain(self.tenants.iter().map(|tenant| &tenant.rules));
        sets.flat_map(RuleSet::blocks).flat_map(crate::explain::stated_rules).collect()
    }

    /// Declared labels, each with what it means.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.names.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()))
    }
}

#[derive(Default)]
struct Parsed {
    platforms: Vec<(Platform, Arc<RuleSet>)>,
    tenants: Vec<Arc<Tenant>>,
    labels: Option<Labels>,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

impl Parsed {
    fn file(&mut self, source: &Source) {
        let mut reader = Reader::new(&source.file);
        if let Some(tree) = reader::parse(source, &mut reader) {
            match source.file.rsplit(['/', '\\']).next() {
                Some("labels.yaml") => self.labels = Some(labels(&mut reader, &tree)),
                Some("tenants.yaml") => self.tenants.extend(tenants(&mut reader, &tree)),
                _ => self.platform(&mut reader, &tree),
            }
        }
        let place = |error: &Finding| (error.line, error.column);
        reader.errors.sort_by_key(place);
        reader.warnings.sort_by_key(place);
        self.errors.append(&mut reader.errors);
        self.warnings.append(&mut reader.warnings);
    }

    fn platform(&mut self, reader: &mut Reader, tree: &Node) {
        let known: Vec<_> = ["platform", "names", "conversations", "senders"].into_iter().chain(block::KEYS).collect();
        let fields = reader.fields(tree, "the file", &known);
        if !reader.errors.is_empty() && fields.is_empty() {
            return;
        }
        let Some((key, value)) = field(&fields, "platform") else {
            let hint = Some("begin with 'platform: telegram' or another one".to_owned());
            return reader.error(START, "the file does not say which platform it is for", hint);
        };
        let words = Platform::ALL.map(|platform| (platform.as_str(), platform));
        let Some(platform) = reader.word(value, "platform", &words) else { return };
        if self.platforms.iter().any(|(known, _)| *known == platform) {
            return reader.error(key.at, format!("another file is for platform '{platform}' already"), None);
        }
        let mut names = Names::on(platform);
        if let Some((_, tree)) = field(&fields, "names") {
            names.declare(reader, tree);
        }
        let rules = rule_set(reader, &names, PolicyLayer::Platform, platform.as_str(), key.at, &fields);
        self.platforms.push((platform, Arc::new(rules)));
    }
}

fn field<'t>(fields: &[&'t (Key, Node)], name: &str) -> Option<&'t (Key, Node)> {
    fields.iter().copied().find(|(key, _)| key.name == name)
}

fn rule_set(
    reader: &mut Reader,
    names: &Names,
    layer: PolicyLayer,
    title: &str,
    at: tree::Place,
    fields: &[&(Key, Node)],
) -> RuleSet {
    let block = Arc::new(block::read(reader, names, layer, title, at, fields));
    let mut set = RuleSet { block, conversations: Vec::new(), senders: Vec::new() };
    if let Some((_, tree)) = field(fields, "conversations") {
        conversations(reader, names, tree, &mut set);
    }
    if let Some((_, tree)) = field(fields, "senders") {
        set.senders.extend(senders(reader, names, tree, None));
    }
    set
}

fn conversations(reader: &mut Reader, names: &Names, tree: &Node, set: &mut RuleSet) {
    let known: Vec<_> = std::iter::once("senders").chain(block::KEYS).collect();
    for (key, body) in reader.entries(tree, "conversations") {
        let whom = names.resolve(reader, key.at, &key.name, "conversations", Takes::Channels);
        let fields = reader.fields(body, &key.name, &known);
        let block = block::read(reader, names, PolicyLayer::Conversation, &key.name, key.at, &fields);
        if let Some((_, tree)) = field(&fields, "senders") {
            set.senders.extend(senders(reader, names, tree, Some(&whom)));
        }
        set.conversations.push(Scoped { whom, within: None, block: Arc::new(block) });
    }
}

fn senders(reader: &mut Reader, names: &Names, tree: &Node, within: Option<&[Who]>) -> Vec<Scoped> {
    let mut scoped = Vec::new();
    for (key, body) in reader.entries(tree, "senders") {
        let whom = names.resolve(reader, key.at, &key.name, "senders", Takes::People);
        let fields = reader.fields(body, &key.name, &block::KEYS);
        let block = block::read(reader, names, PolicyLayer::Sender, &key.name, key.at, &fields);
        scoped.push(Scoped { whom, within: within.map(<[Who]>::to_vec), block: Arc::new(block) });
    }
    scoped
}

fn tenants(reader: &mut Reader, tree: &Node) -> Vec<Arc<Tenant>> {
    let fields = reader.fields(tree, "the file", &["tenant_rules", "names"]);
    let mut names = Names::default();
    if let Some((_, tree)) = field(&fields, "names") {
        names.declare(reader, tree);
    }
    let Some((_, rules)) = field(&fields, "tenant_rules") else { return Vec::new() };
    reader
        .entries(rules, "tenant_rules")
        .iter()
        .map(|(key, body)| Arc::new(tenant(reader, &names, key, body)))
        .collect()
}

fn tenant(reader: &mut Reader, names: &Names, key: &Key, body: &Node) -> Tenant {
    let known: Vec<_> = ["match", "names", "conversations", "senders"].into_iter().chain(block::KEYS).collect();
    let fields = reader.fields(body, &key.name, &known);
    let mut places = Vec::new();
    if let Some((_, tree)) = field(&fields, "match") {
        places.extend(reader.items(tree, "match").iter().filter_map(|item| tenant_place(reader, item)));
    }
    let mut names = names.clone();
    names.platform = sole_platform(&places);
    if let Some((_, tree)) = field(&fields, "names") {
        names.declare(reader, tree);
    }
    let rules = rule_set(reader, &names, PolicyLayer::Tenant, &key.name, key.at, &fields);
    Tenant { name: key.name.clone(), places, rules }
}

fn sole_platform(places: &[TenantPlace]) -> Option<Platform> {
    let first = places.first()?.platform;
    places.iter().all(|place| place.platform == first).then_some(first)
}

fn tenant_place(reader: &mut Reader, tree: &Node) -> Option<TenantPlace> {
    let errors = reader.errors.len();
    let fields = reader.fields(tree, "match", &["platform", "space", "conversation"]);
    let Some((_, value)) = field(&fields, "platform") else {
        reader.error(
            tree.at,
            "a match needs its platform",
            Some("for example { platform: slack, space: T0FIN }".into()),
        );
        return None;
    };
    let words = Platform::ALL.map(|platform| (platform.as_str(), platform));
    let platform = reader.word(value, "platform", &words)?;
    let space = field(&fields, "space").and_then(|(_, value)| reader.id(value, "space"));
    let conversation = field(&fields, "conversation").and_then(|(_, value)| reader.id(value, "conversation"));
    let place = Place { file: Arc::clone(&reader.file), at: tree.at };
    (reader.errors.len() == errors).then_some(TenantPlace { platform, space, conversation, place })
}

fn tenants_that_meet(tenants: &[Arc<Tenant>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (n, tenant) in tenants.iter().enumerate() {
        for earlier in &tenants[..n] {
            let meets = |place: &&TenantPlace| earlier.places.iter().any(|other| other.overlaps(place));
            if let Some(place) = tenant.places.iter().find(meets) {
                let message = format!("tenants '{}' and '{}' match one place", earlier.name, tenant.name);
                let hint = "tell them apart by space or conversation".to_owned();
                found.push(place.place.finding(message, Some(hint)));
            }
        }
    }
    found
}

fn labels(reader: &mut Reader, tree: &Node) -> Labels {
    let mut labels = Labels { file: Arc::clone(&reader.file), names: Vec::new() };
    let fields = reader.fields(tree, "the file", &["labels"]);
    let Some((_, declared)) = field(&fields, "labels") else { return labels };
    for (key, meaning) in reader.entries(declared, "labels") {
        if let Some(meaning) = reader.text(meaning, &key.name) {
            labels.names.push((key.name.clone(), meaning.to_owned()));
        }
    }
    labels
}

fn shipped_labels() -> Labels {
    let source = Source::new("labels.yaml", crate::LABELS);
    let mut reader = Reader::new(&source.file);
    let tree = reader::parse(&source, &mut reader).expect("the shipped labels parse: a test reads them");
    labels(&mut reader, &tree)
}
