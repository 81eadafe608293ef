//! The transmitter, which sends packets on a wire one after the other.

use aqmlab_units::{BitRate, Bytes, Duration, Time};

use super::capacity::Capacity;

/// A network interface: busy until all it was given is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmitter {
    /// Nanoseconds per byte in units of 2^-20 ns: one multiplication instead of a division for each packet.
    ns_per_byte: u64,
    overhead: Bytes,
    busy_until: Time,
}

impl Transmitter {
    /// An idle interface that sends at `rate` and adds `overhead` to each packet.
    pub(crate) fn new(rate: BitRate, overhead: Bytes) -> Transmitter {
        Transmitter { ns_per_byte: rate.ns_per_byte(), overhead, busy_until: Time::ZERO }
    }

    /// Send at `rate` from the next packet on.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        self.ns_per_byte = rate.ns_per_byte();
    }

    /// Returns the time at which all that it was given is sent.
    pub(crate) fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Given a packet of `size` at `now`: when its first and when its last bit is sent.
    #[inline(always)]
    pub(crate) fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let nanos = ((size + self.overhead).get() * self.ns_per_byte) >> 20;
        let first = self.busy_until.max(now);
        self.busy_until = first + Duration::from_nanos(nanos);
        (first, self.busy_until)
    }

    /// Returns the wait of a packet that arrives at `now`.
    pub(crate) fn backlog(&self, now: Time) -> Duration {
        self.busy_until.saturating_since(now)
    }
}

impl Capacity for Transmitter {
    #[inline(always)]
    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        Transmitter::send(self, size, now)
    }
}
