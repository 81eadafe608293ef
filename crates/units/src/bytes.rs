//! Sizes in bytes.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use crate::text::{Notation, ParseError};

/// A size in bytes.
///
/// ```
/// use aqmlab_units::Bytes;
///
/// assert_eq!("30 kB".parse(), Ok(Bytes::new(30_000)));
/// assert_eq!("16 KiB".parse(), Ok(Bytes::new(16_384)));
/// assert_eq!((Bytes::new(1500) + Bytes::new(38)).to_string(), "1538 B");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    pub(crate) const NOTATION: Notation = Notation {
        units: &[
            ("B", 1),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ],
    };

    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// As a person writes it, in the largest unit of which it is a whole number: `1 MB` for what prints as `1000000 B`.
    pub fn in_largest_unit(self) -> String {
        Bytes::NOTATION.whole_in(self.0).unwrap_or_else(|| self.to_string())
    }

    /// The number of bytes as a float, for averages and ratios.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        debug_assert!(other.0 <= self.0, "a size went below zero: {self:?} - {other:?}");
        Bytes(self.0.wrapping_sub(other.0))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    /// `1500 B`, `30 kB` (30,000), `2 MB`, `16 KiB` (16,384).
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        Bytes::NOTATION.parse(text).map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_in_the_largest_whole_unit() {
        for text in ["0 B", "1 B", "1500 B", "30 kB", "64 KiB", "1000 GB"] {
            let size: Bytes = text.parse().expect("a size");
            assert_eq!(size.in_largest_unit(), text);
        }
    }

    #[test]
    fn k_is_a_thousand_and_ki_is_1024() {
        let read = |text: &str| text.parse().map(Bytes::get);
        assert_eq!(read("30 kB"), Ok(30_000));
        assert_eq!(read("16 KiB"), Ok(16_384));
        assert_eq!(read("0.5 MB"), Ok(500_000));
        assert_eq!(read("1500B"), Ok(1500));
    }

    #[test]
    fn a_size_without_a_unit_or_with_another_one_is_refused() {
        let refusal = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(refusal("1500"), "\"1500\": write a unit, such as \"1500 B\"");
        assert_eq!(refusal("3 ms"), "\"3 ms\": the unit must be one of B, kB, MB, GB, KiB, MiB, GiB");
    }
}
