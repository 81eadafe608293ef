//! The virtual clocks of CAKE's shaper.
//!
//! A clock shows the time from which the next packet conforms to a rate. Each packet moves it by its transmission
//! time at that rate, so that there is no burst and no drift. The fail-safe clock moves by one and a half times as
//! much, but not for dropped packets: it bounds the wait if drops have been charged.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018, section III-A; Linux `sch_cake.c`.
//!
//! Differs from Linux: a clock keeps fractions of nanoseconds, unless it computes as Linux does.

use aqmlab_units::{Duration, Time};

use crate::Variant;

/// The lowest rate in bytes per second, so that a clock always comes to an end.
const MIN_RATE: u64 = 64;

/// The most bits of the time of a byte, and of its fraction.
const BITS: u32 = 34;

/// A rate as the time that a byte takes: a number of nanoseconds times 2^`shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteTime {
    scaled: u64,
    shift: u32,
    /// The part of a nanosecond that a clock keeps.
    fraction: u64,
}

impl ByteTime {
    pub(crate) fn from_rate(bytes_per_sec: u64, variant: Variant) -> ByteTime {
        let mut scaled = (1_000_000_000 << BITS) / bytes_per_sec.max(MIN_RATE);
        let mut shift = BITS;
        while scaled >> BITS != 0 {
            scaled >>= 1;
            shift -= 1;
        }
        let fraction = if variant == Variant::Linux { 0 } else { (1 << shift) - 1 };
        ByteTime { scaled, shift, fraction }
    }

    /// The transmission time of a packet.
    #[inline]
    pub(crate) fn of_packet(self, length: u64) -> Duration {
        Duration::from_nanos((length * self.scaled) >> self.shift)
    }
}

/// A clock that packets move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    next: Time,
    /// A fraction of a nanosecond, in the units of the rate.
    fraction: u64,
}

impl Clock {
    /// The time from which the next packet conforms.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Set a clock that is behind to `now`: time without packets gives no credit.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time) {
        if self.next < now {
            *self = Clock { next: now, fraction: 0 };
        }
    }

    /// Move the clock by the time that `length` bytes take.
    #[inline]
    pub(crate) fn advance(&mut self, length: u64, byte_time: ByteTime) {
        let moved = self.fraction + length * byte_time.scaled;
        self.next += Duration::from_nanos(moved >> byte_time.shift);
        self.fraction = moved & byte_time.fraction;
    }

    /// Move the clock to at least the end of a packet of `length` bytes that starts now; a clock that is behind keeps
    /// its lag.
    #[inline]
    pub(crate) fn advance_from(&mut self, length: u64, byte_time: ByteTime, now: Time) {
        if self.next < now {
            self.advance(length, byte_time);
        } else {
            let end = now + byte_time.of_packet(length);
            self.catch_up(end);
        }
    }
}

/// The shaper of all tins together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shaper {
    clock: Clock,
    failsafe: Clock,
}

impl Shaper {
    /// The time from which a packet may leave.
    #[inline]
    pub(crate) fn ready_at(&self) -> Time {
        self.clock.next().min(self.failsafe.next())
    }

    /// A packet arrives at an empty queue.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) {
        if self.clock.next() < now {
            self.clock.catch_up(now);
            self.failsafe = self.clock;
        }
    }

    /// Charge a packet of `length` bytes, which left or was dropped.
    #[inline]
    pub(crate) fn charge(&mut self, length: u64, byte_time: ByteTime, is_dropped: bool) {
        let before = self.clock.next();
        self.clock.advance(length, byte_time);
        if !is_dropped {
            let moved = self.clock.next() - before;
            self.failsafe.next += moved + Duration::from_nanos(moved.as_nanos() / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_packets_do_not_drift() {
        // 1538 B at 18 Mbit/s take 683 us and 555 + 5/9 ns.
        let byte_time = ByteTime::from_rate(18_000_000 / 8, Variant::Published);
        let mut clock = Clock::default();
        for sent in 1_u64..=1_000_000 {
            clock.advance(1538, byte_time);
            let exact = u128::from(sent) * 1538 * 8_000_000_000 / 18_000_000;
            let off = i128::from(clock.next().as_nanos()) - i128::try_from(exact).expect("some minutes");
            assert!(off.abs() <= 1_000, "{off} ns after {sent} packets");
        }
    }

    #[test]
    fn time_without_packets_gives_no_credit() {
        let mut shaper = Shaper::default();
        let byte_time = ByteTime::from_rate(1_000_000, Variant::Published);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        shaper.wake(at(500));
        for sent in 0..3 {
            assert_eq!(shaper.ready_at(), at(500 + sent));
            shaper.charge(1000, byte_time, false);
        }
    }

    #[test]
    fn drops_move_the_clock_only_up_to_the_failsafe() {
        let mut shaper = Shaper::default();
        let byte_time = ByteTime::from_rate(1_000_000, Variant::Published);
        let at = |us| Time::ZERO + Duration::from_micros(us);
        shaper.wake(at(1));
        shaper.charge(1000, byte_time, false);
        for _ in 0..10 {
            shaper.charge(1000, byte_time, true);
        }
        assert_eq!(shaper.ready_at(), at(1501));
    }

    #[test]
    fn a_tins_clock_keeps_its_lag_and_does_not_run_away() {
        let byte_time = ByteTime::from_rate(1_000_000, Variant::Published);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut clock = Clock::default();
        clock.advance_from(1000, byte_time, at(10));
        assert_eq!(clock.next(), at(1), "behind: one packet nearer");
        clock.catch_up(at(10));
        for _ in 0..2 {
            clock.advance_from(1000, byte_time, at(10));
            assert_eq!(clock.next(), at(11), "due: one packet ahead at most");
        }
    }
}
