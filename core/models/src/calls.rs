//! Calls as they stream in, piece by piece, from servers that number them wrongly or not at all.

use dispatch::model::Asked;
use serde_json::Value;

/// Most calls of one answer; a turn may make far fewer.
pub(crate) const MOST_CALLS: usize = 128;

/// A piece of a call.
#[derive(Debug, Default)]
pub(crate) struct Piece<'a> {
    /// A label, never a place in memory: some servers count from anywhere.
    pub index: Option<u64>,
    pub id: &'a str,
    pub name: &'a str,
    pub args: Option<&'a Value>,
    /// What has to come back with the call.
    pub extra: Option<&'a Value>,
}

#[derive(Debug, Default)]
struct Growing {
    index: Option<u64>,
    id: String,
    name: String,
    args: String,
    /// Arguments that came as a whole: further pieces are repetitions.
    is_whole: bool,
    extra: Option<Value>,
}

/// The calls of an answer.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    growing: Vec<Growing>,
    /// Those beyond [`MOST_CALLS`].
    pub left_out: usize,
}

impl Calls {
    pub fn add(&mut self, piece: &Piece<'_>) {
        let at = match self.whose(piece) {
            Some(at) => at,
            None if self.growing.len() >= MOST_CALLS => {
                self.left_out += 1;
                return;
            }
            None => {
                self.growing.push(Growing { index: piece.index, ..Growing::default() });
                self.growing.len() - 1
            }
        };
        self.growing[at].take(piece);
    }

    /// The call that a piece belongs to; nothing when it begins one.
    ///
    /// An id tells calls apart where there is one. Otherwise a name begins a call, unless it repeats that of a call that
    /// is not complete. What has neither goes on with the last call of its index, or the last one.
    fn whose(&self, piece: &Piece<'_>) -> Option<usize> {
        let last = |is: &dyn Fn(&Growing) -> bool| self.growing.iter().rposition(is);
        let of_index = |call: &Growing| piece.index.is_none() || call.index.is_none() || call.index == piece.index;
        if !piece.id.is_empty() {
            if let Some(at) = last(&|call| call.id == piece.id) {
                return Some(at);
            }
            // Servers that give each piece an id of its own name a call only once.
            let at = last(&of_index)?;
            let call = &self.growing[at];
            let goes_on = piece.name.is_empty() || call.name.is_empty();
            return (goes_on || (call.id.is_empty() && call.is_begun_as(piece.name))).then_some(at);
        }
        let at = last(&of_index)?;
        if piece.name.is_empty() {
            return Some(at);
        }
        let call = &self.growing[at];
        (call.name.is_empty() || call.is_begun_as(piece.name)).then_some(at)
    }

    pub fn is_empty(&self) -> bool {
        self.growing.iter().all(|call| call.name.is_empty())
    }

    pub fn len(&self) -> usize {
        self.growing.len()
    }

    /// All characters of names and arguments.
    pub fn size(&self) -> usize {
        self.growing.iter().map(|call| call.name.len() + call.args.len()).sum()
    }

    /// What has to come back, in the order of the calls; nothing where there is nothing.
    pub fn extras(&self) -> Option<Vec<Value>> {
        let named = || self.growing.iter().filter(|call| !call.name.is_empty());
        named().any(|call| call.extra.is_some()).then(|| named().map(|call| call.extra.clone().into()).collect())
    }

    /// A piece without a name belongs to no call that could be made.
    pub fn asked(self) -> Vec<Asked> {
        let named = self.growing.into_iter().filter(|call| !call.name.is_empty());
        named.map(|call| Asked { tool: call.name, args: call.args }).collect()
    }
}

impl Growing {
    fn take(&mut self, piece: &Piece<'_>) {
        if self.id.is_empty() {
            self.id.push_str(piece.id);
        }
        if self.index.is_none() {
            self.index = piece.index;
        }
        if self.name.is_empty() {
            self.name.push_str(piece.name);
        }
        if let Some(extra) = piece.extra {
            self.extra = Some(extra.clone());
        }
        match piece.args {
            None | Some(Value::Null) => {}
            Some(_) if self.is_whole => {}
            Some(Value::String(text)) => self.args.push_str(text),
            Some(whole) => {
                self.args = whole.to_string();
                self.is_whole = true;
            }
        }
    }

