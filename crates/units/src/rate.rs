//! Bit rates, and the time a packet takes at one.

use std::fmt;
use std::str::FromStr;

use crate::text::{self, Notation, ParseError};
use crate::{Bytes, Duration};

/// A rate in bits per second; never zero.
///
/// ```
/// use aqmlab_units::{BitRate, Bytes, Duration};
///
/// let rate: BitRate = "100 Mbit/s".parse()?;
/// assert_eq!(rate.time_to_send(Bytes::new(1500)), Duration::from_micros(120));
/// assert_eq!(BitRate::from_bits_per_sec(0), None);
/// # Ok::<(), aqmlab_units::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    pub(crate) const NOTATION: Notation = Notation {
        units: &[("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000), ("kbit/s", 1_000), ("bit/s", 1)],
    };

    /// A rate of `bits` per second, or `None` for zero.
    pub const fn from_bits_per_sec(bits: u64) -> Option<BitRate> {
        if bits == 0 { None } else { Some(BitRate(bits)) }
    }

    /// A rate of `mbit` million bits per second, at least one.
    pub const fn from_mbit_per_sec(mbit: u64) -> BitRate {
        assert!(mbit > 0, "a rate is above zero");
        BitRate(mbit * 1_000_000)
    }

    /// A rate of `kbit` thousand bits per second, at least one.
    pub const fn from_kbit_per_sec(kbit: u64) -> BitRate {
        assert!(kbit > 0, "a rate is above zero");
        BitRate(kbit * 1_000)
    }

    /// Bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// The time to send `size`, rounded to the nearest nanosecond.
    #[expect(clippy::cast_possible_truncation, reason = "a packet's transmission time fits in 64 bits")]
    pub fn time_to_send(self, size: Bytes) -> Duration {
        let bits = u128::from(size.get()) * 8;
        let rate = u128::from(self.0);
        Duration::from_nanos(((bits * 1_000_000_000 + rate / 2) / rate) as u64)
    }

    /// Nanoseconds per byte in units of 2^-20 ns, rounded: for code that sends a packet with a multiplication
    /// instead of a division. A packet of 1,500 bytes is off by less than a thousandth of a nanosecond.
    #[expect(clippy::cast_possible_truncation, reason = "8e9 * 2^20 fits in 64 bits")]
    pub fn ns_per_byte(self) -> u64 {
        let rate = u128::from(self.0);
        (((8_000_000_000_u128 << 20) + rate / 2) / rate) as u64
    }

    /// Packets of `size` per second.
    pub fn packets_per_sec(self, size: Bytes) -> f64 {
        self.0 as f64 / (8.0 * size.as_f64())
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bits if bits >= 1_000_000_000 => text::write_amount(f, bits, 1_000_000_000, "Gbit/s"),
            bits if bits >= 1_000_000 => text::write_amount(f, bits, 1_000_000, "Mbit/s"),
            bits if bits >= 1_000 => text::write_amount(f, bits, 1_000, "kbit/s"),
            bits => write!(f, "{bits} bit/s"),
        }
    }
}

impl FromStr for BitRate {
    type Err = ParseError;

    /// `100 Mbit/s`, `1 Gbit/s`, `56 kbit/s`, `9600 bit/s`.
    fn from_str(text: &str) -> Result<BitRate, ParseError> {
        let bits = BitRate::NOTATION.parse(text)?;
        BitRate::from_bits_per_sec(bits).ok_or_else(|| text::above_zero(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ethernet_frame_takes_123_microseconds_at_100_mbit() {
        let rate = BitRate::from_mbit_per_sec(100);
        assert_eq!(rate.time_to_send(Bytes::new(1538)), Duration::from_nanos(123_040));
    }

    #[test]
    fn slow_and_fast_rates_neither_overflow_nor_vanish() {
        let slow = BitRate::from_bits_per_sec(1).expect("above zero");
        assert_eq!(slow.time_to_send(Bytes::new(1500)), Duration::from_secs(12_000));
        let fast = BitRate::from_mbit_per_sec(10_000);
        assert_eq!(fast.time_to_send(Bytes::new(1500)), Duration::from_nanos(1200));
        assert_eq!(BitRate::from_bits_per_sec(0), None);
    }

    #[test]
    fn rates_are_read_as_the_field_writes_them() {
        let read = |text: &str| text.parse().map(BitRate::bits_per_sec);
        assert_eq!(read("100 Mbit/s"), Ok(100_000_000));
        assert_eq!(read("1 Gbit/s"), Ok(1_000_000_000));
        assert_eq!(read("56 kbit/s"), Ok(56_000));
        assert_eq!(read("9600 bit/s"), Ok(9600));
    }

    #[test]
    fn a_rate_of_nothing_or_of_nothing_known_is_refused() {
        let refusal = |text: &str| text.parse::<BitRate>().unwrap_err().to_string();
        assert_eq!(refusal("0 bit/s"), "\"0 bit/s\": must be above zero");
        assert_eq!(refusal("100"), "\"100\": write a unit, such as \"100 Mbit/s\"");
        assert_eq!(refusal("1 Mbps"), "\"1 Mbps\": the unit must be one of Mbit/s, Gbit/s, kbit/s, bit/s");
    }
}
