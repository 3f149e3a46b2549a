//! What the guard is good for, and what it costs: few faults made up for by retries, a dead service left alone, and one
//! call with everything on beside the same call with nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fake::service::{Act, Asked, Service};
use futures_util::{StreamExt, stream};
use serde_json::json;
use testkit::{InABox, Setup};

use crate::{
    figures::{note, row, shown},
    nowhere::without_trees,
};

const CALLS: usize = 10_000;
const AT_ONCE: usize = 16;

pub async fn run() {
    faults().await;
    dead().await;
    cost().await;
}

async fn gateway(tools: String) -> InABox {
    let stores = store::open("sqlite::memory:", store::Options::default()).await.expect("sqlite opens");
    let gateway = Setup { tools, ..Setup::new(without_trees(stores)) }.start();
    while gateway.gateway.partitions_held() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    gateway
}

/// Tools that read at the service, by their names and what their guard is to do.
fn readers(service: &Service, tools: &[(&str, &str)]) -> String {
    let spec = |(name, execution): &(&str, &str)| {
        format!(
            "name: {name}\ntoolset: lab\ndescription: Reads what there is at a service\nparameters: {{}}\n\
             endpoint: {{ url: '{}' }}\nexecution: {{ {execution} }}\n",
            service.url("/x")
        )
    };
    tools.iter().map(spec).collect::<Vec<_>>().join("---\n")
}

/// How many of so many calls went well.
async fn well(gateway: &InABox, tool: &str) -> usize {
    let calls = stream::iter(0..CALLS).map(|_| gateway.invoke(tool, json!({})));
    calls.buffer_unordered(AT_ONCE).filter(|outcome| std::future::ready(outcome.result.is_ok())).count().await
}

/// Of a hundred requests five go wrong, spread out, each in another way.
fn troubled(ask: &Asked) -> Act {
    let mixed = (ask.n as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match (mixed >> 32) % 100 {
        0 => Act::json(500, "{}"),
        1 => Act::json(503, "{}"),
        2 => Act::Close,
        3 => Act::Reset,
        4 => Act::json(429, "{}"),
        _ => Act::json(200, "{\"a\": 1}"),
    }
}

async fn faults() {
    let service = Service::start(troubled).await;
    let tools = [("once", "timeout: 10s"), ("thrice", "timeout: 10s, retries: 2, retry_interval: 2ms")];
    let gateway = gateway(readers(&service, &tools)).await;
    for (tool, how) in [("once", "no retries"), ("thrice", "two retries")] {
        let before = service.count();
        let well = well(&gateway, tool).await;
        note(
            &format!("guard: 10,000 calls with 5 % faults, {how}, went well"),
            format!("{:.2} %", well as f64 / CALLS as f64 * 100.0),
        );
        note("  requests for each call", format!("{:.3}", (service.count() - before) as f64 / CALLS as f64));
    }
}

async fn dead() {
    let service = Service::start(|_| Act::json(500, "{}")).await;
    let retries = "timeout: 10s, retries: 2, retry_interval: 2ms";
    let breaker = format!("{retries}, circuit_breaker: {{ failure_threshold: 5, cooldown: 1s }}");
    let gateway = gateway(readers(&service, &[("plain", retries), ("broken", &breaker)])).await;
    let mut loads = Vec::new();
    for (tool, how) in [("plain", "no breaker"), ("broken", "a breaker")] {
        let before = service.count();
        well(&gateway, tool).await;
        loads.push(service.count() - before);
        note(&format!("guard: 10,000 calls to a dead service, {how}, requests"), service.count() - before);
    }
    let less = 100.0 - loads[1] as f64 / loads[0].max(1) as f64 * 100.0;
    note("  less load on it with the breaker", format!("{less:.2} %"));
}

const EVERYTHING: &str = "idempotent: true, timeout: 30s, total_timeout: 70s, retries: 2, concurrency_limit: 64, \
                          rate_limit: 100000000/s, resource: 'noop:{a}', \
                          circuit_breaker: { failure_threshold: 5, failure_rate: 50%, cooldown: 60s }";

async fn cost() {
    let spec = |name: &str, execution: &str| {
        format!(
            "name: {name}\ntoolset: lab\ndescription: Does nothing at all\npermissions: [read]\n\
             parameters: {{ type: object, properties: {{ a: {{ type: string }} }} }}\n\
             endpoint: {{ type: native, name: noop }}\nexecution: {{ {execution} }}\n"
        )
    };
    let tools = spec("bare", "idempotent: true") + "---\n" + &spec("guarded", EVERYTHING);
    let gateway = Arc::new(gateway(tools).await);
    let mut samples = [Vec::new(), Vec::new()];
    // By turns, so that noise falls on both.
    for round in 0..30_000 {
        for (tool, samples) in ["bare", "guarded"].into_iter().zip(&mut samples) {
            let began = Instant::now();
            let outcome = gateway.invoke(tool, json!({ "a": "x" })).await;
            let took = began.elapsed();
            assert!(outcome.result.is_ok(), "{:?}", outcome.result);
            if round >= 2_000 {
                samples.push(took);
            }
        }
    }
    let middle = |samples: &[Duration]| {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let over = middle(&samples[1]).saturating_sub(middle(&samples[0]));
    let [bare, guarded] = samples;
    for (name, samples) in [("guard: one call, nothing on", bare), ("guard: one call, everything on", guarded)] {
        let all = samples.iter().sum();
        row(name, samples, all);
    }
    note("  the guard adds (difference of p50)", shown(over));
}
