//! Which hosts may be sent a secret.

use std::{fmt, str::FromStr};

use reqwest::Url;

/// `api.example.org`, `api.example.org:8443` or `*.example.org`, which is every host below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// In lower case, without `*.`.
    host: String,
    below: bool,
    /// Nothing means any.
    port: Option<u16>,
}

impl HostPattern {
    pub fn fits(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_named = match self.below {
            true => host.strip_suffix(&self.host).is_some_and(|front| front.len() > 1 && front.ends_with('.')),
            false => host == self.host,
        };
        is_named && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

impl FromStr for HostPattern {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "must be a host such as api.example.org, api.example.org:8443 or *.example.org";
        let (below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        // As a URL understands it, so that names with other letters are compared in one form.
        let url = Url::parse(&format!("https://{rest}/")).map_err(|_| WRONG)?;
        let is_plain = url.username().is_empty() && url.password().is_none() && url.path() == "/";
        let has_more = rest.contains(['/', '?', '#', '@', '*', '\\']);
        let host = url.host_str().filter(|_| is_plain && !has_more).ok_or(WRONG)?;
        if below && !host.contains('.') {
            return Err("is every host of a whole top-level domain");
        }
        // A URL forgets the usual port, which was written all the same.
        let port = match rest.rsplit_once(':').filter(|(_, end)| !end.ends_with(']')) {
            Some((_, port)) => Some(port.parse().map_err(|_| WRONG)?),
            None => None,
        };
        Ok(Self { host: host.trim_end_matches('.').to_ascii_lowercase(), below, port })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.below { "*." } else { "" }, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_fits_itself_and_with_a_star_what_is_below_it() {
        for (pattern, url, fits) in [
            ("api.example.org", "https://api.example.org/x", true),
            ("API.example.org", "https://api.EXAMPLE.org./x", true),
            ("api.example.org", "http://api.example.org:8080/x", true),
            ("api.example.org:443", "https://api.example.org/x", true),
            ("api.example.org:443", "https://api.example.org:8443/x", false),
            ("api.example.org", "https://api.example.org.evil.test/x", false),
            ("api.example.org", "https://evil.test/api.example.org", false),
            ("*.example.org", "https://a.b.example.org/", true),
            ("*.example.org", "https://example.org/", false),
            ("*.example.org", "https://notexample.org/", false),
            ("127.0.0.1:9", "http://127.0.0.1:9/", true),
            ("[::1]", "http://[::1]:7/", true),
            ("b\u{fc}cher.example", "https://xn--bcher-kva.example/", true),
        ] {
            let parsed: HostPattern = pattern.parse().unwrap();
            assert_eq!(parsed.fits(&url.parse().unwrap()), fits, "{pattern} {url}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for wrong in ["", "https://api.example.org", "a/b", "u@h.test", "*.org", "*", "a*.test", "h:port", "a b"] {
            assert!(wrong.parse::<HostPattern>().is_err(), "{wrong}");
        }
    }
}
