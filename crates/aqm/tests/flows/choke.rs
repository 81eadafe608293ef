//! CHOKe: Pan, Prabhakar and Psounis (2000).

use aqmlab_aqm::{
    Admission, ByteScaling, Choke, ChokeConfig, Ecn, EcnAboveMax, Limit, Mode, Qdisc, QueueConfig, RedConfig,
    Spacing,
};
use aqmlab_units::{Bytes, Prob, Stream, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, compare_law, drawn, place};
use crate::common::traffic::traffic;
use crate::common::{packet_of, slow_capacity, slow_link};
use crate::loops::{self, Scenario, droptail};

struct Dull {
    config: ChokeConfig,
    avg: f64,
    /// Packets (or bytes over the mean packet) since the last signal; -1 below `min_th`.
    count: f64,
    idle_since: f64,
    rng: Stream,
}

impl Dull {
    fn new(config: &ChokeConfig, rng: Stream) -> Dull {
        Dull { config: config.clone(), avg: 0.0, count: -1.0, idle_since: 0.0, rng }
    }

    fn mean(&self) -> f64 {
        self.config.red.mean_packet.as_f64()
    }

    fn p_b(&self) -> f64 {
        let RedConfig { min_th, max_th, max_p, .. } = self.config.red;
        if self.avg < min_th {
            0.0
        } else if self.avg < max_th {
            max_p.get() * (self.avg - min_th) / (max_th - min_th)
        } else {
            1.0
        }
    }

    fn spaced(&self, p: f64, this: f64) -> f64 {
        let n = self.count + this;
        match self.config.red.spacing {
            Spacing::Geometric => p,
            Spacing::Uniform if self.count * p < 1.0 => p / (1.0 - self.count * p),
            Spacing::Figure2 if n * p < 1.0 => p / (1.0 - n * p),
            Spacing::Wait if n * p < 1.0 => 0.0,
            Spacing::Wait | Spacing::Altq if n * p < 2.0 => p / (2.0 - n * p),
            _ => 1.0,
        }
    }

    /// RED, not gentle.
    fn red(&mut self, item: &Item, queue: &Queue) -> Decision {
        if self.avg < self.config.red.min_th || queue.len() <= 1 {
            self.count = -1.0;
            return Decision::Pass;
        }
        let ratio = if self.config.red.mode == Mode::Byte { item.size as f64 / self.mean() } else { 1.0 };
        let after = self.config.red.byte_scaling == ByteScaling::AfterSpacing;
        let this = if after { ratio } else { 1.0 };
        if self.avg >= self.config.red.max_th {
            self.count = 0.0;
            let drops = self.config.red.ecn_policy != EcnAboveMax::Mark;
            return if drops { Decision::Drop } else { Decision::Mark };
        }
        if self.count < 0.0 {
            self.count = this;
            return Decision::Pass;
        }
        let p = if after {
            let p = self.spaced(self.p_b(), this);
            if p < 1.0 { p * ratio } else { 1.0 }
        } else {
            self.spaced(self.p_b() * ratio, this)
        };
        if drawn(p, &mut self.rng) {
            self.count = 0.0;
            return Decision::Mark;
        }
        self.count += this;
        Decision::Pass
    }
}

impl Law for Dull {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        if queue.is_empty() {
            let m = (item.secs() - self.idle_since) * slow_capacity(self.mean());
            self.avg *= libm::pow(1.0 - self.config.red.w_q, m);
            self.idle_since = item.secs();
        }
        let q = match self.config.red.mode {
            Mode::Packet => queue.len() as f64,
            Mode::Byte => bytes(queue) as f64 / self.mean(),
        };
        self.avg = (1.0 - self.config.red.w_q) * self.avg + self.config.red.w_q * q;
        if self.avg > self.config.red.min_th && !queue.is_empty() {
            let drawn = place(queue.len(), &mut self.rng);
            if queue[drawn].flow == item.flow {
                return Decision::DropBoth(drawn);
            }
        }
        self.red(item, queue)
    }

    fn empty(&mut self, now: f64) {
        self.idle_since = now;
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("avg", self.avg), ("p_b", self.p_b())]
    }
}

