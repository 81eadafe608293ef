//! Flow queueing: a queue for each flow, as far as a hash separates flows, each under its own law, served in fair
//! rounds.
//!
//! An arriving packet is hashed to a queue ([`FlowHash`]), judged by that queue's law and enqueued. The [`Round`]
//! decides which queue is next, and the law judges the packet that leaves. When all queues together exceed the
//! limit, an [`Eviction`] selects packets to drop.
//!
//! Source: RFC 8290, section 4, whose structure SFQ, FQ-PIE and CAKE share.
//!
//! As in Linux, a law learns that its queue is empty at the queue's turn, not when its last packet leaves.

use aqmlab_units::{Bytes, Stream, Time};

use crate::admission::judge;
use crate::parts::drr::{Round, Rules};
use crate::parts::flows::hash::FlowHash;
use crate::parts::flows::store::{FlowStore, plus_packet};
use crate::parts::overflow::{Eviction, QueueEnd};
use crate::{Admission, Aqm, Backlog, Counters, Departure, Ecn, Limit, Packet, Qdisc, QueueState};

/// Configuration of a flow-queueing discipline, without its law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The number of queues.
    pub(crate) queues: u32,
    /// Flows share a queue only if all queues of their set are taken.
    pub(crate) set_associative: bool,
    pub(crate) rules: Rules,
    /// The credit of a queue in one round.
    pub(crate) quantum: Bytes,
    /// The maximum that may wait in all queues together.
    pub(crate) limit: Limit,
    /// The maximum number of packets in one queue.
    pub(crate) depth: u32,
    /// The packets that an overflow evicts; `None` if it drops the arriving packet.
    pub(crate) eviction: Option<Eviction>,
    /// The backlog that a law sees.
    pub(crate) backlog: Backlog,
}

impl Plan {
    /// The simplest plan: flows share queues by chance, no queue has its own limit, and each law sees its own
    /// queue.
    pub(crate) fn new(queues: u32, rules: Rules, quantum: Bytes, limit: Limit) -> Plan {
        Plan {
            queues,
            set_associative: false,
            rules,
            quantum,
            limit,
            depth: u32::MAX,
            eviction: None,
            backlog: Backlog::Flow,
        }
    }
}

/// A queue for each flow, each under a law `A`.
#[derive(Clone, Debug)]
pub(crate) struct FlowQueue<A, P> {
    limit: Limit,
    depth: u32,
    eviction: Option<Eviction>,
    backlog: Backlog,
    hash: FlowHash,
    round: Round,
    laws: Vec<A>,
    waiting: FlowStore<P>,
    counters: Counters,
    /// The earliest timeout of any law.
    next_timeout: Option<Time>,
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Return empty queues; `law` makes the law of each from its own random stream.
    pub(crate) fn new(plan: Plan, rng: &mut Stream, law: impl Fn(Stream) -> A) -> FlowQueue<A, P> {
        let Plan { limit, depth, eviction, backlog, .. } = plan;
        let queues = plan.queues as usize;
        let hash = if plan.set_associative { FlowHash::set_associative } else { FlowHash::plain };
        let hash = hash(queues, rng.next_u64());
        let round = Round::new(plan.rules, plan.quantum, queues);
        let key = rng.next_u64();
        let laws: Vec<A> = (0..queues as u64).map(|number| law(Stream::numbered(key, number))).collect();
        let next_timeout = laws.iter().filter_map(Aqm::poll_timeout).min();
        let (waiting, counters) = (FlowStore::new(queues), Counters::default());
        FlowQueue { limit, depth, eviction, backlog, hash, round, laws, waiting, counters, next_timeout }
    }

    /// Change the hash function. With `rehash`, waiting packets move to their new queues, and each queue starts
    /// afresh. Otherwise they leave from their old queues, and packets of one flow may be reordered.
    pub(crate) fn perturb(&mut self, perturbation: u64, rehash: bool) {
        self.hash.perturb(perturbation);
        if rehash {
            self.round.clear();
            for packet in self.waiting.take() {
                let queue = self.queue_of(&packet.packet);
                self.push(queue, packet);
            }
        }
    }

    #[inline]
    fn queue_of(&mut self, packet: &Packet) -> usize {
        self.hash.queue_of(packet.flow, |queue| self.round.is_idle(queue))
    }

    /// The backlog that the law of `queue` sees.
    #[inline]
    fn visible_backlog(&self, queue: usize) -> QueueState {
        match self.backlog {
            Backlog::Flow => self.waiting.length(queue),
            Backlog::All => self.waiting.total(),
        }
    }

