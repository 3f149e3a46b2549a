//! The guard and HTTP together, against a service that misbehaves over real sockets.

use std::sync::atomic::{AtomicUsize, Ordering};

use contract::{CallPath, Platform};
use fake::service::{Act, Asked as Request, Service};
use policies::{Compiled, Policies, permit};
use tools::{Instant, Permitted, Registry, Report, Resources, RunCx, Snapshot, run};

use super::*;
use crate::testing::caller;

/// Tools at a service, run as the gateway runs them.
struct World {
    snapshot: Arc<Snapshot>,
    policies: Compiled,
    bench: Bench,
    resources: Resources,
}

impl World {
    fn new(tools: &str) -> Self {
        Self::built_by(Endpoints::new(), tools)
    }

    fn built_by(build: impl Build + 'static, tools: &str) -> Self {
        let loaded = Registry::new(Arc::new(build)).load_with(&[], &[("tools.yaml", tools)]);
        assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
        let parsed = Policies::parse(&[]).unwrap();
        let (policies, _) = parsed.policies.compile(&loaded.snapshot.facts()).unwrap();
        Self { snapshot: loaded.snapshot, policies, bench: Bench::new(), resources: Resources::default() }
    }

    async fn call(&self, tool: &str) -> Report {
        self.call_with(tool, json!({})).await
    }

    async fn call_with(&self, tool: &str, args: Value) -> Report {
        let caller = contract::Caller { platform: Platform::Console, ..caller() };
        let permit = permit(&self.policies, &self.policies, &caller, tool, None).unwrap();
        let tool = self.snapshot.get(tool).unwrap().clone();
        let repeatable = tool.is_repeatable();
        let prepared = tool.prepare(args).unwrap();
        let call = Permitted::new(permit, tool, prepared, CallPath::top(1, 1)).unwrap();
        let cx = RunCx {
            caller: &caller,
            turn: self.bench.turn,
            deadline: Instant::now() + Duration::from_secs(60),
            cancel: &self.bench.cancel,
            idempotency_key: "key-7",
            host: &self.bench.host,
            resources: &self.resources,
            places: None,
            repeatable,
            stages: None,
        };
        run(call, cx).await
    }
}

/// Three tools at the address: one that reads, one that writes, one that writes under a key.
fn three(url: &str, execution: &str) -> String {
    let tool = |name: &str, method: &str, more: &str| {
        format!(
            "---\nname: {name}\ndescription: One of three tools\nparameters: {{}}\nreturns: {{ type: object }}\n\
             endpoint: {{ url: \"{url}\", method: {method}{more} }}\nexecution: {{ {execution} }}\n"
        )
    };
    tool("read", "GET", "")
        + &tool("write", "POST", "")
        + &tool("keyed", "POST", ", headers: { Idempotency-Key: \"{idempotency_key}\" }")
}

const SHORT: &str = "timeout: 150ms, retries: 1, retry_interval: 1ms";

/// The first request is dealt with in this way, all others well.
fn once(act: Act) -> impl Fn(&Request) -> Act + Send + Sync {
    move |ask| if ask.n == 0 { act.clone() } else { Act::json(200, "{\"a\": 1}") }
}

fn word(report: &Report) -> String {
    match &report.result {
        Ok(_) => format!("ok in {}", report.attempts),
        Err(failure) => format!("{} {:?} in {}", failure.code, failure.effect, report.attempts),
    }
}

/// How the three tools fare with a service that fails so the first time.
async fn fare(act: Act, execution: &str) -> String {
    let words = ["read", "write", "keyed"].map(async |tool| {
        let service = Service::start(once(act.clone())).await;
        let world = World::new(&three(&service.url("/x"), execution));
        let report = world.call(tool).await;
        assert_eq!(service.count(), report.attempts as usize);
        format!("{tool} {}", word(&report))
    });
    futures_util::future::join_all(words).await.join(", ")
}