    /// Whether a piece that says this name goes on with this call.
    fn is_begun_as(&self, name: &str) -> bool {
        self.name == name && !self.is_whole && serde_json::from_str::<serde::de::IgnoredAny>(&self.args).is_err()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pieces: &[(Option<u64>, &str, &str, Value)], expected: &[(&str, &str)]) {
        let mut calls = Calls::default();
        for (index, id, name, args) in pieces {
            calls.add(&Piece { index: *index, id, name, args: Some(args), extra: None });
        }
        let asked: Vec<_> = calls.asked().into_iter().map(|asked| (asked.tool, asked.args)).collect();
        let expected: Vec<_> = expected.iter().map(|(tool, args)| ((*tool).to_owned(), (*args).to_owned())).collect();
        assert_eq!(asked, expected);
    }

    #[test]
    fn calls_that_all_carry_index_0_are_told_apart_by_id_or_by_name() {
        let zero = Some(0);
        let expected = [("a", r#"{"x":1}"#), ("a", r#"{"x":2}"#), ("b", "{}")];
        check(
            &[
                (zero, "1", "a", json!("{\"x\":")),
                (zero, "", "", json!("1}")),
                (zero, "2", "a", json!("{\"x\":2}")),
                (zero, "3", "b", json!("{}")),
            ],
            &expected,
        );
        check(
            &[
                (zero, "", "a", json!("{\"x\":1}")),
                (zero, "", "a", json!("{\"x\":2}")),
                (zero, "", "b", json!("")),
                (zero, "", "", json!("{}")),
            ],
            &expected,
        );
    }

    #[test]
    fn calls_without_index_and_id_go_on_until_the_next_name() {
        check(
            &[(None, "", "a", json!("{\"x\"")), (None, "", "", json!(":1}")), (None, "", "b", json!("{}"))],
            &[("a", r#"{"x":1}"#), ("b", "{}")],
        );
    }

    #[test]
    fn pieces_of_calls_side_by_side_find_their_call_by_index() {
        check(
            &[
                (Some(0), "1", "a", json!("")),
                (Some(1), "2", "b", json!("")),
                (Some(1), "", "", json!("{\"y\":2}")),
                (Some(0), "", "", json!("{\"x\":1}")),
            ],
            &[("a", r#"{"x":1}"#), ("b", r#"{"y":2}"#)],
        );
    }

    #[test]
    fn arguments_may_be_an_object_nothing_or_said_twice() {
        check(
            &[
                (Some(0), "1", "a", json!({ "x": [1] })),
                (Some(0), "1", "a", json!({ "x": [1] })),
                (Some(1), "2", "b", Value::Null),
            ],
            &[("a", r#"{"x":[1]}"#), ("b", "")],
        );
    }

    #[test]
    fn an_id_for_each_piece_makes_no_call_for_each_piece() {
        check(
            &[(Some(0), "1", "a", json!("{\"x\"")), (Some(0), "2", "", json!(":1}")), (Some(1), "3", "b", json!("{}"))],
            &[("a", r#"{"x":1}"#), ("b", "{}")],
        );
    }

    #[test]
    fn a_name_that_is_repeated_with_each_piece_is_one_call() {
        check(&[(Some(0), "", "a", json!("{\"x\"")), (Some(0), "", "a", json!(":1}"))], &[("a", r#"{"x":1}"#)]);
    }

    #[test]
    fn an_index_out_of_the_world_takes_no_room_and_calls_without_end_have_one() {
        check(&[(Some(3_000_000), "1", "a", json!("{}"))], &[("a", "{}")]);
        let mut calls = Calls::default();
        for index in 0..1_000 {
            calls.add(&Piece { index: Some(index), name: "a", ..Piece::default() });
        }
        assert_eq!((calls.left_out, calls.asked().len()), (1_000 - MOST_CALLS, MOST_CALLS));
    }
}
