//! Which hosts are the platform's: a token goes nowhere else, and a test never to the real one.

use axum::http::{Uri, uri::Authority};

/// Domains of Slack's API, files, hooks and sockets.
const OFFICIAL: [&str; 4] = ["slack.com", "slack-gov.com", "slack-files.com", "slack-edge.com"];

/// The hosts that may be asked.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// The only one, in place of Slack's own.
    own: Option<Authority>,
}

impl Hosts {
    /// Nothing when the address is none.
    pub(crate) fn new(api_url: Option<&str>) -> Option<Self> {
        let Some(url) = api_url else { return Some(Self { own: None }) };
        let url: Uri = url.parse().ok()?;
        let is_http = matches!(url.scheme_str(), Some("http" | "https"));
        Some(Self { own: Some(url.authority().filter(|_| is_http)?.clone()) })
    }

    /// Whether an address that the platform gave is the platform's.
    pub(crate) fn knows(&self, url: &Uri) -> bool {
        let Some(authority) = url.authority() else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        if let Some(own) = &self.own {
            return own == authority;
        }
        let host = authority.host().to_ascii_lowercase();
        let is_official = OFFICIAL
            .iter()
            .any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
        is_official && matches!(url.scheme_str(), Some("https" | "wss"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(api_url: Option<&str>, url: &str) -> bool {
        Hosts::new(api_url).expect("an address").knows(&url.parse().expect("an address"))
    }

    #[test]
    fn a_token_goes_to_the_platform_alone() {
        for url in ["https://slack.com/api", "https://files.slack.com/x", "wss://wss-primary.slack.com/link?t=1"] {
            assert!(knows(None, url), "{url}");
        }
        for url in [
            "http://slack.com/",
            "https://slack.com.e.test/",
            "https://notslack.com/",
            "https://a@slack.com/",
            "ws://slack.com/",
        ] {
            assert!(!knows(None, url), "{url}");
        }
    }

    #[test]
    fn with_another_server_the_real_one_is_never_asked() {
        let own = Some("http://127.0.0.1:81/slack/api");
        assert!(knows(own, "http://127.0.0.1:81/f") && knows(own, "ws://127.0.0.1:81/socket"));
        assert!(!knows(own, "https://slack.com/api") && !knows(own, "http://127.0.0.1:82/"));
        assert!(Hosts::new(Some("nonsense")).is_none() && Hosts::new(Some("ftp://h/")).is_none());
    }
}
