//! Points and spans of simulated time, in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::text::{self, Notation, ParseError};

/// A point in time: nanoseconds since the start of the experiment.
///
/// ```
/// use aqmlab_units::{Duration, Time};
///
/// let sent = Time::ZERO + Duration::from_millis(20);
/// let answered = Time::from_secs_f64(0.1);
/// assert_eq!(answered - sent, Duration::from_millis(80));
/// assert_eq!(sent.saturating_since(answered), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in nanoseconds; never negative.
///
/// ```
/// use aqmlab_units::Duration;
///
/// let interval: Duration = "2.5 ms".parse()?;
/// assert_eq!(interval.as_nanos(), 2_500_000);
/// assert_eq!(interval.round_up_to(Duration::from_millis(1)), Duration::from_millis(3));
/// # Ok::<(), aqmlab_units::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the experiment.
    pub const ZERO: Time = Time(0);
    /// Later than every event: what "never" compares as inside the engine's queues.
    pub const MAX: Time = Time(u64::MAX);

    /// `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// `secs` seconds after the start, to the nearest nanosecond. Negative values become zero.
    pub fn from_secs_f64(secs: f64) -> Time {
        Time(Duration::from_secs_f64(secs).0)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        // Dividing gives the nearest float, so that 15 s is 15.0; multiplying by 1e-9 would not.
        self.0 as f64 / 1e9
    }

    /// The span since `earlier`, or zero when `earlier` lies in the future.
    #[inline]
    pub fn saturating_since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    pub(crate) const NOTATION: Notation = Notation {
        units: &[
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
            ("d", 86_400_000_000_000),
            ("us", 1_000),
            ("ns", 1),
        ],
    };

    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros * 1_000)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Duration {
        Duration(secs * 1_000_000_000)
    }

    /// A span of `secs` seconds, to the nearest nanosecond. Negative values become zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    pub fn from_secs_f64(secs: f64) -> Duration {
        Duration((secs * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// As a person writes it: whole seconds in the largest unit of which they are a whole number, `90 min` for what
    /// prints as `5400 s`.
    pub fn in_largest_unit(self) -> String {
        let whole_seconds = self.0 > 0 && self.0.is_multiple_of(Duration::from_secs(1).0);
        let long = if whole_seconds { Duration::NOTATION.whole_in(self.0) } else { None };
        long.unwrap_or_else(|| self.to_string())
    }

    /// The next multiple of `tick` that is not below this span; the span itself when `tick` is zero.
    #[inline]
    #[must_use]
    pub fn round_up_to(self, tick: Duration) -> Duration {
        if tick.0 == 0 { self } else { Duration(self.0.div_ceil(tick.0) * tick.0) }
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Duration) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Duration;
    /// Time does not run backwards: a later time minus an earlier one, checked in debug builds.
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(earlier <= self, "time ran backwards from {earlier:?} to {self:?}");
        Duration(self.0.wrapping_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0 * factor)
    }
}

impl Div<Duration> for Duration {
    type Output = f64;
    #[inline]
    fn div(self, other: Duration) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0 s"),
            ns if ns < 1_000 => write!(f, "{ns} ns"),
            ns if ns < 1_000_000 => text::write_amount(f, ns, 1_000, "us"),
            ns if ns < 1_000_000_000 => text::write_amount(f, ns, 1_000_000, "ms"),
            ns => text::write_amount(f, ns, 1_000_000_000, "s"),
        }
    }
}

impl FromStr for Duration {
    type Err = ParseError;

    /// `2 ms`, `0.5 s`, `15 min`, `1 h`, `7 d`, `250 us`, `10 ns`.
    fn from_str(text: &str) -> Result<Duration, ParseError> {
        Duration::NOTATION.parse(text).map(Duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs_f64(0.015).as_nanos(), 15_000_000);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
    }

    #[test]
    fn rounding_up_reaches_the_next_tick_and_keeps_multiples() {
        let tick = Duration::from_millis(10);
        assert_eq!(Duration::from_millis(11).round_up_to(tick), Duration::from_millis(20));
        assert_eq!(Duration::from_millis(20).round_up_to(tick), Duration::from_millis(20));
        assert_eq!(Duration::from_nanos(7).round_up_to(Duration::ZERO), Duration::from_nanos(7));
    }

    #[test]
    fn a_span_since_the_future_is_zero() {
        assert_eq!(Time::from_nanos(5).saturating_since(Time::from_nanos(9)), Duration::ZERO);
    }

    #[test]
    fn spans_print_in_the_unit_a_person_would_choose() {
        let shown: Vec<String> =
            [0, 12, 1_500, 2_000_000, 3_000_000_000].map(|ns| Duration::from_nanos(ns).to_string()).into();
        assert_eq!(shown, ["0 s", "12 ns", "1.5 us", "2 ms", "3 s"]);
    }

    #[test]
    fn long_spans_are_written_in_whole_minutes_and_hours() {
        for text in ["0 s", "1 s", "59 s", "1 min", "90 min", "61 s", "25 h", "7 d", "1.5 s"] {
            let span: Duration = text.parse().expect("a span");
            assert_eq!(span.in_largest_unit().parse(), Ok(span));
            assert_eq!(span.in_largest_unit(), text);
        }
    }

    #[test]
    fn spans_are_read_as_people_write_them() {
        let read = |text: &str| text.parse().map(Duration::as_nanos);
        assert_eq!(read("2 ms"), Ok(2_000_000));
        assert_eq!(read("0.5 s"), Ok(500_000_000));
        assert_eq!(read("15 min"), Ok(900_000_000_000));
        assert_eq!(read("1 h"), Ok(3_600_000_000_000));
        assert_eq!(read("250us"), Ok(250_000));
        assert_eq!(read(" 10 ns "), Ok(10));
    }

    #[test]
    fn what_is_no_span_is_refused_with_what_is_allowed() {
        let refusal = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
        assert_eq!(refusal("5"), "\"5\": write a unit, such as \"5 ms\"");
        assert_eq!(refusal("5 m"), "\"5 m\": the unit must be one of ms, s, min, h, d, us, ns");
        assert_eq!(refusal("-5 ms"), "\"-5 ms\": must not be negative");
        for odd in ["", "ms", ".", "1.2.3 s", "soon"] {
            assert!(refusal(odd).ends_with("write a number and a unit, such as \"5 ms\""));
        }
        assert_eq!(refusal("99999999999 s"), "\"99999999999 s\": is too large");
    }
}
