//! Benchmarks: `cargo run --release -p bench [NAME…]`. They print figures and assert nothing; machines differ, so
//! compare figures of one run with each other.
#![expect(clippy::print_stdout, reason = "figures go to standard output")]

mod calls;
mod figures;
mod guard;
mod hooks;
mod http;
mod idle;
mod inbound;
mod load;
mod nowhere;
mod outlet;
mod rendering;
mod thinking;
mod turns;

/// The same as the binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    rustls::crypto::ring::default_provider().install_default().expect("no other provider is installed in this process");
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.starts_with(w.as_str()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime of two threads can be made");
    if wanted.iter().any(|word| word == idle::SERVE) {
        return runtime.block_on(idle::serve());
    }
    if let [word, platform] = &wanted[..]
        && word == idle::ONE
    {
        return runtime.block_on(idle::one(platform));
    }
    println!("{:<58} {:>12} {:>12} {:>12}", "", "p50", "p99", "per second");
    if wants("calls") {
        runtime.block_on(calls::run());
    }
    if wants("http") {
        runtime.block_on(http::run());
    }
    if wants("guard") {
        runtime.block_on(guard::run());
    }
    if wants("turns") {
        runtime.block_on(turns::run());
        runtime.block_on(thinking::run());
    }
    if wanted.iter().any(|word| word == "thinking") {
        runtime.block_on(thinking::run());
    }
    if wants("rendering") {
        rendering::run();
    }
    if wants("inbound") {
        inbound::run();
    }
    if wants("hooks") {
        runtime.block_on(hooks::run());
    }
    // Only when it is asked for: it takes a minute.
    if wanted.iter().any(|word| word == "idle") {
        idle::run();
    }
}
