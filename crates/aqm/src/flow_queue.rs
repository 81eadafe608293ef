//! Flow queueing: a queue for each flow, as far as a hash can tell flows apart, each under a law of its own, served in
//! a fair round.
//!
//! What arrives is hashed to a queue ([`FlowHash`]), judged by that queue's law and queued; whose turn it is follows
//! from the [`Round`]; what leaves is judged once more. When all queues together hold too much, an [`Eviction`] says what
//! is pushed out.
//!
//! Source: RFC 8290, section 4, whose structure SFQ, FQ-PIE and CAKE share.
//!
//! As in Linux a law hears that its queue is empty when the queue is empty at its turn, not as its last packet leaves.

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Stream, Time};

use crate::flow_hash::FlowHash;
use crate::gate::judge;
use crate::overflow::{End, Eviction};
use crate::round::Round;
use crate::{Admission, Aqm, Backlog, Counters, Departure, Ecn, Limit, Packet, Qdisc, QueueState};

/// What distinguishes one flow-queueing discipline from another, but for its law.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) hash: FlowHash,
    pub(crate) round: Round,
    /// The most that may wait in all queues together.
    pub(crate) limit: Limit,
    /// The most packets that may wait in one queue.
    pub(crate) depth: u32,
    /// What gives way beyond the limit; nothing: the arriving packet is refused.
    pub(crate) eviction: Option<Eviction>,
    /// Which backlog a law is shown.
    pub(crate) backlog: Backlog,
}

/// A queue with its law.
#[derive(Clone, Debug)]
struct Flow<A, P> {
    law: A,
    waiting: VecDeque<Departure<P>>,
}

/// A queue for each flow, each under a law `A`.
#[derive(Clone, Debug)]
pub struct FlowQueue<A, P> {
    plan: Plan,
    flows: Vec<Flow<A, P>>,
    /// What waits in each queue: apart from the queues, because the search for the longest looks at all of them.
    lengths: Vec<QueueState>,
    total: QueueState,
    counters: Counters,
    /// No law wants its timeout before.
    next_timeout: Option<Time>,
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// `queues` empty queues; `law` makes the law of each from a random stream of its own.
    pub(crate) fn new(
        plan: Plan,
        queues: usize,
        rng: &mut Stream,
        law: impl Fn(Stream) -> A,
    ) -> FlowQueue<A, P> {
        let key = rng.next_u64();
        let flow = |number| Flow { law: law(Stream::numbered(key, number)), waiting: VecDeque::new() };
        let flows: Vec<_> = (0..queues as u64).map(flow).collect();
        let next_timeout = flows.iter().filter_map(|flow| flow.law.poll_timeout()).min();
        let lengths = vec![QueueState::default(); queues];
        let (total, counters) = (QueueState::default(), Counters::default());
        FlowQueue { plan, flows, lengths, total, counters, next_timeout }
    }

    /// From now on flows are hashed otherwise. With `rehash` what waits moves along, and each queue begins anew;
    /// otherwise it leaves from where it is, and packets of one flow may overtake each other.
    pub(crate) fn perturb(&mut self, perturbation: u64, rehash: bool) {
        self.plan.hash.perturb(perturbation);
        if !rehash {
            return;
        }
        let waiting: Vec<_> = self.flows.iter_mut().flat_map(|flow| flow.waiting.drain(..)).collect();
        self.plan.round.clear();
        self.lengths.fill(QueueState::default());
        self.total = QueueState::default();
        for packet in waiting {
            let queue = self.plan.hash.queue_of(packet.packet.flow, |queue| self.plan.round.is_idle(queue));
            self.push(queue, packet);
        }
    }

    /// The backlog that the law of `queue` is shown.
    #[inline]
    fn seen(&self, queue: usize) -> QueueState {
        match self.plan.backlog {
            Backlog::Flow => self.lengths[queue],
            Backlog::All => self.total,
        }
    }

    /// Can a packet of `size` join `queue`, if others must be pushed out?
    fn has_room(&self, queue: usize, size: Bytes) -> bool {
        let end = self.plan.eviction.map_or(End::Tail, Eviction::end);
        if end == End::Tail && self.lengths[queue].packets >= self.plan.depth {
            return false;
        }
        if self.plan.limit.admits(size, self.total) {
            return true;
        }
        // What is longer than the limit would push out everything and itself.
        let alone = self.plan.limit.admits(size, QueueState::default());
        alone
            && self.plan.eviction.is_some_and(|eviction| {
                // At a tail the packet would push out itself if it makes its queue the longest.
                end == End::Head || {
                    let with = added(self.lengths[queue], size);
                    eviction.measure(with) < eviction.measure(self.lengths[self.longest(eviction)])
                }
            })
    }

