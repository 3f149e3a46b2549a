//! A short week in fast motion; `cargo run --release -p conformance --example week` lives a long one.

use conformance::week::{Week, gateway, simulators};
use contract::Platform;
use tokio_util::sync::CancellationToken;

cases! {
    "A week in fast motion";
    connections_end_over_and_over_and_every_message_is_answered_once: "D3 D5 D8 D9";
}

async fn connections_end_over_and_over_and_every_message_is_answered_once(platform: Platform) {
    let shutdown = CancellationToken::new();
    let sim = sim::serve(simulators(), shutdown.clone()).await.expect("the simulators start");
    let gateway = gateway(platform, &sim.url).await;
    // Connections end in each way at least once: Discord knows 17.
    let reconnects = if platform == Platform::Discord { 20 } else { 13 };
    let told = Week { platform, reconnects, people: 12 }.live(&sim.url, |_, _, _| ()).await;
    assert!(told.kinds.len() >= 11, "{:?}", told.kinds);
    assert!(told.is_right(), "{:#}", told.as_json());
    let (messages, several) = gateway.runs.count();
    assert_eq!((messages, several), (told.said, Vec::new()), "each message ran its tool once");
    gateway.end().await;
    // On a machine that is busy a heart may beat late; that is noticed, and mended as any other end.
    conformance::People::new(platform, &sim.url).is_content_but_for(&["heartbeat"]).await;
    shutdown.cancel();
    sim.join().await;
}