    /// True if a packet of `size` can join `queue`, possibly by evicting others.
    fn has_room(&self, queue: usize, size: Bytes) -> bool {
        let end = self.eviction.map_or(QueueEnd::Tail, Eviction::end);
        if end == QueueEnd::Tail && self.waiting.length(queue).packets >= self.depth {
            return false;
        }
        if self.limit.admits(size, self.waiting.total()) {
            return true;
        }
        // A packet longer than the limit would evict all others and itself.
        let fits_alone = self.limit.admits(size, QueueState::default());
        fits_alone
            && self.eviction.is_some_and(|eviction| {
                // With eviction at the tail, the packet would evict itself if it made its queue the longest.
                end == QueueEnd::Head || {
                    let longest = self.waiting.length(self.waiting.longest(eviction));
                    eviction.measure(plus_packet(self.waiting.length(queue), size))
                        < eviction.measure(longest)
                }
            })
    }

    /// Evict packets until the limit is met.
    fn make_room(&mut self, now: Time, lost: &mut dyn FnMut(P)) {
        let Some(eviction) = self.eviction else { return };
        while !self.limit.holds(self.waiting.total()) {
            let queue = self.waiting.longest(eviction);
            let before = self.waiting.length(queue);
            let (packets, bytes) = eviction.share(before);
            loop {
                self.evict(queue, eviction.end(), now, lost);
                let after = self.waiting.length(queue);
                if before.packets - after.packets >= packets || before.bytes - after.bytes >= bytes {
                    break;
                }
            }
        }
    }

    /// Evict one packet of `queue`.
    fn evict(&mut self, queue: usize, end: QueueEnd, now: Time, lost: &mut dyn FnMut(P)) {
        let evicted = self.waiting.pop(queue, end).expect("the longest queue is not empty");
        self.counters.evicted += 1;
        let backlog = self.visible_backlog(queue);
        self.laws[queue].on_overflow(&evicted.packet, backlog, now);
        if self.waiting.length(queue).packets == 0 {
            self.round.remove_emptied(queue);
        }
        self.update_next_timeout(queue);
        lost(evicted.payload);
    }

    #[inline]
    fn push(&mut self, queue: usize, packet: Departure<P>) {
        self.waiting.push(queue, packet);
        self.round.on_arrival(queue);
    }

    /// Update the earliest timeout with that of the law of `queue`.
    #[inline]
    fn update_next_timeout(&mut self, queue: usize) {
        if let Some(due) = self.laws[queue].poll_timeout() {
            self.next_timeout = Some(self.next_timeout.map_or(due, |next| next.min(due)));
        }
    }
}

impl<A: Aqm, P> Qdisc<P> for FlowQueue<A, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let queue = self.queue_of(&packet);
        let (backlog, has_room) = (self.visible_backlog(queue), self.has_room(queue, packet.size));
        let admission = judge(&mut self.laws[queue], &packet, backlog, now, || has_room);
        self.update_next_timeout(queue);
        self.counters.count(admission, packet.size);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        if admission == Admission::Marked {
            packet.ecn = Ecn::Ce;
        }
        self.push(queue, Departure { packet, payload, enqueued_at: now });
        if self.waiting.length(queue).packets > self.depth {
            self.evict(queue, QueueEnd::Head, now, lost);
        }
        self.make_room(now, lost);
        admission
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        loop {
            let queue = self.round.next_queue(|queue| self.waiting.head(queue))?;
            while let Some(mut head) = self.waiting.pop(queue, QueueEnd::Head) {
                let backlog = self.visible_backlog(queue);
                let verdict = self.laws[queue].on_dequeue(&head.packet, head.enqueued_at, backlog, now);
                self.update_next_timeout(queue);
                if self.counters.release(verdict, &mut head.packet) {
                    let is_empty = self.waiting.length(queue).packets == 0;
                    self.round.on_sent(queue, head.packet.size, is_empty);
                    return Some(head);
                }
                lost(head.payload);
            }
            self.laws[queue].on_empty(now);
            self.update_next_timeout(queue);
            self.round.on_empty_turn(queue);
        }
    }

    fn state(&self) -> QueueState {
        self.waiting.total()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_timeout
    }

    fn on_timeout(&mut self, now: Time) {
        for queue in 0..self.laws.len() {
            let backlog = self.visible_backlog(queue);
            self.laws[queue].on_timeout(backlog, now);
        }
        self.next_timeout = self.laws.iter().filter_map(Aqm::poll_timeout).min();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.round.active();
        out("new_flows", new as f64);
        out("old_flows", old as f64);
    }
}
