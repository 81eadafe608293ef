//! A dull queue for oracles, and the random traffic on which the disciplines are compared with them.
//!
//! An oracle sees the whole queue and counts in it what it needs, where the disciplines keep counts. It is given the same
//! stream, so that the same draws must lead to the same decisions.

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Ecn, Limit, LinkContext, Packet, Qdisc, QueueConfig};
use aqmlab_units::{BitRate, Bytes, Stream, Time};
use proptest::prelude::*;

/// A packet in the queue, or one that arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) serial: usize,
    pub(crate) flow: u32,
    pub(crate) size: u64,
    pub(crate) capable: bool,
    /// When it arrived, in seconds.
    pub(crate) at: f64,
}

pub(crate) type Queue = VecDeque<Item>;

pub(crate) fn bytes(queue: &Queue) -> f64 {
    queue.iter().map(|item| item.size as f64).sum()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decision {
    Pass,
    Mark,
    Drop,
    /// Drop the arriving packet and the one at this place of the queue.
    DropBoth(usize),
}

pub(crate) trait Oracle {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision;
    /// A packet has left; `queue` is what stayed behind.
    fn left(&mut self, _queue: &Queue) {}
    fn empty(&mut self, _now: f64) {}
    /// When the next tick is due, in seconds.
    fn due(&self) -> Option<f64> {
        None
    }
    fn tick(&mut self) {}
    /// What the probe must show.
    fn variables(&self, queue: &Queue) -> Vec<(&'static str, f64)>;
}

/// One thing that happens to a queue, after a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Arrive { after_us: u32, flow: u32, size: u64, ecn: Ecn },
    Leave { after_us: u32 },
}

/// A few hundred operations of five flows, one of which sends half of the packets.
pub(crate) fn traffic() -> impl Strategy<Value = Vec<Operation>> {
    let pause = prop_oneof![8 => 0_u32..300, 1 => 0_u32..20_000];
    let flow = prop_oneof![1 => Just(0_u32), 1 => 1_u32..5];
    let size = prop_oneof![Just(40_u64), Just(1500), 28_u64..1501];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0)];
    let operation = prop_oneof![
        3 => (pause.clone(), flow, size, ecn)
            .prop_map(|(after_us, flow, size, ecn)| Operation::Arrive { after_us, flow, size, ecn }),
        2 => pause.prop_map(|after_us| Operation::Leave { after_us }),
    ];
    prop::collection::vec(operation, 1..600)
}

/// 10 Mbit/s Ethernet: about 2,300 packets of 500 B a second.
pub(crate) fn link() -> LinkContext {
    LinkContext { rate: BitRate::from_mbit_per_sec(10), overhead: Bytes::new(38) }
}

/// C, in mean packets a second.
pub(crate) fn capacity(mean_packet: f64) -> f64 {
    10e6 / (8.0 * (mean_packet + 38.0))
}

/// The probability of an event, drawn only when the outcome is open.
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

pub(crate) fn packet(flow: u32, size: u64, ecn: Ecn) -> Packet {
    Packet { size: Bytes::new(size), ecn, flow }
}

/// Runs a discipline beside its oracle on the same traffic.
struct Both<O> {
    discipline: Box<dyn Qdisc<usize> + Send>,
    oracle: O,
    limit: Limit,
    queue: Queue,
}

impl<O: Oracle> Both<O> {
    fn room_for(&self, size: u64) -> bool {
        match self.limit {
            Limit::Packets(most) => self.queue.len() < most as usize,
            Limit::Bytes(most) => bytes(&self.queue) + size as f64 <= most.as_f64(),
        }
    }

