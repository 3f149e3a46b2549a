//! The launcher alone, as the binary has it: `confine confine PLAN -- PROGRAM ARGS`. The tests of this crate start it.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    match args.as_slice() {
        [word, plan, dashes, argv @ ..] if word == "confine" && dashes == "--" => {
            endpoints::command::launch::run(&plan.to_string_lossy(), argv).into()
        }
        _ => ExitCode::from(2),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::from(2)
}
