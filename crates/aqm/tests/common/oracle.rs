//! Oracles: literal transcriptions of publications, and the comparison of a discipline with one, packet by packet.
//!
//! An oracle shares no code with the disciplines: it keeps its own packets, computes powers as powers and divides where the
//! papers divide. It gets the same stream, so that the same draws must lead to the same decisions. The variables that a
//! discipline reports are compared with a tolerance. Where a decision depends on such a variable,
//! [`Oracle::variable_mut`] lets the oracle continue with the discipline's value, so that no last bit decides whether a
//! random number is drawn.

use std::collections::{BTreeSet, VecDeque};

use aqmlab_aqm::{Admission, Counters, Ecn, Limit, Packet, Qdisc, QueueConfig};
use aqmlab_units::{Bytes, Stream, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::slow_link;
use super::traffic::Operation;

/// A packet as an oracle owns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) serial: usize,
    pub(crate) flow: u32,
    pub(crate) size: i64,
    pub(crate) ecn: Ecn,
    /// Time of arrival, in nanoseconds.
    pub(crate) at: i64,
    pub(crate) marked: bool,
}

impl Item {
    /// Time of arrival, in seconds.
    pub(crate) fn secs(&self) -> f64 {
        secs(self.at)
    }

    /// Returns whether it can be marked.
    pub(crate) fn capable(&self) -> bool {
        self.ecn != Ecn::NotEct
    }

    /// Set CE.
    pub(crate) fn mark(&mut self) {
        self.ecn = Ecn::Ce;
        self.marked = true;
    }
}

/// Packets in the order of their arrival.
pub(crate) type Queue = VecDeque<Item>;

pub(crate) fn bytes(queue: &Queue) -> i64 {
    queue.iter().map(|item| item.size).sum()
}

/// Nanoseconds in seconds.
pub(crate) fn secs(nanos: i64) -> f64 {
    nanos as f64 * 1e-9
}

/// True with this probability; a number is drawn only when the outcome is open.
pub(crate) fn drawn(p: f64, rng: &mut Stream) -> bool {
    if p <= 0.0 {
        return false;
    }
    if p >= 1.0 {
        return true;
    }
    rng.uniform() < p
}

/// A whole number below `n`.
pub(crate) fn place(n: usize, rng: &mut Stream) -> usize {
    usize::try_from(rng.below(n as u64)).expect("below a length")
}

/// The queue of a flow under a plain hash: the first draw of its stream under the queue's secret.
pub(crate) fn hashed(secret: u64, flow: u32, queues: u64) -> usize {
    usize::try_from(Stream::numbered(secret, u64::from(flow)).next_u64() % queues)
        .expect("a number of a queue")
}

/// A discipline that owns its packets. Dropped packets go to `lost`, in the order of the drops.
pub(crate) trait Oracle {
    /// The fate of an arriving packet, if the source specifies more than its loss.
    fn enqueue(&mut self, packet: Item, lost: &mut Vec<usize>) -> Option<Admission>;
    fn dequeue(&mut self, now: i64, lost: &mut Vec<usize>) -> Option<Item>;
    /// The time of the tick of this number, the first being 1, in seconds.
    fn due(&self, _tick: u32) -> Option<f64> {
        None
    }
    fn tick(&mut self, _now: i64) {}
    fn waiting(&self) -> (usize, i64);
    /// The values of the discipline's variables of these names.
    fn variables(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// The variable of this name, if the oracle keeps it, and a decision may hang on its last bit.
    fn variable_mut(&mut self, _name: &str) -> Option<&mut f64> {
        None
    }
}

/// A law's decision on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decision {
    Pass,
    Mark,
    Drop,
    /// Drop the arriving packet and the one at this place of the queue.
    DropBoth(usize),
}