    /// What must become of an arriving packet, and which packets must be lost.
    fn expected(&mut self, item: Item) -> (Admission, Vec<usize>) {
        let decision = self.oracle.arrive(&item, &self.queue);
        let refused = |admission| (admission, vec![item.serial]);
        match decision {
            Decision::Drop => refused(Admission::DroppedForced),
            Decision::DropBoth(place) => {
                let victim = self.queue.remove(place).expect("the oracle names a waiting packet");
                if self.queue.is_empty() {
                    self.oracle.empty(item.at);
                }
                (Admission::DroppedForced, vec![victim.serial, item.serial])
            }
            Decision::Mark if !item.capable => refused(Admission::DroppedEarly),
            Decision::Pass | Decision::Mark if !self.room_for(item.size) => {
                refused(Admission::DroppedByLimit)
            }
            Decision::Pass | Decision::Mark => {
                self.queue.push_back(item);
                let marked = decision == Decision::Mark;
                (if marked { Admission::Marked } else { Admission::Queued }, vec![])
            }
        }
    }

    fn arrive(&mut self, item: Item, ecn: Ecn, now: Time) -> Result<(), TestCaseError> {
        let mut lost = Vec::new();
        let arriving = packet(item.flow, item.size, ecn);
        let admission = self.discipline.enqueue(arriving, item.serial, now, &mut |serial| lost.push(serial));
        prop_assert_eq!((admission, lost), self.expected(item), "packet {} at {}", item.serial, now);
        Ok(())
    }

    fn leave(&mut self, now: Time) -> Result<(), TestCaseError> {
        let left = self.discipline.dequeue(now, &mut |_| panic!("nothing is dropped on its way out"));
        let expected = self.queue.pop_front().map(|item| item.serial);
        prop_assert_eq!(left.map(|departure| departure.payload), expected, "at {}", now);
        if expected.is_some() {
            self.oracle.left(&self.queue);
            if self.queue.is_empty() {
                self.oracle.empty(now.as_secs_f64());
            }
        }
        Ok(())
    }

    fn tick(&mut self, now: Time) -> Result<(), TestCaseError> {
        while let Some(due) = self.discipline.poll_timeout().filter(|due| *due <= now) {
            let expected = self.oracle.due().expect("the oracle ticks too");
            prop_assert!((due.as_secs_f64() - expected).abs() < 1e-6, "a tick at {due}, not {expected}");
            self.discipline.on_timeout(due);
            self.oracle.tick();
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let mut shown = Vec::new();
        self.discipline.probe(&mut |name, value| shown.push((name, value)));
        let expected = self.oracle.variables(&self.queue);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        let same = shown.len() == expected.len()
            && shown.iter().zip(&expected).all(|(a, b)| a.0 == b.0 && close(a.1, b.1));
        prop_assert!(same, "{shown:?}, not {expected:?}");
        let waiting = self.discipline.state();
        prop_assert_eq!(waiting.packets as usize, self.queue.len());
        prop_assert!(close(waiting.bytes.as_f64(), bytes(&self.queue)));
        Ok(())
    }
}

/// Compare each decision, each lost packet, each departure and each variable.
pub(crate) fn compare<O: Oracle>(
    config: &QueueConfig,
    seed: u64,
    oracle: impl FnOnce(Stream) -> O,
    traffic: &[Operation],
) -> Result<(), TestCaseError> {
    let rng = Stream::named(seed, "queue");
    let mut both = Both {
        discipline: config.queue(&link(), rng.clone()),
        oracle: oracle(rng),
        limit: config.limit(),
        queue: Queue::new(),
    };
    let mut micros = 0_u64;
    for (serial, operation) in traffic.iter().enumerate() {
        let (Operation::Arrive { after_us, .. } | Operation::Leave { after_us }) = *operation;
        micros += u64::from(after_us);
        let now = Time::from_nanos(micros * 1000);
        both.tick(now)?;
        match *operation {
            Operation::Arrive { flow, size, ecn, .. } => {
                let item = Item { serial, flow, size, capable: ecn.is_capable(), at: now.as_secs_f64() };
                both.arrive(item, ecn, now)?;
            }
            Operation::Leave { .. } => both.leave(now)?,
        }
        both.check()?;
    }
    Ok(())
}
