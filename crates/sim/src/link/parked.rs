//! A queue of any discipline, whose packets lie beside it: what the discipline puts in order is their numbers.
//!
//! So each discipline is compiled once, whatever packets carry, where a queue that held the packets would be compiled for
//! each kind of them. Its price is a call through a table and two memory accesses a packet.

use aqmlab_aqm::{Admission, Counters, Departure, Packet as Seen, Qdisc, QueueState};
use aqmlab_units::Time;

use crate::slab::Slab;

/// A queue for packets that carry a `P`.
pub(crate) struct Parked<P> {
    queue: Box<dyn Qdisc<usize> + Send>,
    parked: Slab<P>,
}

impl<P> Parked<P> {
    /// `queue` is empty.
    pub(crate) fn new(queue: Box<dyn Qdisc<usize> + Send>) -> Parked<P> {
        Parked { queue, parked: Slab::default() }
    }
}

impl<P: Copy> Qdisc<P> for Parked<P> {
    fn enqueue(&mut self, packet: Seen, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let number = self.parked.put(payload);
        self.queue.enqueue(packet, number, now, &mut |number| lost(self.parked.take(number)))
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        let Departure { packet, payload, enqueued_at } =
            self.queue.dequeue(now, &mut |number| lost(self.parked.take(number)))?;
        Some(Departure { packet, payload: self.parked.take(payload), enqueued_at })
    }

    fn state(&self) -> QueueState {
        self.queue.state()
    }

    fn counters(&self) -> Counters {
        self.queue.counters()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.queue.poll_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.queue.on_timeout(now);
    }

    fn classes(&self) -> &'static [&'static str] {
        self.queue.classes()
    }

    fn class_of(&self, packet: &Seen) -> u8 {
        self.queue.class_of(packet)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.queue.probe(out);
    }
}
