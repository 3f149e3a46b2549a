use super::*;

/// A tool and all that was done to it.
#[derive(Default)]
struct Tool {
    stored: Option<StoredTool>,
    changes: Vec<ToolChange>,
    owner: Option<Owner>,
}

fn spec(words: &str) -> StoredSpec {
    StoredSpec { text: words.to_owned(), digest: Digest::of(words.as_bytes()), by: "ada".into(), at_ms: 1 }
}

fn file(manual: Option<Digest>) -> Owner {
    Owner { file: "tools/t.yaml".into(), line: 3, manual }
}

impl Tool {
    /// Carries a wish out, as far as that goes, and tells what came of it.
    fn wish(&mut self, wish: &Wish) -> String {
        let known =
            Known { name: "t", stored: self.stored.as_ref(), changes: &self.changes, owner: self.owner.as_ref() };
        match judge(&known, wish, By { name: "ada", at_ms: 2 }) {
            Ok(Judged::Change(change)) => {
                let said = format!("{} {}: {}", change.after.version, change.what.as_str(), offer(&change.after));
                self.stored = Some(change.after.clone());
                self.changes.insert(0, *change);
                said
            }
            Ok(Judged::Already(said)) => format!("already: {said}"),
            Err(Refused::Unknown) => "unknown".to_owned(),
            Err(Refused::Owned(owner)) => format!("owned by {}:{}", owner.file, owner.line),
            Err(Refused::NotNow(why)) => format!("not now: {why}"),
        }
    }

    fn add(&mut self, words: &str) -> String {
        self.wish(&Wish::Add { spec: spec(words), overrides: false })
    }

    fn publish(&mut self) -> String {
        self.wish(&Wish::Publish { described: None, why: String::new() })
    }

    fn deprecate(&mut self, why: &str) -> String {
        self.wish(&Wish::Deprecate { why: why.to_owned() })
    }

    fn remove(&mut self) -> String {
        self.wish(&Wish::Remove { why: String::new() })
    }

    fn rollback(&mut self, to: Option<u64>) -> String {
        self.wish(&Wish::Rollback { to })
    }
}

fn offer(tool: &StoredTool) -> String {
    let mut said = tool.live.as_ref().map_or_else(|| "nothing".to_owned(), |live| live.text.clone());
    if let Some(mark) = &tool.deprecated {
        said.push_str(&format!(" (deprecated: {})", mark.why));
    }
    if let Some(waiting) = &tool.waiting {
        said.push_str(&format!(", {} waits", waiting.text));
    }
    if tool.off.is_some() {
        said.push_str(", off");
    }
    said
}

#[test]
fn a_life_from_adding_to_removing() {
    let mut tool = Tool::default();
    assert_eq!(tool.add("A"), "1 added: nothing, A waits");
    assert_eq!(tool.add("A"), "already: this version was added already, and waits to be published");
    assert_eq!(tool.publish(), "2 published: A");
    assert_eq!(tool.publish(), "already: it is published already");
    assert_eq!(tool.add("A"), "already: this version is published already");
    assert_eq!(tool.add("B"), "3 added: A, B waits", "what is offered stays until the next is published");
    assert_eq!(tool.publish(), "4 published: B");
    assert_eq!(tool.deprecate("use u"), "5 deprecated: B (deprecated: use u)");
    assert_eq!(tool.deprecate("use u"), "already: it is deprecated already");
    assert_eq!(tool.deprecate("use v"), "6 deprecated: B (deprecated: use v)");
    assert_eq!(tool.publish(), "7 published: B", "who publishes it again takes the mark away");
    assert_eq!(tool.remove(), "8 removed: nothing");
    assert_eq!(tool.remove(), "already: it is removed already");
}

