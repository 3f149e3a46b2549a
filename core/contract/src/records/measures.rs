//! What is counted of calls: per minute, tool, platform and tenant, in histograms that add up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{failure::Code, place::Platform};

/// What became of one tool's calls, as counted by a process life; absolute values, so a repeat changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    pub tool: String,
    /// Nothing in what was counted before it was told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Empty where it was not told apart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// Minutes since 1970.
    pub minute: u64,
    pub ok: u64,
    /// By code, of calls that failed.
    pub failed: Vec<(Code, u64)>,
    /// Log-linear duration buckets (see [`bucket_of`]), index and count.
    pub buckets: Vec<(u16, u64)>,
}

impl Measure {
    pub fn calls(&self) -> u64 {
        self.ok + self.failed.iter().map(|(_, n)| n).sum::<u64>()
    }
}

/// The last octave that has buckets: longer than anything lasts.
const OCTAVES: u32 = 56;

/// The duration bucket of `us` microseconds: 8 per octave, so a percentile is within 6.3 %.
pub fn bucket_of(us: u64) -> u16 {
    let us = us.clamp(1, 1 << OCTAVES);
    let octave = us.ilog2();
    let base = 1u64 << octave;
    let step = ((us - base) * 8 / base).min(7);
    u16::try_from(u64::from(octave) * 8 + step).unwrap_or(u16::MAX)
}

/// The middle of a bucket, microseconds.
pub fn bucket_middle(bucket: u16) -> u64 {
    let (octave, step) = (u32::from(bucket / 8).min(OCTAVES), u64::from(bucket % 8));
    let base = 1u64 << octave;
    base + base * step / 8 + base / 16
}

/// By what calls are told apart in statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatsBy {
    #[default]
    Tool,
    Platform,
    Tenant,
}

impl StatsBy {
    fn name(self, measure: &Measure) -> String {
        match self {
            Self::Tool => measure.tool.clone(),
            Self::Platform => measure.platform.map_or("unknown", Platform::as_str).to_owned(),
            Self::Tenant if measure.tenant.is_empty() => "unknown".to_owned(),
            Self::Tenant => measure.tenant.clone(),
        }
    }
}

/// How a tool fared, or whatever else calls are told apart by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolStats {
    pub tool: String,
    pub calls: u64,
    pub ok: u64,
    pub failed: Vec<(Code, u64)>,
    pub p50_us: u64,
    pub p95_us: u64,
    #[serde(default)]
    pub p99_us: u64,
}

impl ToolStats {
    /// Adds up measures of one tool.
    pub fn of<'a>(tool: &str, measures: impl IntoIterator<Item = &'a Measure>) -> Self {
        let mut failed: Vec<(Code, u64)> = Vec::new();
        let mut buckets = BTreeMap::<u16, u64>::new();
        let mut ok = 0;
        for measure in measures {
            ok += measure.ok;
            for (code, n) in &measure.failed {
                match failed.iter_mut().find(|(c, _)| c == code) {
                    Some((_, sum)) => *sum += n,
                    None => failed.push((*code, *n)),
                }
            }
            for (bucket, n) in &measure.buckets {
                *buckets.entry(*bucket).or_default() += n;
            }
        }
        let calls = ok + failed.iter().map(|(_, n)| n).sum::<u64>();
        Self {
            tool: tool.to_owned(),
            calls,
            ok,
            failed,
            p50_us: percentile(&buckets, 50),
            p95_us: percentile(&buckets, 95),
            p99_us: percentile(&buckets, 99),
        }
    }

    /// Of everything that is told apart, in the order of the names.
    pub fn all(measures: &[Measure], by: StatsBy) -> Vec<Self> {
        let mut groups = BTreeMap::<String, Vec<&Measure>>::new();
        for measure in measures {
            groups.entry(by.name(measure)).or_default().push(measure);
        }
        groups.iter().map(|(name, measures)| Self::of(name, measures.iter().copied())).collect()
    }
}

fn percentile(buckets: &BTreeMap<u16, u64>, percent: u64) -> u64 {
    let total: u64 = buckets.values().sum();
    let rank = (total * percent).div_ceil(100).max(1);
    let mut seen = 0;
    for (bucket, n) in buckets {
        seen += n;
        if seen >= rank {
            return bucket_middle(*bucket);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_durations_within_its_error() {
        for us in [1u64, 9, 100, 1_234, 50_000, 7_654_321, 86_400_000_000] {
            let middle = bucket_middle(bucket_of(us)) as f64;
            let error = (middle - us as f64).abs() / us as f64;
            assert!(us < 16 || error <= 0.063, "{us}: {error}");
        }
        assert!(bucket_middle(bucket_of(u64::MAX)) < bucket_middle(u16::MAX));
    }

    #[test]
    fn lives_are_added_up() {
        let one = Measure { tool: "t".into(), ok: 95, buckets: vec![(bucket_of(100), 95)], ..Measure::default() };
        let two =
            Measure { failed: vec![(Code::Timeout, 5)], buckets: vec![(bucket_of(9_000), 5)], ..Measure::default() };
        let stats = ToolStats::of("t", &[one, two]);
        assert_eq!((stats.calls, stats.ok), (100, 95));
        assert!(stats.p50_us < 120 && stats.p95_us < 120 && stats.p99_us > 8_000);
    }

    #[test]
    fn calls_are_told_apart_by_platform_and_tenant_too() {
        let measure = |platform, tenant: &str, ok| Measure {
            tool: "t".into(),
            platform,
            tenant: tenant.into(),
            ok,
            ..Measure::default()
        };
        let all = [
            measure(Some(Platform::Slack), "a", 1),
            measure(Some(Platform::Slack), "b", 2),
            measure(Some(Platform::Telegram), "a", 4),
            measure(None, "", 8),
        ];
        let shown = |by| {
            let of: Vec<_> = ToolStats::all(&all, by).iter().map(|s| format!("{} {}", s.tool, s.calls)).collect();
            of.join(", ")
        };
        assert_eq!(shown(StatsBy::Tool), "t 15");
        assert_eq!(shown(StatsBy::Platform), "slack 3, telegram 4, unknown 8");
        assert_eq!(shown(StatsBy::Tenant), "a 5, b 2, unknown 8");
    }
}
