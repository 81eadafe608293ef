//! Opportunities: instants at which bytes can be sent, of a recorded trace or of a scheduler.
//!
//! * several packets, or a part of one, share an opportunity, and a packet leaves with its last byte;
//! * bytes are lost when nothing waits, and an opportunity is over for a packet that arrives at its instant.

use aqmlab_units::{Bytes, Duration, Time};

use super::Capacity;

/// An opportunity to send bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opportunity {
    pub(super) at: Time,
    /// Above zero.
    pub(super) bytes: Bytes,
}

/// Opportunities in order of time, without an end.
pub(super) trait Scheduler {
    /// Returns the next opportunity.
    fn next(&mut self) -> Opportunity;

    /// Skip opportunities before `time`, all or some of them.
    fn skip_before(&mut self, _time: Time) {}
}

/// The capacity of opportunities.
#[derive(Debug)]
pub(super) struct Opportunities<S> {
    scheduler: S,
    overhead: Bytes,
    /// The next one that has bytes left, and these bytes.
    next: Opportunity,
}

impl<S: Scheduler> Opportunities<S> {
    pub(super) fn new(mut scheduler: S, overhead: Bytes) -> Opportunities<S> {
        let next = scheduler.next();
        Opportunities { scheduler, overhead, next }
    }

    /// Lose the opportunities before `time`.
    fn lose_before(&mut self, time: Time) {
        if self.next.at >= time {
            return;
        }
        self.scheduler.skip_before(time);
        while self.next.at < time {
            self.next = self.scheduler.next();
        }
    }
}

impl<S: Scheduler> Capacity for Opportunities<S> {
    fn ready(&self) -> Option<Time> {
        Some(self.next.at)
    }

    fn idle(&mut self, now: Time) {
        self.lose_before(now + Duration::from_nanos(1));
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        self.lose_before(now);
        let first = self.next.at;
        let mut rest = size + self.overhead;
        while rest > self.next.bytes {
            rest = rest - self.next.bytes;
            self.next = self.scheduler.next();
        }
        let last = self.next.at;
        self.next.bytes = self.next.bytes - rest;
        if self.next.bytes == Bytes::ZERO {
            self.next = self.scheduler.next();
        }
        (first, last)
    }
}