    /// The first of the queues that hold most.
    fn longest(&self, eviction: Eviction) -> usize {
        let measures = self.lengths.iter().map(|&length| eviction.measure(length)).enumerate();
        measures.fold((0, 0), |most, next| if next.1 > most.1 { next } else { most }).0
    }

    /// Push out packets until the limit is kept.
    fn make_room(&mut self, now: Time, lost: &mut dyn FnMut(P)) {
        let Some(eviction) = self.plan.eviction else { return };
        while !self.plan.limit.holds(self.total) {
            let queue = self.longest(eviction);
            let before = self.lengths[queue];
            let (packets, bytes) = eviction.share(before);
            loop {
                self.evict(queue, eviction.end(), now, lost);
                let left = self.lengths[queue];
                if before.packets - left.packets >= packets || before.bytes - left.bytes >= bytes {
                    break;
                }
            }
        }
    }

    /// Push out one packet of `queue`.
    fn evict(&mut self, queue: usize, end: End, now: Time, lost: &mut dyn FnMut(P)) {
        let victim = self.pop(queue, end).expect("the longest queue is not empty");
        self.counters.evicted += 1;
        let seen = self.seen(queue);
        self.flows[queue].law.on_overflow(&victim.packet, seen, now);
        if self.lengths[queue].packets == 0 {
            self.plan.round.emptied(queue);
        }
        self.watch(queue);
        lost(victim.payload);
    }

    fn push(&mut self, queue: usize, packet: Departure<P>) {
        let size = packet.packet.size;
        self.lengths[queue] = added(self.lengths[queue], size);
        self.total = added(self.total, size);
        self.flows[queue].waiting.push_back(packet);
        self.plan.round.arrived(queue);
    }

    #[inline]
    fn pop(&mut self, queue: usize, end: End) -> Option<Departure<P>> {
        let waiting = &mut self.flows[queue].waiting;
        let popped = if end == End::Head { waiting.pop_front()? } else { waiting.pop_back()? };
        self.lengths[queue] = less(self.lengths[queue], popped.packet.size);
        self.total = less(self.total, popped.packet.size);
        Some(popped)
    }

    /// Remember when the law of `queue` wants its timeout.
    #[inline]
    fn watch(&mut self, queue: usize) {
        if let Some(due) = self.flows[queue].law.poll_timeout() {
            self.next_timeout = Some(self.next_timeout.map_or(due, |next| next.min(due)));
        }
    }
}

fn added(queue: QueueState, size: Bytes) -> QueueState {
    QueueState { packets: queue.packets + 1, bytes: queue.bytes + size }
}

fn less(queue: QueueState, size: Bytes) -> QueueState {
    QueueState { packets: queue.packets - 1, bytes: queue.bytes - size }
}

impl<A: Aqm, P> Qdisc<P> for FlowQueue<A, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let queue = self.plan.hash.queue_of(packet.flow, |queue| self.plan.round.is_idle(queue));
        let (seen, has_room) = (self.seen(queue), self.has_room(queue, packet.size));
        let admission = judge(&mut self.flows[queue].law, &packet, seen, now, || has_room);
        self.watch(queue);
        self.counters.count(admission, packet.size);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        if admission == Admission::Marked {
            packet.ecn = Ecn::Ce;
        }
        self.push(queue, Departure { packet, payload, enqueued_at: now });
        if self.lengths[queue].packets > self.plan.depth {
            self.evict(queue, End::Head, now, lost);
        }
        self.make_room(now, lost);
        admission
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        loop {
            let flows = &self.flows;
            let head =
                |queue: usize| flows[queue].waiting.front().map_or(Bytes::ZERO, |head| head.packet.size);
            let queue = self.plan.round.turn(head)?;
            while let Some(mut head) = self.pop(queue, End::Head) {
                let seen = self.seen(queue);
                let law = &mut self.flows[queue].law;
                let verdict = law.on_dequeue(&head.packet, head.enqueued_at, seen, now);
                self.watch(queue);
                if self.counters.release(verdict, &mut head.packet) {
                    self.plan.round.sent(queue, head.packet.size, self.lengths[queue].packets == 0);
                    return Some(head);
                }
                lost(head.payload);
            }
            self.flows[queue].law.on_empty(now);
            self.watch(queue);
            self.plan.round.is_empty_at_its_turn(queue);
        }
    }

    fn state(&self) -> QueueState {
        self.total
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_timeout
    }

    fn on_timeout(&mut self, now: Time) {
        for queue in 0..self.flows.len() {
            let seen = self.seen(queue);
            self.flows[queue].law.on_timeout(seen, now);
        }
        self.next_timeout = self.flows.iter().filter_map(|flow| flow.law.poll_timeout()).min();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.plan.round.active();
        out("new_flows", new as f64);
        out("old_flows", old as f64);
    }
}
