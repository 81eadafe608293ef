//! SRED: Ott, Lakshman and Wong (1999).

use aqmlab_aqm::{Aqm, Ecn, Limit, QueueConfig, QueueState, Sred, SredConfig, SredVariant, Verdict};
use aqmlab_units::{Bytes, Prob, Stream, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, compare_law, drawn, place};
use crate::common::traffic::traffic;
use crate::common::{packet_of, slow_link};
use crate::loops::{self, Scenario, droptail};

struct Dull {
    config: SredConfig,
    zombies: Vec<u32>,
    p: f64,
    rng: Stream,
}

impl Law for Dull {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        let m = self.config.m as usize;
        let r = self.config.r.get();
        let mut hit = 0.0;
        if self.zombies.len() < m {
            self.zombies.push(item.flow);
        } else {
            let zombie = place(m, &mut self.rng);
            if self.zombies[zombie] == item.flow {
                hit = 1.0;
            } else if drawn(r, &mut self.rng) {
                self.zombies[zombie] = item.flow;
            }
            let alpha = r / m as f64;
            self.p = (1.0 - alpha) * self.p + alpha * hit;
        }
        let (q, b) = match self.config.limit {
            Limit::Packets(b) => (queue.len() as f64, f64::from(b)),
            Limit::Bytes(b) => (bytes(queue) as f64, b.as_f64()),
        };
        let p_max = self.config.p_max.get();
        let p_sred = if q >= b / 3.0 {
            p_max
        } else if q >= b / 6.0 {
            p_max / 4.0
        } else {
            0.0
        };
        let simple = p_sred * (1.0 / (self.config.max_flows * self.p).powi(2)).min(1.0);
        let full = if hit > 0.0 { simple * (1.0 + hit / self.p) } else { simple };
        let p_zap = if self.config.variant == SredVariant::Simple { simple } else { full };
        if drawn(p_zap, &mut self.rng) { Decision::Mark } else { Decision::Pass }
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("P", self.p), ("flows", if self.p > 0.0 { 1.0 / self.p } else { 0.0 })]
    }
}

fn variant() -> impl Strategy<Value = SredVariant> {
    prop::sample::select(SredVariant::ALL)
}

/// Lists that are soon full, and limits that random traffic comes near.
fn config() -> impl Strategy<Value = SredConfig> {
    let limit = prop_oneof![
        (3_u32..60).prop_map(Limit::Packets),
        (3000_u64..60_000).prop_map(|b| Limit::Bytes(Bytes::new(b)))
    ];
    (variant(), 0.1..1.0, 1_u32..30, 0.05..1.0, 1.0..10.0, limit).prop_map(
        |(variant, p_max, m, r, max_flows, limit)| SredConfig {
            variant,
            p_max: Prob::clamped(p_max),
            m,
            r: Prob::clamped(r),
            max_flows,
            limit,
        },
    )
}

proptest! {
    #[test]
    fn sred_decides_as_its_paper_does(config in config(), seed: u64, traffic in traffic()) {
        let dull = |rng| Dull { config: config.clone(), zombies: vec![], p: 0.0, rng };
        compare_law(&QueueConfig::Sred(config.clone()), seed, dull, &traffic)?;
    }
}

/// Arrivals of independent packets, flow i with a share of `shares[i]`, at a queue of `packets`.
fn arrivals(
    sred: &mut Sred,
    shares: &[f64],
    packets: u32,
    n: u32,
    mut see: impl FnMut(usize, Verdict, &Sred),
) {
    let mut flows = Stream::named(5, "flows");
    let queue = QueueState { packets, bytes: Bytes::new(1000 * u64::from(packets)) };
    for _ in 0..n {
        let mut u = flows.uniform() * shares.iter().sum::<f64>();
        let flow = shares.iter().position(|share| {
            u -= share;
            u < 0.0
        });
        let flow = flow.unwrap_or(shares.len() - 1);
        let pkt = packet_of(u32::try_from(flow).expect("a few flows"), 1000, Ecn::NotEct);
        let verdict = sred.on_enqueue(&pkt, queue, Time::ZERO);
        see(flow, verdict, sred);
    }
}

fn sred(config: &SredConfig) -> Sred {
    Sred::new(config, &slow_link(), Stream::named(1, "sred"))
}

fn p(sred: &Sred) -> f64 {
    let mut shown = Vec::new();
    sred.probe(&mut |name, value| shown.push((name, value)));
    assert_eq!((shown[0].0, shown[1].0), ("P", "flows"));
    assert!(shown[0].1 <= 0.0 || (shown[0].1 * shown[1].1 - 1.0).abs() < 1e-12);
    shown[0].1
}

