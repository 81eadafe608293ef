//! Flow queueing in the order of decisions that Linux has: FQ-CoDel and FQ-PIE.

use aqmlab_units::{Bytes, Stream, Time};

use crate::parts::drr::Round;
use crate::parts::flows::queue::Plan;
use crate::parts::flows::store::FlowStore;
use crate::parts::linux::flow_hash::{FlowKey, LinuxFlowHash, Reduction};
use crate::parts::linux::memory;
use crate::parts::overflow::{Eviction, QueueEnd};
use crate::{Admission, Aqm, Backlog, Counters, Departure, Ecn, Limit, Packet, Qdisc, QueueState, Verdict};

/// A queue for each flow, each under a law.
#[derive(Clone, Debug)]
pub(crate) struct LinuxFlowQueue<A, P> {
    limit: Limit,
    backlog: Backlog,
    /// The packets that an overflow evicts. Without them the limit decides before the law, and drops the arriving packet.
    ///
    /// With them, a packet that finds all queues empty leaves next, without the law and without a turn.
    eviction: Option<Eviction>,
    hash: LinuxFlowHash,
    round: Round,
    laws: Vec<A>,
    waiting: FlowStore<P>,
    bypassing: Option<Departure<P>>,
    counters: Counters,
    /// The memory for waiting packets, and the memory that they take, if it is limited.
    memory_limit: Option<u64>,
    memory: u64,
}

impl<A: Aqm, P> LinuxFlowQueue<A, P> {
    /// Return empty queues; `law` makes the law of each from its own random stream.
    pub(crate) fn new(plan: Plan, rng: &mut Stream, law: impl Fn(Stream) -> A) -> LinuxFlowQueue<A, P> {
        let queues = plan.queues as usize;
        let hash = LinuxFlowHash::new(FlowKey::draw(rng), plan.queues, Reduction::Scale);
        let key = rng.next_u64();
        LinuxFlowQueue {
            limit: plan.limit,
            backlog: plan.backlog,
            eviction: plan.eviction,
            hash,
            round: Round::new(plan.rules, plan.quantum, queues),
            laws: (0..queues as u64).map(|number| law(Stream::numbered(key, number))).collect(),
            waiting: FlowStore::new(queues),
            bypassing: None,
            counters: Counters::default(),
            memory_limit: None,
            memory: 0,
        }
    }

    /// Return the empty queues with a limit on the memory of waiting packets, which an overflow of it evicts.
    pub(crate) fn with_memory_limit(self, limit: Option<Bytes>) -> LinuxFlowQueue<A, P> {
        LinuxFlowQueue { memory_limit: limit.map(Bytes::get), ..self }
    }

    /// Return the empty queues with the key of a host's hash of flows.
    pub(crate) fn with_flow_key(self, key: FlowKey) -> LinuxFlowQueue<A, P> {
        LinuxFlowQueue { hash: self.hash.with_key(key), ..self }
    }

    fn push(&mut self, queue: usize, arrived: Departure<P>) {
        if self.memory_limit.is_some() {
            self.memory += memory::of_packet(arrived.packet.size);
        }
        self.waiting.push(queue, arrived);
    }

    fn pop(&mut self, queue: usize) -> Option<Departure<P>> {
        let head = self.waiting.pop(queue, QueueEnd::Head)?;
        if self.memory_limit.is_some() {
            self.memory -= memory::of_packet(head.packet.size);
        }
        Some(head)
    }

    /// The backlog that the law of `queue` sees.
    fn visible_backlog(&self, queue: usize) -> QueueState {
        match self.backlog {
            Backlog::Flow => self.waiting.length(queue),
            Backlog::All => self.waiting.total(),
        }
    }

    fn judge(&mut self, queue: usize, packet: &Packet, now: Time) -> Admission {
        let backlog = self.visible_backlog(queue);
        let law = &mut self.laws[queue];
        if self.eviction.is_none() && !self.limit.admits(packet.size, self.waiting.total()) {
            law.on_overflow(packet, backlog, now);
            return Admission::DroppedByLimit;
        }
        match law.on_enqueue(packet, backlog, now) {
            Verdict::Pass => Admission::Queued,
            Verdict::Mark if packet.ecn.is_capable() => Admission::Marked,
            Verdict::Mark => Admission::DroppedEarly,
            Verdict::Drop => Admission::DroppedForced,
        }
    }

    /// Evict packets if there are more than the limit. The law of their queue gets each of them as an overflow.
    fn make_room(&mut self, now: Time, lost: &mut dyn FnMut(P)) {
        let Some(eviction) = self.eviction else { return };
        let has_memory = self.memory_limit.is_none_or(|limit| self.memory <= limit);
        if has_memory && self.limit.holds(self.state()) {
            return;
        }
        let queue = self.waiting.longest(eviction);
        let before = self.waiting.length(queue);
        let (packets, bytes) = eviction.share(before);
        let mut after = before;
        while before.packets - after.packets < packets && before.bytes - after.bytes < bytes {
            let evicted = self.pop(queue).expect("its half is more than nothing");
            self.counters.evicted += 1;
            self.laws[queue].on_overflow(&evicted.packet, before, now);
            lost(evicted.payload);
            after = self.waiting.length(queue);
        }
    }
}

