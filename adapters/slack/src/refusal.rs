//! What the platform's refusals mean, in one list.

use contract::{Stopped, Why};

use crate::api::{Problem, stopped};

const MARKUP: [&str; 9] = [
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
    "invalid_metadata_format",
    "markdown_text_conflict",
    "invalid_attachments",
    "attachment_payload_limit_exceeded",
];
const GONE: [&str; 8] = [
    "channel_not_found",
    "is_archived",
    "thread_not_found",
    "thread_locked",
    "cannot_reply_to_message",
    "user_not_found",
    "user_disabled",
    "is_inactive",
];
const FORBIDDEN: [&str; 16] = [
    "not_in_channel",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_thread_only_channel",
    "restricted_action_non_threadable_channel",
    "restricted_action_thread_locked",
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "ekm_access_denied",
    "access_denied",
    "team_access_not_granted",
    "enterprise_is_restricted",
    "messages_tab_disabled",
    "cannot_dm_bot",
    "method_not_supported_for_channel_type",
];
const TOO_OLD: [&str; 6] = [
    "cant_update_message",
    "cant_delete_message",
    "edit_window_closed",
    "message_not_found",
    "is_inactive_message",
    "used_url",
];
const UNSUPPORTED: [&str; 3] = ["user_not_in_channel", "cant_post_ephemeral", "slash_commands_not_supported"];

/// What a refusal means for the delivery.
pub(crate) fn why(code: &str) -> Why {
    match code {
        _ if MARKUP.contains(&code) => Why::Markup,
        _ if GONE.contains(&code) => Why::Gone,
        _ if FORBIDDEN.contains(&code) || is_dead(code) => Why::Forbidden,
        _ if TOO_OLD.contains(&code) => Why::TooOld,
        _ if UNSUPPORTED.contains(&code) => Why::Unsupported,
        _ => Why::Other(contract::text::one_line(code, 300)),
    }
}

/// A token that is worth nothing any more.
fn is_dead(code: &str) -> bool {
    matches!(
        code,
        "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" | "account_inactive" | "org_login_required"
    )
}

/// What only a person can mend, with the steps.
pub(crate) fn fatal(problem: &Problem) -> Option<Stopped> {
    let Problem::Refused { code, .. } = problem else { return None };
    let settings = "open https://api.slack.com/apps and choose the app";
    Some(match code.as_str() {
        "account_inactive" | "token_revoked" => stopped(
            &format!("the token is not valid any more ({code}): the app was removed from the workspace"),
            &[
                settings,
                "Install App → Reinstall to Workspace",
                "put the new token where the configuration points and start again",
            ],
        ),
        "token_expired" => stopped(
            "the token has expired: token rotation is on, and nobody renews it here",
            &[settings, "OAuth & Permissions → switch token rotation off, or give a token that does not expire"],
        ),
        "not_allowed_token_type" => stopped(
            "the app-level token is another kind of token",
            &[
                settings,
                "Basic Information → App-Level Tokens → Generate, with the scope connections:write",
                "set it as 'app_token'",
            ],
        ),
        "link_disabled" | "socket_mode_disabled" => stopped(
            "Socket Mode is switched off for the app",
            &[settings, "Socket Mode → Enable Socket Mode", "or set 'mode: events' with the signing secret"],
        ),
        code if is_dead(code) => stopped(
            &format!("the token was refused ({code})"),
            &[
                settings,
                "OAuth & Permissions → Bot User OAuth Token (xoxb-…) is 'bot_token'; Basic Information → App-Level Tokens (xapp-…) is 'app_token'",
                "with 'api_url' set, check that this server knows the app",
            ],
        ),
        _ => return None,
    })
}

/// Where a scope is given to the app.
pub(crate) fn scope_step(scope: &str) -> String {
    format!(
        "https://api.slack.com/apps → your app → OAuth & Permissions → Scopes → Bot Token Scopes → Add an OAuth Scope → {scope}, then Reinstall to Workspace"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        for (code, expected) in [
            ("invalid_blocks", Why::Markup),
            ("msg_blocks_too_long", Why::Markup),
            ("channel_not_found", Why::Gone),
            ("is_archived", Why::Gone),
            ("not_in_channel", Why::Forbidden),
            ("missing_scope", Why::Forbidden),
            ("token_revoked", Why::Forbidden),
            ("cant_update_message", Why::TooOld),
            ("message_not_found", Why::TooOld),
            ("user_not_in_channel", Why::Unsupported),
            ("something_new", Why::Other("something_new".into())),
        ] {
            assert_eq!(why(code), expected, "{code}");
        }
    }

    #[test]
    fn what_a_person_must_mend_comes_with_steps() {
        let refused = |code: &str| Problem::Refused { code: code.into(), needed: None };
        for code in ["invalid_auth", "account_inactive", "not_allowed_token_type", "link_disabled", "token_expired"] {
            assert!(fatal(&refused(code)).is_some_and(|stopped| stopped.steps.len() > 1), "{code}");
        }
        assert!(fatal(&refused("channel_not_found")).is_none() && fatal(&Problem::NotSent("x".into())).is_none());
    }
}
