//! A queue under a fluid load: packets of 1,250 B, 100 microseconds each at 100 Mbit/s, less the share that is signalled,
//! as if senders slowed down at once by so much.

use std::collections::VecDeque;

use aqmlab_aqm::{Aqm, Ecn, QueueState};
use aqmlab_units::{Bytes, Time};

use crate::common::packet;

/// A law with a queue of packets that never drops one, and arrivals thinned by the share that `signalled` tells.
pub(crate) struct Fluid<A> {
    law: A,
    signalled: fn(&A) -> f64,
    /// The time of arrival of each packet.
    waiting: VecDeque<Time>,
    /// Arrivals that are due, in packets.
    due: f64,
    slots: u64,
}

/// IP bytes: with 38 B of overhead 1,250 B on the wire.
const SIZE: u64 = 1212;
const SLOT: u64 = 100_000;

impl<A: Aqm> Fluid<A> {
    pub(crate) fn new(law: A, signalled: fn(&A) -> f64) -> Fluid<A> {
        Fluid { law, signalled, waiting: VecDeque::new(), due: 0.0, slots: 0 }
    }

    fn state(&self) -> QueueState {
        let packets = u32::try_from(self.waiting.len()).expect("a short queue");
        QueueState { packets, bytes: Bytes::new(SIZE * u64::from(packets)) }
    }

    /// Let `excess` times the link's capacity arrive for `secs`. The mean delay in seconds in the second half of that
    /// time, and the share signalled at its end.
    pub(crate) fn run(&mut self, excess: f64, secs: f64) -> (f64, f64) {
        let slots = Time::from_secs_f64(secs).as_nanos() / SLOT;
        let (mut delays, mut counted) = (0.0, 0.0);
        for slot in 0..slots {
            self.slots += 1;
            let now = Time::from_nanos(self.slots * SLOT);
            while let Some(due) = self.law.poll_timeout().filter(|due| *due <= now) {
                self.law.on_timeout(self.state(), due);
            }
            self.due += excess * (1.0 - (self.signalled)(&self.law));
            while self.due >= 1.0 {
                self.due -= 1.0;
                self.law.on_enqueue(&packet(SIZE, Ecn::Ect0), self.state(), now);
                self.waiting.push_back(now);
            }
            if let Some(arrived) = self.waiting.pop_front() {
                self.law.on_dequeue(&packet(SIZE, Ecn::Ect0), arrived, self.state(), now);
                if slot >= slots / 2 {
                    delays += (now - arrived).as_secs_f64();
                    counted += 1.0;
                }
            }
        }
        (delays / counted, (self.signalled)(&self.law))
    }
}