impl<A: Aqm, P> Qdisc<P> for LinuxFlowQueue<A, P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        if self.eviction.is_some() && self.state().packets == 0 {
            self.counters.count(Admission::Queued, packet.size);
            self.bypassing = Some(Departure { packet, payload, enqueued_at: now });
            return Admission::Queued;
        }
        let queue = self.hash.queue_of(packet.flow);
        let admission = self.judge(queue, &packet, now);
        self.counters.count(admission, packet.size);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        if admission == Admission::Marked {
            packet.ecn = Ecn::Ce;
        }
        self.push(queue, Departure { packet, payload, enqueued_at: now });
        self.round.on_arrival(queue);
        self.make_room(now, lost);
        admission
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        if let Some(bypassing) = self.bypassing.take() {
            return Some(bypassing);
        }
        loop {
            let queue = self.round.next_queue(|queue| self.waiting.head(queue))?;
            while let Some(mut head) = self.pop(queue) {
                let backlog = self.visible_backlog(queue);
                let verdict = self.laws[queue].on_dequeue(&head.packet, head.enqueued_at, backlog, now);
                if self.counters.release(verdict, &mut head.packet) {
                    self.round.on_sent(queue, head.packet.size, false);
                    return Some(head);
                }
                lost(head.payload);
            }
            self.laws[queue].on_empty(now);
            self.round.on_empty_turn(queue);
        }
    }

    fn state(&self) -> QueueState {
        let QueueState { packets, bytes } = self.waiting.total();
        let bypassing = self.bypassing.as_ref().map_or(Bytes::ZERO, |departure| departure.packet.size);
        QueueState { packets: packets + u32::from(self.bypassing.is_some()), bytes: bytes + bypassing }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        // All laws have one timer.
        self.laws[0].poll_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        for queue in 0..self.laws.len() {
            let backlog = self.visible_backlog(queue);
            self.laws[queue].on_timeout(backlog, now);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.round.active();
        out("new_flows", new as f64);
        out("old_flows", old as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::drr::Rules;
    use crate::{Half, ThroughOld};

    /// A law that counts its packets: judged, without room, and about to leave.
    #[derive(Clone, Debug, Default)]
    struct Counting([u32; 3]);

    impl Aqm for Counting {
        fn on_enqueue(&mut self, _: &Packet, _: QueueState, _: Time) -> Verdict {
            self.0[0] += 1;
            Verdict::Pass
        }

        fn on_overflow(&mut self, _: &Packet, _: QueueState, _: Time) {
            self.0[1] += 1;
        }

        fn on_dequeue(&mut self, _: &Packet, _: Time, _: QueueState, _: Time) -> Verdict {
            self.0[2] += 1;
            Verdict::Pass
        }
    }

    /// Ten packets of 100 bytes for one queue with room for eight: the queue afterwards, and the lost packets.
    fn fill(eviction: Option<Eviction>) -> (LinuxFlowQueue<Counting, u32>, Vec<u32>) {
        let rules = Rules::SparseFirst(ThroughOld::IfAny);
        let plan = Plan { eviction, ..Plan::new(1, rules, Bytes::new(100), Limit::Packets(8)) };
        let mut queue = LinuxFlowQueue::new(plan, &mut Stream::named(1, "queue"), |_| Counting::default());
        let mut lost = Vec::new();
        for number in 0..10 {
            let packet = Packet { size: Bytes::new(100), ecn: Ecn::NotEct, flow: 0 };
            queue.enqueue(packet, number, Time::ZERO, &mut |payload| lost.push(payload));
        }
        (queue, lost)
    }

    fn departures(queue: &mut LinuxFlowQueue<Counting, u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drop)).map(|left| left.payload).collect()
    }

    #[test]
    fn an_overflow_evicts_half_the_bytes_but_no_bypassing_packet() {
        let (mut queue, lost) = fill(Some(Eviction::HalfOfFattest(Half::Bytes, 64)));
        assert_eq!(lost, [1, 2, 3, 4], "the ninth packet is one too many");
        assert_eq!(departures(&mut queue), [0, 5, 6, 7, 8, 9]);
        assert_eq!(queue.laws[0].0, [9, 4, 5]);
        assert_eq!((queue.counters().evicted, queue.counters().delivered(0)), (4, 6));
    }

    #[test]
    fn without_eviction_no_law_judges_packets_above_the_limit() {
        let (mut queue, lost) = fill(None);
        assert_eq!(lost, [8, 9]);
        assert_eq!(departures(&mut queue), (0..8).collect::<Vec<_>>());
        assert_eq!(queue.laws[0].0, [8, 2, 8]);
    }
}
