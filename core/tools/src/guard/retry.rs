//! What a failed attempt says of the next one, and of the service. Pure but for chance.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

use contract::{Code, Effect};

use super::{attempt::End, breaker::Verdict};
use crate::{endpoint::Fault, spec::Execution};

/// Longest wait between attempts that nobody asked for.
pub const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Whether an attempt may be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It was surely not carried out.
    Always,
    /// Nobody knows whether it was.
    IfRepeatable,
    /// It would end in the same way, or nobody wants it any more.
    Never,
}

/// `effect` is what may have happened in an attempt that did not end by itself.
pub fn again(end: &End, effect: Effect) -> Again {
    let doubtful = |effect| match effect {
        Effect::None => Again::Always,
        Effect::Unknown => Again::IfRepeatable,
    };
    match end {
        End::Late => doubtful(effect),
        End::Done(_) | End::Job(_) | End::Cancelled | End::Panicked(_) => Again::Never,
        End::Failed(failure) => match failure.fault() {
            Some(Fault::Unreachable | Fault::RateLimited) => Again::Always,
            Some(Fault::Refused) => match failure.status_code() {
                Some(408 | 425) => Again::Always,
                Some(_) | None => Again::Never,
            },
            Some(Fault::Failed) if failure.status_code() == Some(503) && failure.failure().retry_after.is_some() => {
                Again::Always
            }
            Some(Fault::Failed | Fault::Timeout | Fault::Broken) => doubtful(failure.failure().effect),
            Some(
                Fault::Crashed
                | Fault::Reported
                | Fault::Unusable
                | Fault::Busy
                | Fault::Returns
                | Fault::OutcomeUnknown
                | Fault::Cancelled
                | Fault::StepFailed
                | Fault::Unavailable
                | Fault::DeliveryRefused,
            )
            | None => Again::Never,
        },
    }
}

/// What the end says of the service; `is_fair` when it had the time to answer.
pub fn verdict(end: &End, is_fair: bool) -> Verdict {
    match end {
        End::Done(_) | End::Job(_) => Verdict::Well,
        End::Late if is_fair => Verdict::Failed,
        End::Late | End::Cancelled | End::Panicked(_) => Verdict::Neither,
        End::Failed(failure) => match failure.fault() {
            Some(Fault::Unreachable | Fault::Failed | Fault::Timeout | Fault::Broken) => Verdict::Failed,
            Some(_) | None => Verdict::Neither,
        },
    }
}

/// Whether it is open if the attempt took effect. A service that answered has decided.
pub fn is_open(end: &End, effect: Effect) -> bool {
    match end {
        End::Late | End::Cancelled | End::Panicked(_) => effect == Effect::Unknown,
        End::Failed(failure) => {
            let open = matches!(failure.fault(), Some(Fault::Timeout | Fault::Broken | Fault::OutcomeUnknown));
            open && failure.failure().effect == Effect::Unknown
        }
        End::Done(_) | End::Job(_) => false,
    }
}

/// How long to wait before the attempt after `attempts`. What the service asks for is the least, and chance comes on
/// top, so that not all who were told to wait come back at once.
pub fn wait(execution: &Execution, attempts: u32, asked: Option<Duration>, share: f64) -> Duration {
    let chance = most(execution, attempts).mul_f64(share.clamp(0.0, 1.0));
    asked.unwrap_or_default().saturating_add(chance)
}

/// The longest back-off before the attempt after `attempts`.
pub fn most(execution: &Execution, attempts: u32) -> Duration {
    let factor = execution.backoff_multiplier.powf(f64::from(attempts.saturating_sub(1)));
    let seconds = execution.retry_interval.as_secs_f64() * factor;
    match seconds.is_finite() {
        true => Duration::from_secs_f64(seconds.clamp(0.0, BACKOFF_MAX.as_secs_f64())),
        false => BACKOFF_MAX,
    }
}

/// Anything from nothing to the whole.
pub fn chance() -> f64 {
    (RandomState::new().build_hasher().finish() % 1_000_000) as f64 / 1_000_000.0
}

/// What ended an attempt, in a word for operators.
pub fn word(end: &End) -> String {
    let with_status = |code: Code, status: Option<u16>| match status {
        Some(status) => format!("{code} {status}"),
        None => code.to_string(),
    };
    match end {
        End::Done(_) | End::Job(_) => "ok".to_owned(),
        End::Failed(failure) => with_status(failure.failure().code, failure.status_code()),
        End::Late => Code::Timeout.to_string(),
        End::Cancelled => Code::Cancelled.to_string(),
        End::Panicked(_) => Code::Panic.to_string(),
    }
}
