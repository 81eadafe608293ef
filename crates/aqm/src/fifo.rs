//! The simplest queue: first in, first out, under one law.

use std::collections::VecDeque;

use aqmlab_units::Time;

use crate::{Admission, AdmissionControl, Aqm, Counters, Departure, Ecn, Limit, Packet, Qdisc, QueueState};

/// First in, first out, behind an [`AdmissionControl`].
///
/// ```
/// use aqmlab_aqm::{Droptail, Ecn, Fifo, Limit, Packet, Qdisc};
/// use aqmlab_units::{Bytes, Time};
///
/// let mut queue = Fifo::new(Droptail, Limit::Packets(1));
/// let mut lost = Vec::new();
/// for name in ["first", "second"] {
///     let packet = Packet { size: Bytes::new(1500), ecn: Ecn::NotEct, flow: 0 };
///     queue.enqueue(packet, name, Time::ZERO, &mut |payload| lost.push(payload));
/// }
/// assert_eq!((queue.state().packets, lost), (1, vec!["second"]));
/// ```
#[derive(Clone, Debug)]
pub struct Fifo<A, P> {
    control: AdmissionControl<A>,
    waiting: VecDeque<Departure<P>>,
    state: QueueState,
}

impl<A: Aqm, P> Fifo<A, P> {
    /// Return an empty queue.
    pub fn new(law: A, limit: Limit) -> Fifo<A, P> {
        Fifo {
            control: AdmissionControl::new(law, limit),
            waiting: VecDeque::new(),
            state: QueueState::default(),
        }
    }

    /// The law that decides.
    pub fn law(&self) -> &A {
        &self.control.law
    }

    pub(crate) fn law_mut(&mut self) -> &mut A {
        &mut self.control.law
    }

    /// The waiting packet at `index`; the head has index 0.
    pub(crate) fn packet(&self, index: usize) -> &Packet {
        &self.waiting[index].packet
    }

    /// Evict the waiting packet at `index`. Those behind it move up, which takes time in proportion to the queue.
    pub(crate) fn evict(&mut self, index: usize, now: Time) -> P {
        let evicted = self.waiting.remove(index).expect("a packet waits at this index");
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - evicted.packet.size;
        self.control.counters.evicted += 1;
        if self.state.packets == 0 {
            self.control.law.on_empty(now);
        }
        evicted.payload
    }

    /// Drop an arriving packet without asking the law.
    pub(crate) fn refuse(&mut self, packet: &Packet, payload: P, lost: &mut dyn FnMut(P)) -> Admission {
        self.control.counters.count(Admission::DroppedForced, packet.size);
        lost(payload);
        Admission::DroppedForced
    }

    /// Remove the packet at the head, which no longer counts as waiting.
    fn pop(&mut self) -> Option<Departure<P>> {
        let head = self.waiting.pop_front()?;
        self.state.packets -= 1;
        self.state.bytes = self.state.bytes - head.packet.size;
        Some(head)
    }
}

impl<A: Aqm, P> Qdisc<P> for Fifo<A, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let admission = self.control.admit(&packet, self.state, now);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        if admission == Admission::Marked {
            packet.ecn = Ecn::Ce;
        }
        self.state.packets += 1;
        self.state.bytes += packet.size;
        self.waiting.push_back(Departure { packet, payload, enqueued_at: now });
        admission
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        while let Some(mut head) = self.pop() {
            let verdict = self.control.law.on_dequeue(&head.packet, head.enqueued_at, self.state, now);
            if self.state.packets == 0 {
                self.control.law.on_empty(now);
            }
            if self.control.counters.release(verdict, &mut head.packet) {
                return Some(head);
            }
            lost(head.payload);
        }
        None
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn counters(&self) -> Counters {
        self.control.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.control.law.poll_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.control.law.on_timeout(self.state, now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.control.law.probe(out);
    }
}
