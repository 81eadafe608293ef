//! The timestamps option (RFC 7323 §3) and its clock.

use aqmlab_units::Time;

/// The two values of a timestamps option, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// `TSval`: the sender's clock.
    pub value: u32,
    /// `TSecr`: the latest value of the peer's clock; 0 in a SYN.
    pub echo: u32,
}

/// The clock of the timestamps option: a tick each millisecond, as in Linux (`TCP_TS_HZ`); RFC 7323 §5.4 asks for 1 ms
/// to 1 s.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the clock wraps after 49 days, and is compared as one that does"
)]
pub(crate) fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// True if timestamp `a` is earlier than `b`.
pub(crate) fn is_earlier(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_compare_across_the_wrap() {
        assert!(is_earlier(u32::MAX, 3) && !is_earlier(3, u32::MAX) && !is_earlier(7, 7));
    }
}
