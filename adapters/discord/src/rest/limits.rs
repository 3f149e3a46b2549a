//! What the platform says of its limits, remembered so that no request is made that it would refuse. Keeps the time, makes no
//! requests, and never sleeps.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use reqwest::header::HeaderMap;
use serde_json::Value;

/// Buckets and routes that are remembered; those whose time is over go first.
const MOST: usize = 10_000;
/// Requests in a second, of all kinds, of an account that was granted no other number.
const GLOBAL: usize = 50;
const SECOND: Duration = Duration::from_secs(1);
/// Discord shuts out who makes 10,000 requests that it refuses within ten minutes.
const MOST_INVALID: usize = 9_000;
const INVALID_WINDOW: Duration = Duration::from_secs(600);
/// When the platform does not say how long.
const SOME: Duration = Duration::from_secs(1);
/// Their clock and ours differ a little.
const MARGIN: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// What shares a limit: the kind of request, and the place it concerns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    kind: String,
    major: String,
}

impl Route {
    /// Authorised by a token in its address; the account's global limit is not its.
    pub(crate) fn is_by_token(&self) -> bool {
        self.kind.contains(":token")
    }
}

/// The route of a request. Ids are left out of the kind; the channel, guild or webhook stands apart.
pub(crate) fn route(method: &str, path: &str) -> Route {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let mut kind = method.to_owned();
    let mut major = String::new();
    for (n, segment) in segments.iter().enumerate() {
        let before = n.checked_sub(1).map_or("", |n| segments[n]);
        let is_id = segment.bytes().all(|b| b.is_ascii_digit());
        let is_token = n == 2 && matches!(segments[0], "webhooks" | "interactions");
        kind.push('/');
        kind.push_str(match before {
            _ if is_token => ":token",
            _ if is_id => ":id",
            "reactions" => ":emoji",
            _ => segment,
        });
        if n == 1 && is_id && matches!(segments[0], "channels" | "guilds" | "webhooks" | "interactions") || is_token {
            major.push_str(segment);
        }
    }
    Route { kind, major }
}

pub(crate) enum Verdict {
    Go,
    Wait { wait: Duration, of_all: bool },
}

/// A bucket's state.
struct Bucket {
    left: u32,
    resets: Instant,
}

/// All that is known of one account's limits.
#[derive(Default)]
pub(crate) struct Limits {
    /// The bucket that the platform named for a kind of request.
    named: HashMap<String, String>,
    buckets: HashMap<(String, String), Bucket>,
    /// Another number than [`GLOBAL`].
    pub(crate) granted: Option<usize>,
    /// Requests of the last second.
    recent: VecDeque<Instant>,
    shut_until: Option<Instant>,
    /// Requests that were refused, for the guard.
    invalid: VecDeque<Instant>,
}

impl Limits {
    /// Whether a request may be made now; if so it is counted.
    pub(crate) fn ask(&mut self, route: &Route, now: Instant) -> Verdict {
        if let Some(wait) = self.shut(route, now) {
            return Verdict::Wait { wait, of_all: true };
        }
        let key = self.key_of(route);
        if let Some(bucket) = self.buckets.get_mut(&key).filter(|bucket| bucket.resets > now) {
            if bucket.left == 0 {
                return Verdict::Wait { wait: bucket.resets - now, of_all: false };
            }
            bucket.left -= 1;
        }
        if !route.is_by_token() {
            self.recent.push_back(now);
        }
        Verdict::Go
    }

    fn shut(&mut self, route: &Route, now: Instant) -> Option<Duration> {
        while self.invalid.front().is_some_and(|at| now - *at > INVALID_WINDOW) {
            self.invalid.pop_front();
        }
        while self.recent.front().is_some_and(|at| now - *at >= SECOND) {
            self.recent.pop_front();
        }
        let told = self.shut_until.filter(|until| *until > now && !route.is_by_token()).map(|until| until - now);
        let is_near = self.invalid.len() >= MOST_INVALID;
        let guarded =
            self.invalid.front().filter(|_| is_near).map(|first| INVALID_WINDOW.saturating_sub(now - *first) + MARGIN);
        let is_full = self.recent.len() >= self.granted.unwrap_or(GLOBAL) && !route.is_by_token();
        let own = self.recent.front().filter(|_| is_full).map(|first| SECOND.saturating_sub(now - *first) + MARGIN);
        [told, guarded, own].into_iter().flatten().max()
    }

