//! What the platform's refusals mean, in one list.

use std::time::SystemTime;

use contract::{DeliveryError, Scope, Why};

use crate::rest::Problem;

/// The channel or thread is not there any more, is locked, or takes no messages.
const GONE: [u64; 6] = [10003, 10004, 50008, 50024, 50083, 160005];
const FORBIDDEN: [u64; 5] = [50001, 50007, 50013, 50278, 40333];
/// A message that is not there, is not ours, or is too old to be changed so often.
const TOO_OLD: [u64; 4] = [10008, 30046, 50005, 50021];
/// An interaction whose time is over, or that somebody has answered.
const OVER: [u64; 4] = [10062, 10015, 50027, 10008];
const FORM_BODY: u64 = 50035;
const ALREADY_ANSWERED: u64 = 40060;

/// What a failed request means for a delivery.
pub(crate) fn explain(problem: Problem) -> DeliveryError {
    match problem {
        Problem::NotSent(words) => DeliveryError::NotSent(words),
        Problem::Unsure(words) => DeliveryError::Unsure(words),
        Problem::Wait { wait, of_all } => DeliveryError::Wait {
            scope: if of_all { Scope::Account } else { Scope::Conversation },
            until: SystemTime::now() + wait,
        },
        Problem::Refused { status, code, words } => DeliveryError::Refused(why(status, code, words)),
    }
}

/// For a request that only asks: nothing is changed by it, so whatever went wrong may be tried again.
pub(crate) fn asked(problem: Problem) -> DeliveryError {
    match explain(problem) {
        DeliveryError::Unsure(words) => DeliveryError::NotSent(words),
        other => other,
    }
}

fn why(status: u16, code: u64, words: String) -> Why {
    match code {
        code if GONE.contains(&code) => Why::Gone,
        code if FORBIDDEN.contains(&code) => Why::Forbidden,
        code if TOO_OLD.contains(&code) => Why::TooOld,
        FORM_BODY => Why::Markup,
        _ if status == 403 => Why::Forbidden,
        _ => Why::Other(words),
    }
}

/// Whether an interaction cannot be answered with its token any more.
pub(crate) fn is_over(problem: &Problem) -> bool {
    matches!(problem, Problem::Refused { status, code, .. } if OVER.contains(code) || matches!(status, 401 | 404))
}

/// Whether an interaction has its first answer already.
pub(crate) fn is_answered(problem: &Problem) -> bool {
    matches!(problem, Problem::Refused { code: ALREADY_ANSWERED, .. })
}

/// Whether what was asked for does not exist.
pub(crate) fn is_missing(problem: &Problem) -> bool {
    matches!(problem, Problem::Refused { status: 404, .. })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (status, code, expected) in [
            (404, 10003, Why::Gone),
            (400, 50083, Why::Gone),
            (403, 50001, Why::Forbidden),
            (403, 50013, Why::Forbidden),
            (403, 50007, Why::Forbidden),
            (403, 0, Why::Forbidden),
            (404, 10008, Why::TooOld),
            (403, 50005, Why::TooOld),
            (429, 30046, Why::TooOld),
            (400, 50035, Why::Markup),
            (413, 40005, Why::Other("words".into())),
        ] {
            assert_eq!(why(status, code, "words".into()), expected, "{status} {code}");
        }
    }

    #[test]
    fn a_wait_says_whom_it_concerns() {
        let scope = |of_all| match explain(Problem::Wait { wait: Duration::from_secs(3), of_all }) {
            DeliveryError::Wait { scope, .. } => scope,
            other => panic!("{other}"),
        };
        assert_eq!((scope(false), scope(true)), (Scope::Conversation, Scope::Account));
        assert!(matches!(asked(Problem::Unsure("x".into())), DeliveryError::NotSent(_)));
    }
}