/// A law that decides on arrival. It sees the whole queue and counts in it.
pub(crate) trait Law {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision;
    /// Notes that a packet which `arrive` has just passed overflowed the queue.
    fn overflow(&mut self, _item: &Item) {}
    /// Notes that a packet has left; `queue` is the rest.
    fn left(&mut self, _item: &Item, _queue: &Queue) {}
    /// The queue became empty, at this second.
    fn empty(&mut self, _now: f64) {}
    /// As [`Oracle::due`].
    fn due(&self, _tick: u32) -> Option<f64> {
        None
    }
    fn tick(&mut self, _queue: &Queue, _now: f64) {}
    fn variables(&self, queue: &Queue) -> Vec<(&'static str, f64)>;
    /// As [`Oracle::variable_mut`].
    fn variable_mut(&mut self, _name: &str) -> Option<&mut f64> {
        None
    }
}

/// A law before one queue.
pub(crate) struct OneQueue<L> {
    law: L,
    limit: Limit,
    queue: Queue,
}

impl<L: Law> OneQueue<L> {
    pub(crate) fn new(law: L, limit: Limit) -> OneQueue<L> {
        OneQueue { law, limit, queue: Queue::new() }
    }

    fn has_room(&self, size: i64) -> bool {
        match self.limit {
            Limit::Packets(most) => self.queue.len() < most as usize,
            Limit::Bytes(most) => bytes(&self.queue) + size <= most.get().cast_signed(),
        }
    }

    fn after_a_departure(&mut self, now: i64) {
        if self.queue.is_empty() {
            self.law.empty(secs(now));
        }
    }
}

impl<L: Law> Oracle for OneQueue<L> {
    fn enqueue(&mut self, mut packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        let decision = self.law.arrive(&packet, &self.queue);
        let admission = match decision {
            Decision::Drop => Admission::DroppedForced,
            Decision::DropBoth(place) => {
                let victim = self.queue.remove(place).expect("the oracle names a waiting packet");
                lost.push(victim.serial);
                self.after_a_departure(packet.at);
                Admission::DroppedForced
            }
            Decision::Mark if !packet.capable() => Admission::DroppedEarly,
            Decision::Pass | Decision::Mark if !self.has_room(packet.size) => {
                self.law.overflow(&packet);
                Admission::DroppedByLimit
            }
            Decision::Mark => {
                packet.mark();
                Admission::Marked
            }
            Decision::Pass => Admission::Queued,
        };
        if admission.is_queued() {
            self.queue.push_back(packet);
        } else {
            lost.push(packet.serial);
        }
        Some(admission)
    }

    fn dequeue(&mut self, now: i64, _lost: &mut Vec<usize>) -> Option<Item> {
        let packet = self.queue.pop_front()?;
        self.law.left(&packet, &self.queue);
        self.after_a_departure(now);
        Some(packet)
    }

    fn due(&self, tick: u32) -> Option<f64> {
        self.law.due(tick)
    }

    fn tick(&mut self, now: i64) {
        self.law.tick(&self.queue, secs(now));
    }

    fn waiting(&self) -> (usize, i64) {
        (self.queue.len(), bytes(&self.queue))
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        self.law.variables(&self.queue)
    }

    fn variable_mut(&mut self, name: &str) -> Option<&mut f64> {
        self.law.variable_mut(name)
    }
}

/// A discipline and its oracle.
struct Both<O> {
    queue: Box<dyn Qdisc<usize> + Send>,
    oracle: O,
    ticks: u32,
    /// Packets that were marked when they arrived.
    marked: BTreeSet<usize>,
}

impl<O: Oracle> Both<O> {
    fn tick(&mut self, now: Time) -> Result<(), TestCaseError> {
        while let Some(due) = self.queue.poll_timeout().filter(|due| *due <= now) {
            self.ticks += 1;
            let expected = self.oracle.due(self.ticks).expect("the oracle ticks too");
            let close = (due.as_secs_f64() - expected).abs() < 1e-6;
            prop_assert!(close, "tick {} at {}, not {}", self.ticks, due, expected);
            self.queue.on_timeout(due);
            self.oracle.tick(due.as_nanos().cast_signed());
        }
        Ok(())
    }

    fn arrive(&mut self, item: Item, now: Time) -> Result<(), TestCaseError> {
        let size = Bytes::new(item.size.unsigned_abs());
        let packet = Packet { size, ecn: item.ecn, flow: item.flow };
        let (mut lost, mut expected_lost) = (Vec::new(), Vec::new());
        let marked = self.queue.counters().marked;
        let admission = self.queue.enqueue(packet, item.serial, now, &mut |serial| lost.push(serial));
        if self.queue.counters().marked > marked {
            self.marked.insert(item.serial);
        }
        let expected = self.oracle.enqueue(item, &mut expected_lost);
        prop_assert_eq!(
            (expected.unwrap_or(admission), expected_lost),
            (admission, lost),
            "the expected fate of packet {} at {}",
            item.serial,
            now
        );
        Ok(())
    }

