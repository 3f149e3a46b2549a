//! Tools of the store beside those of files.

use contract::{
    Digest,
    records::{Mark, Shelf, StoredSpec, StoredTool},
};

use super::*;
use crate::Stage;

fn version(text: &str) -> StoredSpec {
    StoredSpec { text: text.to_owned(), digest: Digest::of(text.as_bytes()), by: "ada".into(), at_ms: 1 }
}

fn live(name: &str, words: &str) -> StoredTool {
    StoredTool { name: name.into(), version: 2, live: Some(version(&spec(name, words))), ..StoredTool::default() }
}

fn mark(why: &str) -> Option<Mark> {
    Some(Mark { by: "ada".into(), at_ms: 1, why: why.into() })
}

impl Desk {
    fn with(&self, tools: Vec<StoredTool>) -> Loaded {
        let shelf = Shelf { generation: 1, tools, ..Shelf::default() };
        self.registry.load_all(&[self.folder.path().to_owned()], &self.natives, &shelf)
    }
}

/// Name, where it stands, and what a model is told.
fn told(loaded: &Loaded) -> Vec<String> {
    let told = |tool: &Arc<Tool>| format!("{} {}: {}", tool.name, tool.standing.state.as_str(), tool.description());
    loaded.snapshot.tools().iter().map(told).collect()
}

#[test]
fn what_is_published_is_offered_and_what_waits_is_not() {
    let desk = Desk::new();
    desk.write("a.yaml", &spec("file", "of a file"));
    let waiting =
        StoredTool { name: "b".into(), version: 1, waiting: Some(version(&spec("b", "new"))), ..StoredTool::default() };
    let newer = StoredTool { waiting: Some(version(&spec("c", "two"))), ..live("c", "one") };
    let loaded = desk.with(vec![waiting, newer]);
    assert_eq!(told(&loaded), ["b added: new", "c published: one", "file published: of a file"]);
    let offered: Vec<_> = loaded.snapshot.facts().iter().map(|facts| facts.published).collect();
    assert_eq!(offered, [false, true, true]);
    let c = loaded.snapshot.get("c").unwrap();
    assert_eq!(c.spec.source(), ("store:c", 1));
    assert_eq!((c.standing.version, c.standing.waiting.is_some(), c.standing.is_stored), (2, true, true));
}

#[test]
fn what_was_removed_is_gone_and_its_name_is_known() {
    let desk = Desk::new();
    assert_eq!(told(&desk.with(vec![live("a", "one")])), ["a published: one"]);
    let gone = StoredTool { name: "a".into(), version: 3, ..StoredTool::default() };
    let loaded = desk.with(vec![gone]);
    assert!(told(&loaded).is_empty() && loaded.errors.is_empty());
    assert_eq!(loaded.snapshot.removed(), ["a"]);
}

#[test]
fn a_files_tool_can_be_deprecated_and_switched_off_and_nothing_else() {
    let desk = Desk::new();
    desk.write("a.yaml", &spec("a", "one"));
    let before = desk.load().snapshot;
    let marked = StoredTool { name: "a".into(), version: 1, deprecated: mark("use b"), ..StoredTool::default() };
    let loaded = desk.with(vec![marked.clone()]);
    assert_eq!(told(&loaded), ["a deprecated: one (deprecated: use b)"]);
    let (old, new) = (before.get("a").unwrap(), loaded.snapshot.get("a").unwrap());
    assert_eq!(old.digest, new.digest, "it is the same version");
    assert!(Arc::ptr_eq(&old.guard, &new.guard) && Arc::ptr_eq(&old.endpoint, &new.endpoint));
    let off = StoredTool { off: mark(""), deprecated: None, ..marked };
    assert_eq!(told(&desk.with(vec![off.clone()])), ["a switched off: one"]);
    // Also while the file is out of order.
    desk.write("a.yaml", "name: a\nendpoint: {");
    assert_eq!(told(&desk.with(vec![off])), ["a switched off: one"]);
    assert_eq!(told(&desk.with(Vec::new())), ["a published: one"]);
}

#[test]
fn a_file_that_says_manual_waits_for_each_of_its_versions() {
    let desk = Desk::new();
    desk.write("a.yaml", &format!("{}publish: manual\n", spec("a", "one")));
    let digest = desk.load().snapshot.get("a").unwrap().digest;
    assert_eq!(told(&desk.with(Vec::new())), ["a added: one"]);
    let released = StoredTool { name: "a".into(), version: 1, released: Some(digest), ..StoredTool::default() };
    assert_eq!(told(&desk.with(vec![released.clone()])), ["a published: one"]);
    desk.write("a.yaml", &format!("{}publish: manual\n", spec("a", "two")));
    assert_eq!(told(&desk.with(vec![released])), ["a added: two"]);
}

