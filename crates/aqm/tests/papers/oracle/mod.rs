//! Dull transcriptions of the published algorithms, and the random traffic on which the laws are compared with them.
//!
//! An oracle shares no code with the laws: it keeps time in seconds, computes powers as powers and divides where the
//! papers divide. It is given the same stream, so that the same draws must lead to the same verdicts.

pub(crate) mod ared;
pub(crate) mod pi;
pub(crate) mod red;
pub(crate) mod rem;

use std::collections::VecDeque;

use aqmlab_aqm::{Admission, Aqm, Ecn, Fifo, Limit, LinkContext, Packet, Qdisc, Verdict};
use aqmlab_units::{BitRate, Bytes, Stream, Time};
use proptest::prelude::*;

/// What an oracle sees of the queue before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) packets: f64,
    pub(crate) bytes: f64,
}

pub(crate) trait Oracle {
    fn arrive(&mut self, size: f64, seen: Seen, now: f64) -> Verdict;
    /// The most that may wait.
    fn limit(&self) -> Limit {
        Limit::Packets(u32::MAX)
    }
    /// There was no room for the packet that `arrive` has just let through.
    fn overflow(&mut self, _size: f64, _now: f64) {}
    fn leave(&mut self, _size: f64) {}
    fn empty(&mut self, _now: f64) {}
    /// The seconds between two ticks.
    fn period(&self) -> Option<f64> {
        None
    }
    fn tick(&mut self, _seen: Seen, _now: f64) {}
    /// What the law's probe must show.
    fn variables(&self) -> Vec<(&'static str, f64)>;
}

/// One thing that happens to a queue, after a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Arrive { after_us: u32, size: u64, ecn: Ecn },
    Leave { after_us: u32 },
}

/// A few hundred operations that fill the queue and drain it, with idle periods.
pub(crate) fn traffic() -> impl Strategy<Value = Vec<Operation>> {
    let pause = prop_oneof![8 => 0_u32..300, 1 => 0_u32..20_000];
    let size = prop_oneof![Just(40_u64), Just(1500), 28_u64..1501];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0)];
    let operation = prop_oneof![
        3 => (pause.clone(), size, ecn).prop_map(|(after_us, size, ecn)| Operation::Arrive { after_us, size, ecn }),
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

/// The unit probability of an event, drawn only when the outcome is open.
pub(crate) fn drawn(p: f64, rng: &mut Stream) -> bool {
    if p <= 0.0 {
        return false;
    }
    if p >= 1.0 {
        return true;
    }
    rng.uniform() < p
}

/// Run `law` and `oracle` on the same traffic and compare each verdict and each variable.
pub(crate) fn compare(
    law: impl Aqm,
    mut oracle: impl Oracle,
    traffic: &[Operation],
) -> Result<(), TestCaseError> {
    let mut fifo = Fifo::new(law, oracle.limit());
    let mut sizes: VecDeque<u64> = VecDeque::new();
    let mut micros = 0_u64;
    let mut ticks = 0_u32;
    for operation in traffic {
        let (Operation::Arrive { after_us, .. } | Operation::Leave { after_us }) = *operation;
        micros += u64::from(after_us);
        let now = Time::from_nanos(micros * 1000);
        while let Some(due) = fifo.poll_timeout().filter(|due| *due <= now) {
            ticks += 1;
            let expected = oracle.period().expect("the oracle ticks too") * f64::from(ticks);
            prop_assert!(
                (due.as_secs_f64() - expected).abs() < 1e-6,
                "tick {ticks} at {due}, not {expected}"
            );
            fifo.on_timeout(due);
            oracle.tick(seen(&sizes), due.as_secs_f64());
        }
        match *operation {
            Operation::Arrive { size, ecn, .. } => {
                let verdict = oracle.arrive(size as f64, seen(&sizes), now.as_secs_f64());
                let expected = match verdict {
                    Verdict::Drop => Admission::DroppedForced,
                    Verdict::Mark if ecn == Ecn::NotEct => Admission::DroppedEarly,
                    _ if is_full(oracle.limit(), seen(&sizes), size as f64) => Admission::DroppedByLimit,
                    Verdict::Mark => Admission::Marked,
                    Verdict::Pass => Admission::Queued,
                };
                if expected == Admission::DroppedByLimit {
                    oracle.overflow(size as f64, now.as_secs_f64());
                }
                if expected.is_queued() {
                    sizes.push_back(size);
                }
                let packet = Packet { size: Bytes::new(size), ecn, flow: 0 };
                let admission = fifo.enqueue(packet, (), now, &mut drop);
                prop_assert_eq!(admission, expected, "at {}", now);
            }
            Operation::Leave { .. } => {
                let left = fifo.dequeue(now, &mut drop).map(|departure| departure.packet.size.get());
                prop_assert_eq!(left, sizes.pop_front());
                if let Some(size) = left {
                    oracle.leave(size as f64);
                }
                if left.is_some() && sizes.is_empty() {
                    oracle.empty(now.as_secs_f64());
                }
            }
        }
        let mut variables = oracle.variables().into_iter();
        let mut shown = Ok(());
        fifo.law().probe(&mut |name, value| {
            let (expected_name, expected) = variables.next().expect("the law shows what the oracle knows");
            if name != expected_name || (value - expected).abs() > 1e-9 * (1.0 + expected.abs()) {
                shown =
                    Err(TestCaseError::fail(format!("{name} = {value}, not {expected_name} = {expected}")));
            }
        });
        shown?;
    }
    Ok(())
}

fn is_full(limit: Limit, seen: Seen, size: f64) -> bool {
    match limit {
        Limit::Packets(most) => seen.packets + 1.0 > f64::from(most),
        Limit::Bytes(most) => seen.bytes + size > most.as_f64(),
    }
}

fn seen(sizes: &VecDeque<u64>) -> Seen {
    Seen { packets: sizes.len() as f64, bytes: sizes.iter().sum::<u64>() as f64 }
}
