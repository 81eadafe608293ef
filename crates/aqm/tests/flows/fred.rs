//! FRED: Lin and Morris (1997).

use std::collections::{BTreeMap, BTreeSet};

use aqmlab_aqm::{
    AboveMax, Admission, Discipline, Ecn, Fifo, Fred, FredConfig, Limit, Mode, Qdisc, QueueConfig, Spacing,
};
use aqmlab_units::{Bytes, Prob, Stream, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, compare_law, drawn};
use crate::common::traffic::traffic;
use crate::common::{packet_of, slow_capacity, slow_link};
use crate::loops::{self, Scenario};

/// The pseudocode, with `qlen` and `Nactive` counted in the queue itself.
struct Dull {
    config: FredConfig,
    /// `min_th` and `max_th`.
    thresholds: (f64, f64),
    avg: f64,
    count: f64,
    strikes: BTreeMap<u32, u32>,
    idle_since: f64,
    rng: Stream,
}

impl Dull {
    fn new(config: &FredConfig, rng: Stream) -> Dull {
        let thresholds = config.min_th.zip(config.max_th).expect("the configuration is resolved");
        Dull {
            config: config.clone(),
            thresholds,
            avg: 0.0,
            count: 0.0,
            strikes: BTreeMap::new(),
            idle_since: 0.0,
            rng,
        }
    }

    fn length(&self, queue: &Queue) -> f64 {
        match self.config.mode {
            Mode::Packet => queue.len() as f64,
            Mode::Byte => bytes(queue) as f64 / self.config.mean_packet.as_f64(),
        }
    }

    fn avgcq(&self, queue: &Queue) -> f64 {
        let active: BTreeSet<u32> = queue.iter().map(|item| item.flow).collect();
        let share = if active.is_empty() { self.avg } else { self.avg / active.len() as f64 };
        share.max(1.0)
    }

    fn p_b(&self) -> f64 {
        let (min, max) = self.thresholds;
        if self.avg < min {
            0.0
        } else if self.avg < max {
            self.config.max_p.get() * (self.avg - min) / (max - min)
        } else {
            1.0
        }
    }

    fn p_a(&self, size: f64) -> f64 {
        let scale =
            if self.config.mode == Mode::Byte { size / self.config.mean_packet.as_f64() } else { 1.0 };
        let p = self.p_b() * scale;
        let n = self.count + 1.0;
        let (wait, rest) = match self.config.spacing {
            Spacing::Geometric => return p,
            Spacing::Uniform => (false, 1.0 - self.count * p),
            Spacing::Figure2 => (false, 1.0 - n * p),
            Spacing::Altq => (false, 2.0 - n * p),
            Spacing::Wait => (n * p < 1.0, 2.0 - n * p),
        };
        if wait {
            0.0
        } else if rest > 0.0 {
            p / rest
        } else {
            1.0
        }
    }

    fn judge(&mut self, item: &Item, queue: &Queue) -> Decision {
        let (min, max) = self.thresholds;
        let avgcq = self.avgcq(queue);
        let flow_queue: Queue = queue.iter().copied().filter(|other| other.flow == item.flow).collect();
        if flow_queue.is_empty() {
            self.strikes.remove(&item.flow);
        }
        let qlen = self.length(&flow_queue);
        let strike = *self.strikes.get(&item.flow).unwrap_or(&0);
        let mut maxq = min;
        if self.avg >= max {
            maxq = 2.0;
        }
        let greedy = qlen >= maxq || (self.avg >= max && qlen > 2.0 * avgcq) || (qlen >= avgcq && strike > 1);
        if greedy {
            self.strikes.insert(item.flow, strike + 1);
            return Decision::Drop;
        }
        if self.avg < min {
            self.count = 0.0;
            return Decision::Pass;
        }
        if self.avg >= max {
            self.count = 0.0;
            return if self.config.above_max == AboveMax::Drop { Decision::Drop } else { Decision::Pass };
        }
        if qlen >= avgcq.max(f64::from(self.config.minq)) {
            let p_a = self.p_a(item.size as f64);
            if drawn(p_a, &mut self.rng) {
                self.count = 0.0;
                return Decision::Mark;
            }
        }
        self.count += 1.0;
        Decision::Pass
    }
}

