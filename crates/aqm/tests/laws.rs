//! Properties of every discipline of the catalogue, at its defaults, on a slow link that is offered too much.
#![cfg(feature = "serde")]

mod common;

use aqmlab_aqm::{
    Admission, AdmissionControl, DecidesAtEnqueue, Ecn, EcnUse, Limit, Qdisc, QueueConfig, QueueState,
    Visitor, catalogue,
};
use aqmlab_units::{Bytes, Stream, Time};
use common::{overloaded, packet, packet_of, rng, slow_link};
use serde_json::json;

/// Every discipline with room for 200 packets.
fn disciplines() -> Vec<QueueConfig> {
    let value_of = |name: &str| {
        let config = serde_json::from_value(json!({ name: {"limit": 200} })).expect("a limit is all");
        QueueConfig::resolve(&config, &slow_link()).expect("the defaults do")
    };
    catalogue().iter().map(|entry| value_of(entry.name)).collect()
}

/// Differences between a law's decisions on ECN-capable packets and on others, with their counts.
struct MarksAndDrops;

impl Visitor for MarksAndDrops {
    type Payload = ();
    type Output = Vec<(Admission, Admission)>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(self, _: Limit, make: impl Fn(Stream) -> A) -> Self::Output {
        let answers = |ecn| overloaded(&mut AdmissionControl::new(make(rng()), Limit::Packets(100)), ecn);
        let pairs = answers(Ecn::Ect0).into_iter().zip(answers(Ecn::NotEct));
        pairs.filter(|(capable, not)| capable != not).collect()
    }

    /// A law that decides on dequeue sees its own queue, which changes with a drop.
    fn queue<Q: Qdisc<()> + Send + 'static>(self, _: impl Fn(Stream) -> Q) -> Self::Output {
        Vec::new()
    }
}

#[test]
fn ecn_marks_exactly_the_packets_that_are_dropped_without_it() {
    let mut laws = 0;
    for config in disciplines() {
        let differences = config.visit(&slow_link(), MarksAndDrops);
        laws += u32::from(!differences.is_empty());
        // The threshold of ECN+ never drops.
        let not = if config.name() == "threshold" { Admission::Queued } else { Admission::DroppedEarly };
        // Where there is no room, what can be marked is lost too.
        let allowed = [(Admission::Marked, not), (Admission::DroppedByLimit, Admission::DroppedEarly)];
        for difference in &differences {
            assert!(allowed.contains(difference), "{}: {difference:?}", config.name());
        }
        assert!(differences.is_empty() || differences.len() > 20, "{}: {}", config.name(), differences.len());
    }
    assert!(laws >= 11, "{laws} laws decide when a packet arrives and give a signal");
}

/// The fate of one packet: the losses of the step, and the departure with its mark.
#[derive(Debug, Default, PartialEq)]
struct Step {
    lost: Vec<usize>,
    left: Option<usize>,
    marked: bool,
}

/// A queue whose packets have one ECN field.
struct Side {
    queue: Box<dyn Qdisc<usize> + Send>,
    ecn: Ecn,
}

impl Side {
    fn new(config: &QueueConfig, ecn: Ecn) -> Side {
        Side { queue: config.queue(&slow_link(), rng()), ecn }
    }

    /// Eleven packets arrive while ten leave: an overload too small for any law to drop packets that it could mark.
    fn step(&mut self, step: u32, now: Time) -> Step {
        let mut done = Step::default();
        let marked = self.queue.counters().marked;
        while let Some(due) = self.queue.poll_timeout().filter(|due| *due <= now) {
            self.queue.on_timeout(due);
        }
        if step % 2 == 1 && step % 42 != 41 {
            let left = self.queue.dequeue(now, &mut |packet| done.lost.push(packet));
            done.left = left.map(|left| left.payload);
        } else {
            let packet = packet_of(step % 8, 500, self.ecn);
            self.queue.enqueue(packet, step as usize, now, &mut |packet| done.lost.push(packet));
        }
        done.marked = self.queue.counters().marked > marked;
        done
    }
}

