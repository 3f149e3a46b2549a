//! How figures are taken and printed.

use std::time::{Duration, Instant};

/// A no-op with five fields, and a sleep.
pub const TOOLS: &str = "
name: sleep
toolset: lab
description: Sleeps for some milliseconds
permissions: [read]
parameters: { type: object, required: [ms], properties: { ms: { type: integer } } }
endpoint: { type: native, name: sleep }
---
name: noop
toolset: lab
description: Does nothing, with five fields to check
permissions: [read]
parameters:
  type: object
  required: [a]
  properties:
    a: { type: string }
    b: { type: integer }
    c: { type: boolean }
    d: { type: array, items: { type: number } }
    e: { type: string, enum: [x, y] }
endpoint: { type: native, name: noop }
";

/// Prints a row of durations.
pub fn row(name: &str, mut samples: Vec<Duration>, took: Duration) {
    samples.sort_unstable();
    let at =
        |percent: usize| samples.get((samples.len() * percent / 100).min(samples.len().saturating_sub(1))).copied();
    let per_second = samples.len() as f64 / took.as_secs_f64();
    println!(
        "{name:<58} {:>12} {:>12} {per_second:>12.0}",
        at(50).map(shown).unwrap_or_default(),
        at(99).map(shown).unwrap_or_default()
    );
}

/// Prints a single figure.
pub fn note(name: &str, figure: impl std::fmt::Display) {
    println!("{name:<58} {figure:>12}");
}

pub fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        us if us < 1_000.0 => format!("{us:.2} µs"),
        us if us < 1_000_000.0 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

/// Runs `work` so many times and keeps each time.
pub fn sample(times: usize, mut work: impl FnMut()) -> (Vec<Duration>, Duration) {
    let began = Instant::now();
    let samples = (0..times)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    (samples, began.elapsed())
}
