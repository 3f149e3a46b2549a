//! One call to a native no-op: permit, coercion, validation, node. Tool lists. Batches of sleeps.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use contract::Platform;
use endpoints::Endpoints;
use serde_json::{Value, json};
use testkit::{InABox, Setup, caller};

use crate::{
    figures::{TOOLS, note, row, sample, shown},
    nowhere::without_trees,
};

fn args() -> Value {
    json!({ "a": "text", "b": 3, "c": true, "d": [1, 2.5], "e": "x" })
}

async fn gateway(with_trees: bool, setup: impl FnOnce(Setup) -> Setup) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.expect("sqlite opens");
    let stores = if with_trees { stores } else { without_trees(stores) };
    let gateway = setup(Setup { tools: TOOLS.into(), ..Setup::new(stores) }).start();
    while gateway.gateway.partitions_held() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    gateway
}

pub async fn run() {
    one_call(false, "").await;
    one_call(true, ", trees to SQLite behind").await;
    lists();
    batches().await;
}

async fn one_call(with_trees: bool, how: &str) {
    let gateway = gateway(with_trees, |s| s).await;
    for _ in 0..2_000 {
        gateway.invoke("noop", args()).await;
    }
    let mut samples = Vec::with_capacity(20_000);
    let all = Instant::now();
    for _ in 0..20_000 {
        let began = Instant::now();
        gateway.invoke("noop", args()).await;
        samples.push(began.elapsed());
        // As much as the flusher is given on a gateway that is not saturated.
        if samples.len() % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let alone = 20_000.0 / all.elapsed().as_secs_f64();
    row(&format!("one call, native no-op, five fields{how}"), samples, all.elapsed());
    let gateway = Arc::new(gateway);
    let all = Instant::now();
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let gateway = gateway.clone();
            tokio::spawn(async move {
                for n in 0..20_000 {
                    gateway.invoke("noop", args()).await;
                    if n % 64 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a task of calls ends");
    }
    let both = 40_000.0 / all.elapsed().as_secs_f64();
    note(&format!("two tasks, times one{how}"), format!("{:.2} x", both / alone));
}

fn seventy(prefix: &str) -> String {
    let spec = |n: usize| {
        format!(
            "name: {prefix}_{n}\ntoolset: lab\ndescription: The tool number {n} of a long list\npermissions: [read]\n\
             parameters: {{ type: object, properties: {{ city: {{ type: string }}, days: {{ type: integer }} }} }}\n\
             endpoint: {{ type: native, name: noop }}\n"
        )
    };
    (0..70).map(spec).collect::<Vec<_>>().join("---\n")
}

fn lists() {
    let policies = [testkit::allow_lab(Platform::Api)];
    let who = caller(Platform::Api);
    let tools = seventy("tool");
    let mut first = Vec::new();
    for generation in 0..200 {
        let snapshot = Setup::snapshot(&tools, &policies, Endpoints::new(), generation);
        let began = Instant::now();
        std::hint::black_box(snapshot.list(&who));
        first.push(began.elapsed());
    }
    let all = first.iter().sum();
    row("tool list of 70 tools, first after a change", first, all);
    let snapshot = Setup::snapshot(&tools, &policies, Endpoints::new(), 1);
    let (samples, all) = sample(100_000, || {
        std::hint::black_box(snapshot.list(&who));
    });
    row("tool list of 70 tools, cached", samples, all);
}

async fn batches() {
    let policy = "platform: api\ntoolsets: { allow: [lab] }\nlimits: { concurrent_calls: 32 }\n";
    let gateway = gateway(true, |s| Setup { policies: vec![("api.yaml".into(), policy.into())], ..s }).await;
    let text = vec!["/sleep 50"; 32].join("\n");
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let began = Instant::now();
        gateway.say(&text).await;
        best = best.min(began.elapsed());
    }
    note("32 x 50 ms at concurrency 32, whole turn, best of 10", shown(best));
}
