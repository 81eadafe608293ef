//! Dull transcriptions that own their packets, and the random traffic on which disciplines are compared with them.

use std::collections::VecDeque;

use aqmlab_aqm::{Counters, Ecn, Packet, Qdisc};
use aqmlab_units::{Bytes, Stream, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A packet as an oracle owns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Owned {
    pub(crate) serial: u64,
    pub(crate) flow: u32,
    pub(crate) size: i64,
    pub(crate) ecn: Ecn,
    /// When it arrived, in nanoseconds.
    pub(crate) at: i64,
}

/// A discipline that owns its packets. What it drops goes to `lost`, in its order.
pub(crate) trait Oracle {
    fn enqueue(&mut self, packet: Owned, lost: &mut Vec<u64>);
    fn dequeue(&mut self, now: i64, lost: &mut Vec<u64>) -> Option<Owned>;
    fn tick(&mut self, _now: i64) {}
    fn waiting(&self) -> (usize, i64);
}

/// One thing that happens to a queue, after a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Arrive { after_us: u32, flow: u32, size: u64, ecn: Ecn },
    Leave { after_us: u32 },
}

/// Packets of a few flows that fill the queue and drain it, with idle periods.
pub(crate) fn traffic(
    ecn: impl Strategy<Value = Ecn> + Clone + 'static,
) -> impl Strategy<Value = Vec<Operation>> {
    let pause = prop_oneof![8 => 0_u32..300, 1 => 0_u32..20_000];
    let size = prop_oneof![Just(40_u64), Just(1500), Just(1514), 28_u64..1501];
    // Some flows send much and some little.
    let flow = prop_oneof![3 => 0_u32..2, 2 => 0_u32..8, 1 => 0_u32..40];
    let arrive = (pause.clone(), flow, size, ecn);
    let operation = prop_oneof![
        4 => arrive.prop_map(|(after_us, flow, size, ecn)| Operation::Arrive { after_us, flow, size, ecn }),
        3 => pause.prop_map(|after_us| Operation::Leave { after_us }),
    ];
    prop::collection::vec(operation, 1..800)
}

/// Packets that can be marked and others.
pub(crate) fn any_ecn() -> impl Strategy<Value = Ecn> + Clone {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1)]
}

/// Run `queue` and `oracle` on the same traffic and compare what leaves, what is lost and what waits; what became of the
/// packets, so that a test can say that the traffic reached what it is to reach.
pub(crate) fn compare(
    mut queue: Box<dyn Qdisc<u64> + Send>,
    mut oracle: impl Oracle,
    traffic: &[Operation],
) -> Result<Counters, TestCaseError> {
    let (mut micros, mut dropped, mut expected_dropped) = (0_u64, Vec::new(), Vec::new());
    for (serial, operation) in (0_u64..).zip(traffic) {
        let (Operation::Arrive { after_us, .. } | Operation::Leave { after_us }) = *operation;
        micros += u64::from(after_us);
        let now = Time::from_nanos(micros * 1000);
        let nanos = i64::try_from(now.as_nanos()).expect("a short time");
        while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
            queue.on_timeout(due);
            oracle.tick(i64::try_from(due.as_nanos()).expect("a short time"));
        }
        match *operation {
            Operation::Arrive { flow, size, ecn, .. } => {
                let packet = Packet { size: Bytes::new(size), ecn, flow };
                queue.enqueue(packet, serial, now, &mut |packet| dropped.push(packet));
                let size = i64::try_from(size).expect("a packet");
                oracle.enqueue(Owned { serial, flow, size, ecn, at: nanos }, &mut expected_dropped);
            }
            Operation::Leave { .. } => {
                let left = queue.dequeue(now, &mut |packet| dropped.push(packet));
                let left = left.map(|left| (left.payload, left.packet.ecn));
                let expected = oracle.dequeue(nanos, &mut expected_dropped);
                prop_assert_eq!(left, expected.map(|packet| (packet.serial, packet.ecn)), "at {}", now);
            }
        }
        prop_assert_eq!(&dropped, &expected_dropped, "lost at {}", now);
        let state = queue.state();
        let bytes = i64::try_from(state.bytes.get()).expect("a few packets");
        prop_assert_eq!((state.packets as usize, bytes), oracle.waiting());
    }
    Ok(queue.counters())
}

/// The queue of a flow under a plain hash: the first draw of its stream under the queue's secret.
pub(crate) fn hashed(secret: u64, flow: u32, queues: u64) -> usize {
    usize::try_from(Stream::numbered(secret, u64::from(flow)).next_u64() % queues)
        .expect("a number of a queue")
}

pub(crate) fn bytes(packets: &VecDeque<Owned>) -> i64 {
    packets.iter().map(|packet| packet.size).sum()
}

/// What becomes of all packets in `cases` random runs.
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
