//! SFQ in the order of decisions that Linux has.
//!
//! Differs from [`crate::Sfq`] in these points. A packet that finds all queues empty leaves next, without a turn. Of
//! equally long queues, the one whose length changed last loses a packet. At most 128 queues are active.

use aqmlab_units::{Bytes, Time};

use crate::parts::drr::{Round, Rules};
use crate::parts::flows::store::FlowStore;
use crate::parts::linux::coin::Coin;
use crate::parts::linux::flow_hash::{FlowKey, LinuxFlowHash, Reduction};
use crate::parts::overflow::QueueEnd;
use crate::{Admission, Counters, Departure, Limit, Packet, Qdisc, QueueState, SfqConfig, Turns};

/// The largest number of active queues, unless the limit is less.
const MOST_ACTIVE: usize = 128;

/// Stochastic fairness queueing.
#[derive(Clone, Debug)]
pub(crate) struct LinuxSfq<P> {
    limit: Limit,
    depth: u32,
    drop: QueueEnd,
    hash: LinuxFlowHash,
    round: Round,
    waiting: FlowStore<P>,
    /// For each queue, the number of the change that gave it its length.
    changed: Vec<u64>,
    changes: u64,
    /// The packet that leaves next without a turn.
    bypassing: Option<Departure<P>>,
    counters: Counters,
}

impl<P> LinuxSfq<P> {
    /// Return empty queues. `config` must have passed [`SfqConfig::resolve`].
    pub(crate) fn new(config: &SfqConfig, mut coin: impl Coin) -> LinuxSfq<P> {
        let queues = config.flows as usize;
        LinuxSfq {
            limit: config.limit,
            depth: config.depth,
            drop: config.drop,
            hash: LinuxFlowHash::new(FlowKey::draw(&mut coin), config.flows, Reduction::Mask),
            round: Round::new(Rules::Plain(Turns::Surplus), config.quantum, queues),
            waiting: FlowStore::new(queues),
            changed: vec![0; queues],
            changes: 0,
            bypassing: None,
            counters: Counters::default(),
        }
    }

    fn note_change(&mut self, queue: usize) {
        self.changes += 1;
        self.changed[queue] = self.changes;
    }

    /// The queue that loses a packet: the longest, and of several the one that changed last. If no queue has two packets,
    /// it is the one whose turn it is.
    fn victim(&self) -> usize {
        let length = |queue: usize| self.waiting.length(queue).packets;
        let longest = (0..self.changed.len()).max_by_key(|&queue| (length(queue), self.changed[queue]));
        let longest = longest.expect("there are queues");
        if length(longest) > 1 { longest } else { *self.round.front().expect("a packet has arrived") }
    }

    /// Drop a packet of `queue`, which is not the one that is arriving, at this end.
    fn evict(&mut self, queue: usize, end: QueueEnd, lost: &mut dyn FnMut(P)) {
        let evicted = self.waiting.pop(queue, end).expect("the longest queue is not empty");
        self.counters.evicted += 1;
        lost(evicted.payload);
    }

    fn refuse(&mut self, size: Bytes, payload: P, lost: &mut dyn FnMut(P)) -> Admission {
        self.counters.count(Admission::DroppedByLimit, size);
        lost(payload);
        Admission::DroppedByLimit
    }

    fn has_free_place(&self, queue: usize) -> bool {
        !self.round.is_idle(queue) || {
            let active = self.round.active().1;
            let most = QueueState { packets: u32::try_from(active).expect("few"), bytes: Bytes::ZERO };
            active < MOST_ACTIVE.min(self.changed.len()) && self.limit.admits(Bytes::ZERO, most)
        }
    }
}

impl<P> Qdisc<P> for LinuxSfq<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let (size, state) = (packet.size, self.state());
        let arrived = Departure { packet, payload, enqueued_at: now };
        if state.packets == 0 {
            self.counters.count(Admission::Queued, size);
            self.bypassing = Some(arrived);
            return Admission::Queued;
        }
        let queue = self.hash.queue_of(packet.flow);
        if !self.has_free_place(queue) {
            return self.refuse(size, arrived.payload, lost);
        }
        if self.waiting.length(queue).packets >= self.depth {
            if self.drop == QueueEnd::Tail {
                return self.refuse(size, arrived.payload, lost);
            }
            // The queue keeps its length, which does not count as a change.
            self.counters.count(Admission::Queued, size);
            self.evict(queue, QueueEnd::Head, lost);
            self.waiting.push(queue, arrived);
            return Admission::Queued;
        }
        self.waiting.push(queue, arrived);
        self.round.on_arrival(queue);
        self.note_change(queue);
        if self.limit.admits(size, state) {
            self.counters.count(Admission::Queued, size);
            return Admission::Queued;
        }
        let victim = self.victim();
        self.note_change(victim);
        if victim == queue && self.drop == QueueEnd::Tail {
            let refused = self.waiting.pop(queue, QueueEnd::Tail).expect("it has just arrived");
            return self.refuse(size, refused.payload, lost);
        }
        self.counters.count(Admission::Queued, size);
        self.evict(victim, self.drop, lost);
        if self.waiting.length(victim).packets == 0 {
            self.round.remove_emptied(victim);
        }
        Admission::Queued
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        if let Some(bypassing) = self.bypassing.take() {
            return Some(bypassing);
        }
        let queue = self.round.next_queue(|queue| self.waiting.head(queue))?;
        let head = self.waiting.pop(queue, QueueEnd::Head).expect("an active queue has a packet");
        self.note_change(queue);
        self.round.on_sent(queue, head.packet.size, self.waiting.length(queue).packets == 0);
        Some(head)
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
        None
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.round.active();
        out("new_flows", new as f64);
        out("old_flows", old as f64);
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::Stream;

    use super::*;
    use crate::Ecn;

    /// Packets of these flows, each with a queue of its own, at a queue with room for `limit`: the payloads that are lost.
    fn lost(flows: &[u32], limit: u32) -> Vec<usize> {
        let config = SfqConfig { limit: Limit::Packets(limit), ..SfqConfig::default() };
        let mut queue = LinuxSfq::new(&config, Stream::named(1, "queue"));
        let mut lost = Vec::new();
        for (number, &flow) in flows.iter().enumerate() {
            let packet = Packet { size: Bytes::new(100), ecn: Ecn::NotEct, flow };
            queue.enqueue(packet, number, Time::ZERO, &mut |payload| lost.push(payload));
        }
        let left = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drop)).count();
        assert_eq!(left + lost.len(), flows.len());
        lost
    }

    #[test]
    fn of_equally_long_queues_the_last_to_change_loses_a_packet() {
        assert_eq!(lost(&[0, 1, 1, 2, 2, 3], 5), [4], "the second queue of two packets");
        assert_eq!(lost(&[0, 1, 2, 2, 1, 3], 5), [4], "it is the first queue that changed last");
    }

    #[test]
    fn a_packet_that_makes_its_queue_the_longest_is_refused() {
        assert_eq!(lost(&[0, 1, 1, 2, 2], 4), [4]);
    }

    #[test]
    fn among_queues_of_one_packet_the_next_in_turn_loses_it() {
        assert_eq!(lost(&[0, 1, 2, 3, 4], 4), [1]);
    }
}