/// Settings whose every region random traffic of a few hundred packets reaches.
fn config() -> impl Strategy<Value = ChokeConfig> {
    let spacing = prop::sample::select(Spacing::ALL);
    let policy = prop::sample::select(EcnAboveMax::ALL);
    let scaling = prop::sample::select(ByteScaling::ALL);
    let mode = prop::sample::select(Mode::ALL);
    let limit = prop_oneof![
        (2_u32..60).prop_map(Limit::Packets),
        (2000_u64..60_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    ((0.0..8.0, 1.0..10.0, 0.02..1.0, 0.01..0.9), spacing, policy, scaling, mode, 300_u64..1000, limit)
        .prop_map(|((min_th, width, w_q, max_p), spacing, ecn_policy, byte_scaling, mode, mean, limit)| {
            ChokeConfig {
                red: RedConfig {
                    min_th,
                    max_th: min_th + width,
                    w_q,
                    max_p: Prob::clamped(max_p),
                    spacing,
                    ecn_policy,
                    mode,
                    byte_scaling,
                    mean_packet: Bytes::new(mean),
                    limit,
                    gentle: false,
                    ..RedConfig::default()
                },
            }
        })
}

proptest! {
    #[test]
    fn choke_decides_as_its_paper_does(config in config(), seed: u64, traffic in traffic()) {
        compare_law(&QueueConfig::Choke(config.clone()), seed, |rng| Dull::new(&config, rng), &traffic)?;
    }
}

/// Compares each packet that finds 100 packets waiting, and never signals for another reason.
fn comparing_from_100_packets_on() -> ChokeConfig {
    ChokeConfig {
        red: RedConfig {
            min_th: 99.5,
            max_th: 1e6,
            w_q: 1.0,
            max_p: Prob::ZERO,
            ..ChokeConfig::default().red
        },
    }
}

/// The share of matches of a packet whose flow has this many of 100 queued packets, the first or the last of them.
fn matched(of_the_flow: u32, first: bool, trials: u64) -> f64 {
    let mut matched = 0;
    for seed in 0..trials {
        let rng = Stream::named(seed, "choke");
        let mut queue = Choke::new(&comparing_from_100_packets_on(), &slow_link(), rng);
        for place in 0..100 {
            let from_its_end = if first { place } else { 99 - place };
            let flow = if from_its_end < of_the_flow { 0 } else { 1 + place };
            queue.enqueue(packet_of(flow, 1000, Ecn::NotEct), (), Time::ZERO, &mut |()| ());
        }
        assert_eq!(queue.state().packets, 100);
        let mut lost = 0;
        let admission = queue.enqueue(packet_of(0, 1000, Ecn::NotEct), (), Time::ZERO, &mut |()| lost += 1);
        let pair = admission == Admission::DroppedForced;
        assert_eq!((lost, queue.state().packets), if pair { (2, 99) } else { (0, 101) });
        assert_eq!(queue.counters().evicted, u64::from(pair));
        matched += u32::from(pair);
    }
    f64::from(matched) / trials as f64
}

#[test]
fn a_flow_is_matched_with_the_probability_of_its_share() {
    let trials = 2000;
    for of_the_flow in [0, 10, 30, 70, 100] {
        for first in [true, false] {
            let (p, found) = (f64::from(of_the_flow) / 100.0, matched(of_the_flow, first, trials));
            let error = (p * (1.0 - p) / trials as f64).sqrt();
            assert!((found - p).abs() <= 4.0 * error, "a share of {p} is matched with {found}");
        }
    }
}

#[test]
fn nothing_is_compared_up_to_min_th() {
    let config = ChokeConfig { red: RedConfig { min_th: 100.0, ..comparing_from_100_packets_on().red } };
    let mut queue = Choke::new(&config, &slow_link(), Stream::named(1, "choke"));
    let mut offer = || queue.enqueue(packet_of(0, 1000, Ecn::NotEct), (), Time::ZERO, &mut |()| ());
    // The last of these finds 100 packets, an average of min_th.
    assert!((0..101).all(|_| offer().is_queued()));
    assert_eq!(offer(), Admission::DroppedForced);
}

#[test]
fn a_matched_pair_is_dropped_even_if_ecn_capable() {
    let mut queue = Choke::new(&comparing_from_100_packets_on(), &slow_link(), Stream::named(1, "choke"));
    let mut lost = Vec::new();
    for serial in 0..101 {
        queue.enqueue(packet_of(0, 1000, Ecn::Ect0), serial, Time::ZERO, &mut |serial| lost.push(serial));
    }
    assert_eq!((lost.len(), lost[1]), (2, 100), "the arriving packet and one that waited: {lost:?}");
    assert_eq!(
        (queue.counters().marked, queue.counters().dropped_forced, queue.counters().evicted),
        (0, 1, 1)
    );
}

#[test]
fn the_queue_remembers_nothing_of_flows_that_have_left() {
    let after_one_flow = {
        let mut queue = Choke::new(&comparing_from_100_packets_on(), &slow_link(), Stream::named(1, "choke"));
        burst_and_drain(&mut queue, |_| 7);
        queue
    };
    let after_many_flows = {
        let mut queue = Choke::new(&comparing_from_100_packets_on(), &slow_link(), Stream::named(1, "choke"));
        burst_and_drain(&mut queue, |packet| 1000 + packet);
        queue
    };
    let after = |mut queue: Choke<u32>| -> Vec<Admission> {
        let mut offer = |flow| queue.enqueue(packet_of(flow, 1000, Ecn::NotEct), 0, Time::ZERO, &mut |_| ());
        (0..1000).map(|step| offer(if step % 3 == 0 { 7 } else { step })).collect()
    };
    let (after_one_flow, after_many_flows) = (after(after_one_flow), after(after_many_flows));
    assert_eq!(after_one_flow, after_many_flows);
    assert!(after_one_flow.contains(&Admission::DroppedForced));
}

fn burst_and_drain(queue: &mut Choke<u32>, flow: impl Fn(u32) -> u32) {
    for serial in 0..100 {
        queue.enqueue(packet_of(flow(serial), 1000, Ecn::NotEct), serial, Time::ZERO, &mut |_| ());
    }
    while queue.dequeue(Time::ZERO, &mut |_| ()).is_some() {}
}

#[test]
fn an_unresponsive_flow_gets_below_0_29_of_the_link() {
    // Wang, Tang and Low (2003): at most 1/(1 + e) = 0.269 of the link, when it sends a little more than the link carries.
    let shares: Vec<f64> = [0.5, 1.2, 3.0, 6.0]
        .into_iter()
        .map(|load| {
            loops::share(&QueueConfig::Choke(ChokeConfig::default()), Scenario { adaptive: 30, load })
        })
        .collect();
    assert!(shares.iter().all(|share| *share < 0.29), "{shares:?}");
    assert!(shares[3] < shares[2] && shares[2] < shares[1], "{shares:?}");
    let control = loops::share(&droptail(300), Scenario { adaptive: 30, load: 1.2 });
    assert!(control > 3.0 * shares[1], "{control} behind drop-tail");
}
