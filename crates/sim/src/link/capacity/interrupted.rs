//! A capacity with outages: no packet leaves the queue while the link is down.

use aqmlab_aqm::QueueState;
use aqmlab_units::{Bytes, Time};

use super::{BoxedCapacity, Capacity};
use crate::spec::Outages;

/// A capacity with outages. Packets that it was given before are sent.
pub(crate) struct Interrupted {
    capacity: BoxedCapacity,
    outages: Outages,
    /// The time of the last look at the queue.
    now: Time,
}

impl Interrupted {
    pub(crate) fn new(capacity: BoxedCapacity, outages: Outages) -> Interrupted {
        Interrupted { capacity, outages, now: Time::ZERO }
    }
}

impl Capacity for Interrupted {
    fn ready(&self) -> Option<Time> {
        let ready = self.capacity.ready().unwrap_or(Time::ZERO).max(self.now);
        Some(if ready == Time::MAX { ready } else { self.outages.up_from(ready) })
    }

    fn idle(&mut self, now: Time) {
        self.capacity.idle(now);
    }

    fn waiting(&mut self, queue: QueueState, now: Time) {
        self.now = now;
        self.capacity.waiting(queue, now);
    }

    fn is_open(&self) -> bool {
        self.capacity.is_open()
    }

    fn admit(&mut self, size: Bytes, now: Time) -> bool {
        self.capacity.admit(size, now)
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        self.capacity.send(size, now)
    }
}
