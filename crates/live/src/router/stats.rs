//! The router's lateness and its counts of packets outside the experiment.

use hdrhistogram::Histogram;

use crate::machine::clock::Clock;
use crate::packet;

/// The router's measurements of itself.
#[derive(Debug)]
pub(crate) struct RouterStats {
    /// The lateness of departures, in nanoseconds.
    pub(crate) lateness_ns: Histogram<u64>,
    /// The time from the sending of a probe to its read, in nanoseconds.
    pub(crate) read_lag_ns: Histogram<u64>,
    /// Packets of hosts that belong to no flow.
    pub(crate) strays: u64,
    /// Packets that a side's interface refused.
    pub(crate) undelivered: u64,
    /// Packets that the router did not read in time.
    pub(crate) unread: u64,
}

impl RouterStats {
    pub(crate) fn new() -> RouterStats {
        let [lateness_ns, read_lag_ns] =
            [(); 2].map(|()| Histogram::new(3).expect("three significant digits are allowed"));
        RouterStats { lateness_ns, read_lag_ns, strays: 0, undelivered: 0, unread: 0 }
    }

    /// Records a packet outside all flows: a probe or a stray.
    pub(super) fn record_other(&mut self, packet: &[u8], clock: &Clock) {
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
    fn a_probe_counts_for_the_read_lag_and_is_no_stray() {
        let (mut stats, clock) = (RouterStats::new(), Clock::start());
        let late = Duration::from_millis(3);
        clock::pause(late);
        stats.record_other(&probe::tests::packet(1, Time::ZERO), &clock);
        assert_eq!((stats.read_lag_ns.len(), stats.strays), (1, 0));
        assert!(stats.read_lag_ns.max() >= late.as_nanos());
        stats.record_other(&[0; 20], &clock);
        assert_eq!((stats.read_lag_ns.len(), stats.strays), (1, 1));
    }
}