impl Law for Dull {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        if queue.is_empty() {
            let m = (item.secs() - self.idle_since) * slow_capacity(self.config.mean_packet.as_f64());
            self.avg *= libm::pow(1.0 - self.config.w_q, m);
            self.idle_since = item.secs();
        }
        let decision = self.judge(item, queue);
        let accepted = decision == Decision::Pass || (decision == Decision::Mark && item.capable());
        if accepted && !queue.is_empty() {
            self.avg = (1.0 - self.config.w_q) * self.avg + self.config.w_q * self.length(queue);
        }
        decision
    }

    fn left(&mut self, _item: &Item, queue: &Queue) {
        self.avg = (1.0 - self.config.w_q) * self.avg + self.config.w_q * self.length(queue);
    }

    fn empty(&mut self, now: f64) {
        self.idle_since = now;
    }

    fn variables(&self, queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("avg", self.avg), ("p_b", self.p_b()), ("avgcq", self.avgcq(queue))]
    }
}

/// Settings whose every region random traffic of a few hundred packets reaches. The weight is not near 1, where the average
/// soon rounds to a queue's length and a comparison with it hangs on the last bit.
fn config() -> impl Strategy<Value = FredConfig> {
    let spacing = prop::sample::select(Spacing::ALL);
    let above_max = prop::sample::select(AboveMax::ALL);
    let mode = prop::sample::select(Mode::ALL);
    let limit = prop_oneof![
        (10_u32..60).prop_map(Limit::Packets),
        (10_000_u64..60_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    (0.5..12.0, 0.5..15.0, 0.02..0.6, 0.01..0.9, 0_u32..6, (above_max, spacing, mode), (300_u64..1000, limit))
        .prop_map(|(min_th, width, w_q, max_p, minq, (above_max, spacing, mode), (mean, limit))| FredConfig {
            min_th: Some(min_th),
            max_th: Some(min_th + width),
            w_q,
            max_p: Prob::clamped(max_p),
            minq,
            above_max,
            spacing,
            mode,
            mean_packet: Bytes::new(mean),
            limit,
        })
}

proptest! {
    #[test]
    fn fred_decides_as_its_paper_does(config in config(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::Fred(config.clone()), seed, |rng| Dull::new(&config, rng), &traffic)?;
    }
}

fn fred(config: &FredConfig) -> Fifo<Fred, u32> {
    let config = config.resolve(&slow_link()).expect("these parameters are possible");
    Fifo::new(Fred::new(&config, &slow_link(), Stream::named(1, "fred")), config.limit)
}

fn offer(queue: &mut impl Qdisc<u32>, flow: u32) -> Admission {
    queue.enqueue(packet_of(flow, 1000, Ecn::NotEct), flow, Time::ZERO, &mut |_| ())
}

#[test]
fn thresholds_follow_from_the_limit_as_in_the_paper() {
    let thresholds = |limit| {
        let resolved = FredConfig { limit, ..FredConfig::default() }.resolve(&slow_link()).unwrap();
        (resolved.min_th, resolved.max_th)
    };
    assert_eq!(thresholds(Limit::Packets(64)), (Some(16.0), Some(32.0)));
    assert_eq!(thresholds(Limit::Bytes(Bytes::new(32_000))), (Some(16.0), Some(32.0)), "64 mean packets");
}

#[test]
fn below_max_th_a_flow_under_minq_is_never_dropped() {
    // A limit of max_th packets keeps the average below max_th, and a bound of min_th is never in the way of minq.
    for above_max in [AboveMax::Drop, AboveMax::TwoPackets] {
        let mut queue = fred(&FredConfig {
            min_th: Some(6.0),
            max_th: Some(30.0),
            w_q: 0.2,
            max_p: Prob::ONE,
            minq: 4,
            above_max,
            limit: Limit::Packets(30),
            ..FredConfig::default()
        });
        let mut draws = Stream::named(3, "traffic");
        let mut waiting = [0_u32; 8];
        let (mut spared, mut dropped) = (0, 0);
        for _ in 0..100_000 {
            // Flow 0 never has minq packets waiting; the others press on.
            let flow = u32::try_from(draws.below(8)).unwrap();
            let fragile = flow == 0;
            if !fragile || waiting[0] < 4 {
                let admission = offer(&mut queue, flow);
                if admission.is_queued() {
                    waiting[flow as usize] += 1;
                }
                let refused = matches!(admission, Admission::DroppedEarly | Admission::DroppedForced);
                assert!(!(fragile && refused), "dropped with {} packets waiting", waiting[0]);
                spared += u32::from(fragile && admission.is_queued());
                dropped += u32::from(refused);
            }
            if draws.below(2) == 0
                && let Some(departure) = queue.dequeue(Time::ZERO, &mut |_| ())
            {
                waiting[departure.payload as usize] -= 1;
            }
        }
        assert!(spared > 1000 && dropped > 1000, "{spared} packets spared, {dropped} of others dropped");
    }
}

#[test]
fn a_flow_over_its_bound_is_held_to_the_average_share() {
    let thresholds =
        FredConfig { min_th: Some(10.0), max_th: Some(20.0), w_q: 1e-9, ..FredConfig::default() };
    let mut queue = fred(&thresholds);
    // Ten packets are allowed, and the first two beyond are strikes.
    let admitted = (0..12).filter(|_| offer(&mut queue, 7).is_queued()).count();
    assert_eq!(admitted, 10);
    // Now the share counts: one packet while the average is near 0.
    (0..9).for_each(|_| {
        queue.dequeue(Time::ZERO, &mut |_| ());
        assert_eq!(offer(&mut queue, 7), Admission::DroppedForced);
    });
    assert!(offer(&mut queue, 8).is_queued(), "another flow has its own account");
    // With its last packet a flow's past is forgotten.
    while queue.dequeue(Time::ZERO, &mut |_| ()).is_some() {}
    assert_eq!((0..12).filter(|_| offer(&mut queue, 7).is_queued()).count(), 10);
}

#[test]
fn from_max_th_a_flow_has_0_or_2_packets_per_the_option() {
    for (above_max, allowed) in [(AboveMax::Drop, 0), (AboveMax::TwoPackets, 2)] {
        let mut queue = fred(&FredConfig {
            min_th: Some(2.0),
            max_th: Some(4.0),
            w_q: 1.0,
            minq: 20,
            above_max,
            ..FredConfig::default()
        });
        // Five flows with a packet each: the average reaches 4.
        assert!((0..5).all(|flow| offer(&mut queue, flow).is_queued()));
        assert_eq!((0..5).filter(|_| offer(&mut queue, 9).is_queued()).count(), allowed, "{above_max}");
    }
}

#[test]
fn departures_lower_the_average_while_all_arrivals_are_dropped() {
    let mut queue = fred(&FredConfig {
        min_th: Some(2.0),
        max_th: Some(4.0),
        w_q: 0.5,
        minq: 20,
        ..FredConfig::default()
    });
    let admitted = (0..20).filter(|&flow| offer(&mut queue, flow).is_queued()).count();
    assert!(admitted < 20, "the average has reached max_th");
    (0..4).for_each(|_| {
        queue.dequeue(Time::ZERO, &mut |_| ());
    });
    assert!(offer(&mut queue, 30).is_queued());
}

#[test]
fn what_exceeds_its_bound_is_dropped_even_if_ecn_capable() {
    let mut queue = fred(&FredConfig { min_th: Some(3.0), max_th: Some(20.0), ..FredConfig::default() });
    let mut offer = || queue.enqueue(packet_of(1, 1000, Ecn::Ect0), 1, Time::ZERO, &mut |_| ());
    let admissions: Vec<Admission> = (0..4).map(|_| offer()).collect();
    assert_eq!(admissions[..3], [Admission::Queued; 3]);
    assert_eq!(admissions[3], Admission::DroppedForced);
}

#[test]
fn a_packet_without_room_is_taken_back_from_its_flow() {
    let mut queue = fred(&FredConfig {
        min_th: Some(50.0),
        max_th: Some(60.0),
        w_q: 1.0,
        limit: Limit::Packets(12),
        ..FredConfig::default()
    });
    (0..12).for_each(|packet| assert!(offer(&mut queue, packet % 3).is_queued()));
    (3..40).for_each(|flow| assert_eq!(offer(&mut queue, flow), Admission::DroppedByLimit));
    let mut avgcq = None;
    queue.probe(&mut |name, value| {
        if name == "avgcq" {
            avgcq = Some(value);
        }
    });
    assert_eq!(avgcq, Some(4.0), "twelve packets of three flows");
}

#[test]
fn an_unresponsive_flow_is_held_to_less_than_twice_its_share() {
    for (adaptive, load) in [(9, 0.5), (9, 2.0), (30, 1.0)] {
        for above_max in [AboveMax::Drop, AboveMax::TwoPackets] {
            let config = QueueConfig::Fred(FredConfig { above_max, ..FredConfig::default() });
            let share = loops::share(&config, Scenario { adaptive, load });
            let fair = 1.0 / (adaptive + 1) as f64;
            assert!(share < 2.0 * fair, "{above_max}: a load of {load} takes {share}, not {fair}");
        }
    }
}