    fn leave(&mut self, now: Time) -> Result<(), TestCaseError> {
        let (mut lost, mut expected_lost) = (Vec::new(), Vec::new());
        let marked = self.queue.counters().marked;
        let left = self.queue.dequeue(now, &mut |serial| lost.push(serial));
        let marked = self.queue.counters().marked > marked;
        let left =
            left.map(|left| (left.payload, left.packet.ecn, marked | self.marked.contains(&left.payload)));
        let expected = self.oracle.dequeue(now.as_nanos().cast_signed(), &mut expected_lost);
        let expected = expected.map(|item| (item.serial, item.ecn, item.marked));
        prop_assert_eq!((expected, expected_lost), (left, lost), "the expected departure at {}", now);
        Ok(())
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let state = self.queue.state();
        let waiting = (state.packets as usize, state.bytes.get().cast_signed());
        prop_assert_eq!(waiting, self.oracle.waiting());
        let mut shown = Vec::new();
        self.queue.probe(&mut |name, value| shown.push((name, value)));
        for (name, expected) in self.oracle.variables() {
            let found = shown.iter().find(|(shown, _)| *shown == name).map(|(_, value)| *value);
            let value = found.expect("the discipline reports each variable of the oracle");
            let close = (value - expected).abs() <= 1e-9 * (1.0 + expected.abs());
            prop_assert!(close, "{} = {}, not {}", name, value, expected);
            if let Some(variable) = self.oracle.variable_mut(name) {
                *variable = value;
            }
        }
        Ok(())
    }
}

/// Run a discipline and an oracle on the same traffic: the fate of each packet, departures and their times, the queue and
/// the variables must be the same. Returns the packets' fates, so that a test can check that the traffic reached what it
/// is to reach.
pub(crate) fn compare(
    queue: Box<dyn Qdisc<usize> + Send>,
    oracle: impl Oracle,
    traffic: &[Operation],
) -> Result<Counters, TestCaseError> {
    let mut pair = Both { queue, oracle, ticks: 0, marked: BTreeSet::new() };
    let mut micros = 0_u64;
    for (serial, operation) in traffic.iter().enumerate() {
        micros += u64::from(operation.after_us());
        let now = Time::from_nanos(micros * 1000);
        pair.tick(now)?;
        match *operation {
            Operation::Arrive { flow, size, ecn, .. } => {
                let (size, at) = (size.cast_signed(), now.as_nanos().cast_signed());
                pair.arrive(Item { serial, flow, size, ecn, at, marked: false }, now)?;
            }
            Operation::Leave { .. } => pair.leave(now)?,
        }
        pair.check()?;
    }
    Ok(pair.queue.counters())
}

/// Compare a law on a slow link, where hundreds of packets are enough to reach every region, with its oracle.
pub(crate) fn compare_law<L: Law>(
    config: &QueueConfig,
    seed: u64,
    law: impl FnOnce(Stream) -> L,
    traffic: &[Operation],
) -> Result<Counters, TestCaseError> {
    let rng = Stream::named(seed, "queue");
    let queue = config.queue(&slow_link(), rng.clone());
    compare(queue, OneQueue::new(law(rng), config.limit()), traffic)
}

/// The fates of all packets in a hundred random runs.
pub(crate) fn reached<T>(
    cases: impl Strategy<Value = T>,
    run: impl Fn(T) -> Result<Counters, TestCaseError>,
) -> Counters {
    let mut runner = TestRunner::deterministic();
    let mut sum = Counters::default();
    for _ in 0..100 {
        let case = cases.new_tree(&mut runner).expect("a case").current();
        let counters = run(case).expect("the oracle agrees");
        sum.queued += counters.queued;
        sum.marked += counters.marked;
        sum.dropped_early += counters.dropped_early;
        sum.dropped_forced += counters.dropped_forced;
        sum.dropped_by_limit += counters.dropped_by_limit;
        sum.dropped_at_dequeue += counters.dropped_at_dequeue;
        sum.evicted += counters.evicted;
    }
    sum
}