#[tokio::test]
async fn a_service_that_goes_silent_anywhere_is_asked_again_only_where_that_does_no_harm() {
    for act in [Act::Hang, Act::HangAfterHead, Act::HangInBody, Act::Drip(Duration::from_millis(5))] {
        let shown = format!("{act:?}");
        let fared = fare(act, SHORT).await;
        assert_eq!(fared, "read ok in 2, write timeout Unknown in 1, keyed ok in 2", "{shown}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again_only_where_that_does_no_harm() {
    for act in [Act::Close, Act::Reset, Act::ResetInBody] {
        let shown = format!("{act:?}");
        let fared = fare(act, SHORT).await;
        assert_eq!(fared, "read ok in 2, write upstream.broken Unknown in 1, keyed ok in 2", "{shown}");
    }
}

#[tokio::test]
async fn what_was_carried_out_before_the_silence_is_never_asked_for_twice_without_its_key() {
    let service = Service::start(|_| Act::Hang).await;
    let world = World::new(&three(&service.url("/pay"), SHORT));
    let report = world.call("write").await;
    assert_eq!(service.count(), 1);
    let failure = report.result.unwrap_err();
    assert!(failure.say.as_str().ends_with("it may have taken effect"), "{failure}");
    assert!(failure.cause.for_operator().ends_with("not retried: not marked idempotent"));
    let report = world.call("keyed").await;
    let keys: Vec<_> = service.asked()[1..].iter().map(|ask| ask.header("idempotency-key").map(String::from)).collect();
    assert_eq!(keys, [Some("key-7".to_owned()), Some("key-7".to_owned())]);
    assert_eq!(word(&report), "timeout Unknown in 2");
}

#[tokio::test]
async fn who_asks_to_wait_is_asked_again_when_it_said_in_seconds_or_by_a_date() {
    let date = |seconds: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    };
    let patient = "timeout: 20s, retries: 1, retry_interval: 1ms";
    for status in [429, 503] {
        for wait in ["0".to_owned(), "1".to_owned(), date(1)] {
            let fared = fare(Act::with(status, "retry-after", wait), patient).await;
            assert_eq!(fared, "read ok in 2, write ok in 2, keyed ok in 2", "{status}");
        }
    }
    // Longer than there is time: told at once.
    for wait in ["60".to_owned(), date(60)] {
        let service = Service::start(once(Act::with(429, "retry-after", wait))).await;
        let world = World::new(&three(&service.url("/x"), SHORT));
        let report = world.call("read").await;
        assert_eq!(report.marks, ["not retried: it could not end in time"]);
        let failure = report.result.unwrap_err();
        assert!(failure.retry_after.is_some_and(|wait| wait > Duration::from_secs(50)));
        assert!(failure.say.as_str().contains("it can be asked again in"), "{failure}");
    }
}

#[tokio::test]
async fn a_failing_service_is_asked_again_by_who_may() {
    for status in [500, 502, 503, 504] {
        let fared = fare(Act::json(status, "{}"), SHORT).await;
        assert_eq!(fared, "read ok in 2, write upstream.5xx Unknown in 1, keyed ok in 2", "{status}");
    }
    for status in [408, 425, 429] {
        let fared = fare(Act::json(status, "{}"), SHORT).await;
        assert_eq!(fared, "read ok in 2, write ok in 2, keyed ok in 2", "{status}");
    }
}

#[tokio::test]
async fn an_answer_that_is_of_no_use_is_not_asked_for_again() {
    let elsewhere = Service::start(|_| Act::json(200, "{\"secret\": 1}")).await;
    let acts = [
        Act::json(200, "{\"half\": "),
        Act::json(200, "<html>"),
        Act::Huge,
        Act::with(302, "location", elsewhere.url("/admin")),
        Act::with(307, "location", "http://[::1]:1/"),
    ];
    for act in acts {
        let shown = format!("{act:?}");
        let fared = fare(act, "timeout: 20s, retries: 1, retry_interval: 1ms").await;
        let one = "upstream.broken Unknown in 1";
        assert_eq!(fared, format!("read {one}, write {one}, keyed {one}"), "{shown}");
    }
    for status in [400, 401, 403, 404, 409, 410, 422] {
        let fared = fare(Act::json(status, "{}"), SHORT).await;
        let one = "upstream.4xx Unknown in 1";
        assert_eq!(fared, format!("read {one}, write {one}, keyed {one}"), "{status}");
    }
    assert_eq!(elsewhere.count(), 0, "no redirect is followed");
}

#[tokio::test]
async fn a_service_that_is_not_there_is_asked_again_by_everybody() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let world = World::new(&three(&format!("http://{unused}/"), SHORT));
    for tool in ["read", "write", "keyed"] {
        assert_eq!(word(&world.call(tool).await), "upstream.unreachable None in 2");
    }
}

