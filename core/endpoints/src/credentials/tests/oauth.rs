//! Access tokens: got once, renewed in time, shared, and what is said when there is none.

use super::*;

#[tokio::test]
async fn one_token_serves_all_callers() {
    let service = Service::start().await;
    service.gives(&[(200, r#"{"access_token":"token-one","token_type":"bearer","expires_in":3600}"#)]);
    service.world.slow_ms.store(50, Ordering::SeqCst);
    let tool = service.with_oauth(service.oauth());
    let sent = futures_util::future::join_all((0..50).map(|_| send(&tool))).await;
    assert!(sent.iter().all(Result::is_ok));
    assert_eq!(
        service.token_asked(),
        ["Basic dG9vbGdhdGUlM0ExOmNsaWVudC1zZWNyZXQtNzc= grant_type=client_credentials&scope=read+write"]
    );
    assert!(service.asked().iter().all(|ask| ask == "/orders Bearer token-one"));
}

#[tokio::test]
async fn a_client_may_show_itself_in_the_form() {
    let service = Service::start().await;
    service.gives(&[(200, "access_token=token-two&token_type=bearer")]);
    let oauth = OAuth {
        client_auth: ClientAuth::Body,
        audience: Some("https://api".into()),
        params: vec![("resource".into(), "a b".into())],
        scopes: vec![],
        ..service.oauth()
    };
    send(&service.with_oauth(oauth)).await.unwrap();
    let wanted = " grant_type=client_credentials&audience=https%3A%2F%2Fapi&resource=a+b&client_id=toolgate%3A1\
        &client_secret=client-secret-77";
    assert_eq!(service.token_asked(), [wanted]);
}

/// Moves the clock while nothing is on its way.
async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let service = Service::start().await;
    let answer = |n: u32| format!(r#"{{"access_token":"token-number-{n}","expires_in":600}}"#);
    service.gives(&[(200, &answer(1)), (500, "away"), (500, "away"), (200, &answer(2)), (200, &answer(3))]);
    let tool = service.with_oauth(service.oauth());
    let token = async || {
        send(&tool).await.unwrap();
        service.asked().concat().rsplit('-').next().unwrap_or_default().to_owned()
    };
    assert_eq!(token().await, "1");
    later(530).await;
    assert_eq!((token().await, service.token_asked().len()), ("1".to_owned(), 1));
    // Within the last minute; whoever gives out tokens is away, and the old one is good.
    later(20).await;
    assert_eq!((token().await, service.token_asked().len()), ("1".to_owned(), 2));
    assert_eq!((token().await, service.token_asked().len()), ("1".to_owned(), 0));
    later(11).await;
    assert_eq!((token().await, service.token_asked().len()), ("2".to_owned(), 1));
    later(598).await;
    assert_eq!((token().await, service.token_asked().len()), ("3".to_owned(), 1));
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_the_request_sent_once_more() {
    let service = Service::start().await;
    service.gives(&[
        (200, r#"{"access_token":"token-a","expires_in":600}"#),
        (200, r#"{"access_token":"token-b","expires_in":600}"#),
    ]);
    let tool = service.with_oauth(service.oauth());
    send(&tool).await.unwrap();
    service.accepts("Bearer token-b");
    service.asked();
    let sent = futures_util::future::join_all((0..10).map(|_| send(&tool))).await;
    assert!(sent.iter().all(Result::is_ok));
    assert_eq!(service.token_asked().len(), 2);
    service.asked();
    // Nothing that is given out is accepted: no caller asks for more than the first did.
    service.accepts("Bearer another");
    let failure = send(&tool).await.unwrap_err();
    assert_eq!(failure.code, contract::Code::Upstream4xx);
    assert_eq!((service.asked().len(), service.token_asked().len()), (2, 1));
    send(&tool).await.unwrap_err();
    assert_eq!((service.asked().len(), service.token_asked().len()), (1, 0));
}

#[tokio::test]
async fn whoever_gives_no_token_is_ours_to_ask_about() {
    let service = Service::start().await;
    for (answer, wanted) in [
        (
            (401, r#"{"error":"invalid_client","error_description":"bad secret client-secret-77"}"#),
            "no access token: 401: invalid_client: bad secret ***",
        ),
        ((200, r#"{"error":"invalid_scope"}"#), "no access token: invalid_scope"),
        ((200, "<html>"), "no access token: its answer is not readable: <html>"),
        ((302, ""), "no access token: 302: "),
        ((503, "away"), "no access token: 503: away"),
    ] {
        service.gives(&[answer]);
        let failure = send(&service.with_oauth(service.oauth())).await.unwrap_err();
        assert_eq!(failure.cause.for_operator(), wanted);
        assert_eq!(failure.say.as_str(), "'orders' cannot be asked: the gateway cannot prove who it is there");
        assert_eq!((failure.code, failure.effect), (contract::Code::Unavailable, Effect::None));
    }
    assert!(service.asked().is_empty());
    // What passes is asked twice, and by one of all that wait.
    service.gives(&[(503, "away")]);
    service.token_asked();
    let tool = service.with_oauth(service.oauth());
    let sent = futures_util::future::join_all((0..20).map(|_| send(&tool))).await;
    assert!(sent.iter().all(Result::is_err));
    assert_eq!(service.token_asked().len(), 2);
    let away = OAuth { token_url: "http://127.0.0.1:1/token".parse().unwrap(), ..service.oauth() };
    let failure = send(&service.with_oauth(away)).await.unwrap_err();
    assert!(failure.cause.for_operator().starts_with("no access token: "));
    assert!(!failure.cause.for_operator().contains("127.0.0.1"), "{}", failure.cause.for_operator());
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_take_the_token_along() {
    let service = Service::start().await;
    service.gives(&[(200, r#"{"access_token":"token-c","expires_in":600}"#)]);
    service.world.slow_ms.store(100, Ordering::SeqCst);
    let tool = Arc::new(service.with_oauth(service.oauth()));
    let first = tool.clone();
    let first = tokio::spawn(async move { send(&first).await });
    while service.world.token_asks.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let second = send(&tool);
    first.abort();
    second.await.unwrap();
    assert_eq!(service.asked(), ["/orders Bearer token-c"]);
}

/// Where a few replicas leave tokens for each other.
#[derive(Default)]
struct Shelf(Mutex<BTreeMap<String, SharedToken>>);

#[async_trait]
impl TokenShare for Shelf {
    async fn get(&self, key: &str) -> Option<SharedToken> {
        self.0.lock().unwrap().get(key).cloned()
    }

    async fn put(&self, key: &str, token: &SharedToken) {
        self.0.lock().unwrap().insert(key.to_owned(), token.clone());
    }
}

#[tokio::test]
async fn replicas_share_a_token_and_what_replaces_it() {
    let service = Service::start().await;
    service.gives(&[
        (200, r#"{"access_token":"shared-a","expires_in":600}"#),
        (200, r#"{"access_token":"shared-b","expires_in":600}"#),
    ]);
    let shelf: Arc<dyn TokenShare> = Arc::new(Shelf::default());
    let replica = || {
        let settings = settings(Kind::OAuth(Box::new(service.oauth())), &[]);
        let all = BTreeMap::from([("api".to_owned(), settings)]);
        built(&service.url("/orders"), Credentials::with_share(all, Some(shelf.clone()))).unwrap()
    };
    let (one, other) = (replica(), replica());
    send(&one).await.unwrap();
    send(&other).await.unwrap();
    assert_eq!(service.token_asked().len(), 1);
    service.accepts("Bearer shared-b");
    send(&one).await.unwrap();
    send(&other).await.unwrap();
    assert_eq!(service.token_asked().len(), 1);
}
