//! What a call hangs under.

use contract::CallId;
use policies::Rights;

/// What a call hangs under: the call that makes it, or the step in which a model chose it.
#[derive(Clone, Copy)]
pub(crate) struct Parent<'a> {
    pub call: CallId,
    /// Those of the call that makes it; a child has none that it lacks.
    pub rights: Option<&'a Rights>,
    /// It, or a call that it is a child of, has one of the turn's places; its children run within that.
    pub has_place: bool,
    /// A model chose the calls: those of the loop itself may be among them.
    pub is_step: bool,
    /// How many delegations they are below; each has a number in a call's path that is no call.
    pub delegations: u32,
    /// What a model said beside the calls of the step that they are, or hang below.
    pub said: &'a str,
}

impl<'a> Parent<'a> {
    /// A model's step: its calls are the turn's own.
    pub fn step(node: CallId, said: &'a str) -> Self {
        Self { call: node, rights: None, has_place: false, is_step: true, delegations: 0, said }
    }

    /// A step of a task that was handed on, within the rights that go with it.
    pub fn below(node: CallId, said: &'a str, rights: &'a Rights, delegations: u32) -> Self {
        Self { rights: Some(rights), delegations, ..Self::step(node, said) }
    }
}

/// What a model said beside the calls that hang there.
pub(super) fn said<'a>(parent: Option<Parent<'a>>) -> &'a str {
    parent.map_or("", |parent| parent.said)
}
