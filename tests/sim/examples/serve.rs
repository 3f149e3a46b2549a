//! Runs the simulators until Ctrl+C: `cargo run -p sim --example serve -- 127.0.0.1:8081`.
#![allow(clippy::print_stdout)] // the address is this program's output

use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = sim::Options::default();
    if let Some(listen) = std::env::args().nth(1) {
        options.listen = listen.parse()?;
    }
    let shutdown = CancellationToken::new();
    let running = sim::serve(options, shutdown.clone()).await?;
    println!("{}", running.url);
    tokio::signal::ctrl_c().await?;
    shutdown.cancel();
    running.join().await;
    Ok(())
}
