//! Snowflakes and times as they stand on the wire.

/// The first millisecond of a snowflake: the start of 2015.
pub const EPOCH: u64 = 1_420_070_400_000;

/// The smallest snowflake of a moment.
pub fn snowflake(ms: u64) -> u64 {
    ms.saturating_sub(EPOCH) << 22
}

/// The moment at which a snowflake was made.
pub fn made_ms(id: u64) -> u64 {
    (id >> 22) + EPOCH
}

/// An id that depends on a name alone, so that it stays the same over restarts; it looks made years ago.
pub fn digest(name: &str) -> u64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    300_000_000_000_000_000 + (hash ^ (hash >> 29)) % 500_000_000_000_000_000
}

/// A moment as the platform writes it: ISO 8601 in UTC with microseconds.
pub fn stamp(ms: u64) -> String {
    let (days, rest) = ((ms / 86_400_000) as i64, ms % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}000+00:00", rest % 1_000)
}

/// Year, month and day of a day counted from 1970; years are counted from March so that the leap day is the last.
fn civil(days: i64) -> (i64, i64, i64) {
    let since = days + 719_468;
    let era = since.div_euclid(146_097);
    let in_era = since.rem_euclid(146_097);
    let year = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_the_platform_does() {
        assert_eq!(stamp(0), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(stamp(1_709_164_799_999), "2024-02-28T23:59:59.999000+00:00");
        assert_eq!(stamp(1_709_164_800_000), "2024-02-29T00:00:00.000000+00:00");
        assert_eq!(stamp(EPOCH), "2015-01-01T00:00:00.000000+00:00");
        assert_eq!(made_ms(snowflake(1_709_164_800_123)), 1_709_164_800_123);
    }
}
