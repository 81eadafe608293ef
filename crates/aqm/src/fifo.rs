//! Queues that own their packets, and the plainest of them.

use std::collections::VecDeque;

use aqmlab_units::Time;

use crate::{Admission, Aqm, Counters, Ecn, Gate, Limit, Packet, QueueState, Verdict};

/// A queue discipline: it owns packets that carry a payload `P` each (a buffer, an index, nothing).
///
/// The owner calls [`Qdisc::enqueue`] and [`Qdisc::dequeue`] in the order of time, and [`Qdisc::on_timeout`] when the
/// instant of [`Qdisc::poll_timeout`] comes, before an arrival of the same instant. The payload of a dropped packet
/// is dropped.
pub trait Qdisc<P> {
    /// A packet arrives.
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time) -> Admission;

    /// The link is free: the next packet to send, or `None` when nothing waits.
    fn dequeue(&mut self, now: Time) -> Option<Departure<P>>;

    /// How much waits.
    fn state(&self) -> QueueState;

    /// When the discipline next wants [`Qdisc::on_timeout`]. May change after any call.
    fn poll_timeout(&self) -> Option<Time>;

    /// The instant promised by [`Qdisc::poll_timeout`] has come.
    fn on_timeout(&mut self, now: Time);
}

/// A packet on its way out of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// The packet, with CE set if it was marked.
    pub packet: Packet,
    /// What it carries.
    pub payload: P,
    /// When it arrived.
    pub enqueued_at: Time,
}

/// First in, first out, behind a [`Gate`].
#[derive(Clone, Debug)]
pub struct Fifo<A, P> {
    gate: Gate<A>,
    waiting: VecDeque<Departure<P>>,
    state: QueueState,
}

impl<A: Aqm, P> Fifo<A, P> {
    /// An empty queue.
    pub fn new(law: A, limit: Limit) -> Fifo<A, P> {
        Fifo { gate: Gate::new(law, limit), waiting: VecDeque::new(), state: QueueState::default() }
    }

    /// The law that judges, to be probed.
    pub fn law(&self) -> &A {
        &self.gate.law
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> &Counters {
        &self.gate.counters
    }

    /// The packet at the head, which no longer counts as waiting.
    fn pop(&mut self) -> Option<Departure<P>> {
        let head = self.waiting.pop_front()?;
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - head.packet.size;
        Some(head)
    }
}

impl<A: Aqm, P> Qdisc<P> for Fifo<A, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time) -> Admission {
        let admission = self.gate.admit(&packet, self.state, now);
        match admission {
            Admission::DroppedByLaw | Admission::DroppedByLimit => return admission,
            Admission::Marked => packet.ecn = Ecn::Ce,
            Admission::Queued => {}
        }
        self.state.packets += 1;
        self.state.bytes += packet.size;
        self.waiting.push_back(Departure { packet, payload, enqueued_at: now });
        admission
    }

    fn dequeue(&mut self, now: Time) -> Option<Departure<P>> {
        while let Some(mut head) = self.pop() {
            let verdict = self.gate.law.on_dequeue(&head.packet, head.enqueued_at, self.state, now);
            if self.state.packets == 0 {
                self.gate.law.on_empty(now);
            }
            match verdict {
                Verdict::Pass => return Some(head),
                Verdict::Mark if head.packet.ecn.is_capable() => {
                    head.packet.ecn = Ecn::Ce;
                    self.gate.counters.marked += 1;
                    return Some(head);
                }
                Verdict::Mark | Verdict::Drop => self.gate.counters.dropped_at_dequeue += 1,
            }
        }
        None
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.gate.law.poll_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.gate.law.on_timeout(self.state, now);
    }
}