#[test]
fn the_first_signal_marks_or_drops_the_same_packet() {
    for config in disciplines() {
        let name = config.name();
        let (mut capable, mut not) = (Side::new(&config, Ecn::Ect0), Side::new(&config, Ecn::NotEct));
        let mut first = None;
        for step in 0..100_000_u32 {
            let now = Time::from_nanos(u64::from(step) * 205_000);
            let (with, without) = (capable.step(step, now), not.step(step, now));
            assert!(!without.marked, "{name}: a packet that is not ECN-capable is never marked");
            if with != without {
                first = Some((step, with, without));
                break;
            }
        }
        let Some((step, with, without)) = first else {
            let counters = capable.queue.counters();
            let signals = counters.dropped() - counters.dropped_by_limit - counters.evicted;
            // The Classic queue of low-latency DOCSIS makes no use of ECN.
            let ignores = config.ecn() == EcnUse::Ignores || name == "docsis_lld";
            assert!(signals == 0 || ignores, "{name} has {signals} signals");
            let unmarked = ["docsis_lld", "docsis_pie", "droptail", "fq", "scripted", "sfq"];
            assert!(unmarked.contains(&name), "{name} has reason to signal");
            continue;
        };
        assert!(with.marked, "{name}, step {step}: {with:?} but {without:?}");
        let marked = with.left.unwrap_or(step as usize);
        assert!(
            name == "threshold" || without.lost.contains(&marked),
            "{name}, step {step}: {with:?} but {without:?}"
        );
    }
}

#[test]
fn a_timeout_before_its_time_changes_nothing() {
    for config in disciplines() {
        let mut queue = config.queue(&slow_link(), rng());
        let shown = |queue: &dyn Qdisc<usize>| {
            let mut shown = Vec::new();
            queue.probe(&mut |name, value| shown.push((name, value)));
            (shown, queue.state(), queue.counters(), queue.poll_timeout())
        };
        let mut now = Time::ZERO;
        for step in 0..300_u32 {
            if let Some(due) = queue.poll_timeout() {
                let before = shown(&*queue);
                queue.on_timeout(Time::from_nanos(due.as_nanos() - 1));
                assert_eq!(shown(&*queue), before, "{}", config.name());
                if step % 3 == 0 {
                    now = due;
                    queue.on_timeout(due);
                    assert!(
                        queue.poll_timeout() > Some(due),
                        "{}: the promised instant counts",
                        config.name()
                    );
                }
            }
            queue.enqueue(packet_of(step % 8, 500, Ecn::Ect0), step as usize, now, &mut |_| ());
        }
    }
}

/// A visitor that returns whether a law's timeout changes its variables.
struct Moves;

impl Visitor for Moves {
    type Payload = ();
    type Output = Option<bool>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(self, _: Limit, make: impl Fn(Stream) -> A) -> Self::Output {
        let mut law = make(rng());
        let due = law.poll_timeout()?;
        let queue = QueueState { packets: 100, bytes: Bytes::new(50_000) };
        (0..200).for_each(|_| {
            law.on_enqueue(&packet(500, Ecn::Ect0), queue, Time::ZERO);
        });
        let shown = |law: &A| {
            let mut shown = Vec::new();
            law.probe(&mut |_, value| shown.push(value));
            shown
        };
        let before = shown(&law);
        law.on_timeout(queue, due);
        Some(shown(&law) != before)
    }

    fn queue<Q: Qdisc<()> + Send + 'static>(self, _: impl Fn(Stream) -> Q) -> Self::Output {
        None
    }
}

#[test]
fn a_law_that_samples_moves_when_it_samples() {
    let moved: Vec<(&str, bool)> = disciplines()
        .iter()
        .filter_map(|config| Some((config.name(), config.visit(&slow_link(), Moves)?)))
        .collect();
    assert!(moved.len() >= 4 && moved.iter().all(|(_, moved)| *moved), "{moved:?}");
}
