//! Numbers as people write them, compared digit for digit.

use std::cmp::Ordering;

/// `0.DIGITS × 10^exponent`, without zeros at either end; nothing has no digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    pub fn count(n: usize) -> Self {
        Self::read(&n.to_string()).expect("a count is written in digits")
    }

    /// As JSON writes it: `-12.50e3`.
    pub fn read(text: &str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (number, power) = match text.split_once(['e', 'E']) {
            Some((number, power)) => (number, power.trim_start_matches('+').parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(part) {
            return None;
        }
        let all = format!("{whole}{part}");
        let from_first = all.trim_start_matches('0');
        let zeros = i64::try_from(all.len() - from_first.len()).ok()?;
        let exponent = i64::try_from(whole.len()).ok()? - zeros + i64::from(power);
        let digits = from_first.trim_end_matches('0').to_owned();
        match digits.is_empty() {
            true => Some(Self { negative: false, digits, exponent: 0 }),
            false => Some(Self { negative, digits, exponent }),
        }
    }

    /// A place in a list: a whole number that is not negative.
    pub fn index(&self) -> Option<usize> {
        let whole = usize::try_from(self.exponent).ok().filter(|whole| *whole <= 6)?;
        if self.negative || self.digits.len() > whole {
            return None;
        }
        format!("0{:0<whole$}", self.digits).parse().ok()
    }

    /// Below, at or above zero.
    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = || self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        self.sign().cmp(&other.sign()).then_with(|| match self.negative {
            true => size().reverse(),
            false => size(),
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decimals_are_ordered_as_numbers_are(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000, scale in 0u32..5) {
            let read = |n: i64| {
                let scaled = format!("{n}e-{scale}");
                Decimal::read(&scaled).unwrap()
            };
            prop_assert_eq!(read(a).cmp(&read(b)), a.cmp(&b));
        }

        #[test]
        fn a_number_is_itself_however_it_is_written(n in 0u32..100_000, zeros in 0usize..6) {
            let padded = format!("{}{n}.{}", "0".repeat(zeros), "0".repeat(zeros + 1));
            prop_assert_eq!(Decimal::read(&padded), Decimal::read(&n.to_string()));
            prop_assert_eq!(Decimal::read(&format!("{n}{}e-{zeros}", "0".repeat(zeros))), Decimal::read(&n.to_string()));
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "1.", ".5", "1e", "1e99999999999", "0x1", "1_000", "NaN"] {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
        assert_eq!(Decimal::read("-0.0"), Decimal::read("0"));
    }
}
