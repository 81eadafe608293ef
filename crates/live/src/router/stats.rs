//! The lateness of a router, and its counts of unknown packets.

use hdrhistogram::Histogram;

use crate::machine::clock::Clock;
use crate::packet;

/// The router's measurements of itself.
#[derive(Debug)]
pub(crate) struct RouterStats {
    /// The lateness of departures, in nanoseconds.
    pub(crate) lateness_ns: Histogram<u64>,
    /// The lateness of its reads of probes, in nanoseconds.
    pub(crate) read_lag_ns: Histogram<u64>,
    /// Packets of hosts that belong to no connection.
    pub(crate) strays: u64,
    /// Packets that a side's interface would not take.
    pub(crate) undelivered: u64,
    /// Packets that it did not read in time.
    pub(crate) unread: u64,
}

impl RouterStats {
    pub(crate) fn new() -> RouterStats {
        let [lateness_ns, read_lag_ns] =
            [(); 2].map(|()| Histogram::new(3).expect("three significant digits are allowed"));
        RouterStats { lateness_ns, read_lag_ns, strays: 0, undelivered: 0, unread: 0 }
    }

    /// A packet has been read that goes from host to host nowhere.
    pub(super) fn other(&mut self, packet: &[u8], clock: &Clock) {
        match packet::probed_at(packet) {
            Some(sent_at) => {
                let lag = clock.now().saturating_since(sent_at).as_nanos();
                self.read_lag_ns.record(lag).expect("the histogram resizes itself");
            }
            None => self.strays += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::{Duration, Time};

    use super::*;
    use crate::machine::clock;
    use crate::packet::probe;

    #[test]
    fn a_probe_is_as_late_as_its_reading_and_no_stray() {
        let (mut seen, clock) = (RouterStats::new(), Clock::start());
        let late = Duration::from_millis(3);
        clock::pause(late);
        seen.other(&probe::tests::packet(1, Time::ZERO), &clock);
        assert_eq!((seen.read_lag_ns.len(), seen.strays), (1, 0));
        assert!(seen.read_lag_ns.max() >= late.as_nanos());
        seen.other(&[0; 20], &clock);
        assert_eq!((seen.read_lag_ns.len(), seen.strays), (1, 1));
    }
}
