//! Capacities of links: the times at which packets can be sent.
//!
//! [`Transmitter`](super::Transmitter) is the capacity of a constant rate. Every other kind is a file of this directory.

mod schedule;

use aqmlab_units::{Bytes, Time};

pub(crate) use self::schedule::Schedule;

/// The capacity of one direction of a link, told the time in order.
pub(crate) trait Capacity {
    /// Returns the earliest time at which the discipline hands down its next packet; `None` if every free place in the device
    /// is for a packet at once.
    #[inline(always)]
    fn ready(&self) -> Option<Time> {
        None
    }

    /// The queue was empty until `now`: what could have been sent until then is lost, where it cannot be saved.
    #[inline(always)]
    fn idle(&mut self, _now: Time) {}

    /// Takes a packet of `size`, as the discipline counts it, at `now`, which is not before [`Capacity::ready`]. Returns the
    /// times of its first and of its last bit.
    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time);
}

/// A capacity of any kind.
pub(crate) type BoxedCapacity = Box<dyn Capacity + Send>;

impl Capacity for BoxedCapacity {
    fn ready(&self) -> Option<Time> {
        (**self).ready()
    }

    fn idle(&mut self, now: Time) {
        (**self).idle(now);
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        (**self).send(size, now)
    }
}
