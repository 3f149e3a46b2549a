//! What the platform's refusals mean, in one list.

use contract::{Why, text};
use serde_json::json;
use teloxide::ApiError;

use crate::api::Problem;

/// Which of the errors that teloxide knows it is.
pub(crate) fn api_error(problem: &Problem) -> Option<ApiError> {
    match problem {
        Problem::Refused { words, .. } => {
            let lenient = words.contains("message is not modified").then_some(ApiError::MessageNotModified);
            lenient.or_else(|| serde_json::from_value(json!(words)).ok())
        }
        Problem::NotSent(_) | Problem::Unsure(_) | Problem::TimedOut => None,
    }
}

/// What the list of errors does not know.
const GONE: [&str; 6] =
    ["thread not found", "topic_deleted", "topic_closed", "topic_id_invalid", "peer_id_invalid", "chat was deleted"];
const FORBIDDEN: [&str; 4] = ["not enough rights", "no rights to send", "_forbidden", "chat_restricted"];

/// What a refusal means for the delivery.
pub(crate) fn why(code: u64, words: String) -> Why {
    let says = |what: &str| words.to_ascii_lowercase().contains(what);
    match serde_json::from_value(json!(words)) {
        Ok(ApiError::CantParseEntities(_)) => Why::Markup,
        Ok(
            ApiError::BotBlocked
            | ApiError::BotKicked
            | ApiError::BotKickedFromSupergroup
            | ApiError::BotKickedFromChannel
            | ApiError::UserDeactivated
            | ApiError::CantInitiateConversation
            | ApiError::CantTalkWithBots
            | ApiError::NotEnoughRightsToPostMessages,
        ) => Why::Forbidden,
        Ok(ApiError::ChatNotFound | ApiError::GroupDeactivated) => Why::Gone,
        Ok(
            ApiError::MessageCantBeEdited
            | ApiError::MessageToEditNotFound
            | ApiError::MessageIdInvalid
            | ApiError::MessageCantBeDeleted,
        ) => Why::TooOld,
        _ if says("can't parse entities") => Why::Markup,
        _ if GONE.into_iter().any(says) => Why::Gone,
        _ if code == 403 || FORBIDDEN.into_iter().any(says) => Why::Forbidden,
        _ => Why::Other(text::one_line(&words, 300)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (code, words, expected) in [
            (400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0", Why::Markup),
            (400, "Bad Request: message thread not found", Why::Gone),
            (400, "Bad Request: chat not found", Why::Gone),
            (403, "Forbidden: bot was blocked by the user", Why::Forbidden),
            (403, "Forbidden: something new", Why::Forbidden),
            (400, "Bad Request: not enough rights to send text messages to the chat", Why::Forbidden),
            (400, "Bad Request: have no rights to send a message", Why::Forbidden),
            (400, "Bad Request: CHAT_SEND_PLAIN_FORBIDDEN", Why::Forbidden),
            (403, "Forbidden: the group chat was deleted", Why::Gone),
            (400, "Bad Request: TOPIC_CLOSED", Why::Gone),
            (400, "Bad Request: message can't be edited", Why::TooOld),
            (400, "Bad Request: message to edit not found", Why::TooOld),
            (400, "Bad Request: message is too long", Why::Other("Bad Request: message is too long".into())),
        ] {
            assert_eq!(why(code, words.into()), expected, "{words}");
        }
    }

    #[test]
    fn an_unmodified_message_is_recognised_in_any_wording() {
        let refused = |words: &str| Problem::Refused { code: 400, words: words.into(), retry_after: None, moved: None };
        for words in [
            "Bad Request: message is not modified",
            "Bad Request: message is not modified: specified new message content and reply markup are exactly the same",
        ] {
            assert_eq!(api_error(&refused(words)), Some(ApiError::MessageNotModified));
        }
    }
}
