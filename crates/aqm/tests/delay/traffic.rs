//! Random traffic of thousands of steps, and the comparison of a queue with an oracle that owns its packets.

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Ecn, Packet, Qdisc, QueueConfig};
use aqmlab_units::{Bytes, Stream, Time};
use proptest::prelude::*;

use super::link;

/// A packet in an oracle's queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) id: usize,
    pub(crate) size: u64,
    pub(crate) ecn: Ecn,
    /// Nanoseconds.
    pub(crate) arrived: i64,
}

/// What an oracle does when the link asks for a packet.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Left {
    pub(crate) dropped: Vec<usize>,
    /// The packet that leaves, and whether it was marked on its way out.
    pub(crate) sent: Option<(usize, bool)>,
}

/// A transcription of a published algorithm. It shares no code with the laws and keeps its own queue.
pub(crate) trait Oracle {
    fn enqueue(&mut self, packet: Waiting) -> Admission;
    fn dequeue(&mut self, now: i64) -> Left;
    /// Nanoseconds between two ticks.
    fn period(&self) -> Option<i64> {
        None
    }
    fn tick(&mut self, _now: i64) {}
    /// What the law's probe must show under these names.
    fn variables(&self) -> Vec<(&'static str, f64)>;
}

/// A first-in first-out queue as oracles have it.
#[derive(Default)]
pub(crate) struct Plain(pub(crate) VecDeque<Waiting>);

impl Plain {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|packet| packet.size).sum()
    }
}

/// What happened on the way, so that a test can say that the traffic reached what it is to reach.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) signalled_on_arrival: u32,
    pub(crate) refused: u32,
    pub(crate) marked_on_departure: u32,
    pub(crate) dropped_on_departure: u32,
}

/// `steps` arrivals and departures in phases of growing and of draining queues, with idle periods, on a grid of
/// microseconds; `config` and `oracle` are compared at each.
pub(crate) fn compare(
    config: &QueueConfig,
    mut oracle: impl Oracle,
    rng: Stream,
    (seed, steps): (u64, usize),
) -> Result<Seen, TestCaseError> {
    let config = config.resolve(&link())?;
    let mut queue: Box<dyn Qdisc<usize> + Send> = config.queue(&link(), rng);
    let mut chance = Stream::named(seed, "traffic");
    let mut seen = Seen::default();
    let (mut nanos, mut ticks, mut load) = (0_i64, 0_i64, 50);
    for id in 0..steps {
        if id % 150 == 0 {
            load = 30 + chance.below(45);
        }
        let longest = if chance.below(100) == 0 { 20_000 } else { 200 };
        nanos += 1000 * i64::try_from(chance.below(longest)).expect("small");
        let now = Time::from_nanos(nanos.unsigned_abs());
        while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
            ticks += 1;
            let expected = oracle.period().expect("the oracle ticks too") * ticks;
            prop_assert_eq!(due.as_nanos(), expected.unsigned_abs());
            queue.on_timeout(due);
            oracle.tick(expected);
        }
        if chance.below(100) < load {
            let size = [40, 1500, 40 + chance.below(1461)][usize::try_from(chance.below(3)).expect("small")];
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
                [usize::try_from(chance.below(4)).expect("small")];
            let expected = oracle.enqueue(Waiting { id, size, ecn, arrived: nanos });
            let packet = Packet { size: Bytes::new(size), ecn, flow: 0 };
            let admission = queue.enqueue(packet, id, now, &mut |_| ());
            prop_assert_eq!(admission, expected, "step {}", id);
            seen.refused += u32::from(admission == Admission::DroppedByLimit);
            let signals = [Admission::Marked, Admission::DroppedEarly, Admission::DroppedForced];
            seen.signalled_on_arrival += u32::from(signals.contains(&admission));
        } else {
            let expected = oracle.dequeue(nanos);
            let marked = queue.counters().marked;
            let mut left = Left::default();
            left.sent = queue
                .dequeue(now, &mut |lost| left.dropped.push(lost))
                .map(|departure| (departure.payload, queue.counters().marked > marked));
            prop_assert_eq!(&left, &expected, "step {}", id);
            seen.dropped_on_departure += u32::try_from(left.dropped.len()).expect("few");
            seen.marked_on_departure += u32::from(left.sent.is_some_and(|(_, marked)| marked));
        }
        for (name, expected) in oracle.variables() {
            let mut shown = f64::NAN;
            queue.probe(&mut |law_name, value| {
                if law_name == name {
                    shown = value;
                }
            });
            let close = (shown - expected).abs() <= 1e-9 * (1.0 + expected.abs());
            prop_assert!(close, "{} = {}, not {}, in step {}", name, shown, expected, id);
        }
    }
    Ok(seen)
}