    fn key_of(&self, route: &Route) -> (String, String) {
        (self.named.get(&route.kind).unwrap_or(&route.kind).clone(), route.major.clone())
    }

    /// Takes note of what an answer says.
    pub(crate) fn heard(
        &mut self,
        route: &Route,
        status: u16,
        headers: &HeaderMap,
        body: Option<&Value>,
        now: Instant,
    ) {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        self.make_room(now);
        if let Some(bucket) = header("x-ratelimit-bucket") {
            self.named.insert(route.kind.clone(), bucket.to_owned());
        }
        let left = header("x-ratelimit-remaining").and_then(|left| left.parse().ok());
        let resets = header("x-ratelimit-reset-after").and_then(|after| after.parse().ok()).and_then(seconds);
        if let (Some(left), Some(after)) = (left, resets) {
            self.buckets.insert(self.key_of(route), Bucket { left, resets: now + after + MARGIN });
        }
        let is_shared = header("x-ratelimit-scope") == Some("shared");
        if matches!(status, 401 | 403 | 429) && !is_shared {
            self.invalid.push_back(now);
        }
        if status == 429 {
            let answer = body.unwrap_or(&Value::Null);
            let until = now + told_to_wait(headers, answer);
            if is_of_all(headers, answer, body.is_some()) {
                self.shut_until = self.shut_until.max(Some(until));
            } else {
                self.buckets.insert(self.key_of(route), Bucket { left: 0, resets: until });
            }
        }
    }

    fn make_room(&mut self, now: Instant) {
        if self.buckets.len() >= MOST {
            self.buckets.retain(|_, bucket| bucket.resets > now);
        }
        if self.buckets.len() >= MOST {
            self.buckets.clear();
        }
        if self.named.len() >= MOST {
            self.named.clear();
        }
        while self.invalid.len() > MOST {
            self.invalid.pop_front();
        }
    }

    /// What operators should know.
    pub(crate) fn complaint(&mut self, now: Instant) -> Option<String> {
        let count = self.invalid.iter().filter(|at| now - **at <= INVALID_WINDOW).count();
        (count >= MOST_INVALID).then(|| {
            format!("{count} requests were refused within ten minutes: nothing is sent until it is fewer, so that Discord does not shut this address out")
        })
    }
}

/// How long a 429 has us wait.
pub(crate) fn told_to_wait(headers: &HeaderMap, answer: &Value) -> Duration {
    let header = || headers.get("retry-after")?.to_str().ok()?.parse().ok();
    answer["retry_after"].as_f64().or_else(header).and_then(seconds).unwrap_or(SOME) + MARGIN
}

