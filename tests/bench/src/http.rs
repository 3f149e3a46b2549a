//! An HTTP tool through the whole path, beside the same request made bare.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Json, Router, routing::post};
use serde_json::{Value, json};
use testkit::{InABox, Setup};

use crate::{
    figures::{note, row},
    nowhere::without_trees,
};

async fn service() -> SocketAddr {
    let app = Router::new().route("/echo", post(|Json(body): Json<Value>| async move { Json(json!({ "got": body })) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
    let addr = listener.local_addr().expect("a bound listener has an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    addr
}

async fn gateway(addr: SocketAddr, with_trees: bool) -> InABox {
    let tools = format!(
        "name: echo\ntoolset: lab\ndescription: Gives back what it is sent\npermissions: [read]\n\
         parameters: {{ type: object, properties: {{ a: {{ type: string }}, b: {{ type: integer }} }} }}\n\
         endpoint: {{ method: POST, url: 'http://{addr}/echo' }}\nexecution: {{ idempotent: true }}\n"
    );
    let stores = store::open("sqlite::memory:", store::Options::default()).await.expect("sqlite opens");
    let stores = if with_trees { stores } else { without_trees(stores) };
    Setup { tools, ..Setup::new(stores) }.start()
}

pub async fn run() {
    let addr = service().await;
    let bare_trees = Arc::new(gateway(addr, false).await);
    let gateway = Arc::new(gateway(addr, true).await);
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().expect("a plain client can be built");
    let url = format!("http://{addr}/echo");
    let args = json!({ "a": "text", "b": 3 });
    let bare = async || {
        let answer = client.post(&url).json(&args).send().await.expect("loopback answers");
        answer.json::<Value>().await.expect("the answer is JSON")
    };
    let mut samples = (Vec::new(), Vec::new());
    let mut took = (Duration::ZERO, Duration::ZERO);
    // One after the other in turns, so that noise falls on both.
    for round in 0..3_000 {
        let began = Instant::now();
        bare().await;
        let bare = began.elapsed();
        let began = Instant::now();
        let outcome = gateway.invoke("echo", args.clone()).await;
        let through = began.elapsed();
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        if round >= 500 {
            samples.0.push(bare);
            samples.1.push(through);
            took.0 += bare;
            took.1 += through;
        }
    }
    let middle = |samples: &[Duration]| {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let over = middle(&samples.1).saturating_sub(middle(&samples.0));
    row("HTTP request, bare client", samples.0, took.0);
    row("HTTP tool, whole path", samples.1, took.1);
    note("the path adds (difference of p50)", crate::figures::shown(over));
    let (client, url, again) = (client.clone(), url.clone(), args.clone());
    let bare = throughput(64, 20_000, move || {
        let args = again.clone();
        let (client, url, args) = (client.clone(), url.clone(), args);
        async move {
            let answer = client.post(&url).json(&args).send().await.expect("loopback answers");
            answer.json::<Value>().await.expect("the answer is JSON");
        }
    })
    .await;
    note("64 in flight, bare client, per second", format!("{bare:.0}"));
    for (how, gateway) in [("", bare_trees), (", trees to SQLite", gateway)] {
        let again = args.clone();
        let through = throughput(64, 20_000, move || {
            let (gateway, args) = (gateway.clone(), again.clone());
            async move {
                gateway.invoke("echo", args).await;
            }
        })
        .await;
        note(&format!("64 in flight, whole path{how}, per second"), format!("{through:.0}"));
        note(&format!("of the bare client's throughput{how}"), format!("{:.0} %", through / bare * 100.0));
    }
}

async fn throughput<F: Future<Output = ()> + Send + 'static>(
    at_once: usize,
    total: usize,
    work: impl Fn() -> F + Clone + Send + 'static,
) -> f64 {
    let began = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let work = work.clone();
            tokio::spawn(async move {
                for _ in 0..total / at_once {
                    work().await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a task of requests ends");
    }
    total as f64 / began.elapsed().as_secs_f64()
}
