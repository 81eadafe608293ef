//! First in, first out, in the order of decisions that Linux has.

use std::collections::VecDeque;

use aqmlab_units::Time;

use crate::{Admission, Aqm, Counters, Departure, Ecn, Limit, Packet, Qdisc, QueueState, Verdict};

/// The decisions about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A packet that finds the queue empty leaves next without the law, whether the line is free or not. For other
    /// packets the limit decides alone.
    Bypass,
    /// The limit decides before the law.
    LimitFirst,
    /// The law decides before the limit.
    LawFirst,
}

/// First in, first out, under a law.
///
/// The law learns that the queue is empty when the line asks for a packet in vain ([`Aqm::on_empty`]).
#[derive(Clone, Debug)]
pub(crate) struct LinuxFifo<A, P> {
    law: A,
    limit: Limit,
    order: Order,
    /// The packet that leaves next without the law.
    bypassing: Option<Departure<P>>,
    waiting: VecDeque<Departure<P>>,
    /// Both the bypassing packet and the waiting ones.
    state: QueueState,
    counters: Counters,
}

impl<A: Aqm, P> LinuxFifo<A, P> {
    /// Return an empty queue.
    pub(crate) fn new(law: A, limit: Limit, order: Order) -> LinuxFifo<A, P> {
        LinuxFifo {
            law,
            limit,
            order,
            bypassing: None,
            waiting: VecDeque::new(),
            state: QueueState::default(),
            counters: Counters::default(),
        }
    }

    fn judge(&mut self, packet: &Packet, now: Time) -> Admission {
        let has_room = self.limit.admits(packet.size, self.state);
        if !has_room && self.order != Order::LawFirst {
            if self.order == Order::LimitFirst {
                self.law.on_overflow(packet, self.state, now);
            }
            return Admission::DroppedByLimit;
        }
        match self.law.on_enqueue(packet, self.state, now) {
            Verdict::Drop => Admission::DroppedForced,
            Verdict::Mark if !packet.ecn.is_capable() => Admission::DroppedEarly,
            Verdict::Pass | Verdict::Mark if !has_room => Admission::DroppedByLimit,
            Verdict::Mark => Admission::Marked,
            Verdict::Pass => Admission::Queued,
        }
    }

    fn leave(&mut self, packet: &Packet) {
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - packet.size;
    }
}

impl<A: Aqm, P> Qdisc<P> for LinuxFifo<A, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let bypasses = self.order == Order::Bypass && self.state.packets == 0;
        let admission = if bypasses { Admission::Queued } else { self.judge(&packet, now) };
        self.counters.count(admission, packet.size);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        if admission == Admission::Marked {
            packet.ecn = Ecn::Ce;
        }
        self.state.packets += 1;
        self.state.bytes += packet.size;
        let arrived = Departure { packet, payload, enqueued_at: now };
        if bypasses {
            self.bypassing = Some(arrived);
        } else {
            self.waiting.push_back(arrived);
        }
        admission
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        if let Some(bypassing) = self.bypassing.take() {
            self.leave(&bypassing.packet);
            return Some(bypassing);
        }
        while let Some(mut head) = self.waiting.pop_front() {
            self.leave(&head.packet);
            let verdict = self.law.on_dequeue(&head.packet, head.enqueued_at, self.state, now);
            if self.counters.release(verdict, &mut head.packet) {
                return Some(head);
            }
            lost(head.payload);
        }
        self.law.on_empty(now);
        None
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.law.poll_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.law.on_timeout(self.state, now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.law.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::Bytes;

    use super::*;

    /// A law that drops every packet that it sees at dequeue.
    struct DropsAll;

    impl Aqm for DropsAll {
        fn on_dequeue(&mut self, _: &Packet, _: Time, _: QueueState, _: Time) -> Verdict {
            Verdict::Drop
        }
    }

    #[test]
    fn only_the_packet_that_finds_the_queue_empty_bypasses_the_law() {
        let mut queue = LinuxFifo::new(DropsAll, Limit::Packets(3), Order::Bypass);
        let mut lost = Vec::new();
        for number in 0..4 {
            let packet = Packet { size: Bytes::new(100), ecn: Ecn::NotEct, flow: 0 };
            queue.enqueue(packet, number, Time::ZERO, &mut |payload| lost.push(payload));
        }
        assert_eq!(lost, [3], "the limit counts the bypassing packet");
        let left = queue.dequeue(Time::ZERO, &mut |payload| lost.push(payload));
        assert_eq!(left.map(|departure| departure.payload), Some(0));
        assert!(queue.dequeue(Time::ZERO, &mut |payload| lost.push(payload)).is_none());
        assert_eq!(lost, [3, 1, 2]);
        assert_eq!((queue.state(), queue.counters().delivered(0)), (QueueState::default(), 1));
    }
}