#[test]
fn one_over_p_estimates_the_number_of_equal_active_flows() {
    for n in [1, 3, 10, 30, 100] {
        let mut sred = sred(&SredConfig::default());
        let (mut sum, mut count) = (0.0, 0.0);
        let mut seen = 0;
        arrivals(&mut sred, &vec![1.0; n], 0, 300_000, |_, _, sred| {
            seen += 1;
            if seen > 50_000 {
                sum += p(sred);
                count += 1.0;
            }
        });
        let estimate = count / sum;
        assert!((estimate / n as f64 - 1.0).abs() < 0.1, "{estimate} flows, not {n}");
    }
}

#[test]
fn p_is_the_sum_of_the_squares_of_unequal_shares() {
    let shares = [0.5, 0.25, 0.125, 0.125];
    let mut sred = sred(&SredConfig::default());
    arrivals(&mut sred, &shares, 0, 100_000, |_, _, _| ());
    let expected: f64 = shares.iter().map(|share| share * share).sum();
    assert!((p(&sred) / expected - 1.0).abs() < 0.1, "P = {}, not {expected}", p(&sred));
}

/// The share of each flow's packets that is signalled.
fn signalled(config: &SredConfig, shares: &[f64], packets: u32) -> Vec<f64> {
    let mut sred = sred(config);
    let mut counts = vec![(0_u32, 0_u32); shares.len()];
    let mut seen = 0;
    arrivals(&mut sred, shares, packets, 600_000, |flow, verdict, _| {
        seen += 1;
        if seen > 50_000 {
            counts[flow].0 += 1;
            counts[flow].1 += u32::from(verdict == Verdict::Mark);
        }
    });
    counts.into_iter().map(|(n, marks)| f64::from(marks) / f64::from(n)).collect()
}

#[test]
fn signals_grow_with_squared_flows_up_to_max_flows() {
    let config = SredConfig {
        variant: SredVariant::Simple,
        max_flows: 16.0,
        p_max: Prob::clamped(0.5),
        ..SredConfig::default()
    };
    let mean = |n: usize| signalled(&config, &vec![1.0; n], 100).iter().sum::<f64>() / n as f64;
    for (n, expected) in [(4, 0.5 / 16.0), (8, 0.5 / 4.0), (32, 0.5), (64, 0.5)] {
        assert!((mean(n) / expected - 1.0).abs() < 0.15, "{n} flows: {}, not {expected}", mean(n));
    }
}

#[test]
fn probability_rises_at_a_sixth_and_a_third_of_the_limit() {
    let config = SredConfig { variant: SredVariant::Simple, max_flows: 1.0, ..SredConfig::default() };
    for (packets, expected) in [(39, 0.0), (40, 0.15 / 4.0), (79, 0.15 / 4.0), (80, 0.15), (239, 0.15)] {
        let signals = signalled(&config, &[1.0; 10], packets).iter().sum::<f64>() / 10.0;
        assert!((signals - expected).abs() < 0.003, "{packets} of 240 packets: {signals}, not {expected}");
    }
}

#[test]
fn only_full_sred_signals_larger_shares_more() {
    // One flow with half of the packets among ten others: P = 0.5^2 + 10 x 0.05^2.
    let mut shares = vec![0.05; 11];
    shares[0] = 0.5;
    let p = 0.275;
    let config = SredConfig { max_flows: 1.0, ..SredConfig::default() };
    let full = signalled(&config, &shares, 100);
    for (flow, share) in shares.iter().enumerate() {
        let expected = 0.15 * (1.0 + share / p);
        assert!((full[flow] / expected - 1.0).abs() < 0.1, "flow {flow}: {}, not {expected}", full[flow]);
    }
    let simple = signalled(&SredConfig { variant: SredVariant::Simple, ..config }, &shares, 100);
    assert!(simple.iter().all(|share| (share / 0.15 - 1.0).abs() < 0.1), "{simple:?}");
}

#[test]
fn full_sred_gives_an_unresponsive_flow_less_than_drop_tail() {
    // SRED only compares packets, and is weaker than laws that count them: with `max_flows` at 1 it is at its strongest.
    let scenario = Scenario { adaptive: 30, load: 0.5 };
    let share = |variant| {
        let config = SredConfig { variant, max_flows: 1.0, ..SredConfig::default() };
        loops::share(&QueueConfig::Sred(config), scenario)
    };
    let (full, simple) = (share(SredVariant::Full), share(SredVariant::Simple));
    let control = loops::share(&droptail(240), scenario);
    assert!(full < 0.75 * control && full < 0.8 * simple, "{full}, {simple}, {control} behind drop-tail");
}
