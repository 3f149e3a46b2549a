//! One immutable snapshot of registry and policies; a turn uses one from its start to its end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use contract::{Caller, Digest, Locale, Menu, MenuItem, Message};
use policies::{Compiled, Rights, ToolSet};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use tools::Tool;

use crate::{
    bridge::{self, Index},
    commands::{BUILTINS, parameters_of_builtin},
    delegate,
    reason::json_tokens,
};

/// Most lists that a snapshot keeps.
const LISTS_MAX: usize = 1_000;

/// Registry and policies at one time.
pub struct Snapshot {
    pub tools: Arc<tools::Snapshot>,
    pub policies: Arc<Compiled>,
    pub generation: u64,
    lists: Mutex<HashMap<ToolSet, Arc<ToolList>>>,
    /// Made when it is first asked for.
    index: OnceLock<Index>,
}

/// The tools of one view, as they are shown; made once per resulting set.
pub struct ToolList {
    pub set: ToolSet,
    /// Sorted by name.
    pub tools: Vec<Arc<Tool>>,
    /// Each as a model is told of it: the list that one is sent whose window has room for it.
    pub described: Arc<Value>,
    pub menu: Arc<Menu>,
    offers: [OnceLock<Offer>; 4],
}

/// What a model is sent of a list of tools.
pub(crate) struct Offer {
    /// `[{name, description, parameters}]`, sorted by name; those of the loop itself among them.
    pub described: Arc<Value>,
    /// What that takes of a window.
    pub tokens: u64,
    /// Most tools are only found by searching.
    pub is_bridged: bool,
}

impl Snapshot {
    /// `policies` must be compiled from the facts of `tools`.
    pub fn new(tools: Arc<tools::Snapshot>, policies: Arc<Compiled>, generation: u64) -> Self {
        Self { tools, policies, generation, lists: Mutex::default(), index: OnceLock::new() }
    }

    /// Makes the index behind, where it is going to be asked for: with many tools that takes a while.
    pub(crate) fn prepare_index(self: &Arc<Self>, tasks: &TaskTracker) {
        if self.index.get().is_none() {
            let snapshot = self.clone();
            tasks.spawn_blocking(move || {
                snapshot.index();
            });
        }
    }

    /// Finds tools by words.
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.tools.tools()))
    }

    /// What the caller may see. Nothing that does I/O runs here.
    pub fn list(&self, caller: &Caller) -> Arc<ToolList> {
        self.list_in(caller, None)
    }

    /// [`Snapshot::list`], narrowed by what the session has mounted.
    pub fn list_in(&self, caller: &Caller, mounted: Option<&Rights>) -> Arc<ToolList> {
        let set = self.policies.view_in(caller, mounted);
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(&set) {
            return list.clone();
        }
        if lists.len() >= LISTS_MAX {
            lists.clear();
        }
        let list = Arc::new(ToolList::new(&self.tools, set.clone()));
        lists.insert(set, list.clone());
        list
    }

    /// The language in which a message's sender is answered: policy's, else the person's.
    pub fn locale(&self, message: &Message, caller: &Caller) -> Locale {
        words::locale_of(message, self.policies.manner(caller).replies.locale)
    }

    /// The registered name that a typed one stands for, in the caller's view: itself, or the one name that differs
    /// in `-` and `_` only (platforms that allow no `-` are given `_`).
    pub fn resolve(&self, caller: &Caller, typed: &str) -> Option<&Arc<Tool>> {
        self.resolve_in(caller, None, typed)
    }

    /// [`Snapshot::resolve`], among what the session has mounted.
    pub fn resolve_in(&self, caller: &Caller, mounted: Option<&Rights>, typed: &str) -> Option<&Arc<Tool>> {
        let view = self.policies.view_in(caller, mounted);
        if let Some(ix) = self.tools.index(typed) {
            return view.contains(ix).then(|| &self.tools.tools()[ix]);
        }
        let same = |tool: &&Arc<Tool>| tool.name.len() == typed.len() && tool.name.replace('-', "_") == typed;
        let mut found = view.iter().filter_map(|ix| self.tools.tools().get(ix)).filter(same);
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }
}

impl ToolList {
    fn new(all: &tools::Snapshot, set: ToolSet) -> Self {
        let tools: Vec<_> = set.iter().filter_map(|ix| all.tools().get(ix).cloned()).collect();
        let described = Value::Array(tools.iter().map(|tool| bridge::shown(tool)).collect());
        let menu = Arc::new(menu(&tools));
        Self { set, tools, described: Arc::new(described), menu, offers: Default::default() }
    }

    /// What a model with this window is sent: all tools, or where they are too many the pinned ones and those by which the
    /// others are found.
    pub(crate) fn offer(&self, context_tokens: u32, delegates: bool) -> &Offer {
        let [plain, ..] = &self.offers;
        let all = plain.get_or_init(|| Offer::of(self.described.clone(), false));
        let is_bridged = bridge::is_needed(all.tokens, context_tokens);
        self.offers[usize::from(is_bridged) * 2 + usize::from(delegates)].get_or_init(|| {
            let mut own = if is_bridged { bridge::described().to_vec() } else { Vec::new() };
            own.extend(delegates.then(delegate::described));
            let listed = self.tools.iter().filter(|tool| !is_bridged || tool.spec.pinned);
            // The loop's own is the one that answers to its name.
            let listed = listed.filter(|tool| own.iter().all(|own| own["name"] != *tool.name));
            let mut all: Vec<Value> = listed.map(|tool| bridge::shown(tool)).collect();
            all.extend(own.iter().cloned());
            all.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
            Offer::of(Arc::new(Value::Array(all)), is_bridged)
        })
    }
}

impl Offer {
    fn of(described: Arc<Value>, is_bridged: bool) -> Self {
        Self { tokens: json_tokens(&described), described, is_bridged }
    }
}

fn menu(tools: &[Arc<Tool>]) -> Menu {
    let builtins = BUILTINS.iter().map(|(name, help)| MenuItem {
        name: (*name).to_owned(),
        description: (*help).to_owned(),
        toolset: Arc::from(""),
        parameters: Arc::new(parameters_of_builtin(name)),
    });
    let tools = tools.iter().map(|tool| MenuItem {
        name: tool.name.to_string(),
        description: tool.description().to_owned(),
        toolset: Arc::from(&*tool.spec.toolset),
        parameters: Arc::new(tool.spec.parameters.clone()),
    });
    let items: Vec<MenuItem> = builtins.chain(tools).collect();
    let written = items.iter().map(|item| {
        json!({ "name": item.name, "description": item.description, "toolset": &*item.toolset,
                "parameters": &*item.parameters })
    });
    let digest = Digest::of_json(&Value::Array(written.collect()));
    Menu { items, digest: Some(digest) }
}