/// Whether a 429 concerns all requests. One without a body comes from before the API, and concerns the address.
pub(crate) fn is_of_all(headers: &HeaderMap, answer: &Value, is_readable: bool) -> bool {
    answer["global"] == true || headers.contains_key("x-ratelimit-global") || !is_readable
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value"))).collect()
    }

    fn wait(limits: &mut Limits, path: &str, now: Instant) -> Option<(Duration, bool)> {
        match limits.ask(&route("POST", path), now) {
            Verdict::Go => None,
            Verdict::Wait { wait, of_all } => Some((wait, of_all)),
        }
    }

    #[test]
    fn a_route_is_a_kind_and_a_place() {
        let route = |path| {
            let Route { kind, major } = route("PUT", path);
            format!("{kind} {major}")
        };
        for (path, expected) in [
            ("/channels/12/messages/34?x=1", "PUT/channels/:id/messages/:id 12"),
            ("/channels/12/messages/34/reactions/%F0%9F/@me", "PUT/channels/:id/messages/:id/reactions/:emoji/@me 12"),
            ("/webhooks/7/tok/messages/@original", "PUT/webhooks/:id/:token/messages/@original 7tok"),
            ("/interactions/7/tok/callback", "PUT/interactions/:id/:token/callback 7tok"),
            ("/users/@me", "PUT/users/@me "),
        ] {
            assert_eq!(route(path), expected);
        }
    }

    #[test]
    fn a_bucket_that_is_empty_waits_and_its_neighbours_do_not() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        let told =
            headers(&[("x-ratelimit-bucket", "b"), ("x-ratelimit-remaining", "1"), ("x-ratelimit-reset-after", "2.0")]);
        limits.heard(&route("POST", "/channels/1/messages"), 200, &told, None, now);
        assert_eq!(wait(&mut limits, "/channels/1/messages", now), None);
        let (left, of_all) = wait(&mut limits, "/channels/1/messages", now).expect("a wait");
        assert!(left >= Duration::from_secs(2) && !of_all);
        assert_eq!(wait(&mut limits, "/channels/2/messages", now), None);
        assert_eq!(wait(&mut limits, "/channels/1/messages", now + Duration::from_secs(3)), None);
    }

    #[test]
    fn a_429_is_of_one_bucket_or_of_all() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        let messages = route("POST", "/channels/1/messages");
        limits.heard(&messages, 429, &headers(&[]), Some(&json!({"retry_after": 64.57, "global": false})), now);
        let (left, of_all) = wait(&mut limits, "/channels/1/messages", now).expect("a wait");
        assert!(left > Duration::from_secs(64) && !of_all);
        assert_eq!(wait(&mut limits, "/channels/2/messages", now), None);
        limits.heard(&messages, 429, &headers(&[("retry-after", "3")]), None, now);
        assert!(wait(&mut limits, "/channels/2/messages", now).is_some_and(|(_, of_all)| of_all), "no body: of all");
        assert_eq!(wait(&mut limits, "/webhooks/1/t", now), None, "an interaction's token is not the account's");
    }

    #[test]
    fn no_more_than_fifty_requests_go_in_a_second() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        for n in 0..GLOBAL {
            assert_eq!(wait(&mut limits, &format!("/channels/{n}/messages"), now), None);
        }
        assert!(wait(&mut limits, "/channels/99/messages", now).is_some_and(|(_, of_all)| of_all));
        assert_eq!(wait(&mut limits, "/channels/99/messages", now + SECOND), None);
        limits.granted = Some(GLOBAL + 10);
        assert_eq!(wait(&mut limits, "/channels/99/messages", now + SECOND / 2), None, "it was granted more");
    }

    #[test]
    fn who_is_refused_too_often_stops_asking() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        let messages = route("POST", "/channels/1/messages");
        let shared = headers(&[("x-ratelimit-scope", "shared")]);
        limits.heard(&messages, 429, &shared, Some(&json!({"retry_after": 0.0})), now);
        (0..MOST_INVALID).for_each(|_| limits.heard(&messages, 403, &headers(&[]), None, now));
        assert!(limits.complaint(now).is_some());
        assert!(wait(&mut limits, "/webhooks/1/t", now).is_some_and(|(wait, _)| wait > Duration::from_secs(500)));
        let later = now + INVALID_WINDOW + SECOND;
        assert_eq!((wait(&mut limits, "/channels/2/messages", later), limits.complaint(later)), (None, None));
    }

    #[test]
    fn nonsense_in_headers_is_no_harm() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        let told =
            headers(&[("x-ratelimit-remaining", "-1"), ("x-ratelimit-reset-after", "NaN"), ("retry-after", "soon")]);
        limits.heard(
            &route("POST", "/channels/1/messages"),
            429,
            &told,
            Some(&json!({"retry_after": -5, "global": false})),
            now,
        );
        assert!(wait(&mut limits, "/channels/1/messages", now).is_some_and(|(wait, _)| wait < Duration::from_secs(3)));
    }
}
