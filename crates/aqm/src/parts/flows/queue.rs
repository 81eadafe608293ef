//! Flow queueing: a queue for each flow, as far as a hash can tell flows apart, each under a law of its own, served in
//! a fair round.
//!
//! An arriving packet is hashed to a queue ([`FlowHash`]), judged by that queue's law and enqueued. The [`Round`]
//! selects the queue to serve, and a packet is judged once more at dequeue. When all queues together exceed the limit,
//! an [`Eviction`] selects the packets to evict.
//!
//! Source: RFC 8290, section 4, whose structure SFQ, FQ-PIE and CAKE share.
//!
//! As in Linux, [`Aqm::on_empty`] is called when the queue is empty at its turn, not when its last packet leaves.

use aqmlab_units::{Bytes, Stream, Time};

use crate::admission::judge;
use crate::parts::drr::{Round, Rules};
use crate::parts::flows::hash::FlowHash;
use crate::parts::flows::store::{FlowStore, added};
use crate::parts::overflow::{Eviction, QueueEnd};
use crate::{Admission, Aqm, Backlog, Counters, Departure, Ecn, Limit, Packet, Qdisc, QueueState};

/// The properties of a flow-queueing discipline other than its law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The number of queues.
    pub(crate) queues: u32,
    /// Flows share a queue only when all queues of a set are taken.
    pub(crate) set_associative: bool,
    pub(crate) rules: Rules,
    /// The credit of a queue for one round.
    pub(crate) quantum: Bytes,
    /// The limit of all queues together.
    pub(crate) limit: Limit,
    /// The most packets in one queue.
    pub(crate) depth: u32,
    /// The packets to evict beyond the limit; `None`: the arriving packet is dropped instead.
    pub(crate) eviction: Option<Eviction>,
    /// The backlog that a law sees.
    pub(crate) backlog: Backlog,
}

impl Plan {
    /// Returns a plan with a plain hash, no limit for single queues, and laws that see their own queue.
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
    /// No law wants its timeout before.
    next_timeout: Option<Time>,
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Empty queues; `law` makes the law of each from a random stream of its own.
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

    /// Changes the hash. With `rehash` queued packets move to their new queues, and the scheduler restarts; otherwise
    /// they stay where they are, and packets of one flow may overtake each other.
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

    /// The backlog that the law of `queue` is shown.
    #[inline]
    fn seen(&self, queue: usize) -> QueueState {
        match self.backlog {
            Backlog::Flow => self.waiting.length(queue),
            Backlog::All => self.waiting.total(),
        }
    }

    /// Returns whether a packet of `size` can join `queue`, if need be by eviction of others.
    fn has_room(&self, queue: usize, size: Bytes) -> bool {
        let end = self.eviction.map_or(QueueEnd::Tail, Eviction::end);
        if end == QueueEnd::Tail && self.waiting.length(queue).packets >= self.depth {
            return false;
        }
        if self.limit.admits(size, self.waiting.total()) {
            return true;
        }
        // A packet longer than the limit would evict all packets and itself.
        let alone = self.limit.admits(size, QueueState::default());
        alone
            && self.eviction.is_some_and(|eviction| {
                // At a tail the packet would push out itself if it makes its queue the longest.
                end == QueueEnd::Head || {
                    let longest = self.waiting.length(self.waiting.longest(eviction));
                    eviction.measure(added(self.waiting.length(queue), size)) < eviction.measure(longest)
                }
            })
    }

    /// Push out packets until the limit is kept.
    fn make_room(&mut self, now: Time, lost: &mut dyn FnMut(P)) {
        let Some(eviction) = self.eviction else { return };
        while !self.limit.holds(self.waiting.total()) {
            let queue = self.waiting.longest(eviction);
            let before = self.waiting.length(queue);
            let (packets, bytes) = eviction.share(before);
            loop {
                self.evict(queue, eviction.end(), now, lost);
                let left = self.waiting.length(queue);
                if before.packets - left.packets >= packets || before.bytes - left.bytes >= bytes {
                    break;
                }
            }
        }
    }

    /// Push out one packet of `queue`.
    fn evict(&mut self, queue: usize, end: QueueEnd, now: Time, lost: &mut dyn FnMut(P)) {
        let victim = self.waiting.pop(queue, end).expect("the longest queue is not empty");
        self.counters.evicted += 1;
        let seen = self.seen(queue);
        self.laws[queue].on_overflow(&victim.packet, seen, now);
        if self.waiting.length(queue).packets == 0 {
            self.round.emptied(queue);
        }
        self.watch(queue);
        lost(victim.payload);
    }

    #[inline]
    fn push(&mut self, queue: usize, packet: Departure<P>) {
        self.waiting.push(queue, packet);
        self.round.arrived(queue);
    }

    /// Remember when the law of `queue` wants its timeout.
    #[inline]
    fn watch(&mut self, queue: usize) {
        if let Some(due) = self.laws[queue].poll_timeout() {
            self.next_timeout = Some(self.next_timeout.map_or(due, |next| next.min(due)));
        }
    }
}

impl<A: Aqm, P> Qdisc<P> for FlowQueue<A, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let queue = self.queue_of(&packet);
        let (seen, has_room) = (self.seen(queue), self.has_room(queue, packet.size));
        let admission = judge(&mut self.laws[queue], &packet, seen, now, || has_room);
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
        if self.waiting.length(queue).packets > self.depth {
            self.evict(queue, QueueEnd::Head, now, lost);
        }
        self.make_room(now, lost);
        admission
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        loop {
            let queue = self.round.turn(|queue| self.waiting.head(queue))?;
            while let Some(mut head) = self.waiting.pop(queue, QueueEnd::Head) {
                let seen = self.seen(queue);
                let verdict = self.laws[queue].on_dequeue(&head.packet, head.enqueued_at, seen, now);
                self.watch(queue);
                if self.counters.release(verdict, &mut head.packet) {
                    let is_empty = self.waiting.length(queue).packets == 0;
                    self.round.sent(queue, head.packet.size, is_empty);
                    return Some(head);
                }
                lost(head.payload);
            }
            self.laws[queue].on_empty(now);
            self.watch(queue);
            self.round.is_empty_at_its_turn(queue);
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
            let seen = self.seen(queue);
            self.laws[queue].on_timeout(seen, now);
        }
        self.next_timeout = self.laws.iter().filter_map(Aqm::poll_timeout).min();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.round.active();
        out("new_flows", new as f64);
        out("old_flows", old as f64);
    }
}
