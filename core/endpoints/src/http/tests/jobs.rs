//! Jobs of a service: begun, asked about, called off.

use axum::{
    extract::Path,
    routing::{get, post},
};
use tools::{Fault, Output, Polled};

use super::*;

/// A service whose jobs stand as their names say.
async fn service() -> (String, Asks) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asks = Asks::default();
    let of = asks.clone();
    let stands = async move |Path(job): Path<String>, ask: Asked| {
        of.lock().unwrap().push(format!("{} {}", ask.method(), ask.uri()));
        let answer = match job.as_str() {
            "done" => json!({ "status": "done", "result": { "rows": 1 } }),
            "empty" => json!({ "status": "done" }),
            "bad" => json!({ "status": "failed", "why": "no paper" }),
            _ => json!({ "status": "running", "so_far": "3 of 9" }),
        };
        Answer::builder().header("retry-after", "7").body(Body::from(answer.to_string())).unwrap()
    };
    let app = Router::new().route("/jobs/{job}", get(stands.clone()).delete(stands));
    let app = app.route(
        "/begin/{kind}",
        post(async |Path(kind): Path<String>| match kind.as_str() {
            "at-once" => json!({ "status": "done", "result": { "rows": 2 } }).to_string(),
            "nameless" => json!({ "status": "running" }).to_string(),
            "climbing" => json!({ "job": "../../admin" }).to_string(),
            number => json!({ "job": number }).to_string(),
        }),
    );
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, asks)
}

fn tool(url: &str) -> Http {
    let yaml = "name: make\ndescription: d\nparameters: { properties: { kind: {} } }\n\
                endpoint: { method: POST, url: \"URL/begin/{kind}\" }\n\
                execution: { async: { id: /job, poll: { url: \"URL/jobs/{id}\" }, progress: /so_far, \
                done: \"/status == 'done'\", failed: \"/status == 'failed'\", result: /result, \
                cancel: { url: \"URL/jobs/{id}\" } } }\n";
    build(&yaml.replace("URL", url)).unwrap()
}

async fn begin(http: &Http, kind: &str) -> Result<Output, Failure> {
    let bench = Bench::new();
    let args = json!({ "kind": kind });
    let answer = http.send(&args, &bench.cx()).await.map_err(Failure::from)?;
    http.begun(http.jobs.as_ref().unwrap(), &args, answer).map_err(Failure::from)
}

async fn stands(http: &Http, kind: &str) -> Polled {
    let Ok(Output::Job(handle)) = begin(http, kind).await else { panic!("'{kind}' is no job") };
    http.poll(&handle, &Bench::new().cx()).await.unwrap()
}

#[tokio::test]
async fn a_job_is_asked_about_and_called_off_by_its_name() {
    let (url, asks) = service().await;
    let http = tool(&url);
    match stands(&http, "a b").await {
        Polled::Waits { said, after } => {
            assert_eq!((said.as_deref(), after), (Some("3 of 9"), Some(Duration::from_secs(7))));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(stands(&http, "done").await, Polled::Done(value) if value == json!({ "rows": 1 })));
    assert!(matches!(stands(&http, "bad").await, Polled::Failed(_)));
    let Ok(Output::Job(handle)) = begin(&http, "17").await else { panic!("no job") };
    http.give_up(&handle, &Bench::new().cx()).await.unwrap();
    let asked = std::mem::take(&mut *asks.lock().unwrap());
    assert_eq!(asked, ["GET /jobs/a%20b", "GET /jobs/done", "GET /jobs/bad", "DELETE /jobs/17"]);
}

#[tokio::test]
async fn an_answer_may_be_the_result_at_once_and_has_to_name_the_job_otherwise() {
    let (url, _) = service().await;
    let http = tool(&url);
    assert_eq!(begin(&http, "at-once").await.unwrap(), Output::Done(json!({ "rows": 2 })));
    for kind in ["nameless", "climbing"] {
        let failure = begin(&http, kind).await.unwrap_err();
        assert_eq!((failure.code, failure.effect), (Code::UpstreamBroken, contract::Effect::Unknown), "{kind}");
    }
}

#[tokio::test]
async fn a_handle_leads_to_no_other_host() {
    let (url, asks) = service().await;
    let handle = json!({ "poll": format!("{url}/jobs/1") }).to_string();
    let failure = tool("http://127.0.0.1:1").poll(&handle, &Bench::new().cx()).await.unwrap_err();
    assert_eq!(failure.failure().code, Fault::Unusable.code());
    assert!(asks.lock().unwrap().is_empty());
}
