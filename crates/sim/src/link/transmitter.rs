//! The transmitter, which sends packets on a wire one after the other.

use aqmlab_aqm::LinkContext;
use aqmlab_units::{BitRate, Bytes, Duration, Time};

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

/// A network interface whose rate changes at given times. A packet is sent at the rate of the moment at which its sending
/// begins.
#[derive(Debug)]
pub(crate) struct VariableRateTransmitter {
    transmitter: Transmitter,
    /// Changes to come, in order of time.
    changes: std::iter::Peekable<std::vec::IntoIter<(Time, BitRate)>>,
}

impl VariableRateTransmitter {
    /// An idle interface that sends at the rate of `link` until the first of the `changes`, which are in order of time.
    pub(crate) fn new(link: LinkContext, changes: Vec<(Time, BitRate)>) -> VariableRateTransmitter {
        let transmitter = Transmitter::new(link.rate, link.overhead);
        VariableRateTransmitter { transmitter, changes: changes.into_iter().peekable() }
    }

    /// Given a packet of `size` at `now`: when its first and when its last bit is sent.
    #[inline]
    pub(crate) fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let first = self.transmitter.busy_until.max(now);
        // Changes that came while the interface was idle are skipped here too.
        while let Some((_, rate)) = self.changes.next_if(|&(at, _)| at <= first) {
            self.transmitter.ns_per_byte = rate.ns_per_byte();
        }
        self.transmitter.send(size, now)
    }
}
