//! One immutable snapshot of registry and policies; a turn uses one from its start to its end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use contract::{Caller, Digest, Locale, Menu, MenuItem, Message};
use policies::{Compiled, Rights, ToolSet};
use serde_json::{Value, json};
use tools::Tool;

use crate::commands::{BUILTINS, parameters_of_builtin};

/// Most lists that a snapshot keeps.
const LISTS_MAX: usize = 1_000;

/// Registry and policies at one time.
pub struct Snapshot {
    pub tools: Arc<tools::Snapshot>,
    pub policies: Arc<Compiled>,
    pub generation: u64,
    lists: Mutex<HashMap<ToolSet, Arc<ToolList>>>,
}

/// The tools of one view, as they are shown; made once per resulting set.
pub struct ToolList {
    pub set: ToolSet,
    /// Sorted by name.
    pub tools: Vec<Arc<Tool>>,
    /// Exactly the list that a model is sent.
    pub described: Arc<Value>,
    pub menu: Arc<Menu>,
}

impl Snapshot {
    /// `policies` must be compiled from the facts of `tools`.
    pub fn new(tools: Arc<tools::Snapshot>, policies: Arc<Compiled>, generation: u64) -> Self {
        Self { tools, policies, generation, lists: Mutex::default() }
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
        let described = Value::Array(tools.iter().map(|t| (*t.described()).clone()).collect());
        let menu = Arc::new(menu(&tools));
        Self { set, tools, described: Arc::new(described), menu }
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
        description: tool.spec.description.clone(),
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
