//! A rate that changes at given times. A packet is sent at the rate of the moment at which its sending begins.

use aqmlab_aqm::LinkContext;
use aqmlab_units::{BitRate, Bytes, Time};

use super::Capacity;
use crate::link::Transmitter;

/// A network interface whose rate changes.
#[derive(Debug)]
pub(crate) struct Schedule {
    transmitter: Transmitter,
    /// Changes to come, in order of time.
    changes: std::iter::Peekable<std::vec::IntoIter<(Time, BitRate)>>,
}

impl Schedule {
    /// An idle interface that sends at the rate of `link` until the first of the `changes`, which are in order of time.
    pub(crate) fn new(link: &LinkContext, changes: Vec<(Time, BitRate)>) -> Schedule {
        let transmitter = Transmitter::new(link.rate, link.overhead);
        Schedule { transmitter, changes: changes.into_iter().peekable() }
    }
}

impl Capacity for Schedule {
    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let first = self.transmitter.busy_until().max(now);
        // Changes that came while the interface was idle are skipped here too.
        while let Some((_, rate)) = self.changes.next_if(|&(at, _)| at <= first) {
            self.transmitter.set_rate(rate);
        }
        self.transmitter.send(size, now)
    }
}