#[test]
fn what_is_wanted_in_the_wrong_order_is_refused_with_a_way_out() {
    let mut tool = Tool::default();
    for nothing in [tool.publish(), tool.deprecate("x"), tool.remove(), tool.rollback(None), tool.rollback(Some(1))] {
        assert_eq!(nothing, "unknown");
    }
    tool.add("A");
    assert_eq!(tool.deprecate("x"), "not now: it waits to be published, so it cannot be deprecated");
    assert_eq!(tool.rollback(None), "not now: nothing else was offered before: there is nothing to go back to");
    assert_eq!(tool.remove(), "2 removed: nothing");
    let back = "'rollback' brings it back, or add it anew";
    assert_eq!(tool.publish(), format!("not now: it was removed, so it cannot be published: {back}"));
    assert_eq!(tool.deprecate("x"), format!("not now: it was removed, so it cannot be deprecated: {back}"));
    assert_eq!(tool.add("B"), "3 added: nothing, B waits");
    assert_eq!(tool.publish(), "4 published: B");
    assert_eq!(tool.rollback(Some(9)), "not now: there is no version 9: versions 1 to 4 are kept");
    assert_eq!(
        tool.rollback(Some(1)),
        "not now: nothing was offered in version 1 (added): name one that was published"
    );
}

#[test]
fn going_back_twice_is_not_going_to_and_fro() {
    let mut tool = Tool::default();
    for version in ["A", "B", "C"] {
        tool.add(version);
        tool.publish();
    }
    assert_eq!(tool.rollback(None), "7 rolled back: B");
    assert_eq!(tool.rollback(None), "8 rolled back: A");
    assert_eq!(tool.rollback(None), "not now: nothing else was offered before: there is nothing to go back to");
    assert_eq!(tool.rollback(Some(6)), "9 rolled back: C");
    assert_eq!(tool.rollback(Some(6)), "already: it is what is offered already");
}

#[test]
fn a_mark_and_a_removal_can_be_gone_back_behind() {
    let mut tool = Tool::default();
    tool.add("A");
    tool.publish();
    tool.deprecate("use u");
    assert_eq!(tool.rollback(None), "4 rolled back: A");
    tool.add("B");
    tool.remove();
    assert_eq!(tool.rollback(None), "7 rolled back: A");
}

#[test]
fn anothers_tool_is_restricted_and_never_redefined() {
    let mut tool = Tool { owner: Some(file(None)), ..Tool::default() };
    assert_eq!(tool.add("A"), "owned by tools/t.yaml:3");
    assert_eq!(tool.rollback(None), "owned by tools/t.yaml:3");
    assert_eq!(tool.publish(), "already: it is published already");
    assert_eq!(tool.deprecate("use u"), "1 deprecated: nothing (deprecated: use u)");
    assert_eq!(tool.remove(), "2 removed: nothing (deprecated: use u), off");
    assert_eq!(tool.remove(), "already: it is switched off already");
    assert_eq!(tool.publish(), "3 published: nothing");
    assert_eq!(tool.wish(&Wish::Add { spec: spec("A"), overrides: true }), "4 added: nothing, A waits");
    assert_eq!(tool.publish(), "5 published: A");
}

#[test]
fn a_file_that_waits_is_published_version_by_version() {
    let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
    let mut tool = Tool { owner: Some(file(Some(one))), ..Tool::default() };
    assert_eq!(tool.publish(), "1 published: nothing");
    assert_eq!(tool.publish(), "already: it is published already");
    tool.owner = Some(file(Some(two)));
    assert_eq!(tool.publish(), "2 published: nothing");
    assert_eq!(tool.stored.unwrap().released, Some(two));
}

mod any_order {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn versions_count_up_and_a_change_changes_something(steps in proptest::collection::vec(0u8..7, 0..40)) {
            let mut tool = Tool::default();
            for step in steps {
                let before = tool.stored.clone();
                match step {
                    0 => tool.add("A"),
                    1 => tool.add("B"),
                    2 | 3 => tool.publish(),
                    4 => tool.deprecate("x"),
                    5 => tool.remove(),
                    _ => tool.rollback(None),
                };
                if tool.stored != before {
                    let number = |tool: &Option<StoredTool>| tool.as_ref().map_or(0, |tool| tool.version);
                    prop_assert_eq!(number(&tool.stored), number(&before) + 1);
                    let same = StoredTool { version: number(&tool.stored), ..before.unwrap_or_default() };
                    prop_assert_ne!(tool.stored.as_ref().unwrap(), &same);
                    prop_assert!(tool.stored.as_ref().unwrap().off.is_none());
                }
            }
        }
    }
}
