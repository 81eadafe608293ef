//! First in, first out, which drops its oldest packets to make room: `pfifo_head_drop` of Linux.

use std::collections::VecDeque;

use aqmlab_units::Time;

use crate::{Admission, Counters, Departure, Limit, Packet, Qdisc, QueueState};

/// The queue.
#[derive(Clone, Debug)]
pub(crate) struct DropHead<P> {
    limit: Limit,
    /// The packet that found the queue empty. It leaves next, and is not dropped.
    bypassing: Option<Departure<P>>,
    waiting: VecDeque<Departure<P>>,
    /// Both the bypassing packet and the waiting ones.
    state: QueueState,
    counters: Counters,
}

impl<P> DropHead<P> {
    /// Return an empty queue.
    pub(crate) fn new(limit: Limit) -> DropHead<P> {
        DropHead {
            limit,
            bypassing: None,
            waiting: VecDeque::new(),
            state: QueueState::default(),
            counters: Counters::default(),
        }
    }

    /// True if a packet fits, if necessary in place of all that wait.
    fn can_admit(&self, packet: &Packet) -> bool {
        let bypassing = self.bypassing.iter();
        let kept = bypassing.fold(QueueState::default(), |kept, departure| QueueState {
            packets: kept.packets + 1,
            bytes: kept.bytes + departure.packet.size,
        });
        self.limit.admits(packet.size, kept)
    }

    fn leave(&mut self, packet: &Packet) {
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - packet.size;
    }

    fn make_room(&mut self, packet: &Packet, lost: &mut dyn FnMut(P)) {
        while !self.limit.admits(packet.size, self.state) {
            let oldest = self.waiting.pop_front().expect("without waiting packets it fits");
            self.leave(&oldest.packet);
            self.counters.evicted += 1;
            lost(oldest.payload);
        }
    }
}

impl<P> Qdisc<P> for DropHead<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        if !self.can_admit(&packet) {
            self.counters.count(Admission::DroppedByLimit, packet.size);
            lost(payload);
            return Admission::DroppedByLimit;
        }
        self.make_room(&packet, lost);
        self.counters.count(Admission::Queued, packet.size);
        let bypasses = self.state.packets == 0;
        self.state.packets += 1;
        self.state.bytes += packet.size;
        let arrived = Departure { packet, payload, enqueued_at: now };
        if bypasses {
            self.bypassing = Some(arrived);
        } else {
            self.waiting.push_back(arrived);
        }
        Admission::Queued
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        let head = self.bypassing.take().or_else(|| self.waiting.pop_front())?;
        self.leave(&head.packet);
        Some(head)
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

#[cfg(test)]
mod tests {
    use aqmlab_units::Bytes;

    use super::*;
    use crate::Ecn;

    fn lost_of(limit: Limit, sizes: &[u64]) -> (Vec<usize>, DropHead<usize>) {
        let (mut queue, mut lost) = (DropHead::new(limit), Vec::new());
        for (number, &size) in sizes.iter().enumerate() {
            let packet = Packet { size: Bytes::new(size), ecn: Ecn::NotEct, flow: 0 };
            queue.enqueue(packet, number, Time::ZERO, &mut |payload| lost.push(payload));
        }
        (lost, queue)
    }

    #[test]
    fn the_oldest_packets_make_room_but_not_the_one_leaving_next() {
        let (lost, mut queue) = lost_of(Limit::Packets(3), &[100; 6]);
        assert_eq!(lost, [1, 2, 3]);
        let left: Vec<usize> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_| ())).map(|head| head.payload).collect();
        assert_eq!(left, [0, 4, 5]);
        assert_eq!((queue.state(), queue.counters().evicted), (QueueState::default(), 3));
    }

    #[test]
    fn a_packet_that_does_not_fit_drops_no_other() {
        let (lost, queue) = lost_of(Limit::Bytes(Bytes::new(1000)), &[300, 300, 300, 800, 600]);
        assert_eq!(lost, [3, 1, 2], "800 B do not fit beside the packet that leaves next, and 600 B do");
        assert_eq!(queue.state(), QueueState { packets: 2, bytes: Bytes::new(900) });
    }
}