#[test]
fn of_two_owners_the_first_stays_whatever_is_read_first() {
    for _ in 0..2 {
        let desk = Desk::new();
        assert_eq!(told(&desk.with(vec![live("a", "stored")])), ["a published: stored"]);
        desk.write("a.yaml", &spec("a", "of a file"));
        let loaded = desk.with(vec![live("a", "stored")]);
        assert_eq!(told(&loaded), ["a published: stored"]);
        assert_eq!(loaded.snapshot.quarantined().len(), 1);
        assert!(loaded.errors[0].message.contains("store:a:1"), "{:?}", loaded.errors);
        // A restart.
        let again = Desk { folder: desk.folder, ..Desk::new() };
        assert_eq!(told(&again.with(vec![live("a", "stored")])), ["a published: stored"]);
    }
}

#[test]
fn who_says_override_replaces_the_owner() {
    let over = |name: &str, words: &str| format!("{}override: true\n", spec(name, words));
    let desk = Desk::new();
    desk.write("a.yaml", &spec("a", "of a file"));
    let stored = StoredTool { live: Some(version(&over("a", "stored"))), ..live("a", "") };
    assert_eq!(told(&desk.with(vec![stored.clone()])), ["a published: stored"]);
    assert_eq!(told(&desk.with(vec![stored.clone()])), ["a published: stored"]);
    assert_eq!(told(&desk.with(Vec::new())), ["a published: of a file"]);
    // One that is not published yet replaces nobody.
    let waits = StoredTool { live: None, waiting: stored.live.clone(), ..stored.clone() };
    assert_eq!(told(&desk.with(vec![waits])), ["a published: of a file"]);
    // Two that want to replace each other do not take turns.
    desk.write("a.yaml", &over("a", "of a file"));
    for _ in 0..3 {
        let loaded = desk.with(vec![stored.clone()]);
        assert_eq!(told(&loaded), ["a published: stored"]);
        assert_eq!(loaded.snapshot.quarantined().len(), 1);
    }
}

#[test]
fn one_bad_tool_of_the_store_takes_nobody_along() {
    let desk = Desk::new();
    let bad = StoredTool { live: Some(version("name: b\nendpoint: { url: 'ftp://x' }\n")), ..live("b", "") };
    let loaded = desk.with(vec![live("a", "one"), bad.clone()]);
    assert_eq!(told(&loaded), ["a published: one"]);
    assert_eq!(loaded.snapshot.quarantined()[0].name, "b");
    assert_eq!(loaded.snapshot.quarantined()[0].file, "store:b");
    // A version that was good stays.
    assert_eq!(told(&desk.with(vec![live("a", "one"), live("b", "two")])).len(), 2);
    assert_eq!(told(&desk.with(vec![live("a", "one"), bad])), ["a published: one", "b published: two"]);
}

#[test]
fn what_is_remembered_of_a_tool_is_thrown_away_when_it_is_asked_for() {
    let desk = Desk::new();
    desk.write("a.yaml", &format!("{}---\n{}", spec("a", "one"), spec("b", "two")));
    let before = desk.load().snapshot;
    let shelf = Shelf { generation: 2, refreshed: [("a".to_owned(), 1)].into(), ..Shelf::default() };
    let after = desk.registry.load_all(&[desk.folder.path().to_owned()], &[], &shelf).snapshot;
    let is_same = |name: &str| Arc::ptr_eq(&before.get(name).unwrap().endpoint, &after.get(name).unwrap().endpoint);
    assert!(!is_same("a") && is_same("b"));
    assert!(Arc::ptr_eq(&before.get("a").unwrap().guard, &after.get("a").unwrap().guard));
    assert_eq!(after.get("a").unwrap().standing.state, Stage::Published);
}

#[test]
fn a_text_is_examined_without_being_taken() {
    let desk = Desk::new();
    let text =
        format!("{}---\n{}---\n{}---\nname: c\nendpoint: {{}}\n", spec("a", "one"), spec("b", "two"), spec("a", "x"));
    let found = desk.registry.examine("new.yaml", &text);
    let names: Vec<_> = found.specs.iter().map(|spec| &*spec.spec.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(found.specs[1].text.trim_start().starts_with("name: b"), "{}", found.specs[1].text);
    let errors: Vec<_> = found.errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(errors, ["'a' stands here twice, first in line 1", "an http endpoint needs 'url'"]);
    assert!(desk.registry.current().tools().is_empty());
}