/// Looks names up for ever.
struct SlowNames(Arc<AtomicUsize>);

impl reqwest::dns::Resolve for SlowNames {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}

struct WithClient(Client);

impl Build for WithClient {
    fn build(&self, spec: &Spec) -> Result<Arc<dyn Endpoint>, Finding> {
        let EndpointSpec::Http(http) = &spec.endpoint else { panic!("not http") };
        Ok(Arc::new(Http::build(spec, http, self.0.clone(), Endpoints::new().credentials.as_ref())?))
    }
}

#[tokio::test]
async fn a_call_that_never_left_us_is_known_to_have_done_nothing() {
    let lookups = Arc::new(AtomicUsize::new(0));
    let _ = Endpoints::new();
    let client = Client::builder().no_proxy().dns_resolver(Arc::new(SlowNames(lookups.clone()))).build().unwrap();
    let world = World::built_by(WithClient(client), &three("http://slow.test/", SHORT));
    let report = world.call("write").await;
    assert_eq!((word(&report).as_str(), lookups.load(Ordering::SeqCst)), ("timeout None in 2", 2));
    let failure = report.result.unwrap_err();
    assert_eq!(failure.to_string(), "'write' did not answer within 150 ms; nothing was sent");
    // Somebody answers the call and never says hello.
    let address = rude("", false).await;
    let world = World::new(&three(&format!("https://{address}/"), SHORT));
    assert_eq!(word(&world.call("write").await), "timeout None in 2");
}

#[tokio::test]
async fn bodies_arrive_whole_and_with_their_length() {
    let service = Service::start(|_| Act::json(200, "{}")).await;
    let world = World::new(&three(&service.url("/x"), "timeout: 20s"));
    let text = "ж".repeat(200_000);
    for args in [json!({}), json!({ "a": 1 }), json!({ "text": text })] {
        assert_eq!(word(&world.call_with("write", args.clone()).await), "ok in 1");
        let asked = service.asked().pop().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&asked.body).unwrap(), args);
        assert_eq!(asked.header("content-length"), Some(asked.body.len().to_string().as_str()));
        assert_eq!(asked.header("transfer-encoding"), None);
    }
}

#[tokio::test]
async fn a_dead_service_is_left_alone_by_all_its_tools() {
    let service = Service::start(|_| Act::json(500, "{}")).await;
    let breaker = "circuit_breaker: { failure_threshold: 5, cooldown: 1h, scope: host }";
    let world = World::new(&three(&service.url("/x"), &format!("{SHORT}, {breaker}")));
    let mut open = 0;
    for n in 0..200 {
        let report = world.call(["read", "write", "keyed"][n % 3]).await;
        open += usize::from(report.result.unwrap_err().code == Code::BreakerOpen);
    }
    assert_eq!(service.count(), 5);
    assert!(open >= 195, "{open}");
}

#[tokio::test]
async fn few_faults_are_made_up_for() {
    let service = Service::start(|ask| match ask.n % 20 {
        3 => Act::json(500, "{}"),
        11 => Act::Close,
        _ => Act::json(200, "{}"),
    })
    .await;
    let world = World::new(&three(&service.url("/x"), "timeout: 20s, retries: 2, retry_interval: 1ms"));
    for _ in 0..100 {
        assert!(world.call("read").await.result.is_ok());
    }
    assert!(service.count() > 105);
}

#[tokio::test]
async fn a_stop_ends_a_call_wherever_it_is() {
    for act in [Act::Hang, Act::HangInBody, Act::with(429, "retry-after", "15")] {
        let service = Service::start(move |_| act.clone()).await;
        let world = World::new(&three(&service.url("/x"), "timeout: 30s, retries: 1"));
        let stop = async {
            while service.count() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            world.bench.cancel.cancel();
        };
        let (report, ()) = tokio::join!(world.call("write"), stop);
        assert_eq!(report.result.unwrap_err().code, Code::Cancelled);
        assert_eq!(service.count(), 1);
    }
}
