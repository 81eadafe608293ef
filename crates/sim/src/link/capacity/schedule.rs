//! A rate that changes at given times, and outages. A packet is sent at the rate of the moment at which its sending begins,
//! which is not in an outage.

use aqmlab_aqm::LinkContext;
use aqmlab_units::{BitRate, Bytes, Time};

use super::Capacity;
use crate::link::Transmitter;
use crate::spec::Outages;

/// A network interface whose rate changes.
#[derive(Debug)]
pub(crate) struct Schedule {
    transmitter: Transmitter,
    /// Changes to come, in order of time.
    changes: std::iter::Peekable<std::vec::IntoIter<(Time, BitRate)>>,
    outages: Outages,
}

impl Schedule {
    /// An idle interface that sends at the rate of `link` until the first of the `changes`, which are in order of time.
    pub(crate) fn new(link: &LinkContext, changes: Vec<(Time, BitRate)>, outages: Outages) -> Schedule {
        let transmitter = Transmitter::new(link.rate, link.overhead);
        Schedule { transmitter, changes: changes.into_iter().peekable(), outages }
    }
}

impl Capacity for Schedule {
    fn is_known_ahead(&self) -> bool {
        true
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let first = self.outages.up_from(self.transmitter.busy_until().max(now));
        // Changes that came while the interface was idle are skipped here too.
        while let Some((_, rate)) = self.changes.next_if(|&(at, _)| at <= first) {
            self.transmitter.set_rate(rate);
        }
        self.transmitter.send(size, first)
    }
}
