//! SFB: Feng, Kandlur, Saha and Shin (2001), with the choices of Linux.

use aqmlab_aqm::{
    AboveHalf, Admission, Discipline, Ecn, Fifo, FullBins, Hashing, Limit, Qdisc, QueueConfig, Sfb,
    SfbConfig, Variant,
};
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, compare_law, place};
use crate::common::traffic::traffic;
use crate::common::{packet_of, slow_link};
use crate::loops::{self, Scenario};

/// One set of bins: probabilities only, lengths are counted in the queue.
struct Set {
    salt: u64,
    since: f64,
    p: Vec<Vec<f64>>,
}

impl Set {
    fn new(config: &SfbConfig, salt: u64, since: f64) -> Set {
        Set { salt, since, p: vec![vec![0.0; config.bins as usize]; config.levels as usize] }
    }

    /// The bin of a flow on a level: as many draws as levels from a stream with the flow's number.
    fn bin(&self, flow: u32, level: usize) -> usize {
        let mut draws = Stream::numbered(self.salt, u64::from(flow));
        (0..level).for_each(|_| {
            draws.below(1);
        });
        place(self.p[level].len(), &mut draws)
    }

    fn qlen(&self, level: usize, bin: usize, queue: &Queue) -> u32 {
        let in_bin = |item: &&Item| item.secs() >= self.since - 1e-12 && self.bin(item.flow, level) == bin;
        u32::try_from(queue.iter().filter(in_bin).count()).expect("a short queue")
    }

    fn update(&mut self, config: &SfbConfig, flow: u32, queue: &Queue) {
        for level in 0..self.p.len() {
            let bin = self.bin(flow, level);
            let qlen = self.qlen(level, bin, queue);
            let p = &mut self.p[level][bin];
            if qlen >= config.bin_size {
                *p = (*p + config.increment.get()).min(1.0);
            }
            if qlen == 0 {
                *p = (*p - config.decrement.get()).max(0.0);
            }
        }
    }
}

struct Dull {
    config: SfbConfig,
    active: Set,
    warming: Option<Set>,
    rehash_at: f64,
    tokens: f64,
    filled_at: f64,
    rng: Stream,
}

impl Dull {
    fn new(config: &SfbConfig, mut rng: Stream) -> Dull {
        Dull {
            config: config.clone(),
            active: Set::new(config, rng.next_u64(), 0.0),
            warming: None,
            rehash_at: config.rehash_interval.as_secs_f64(),
            tokens: f64::from(config.penalty_burst),
            filled_at: 0.0,
            rng,
        }
    }
}

impl Law for Dull {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        let config = &self.config;
        self.active.update(config, item.flow, queue);
        let levels = 0..self.active.p.len();
        let bins: Vec<usize> = levels.clone().map(|level| self.active.bin(item.flow, level)).collect();
        let qlens: Vec<u32> =
            levels.clone().map(|level| self.active.qlen(level, bins[level], queue)).collect();
        let p_min = levels.map(|level| self.active.p[level][bins[level]]).fold(1.0, f64::min);
        let full = match config.full_bins {
            FullBins::All => qlens.iter().all(|qlen| *qlen >= config.max),
            FullBins::Any => qlens.iter().any(|qlen| *qlen >= config.bin_size),
        };
        if full {
            return Decision::Drop;
        }
        if p_min >= 1.0 {
            if let Some(warming) = &mut self.warming {
                warming.update(config, item.flow, queue);
            }
            let filled = self.tokens + (item.secs() - self.filled_at) * config.penalty_rate;
            self.tokens = filled.min(f64::from(config.penalty_burst));
            self.filled_at = item.secs();
            if self.tokens < 1.0 {
                return Decision::Drop;
            }
            self.tokens -= 1.0;
            return Decision::Pass;
        }
        if p_min <= 0.0 {
            return Decision::Pass;
        }
        let u = self.rng.uniform();
        if p_min > 0.5 && config.above_half == AboveHalf::DropSome && u < 2.0 * (p_min - 0.5) {
            return Decision::Drop;
        }
        if u < p_min { Decision::Mark } else { Decision::Pass }
    }

    fn due(&self, _tick: u32) -> Option<f64> {
        match (self.config.hashing, &self.warming) {
            (Hashing::Fixed, _) => None,
            (Hashing::DoubleBuffered, None) => Some(self.rehash_at - self.config.warmup_time.as_secs_f64()),
            (Hashing::Moving, _) | (Hashing::DoubleBuffered, Some(_)) => Some(self.rehash_at),
        }
    }

    fn tick(&mut self, _queue: &Queue, _now: f64) {
        let due = self.due(0).expect("only moving hash functions tick");
        if self.warming.is_none() {
            self.warming = Some(Set::new(&self.config, self.rng.next_u64(), due));
        }
        if due >= self.rehash_at {
            self.active = self.warming.take().expect("the next bins are there");
            self.rehash_at += self.config.rehash_interval.as_secs_f64();
        }
    }

    fn variables(&self, queue: &Queue) -> Vec<(&'static str, f64)> {
        let p_max = self.active.p.iter().flatten().copied().fold(0.0, f64::max);
        let lengths = (0..self.active.p.len()).flat_map(|level| {
            (0..self.active.p[level].len()).map(move |bin| self.active.qlen(level, bin, queue))
        });
        vec![("p_max", p_max), ("longest_bin", f64::from(lengths.max().unwrap_or(0)))]
    }
}

/// Few bins and large steps, so that random traffic fills them, reaches 1, and outlives several rehashes.
fn config() -> impl Strategy<Value = SfbConfig> {
    let full_bins = prop_oneof![2 => Just(FullBins::All), 1 => Just(FullBins::Any)];
    let above_half = prop::sample::select(AboveHalf::ALL);
    let hashing = prop::sample::select(Hashing::ALL);
    let limit = prop_oneof![
        (5_u32..40).prop_map(Limit::Packets),
        (5000_u64..40_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    (
        (1_u32..4, 1_u32..6, 1_u32..4, 0_u32..8),
        (0.05..0.6, 0.0..0.2),
        (full_bins, above_half, hashing),
        (0.0..300.0, 0_u32..5),
        (5_u64..40, 0_u64..5),
        limit,
    )
        .prop_map(
            |(
                (levels, bins, bin_size, more),
                (inc, dec),
                (full_bins, above_half, hashing),
                (rate, burst),
                (interval, warmup),
                limit,
            )| {
                SfbConfig {
                    levels,
                    bins,
                    bin_size,
                    max: bin_size + more,
                    full_bins,
                    increment: Prob::clamped(inc),
                    decrement: Prob::clamped(dec),
                    above_half,
                    penalty_rate: rate,
                    penalty_burst: burst,
                    hashing,
                    rehash_interval: Duration::from_millis(interval),
                    warmup_time: Duration::from_millis(warmup),
                    variant: Variant::Published,
                    limit,
                }
            },
        )
}

proptest! {
    #[test]
    fn sfb_decides_as_its_paper_does(config in config(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link());
        prop_assume!(config.is_ok());
        let config = config?;
        compare_law(&QueueConfig::Sfb(config.clone()), seed, |rng| Dull::new(&config, rng), &traffic)?;
    }
}

const SEED: u64 = 1;

fn sfb(config: &SfbConfig) -> Fifo<Sfb, u32> {
    let config = config.resolve(&slow_link()).expect("these parameters are possible");
    Fifo::new(Sfb::new(&config, &slow_link(), Stream::named(SEED, "sfb")), config.limit)
}

fn offer(queue: &mut impl Qdisc<u32>, flow: u32, ecn: Ecn, now: Time) -> Admission {
    queue.enqueue(packet_of(flow, 1000, ecn), flow, now, &mut |_| ())
}

fn p_max(queue: &impl Qdisc<u32>) -> f64 {
    let mut p_max = None;
    queue.probe(&mut |name, value| {
        if name == "p_max" {
            p_max = Some(value);
        }
    });
    p_max.expect("SFB shows its largest probability")
}

/// The bins of a flow, level by level, under the first hash functions of [`sfb`].
fn bins_of(flow: u32, config: &SfbConfig) -> Vec<usize> {
    let set = Set::new(config, Stream::named(SEED, "sfb").next_u64(), 0.0);
    (0..config.levels as usize).map(|level| set.bin(flow, level)).collect()
}

#[test]
fn greedy_flows_harm_exactly_flows_sharing_a_bin_on_all_levels() {
    let config = SfbConfig {
        levels: 2,
        bins: 4,
        bin_size: 5,
        max: 1000,
        increment: Prob::clamped(0.5),
        penalty_burst: 0,
        ..SfbConfig::default()
    };
    let mut queue = sfb(&config);
    (0..20).for_each(|_| {
        offer(&mut queue, 0, Ecn::NotEct, Time::ZERO);
    });
    let greedy = bins_of(0, &config);
    let (mut harmed, mut some_shared) = (0, 0);
    for flow in 1..200 {
        let shared = bins_of(flow, &config).iter().zip(&greedy).filter(|(a, b)| a == b).count();
        // A copy of the queue for each, so that they do not fill bins for one another.
        let admission = offer(&mut queue.clone(), flow, Ecn::NotEct, Time::ZERO);
        assert_eq!(
            admission == Admission::Queued,
            shared < 2,
            "flow {flow} shares {shared} bins: {admission:?}"
        );
        harmed += u32::from(shared == 2);
        some_shared += u32::from(shared == 1);
    }
    assert!(harmed > 3 && some_shared > 20, "the flows are of all kinds: {harmed}, {some_shared}");
}

#[test]
fn the_papers_pseudocode_drops_for_a_single_full_bin() {
    let config =
        SfbConfig { levels: 2, bins: 4, bin_size: 5, full_bins: FullBins::Any, ..SfbConfig::default() };
    let mut queue = sfb(&config);
    let admitted = (0..20).filter(|_| offer(&mut queue, 0, Ecn::NotEct, Time::ZERO).is_queued()).count();
    assert_eq!(admitted, 5);
    let greedy = bins_of(0, &config);
    for flow in 1..200 {
        let shares = bins_of(flow, &config).iter().zip(&greedy).any(|(a, b)| a == b);
        let admission = offer(&mut queue.clone(), flow, Ecn::NotEct, Time::ZERO);
        assert_eq!(admission == Admission::DroppedForced, shares, "flow {flow}");
    }
}

#[test]
fn a_flow_may_hold_max_packets_in_bins_of_its_own() {
    let mut queue = sfb(&SfbConfig::default());
    let admitted = (0..100).filter(|_| offer(&mut queue, 0, Ecn::Ect0, Time::ZERO).is_queued()).count();
    assert_eq!(admitted, 25);
}

#[test]
fn an_unresponsive_flow_is_held_to_the_penalty_box_rate() {
    let config = SfbConfig {
        max: 100_000,
        increment: Prob::clamped(0.1),
        decrement: Prob::ZERO,
        penalty_rate: 37.0,
        penalty_burst: 5,
        ..SfbConfig::default()
    };
    let mut queue = sfb(&config);
    (0..200).for_each(|_| {
        offer(&mut queue, 0, Ecn::Ect0, Time::ZERO);
    });
    assert!(p_max(&queue) >= 1.0, "its bins stay full under any signal");
    let mut admitted_in = |second: u64| {
        let sent = (0..1000).map(|ms| Time::from_nanos((second * 1000 + ms) * 1_000_000));
        sent.filter(|now| {
            queue.dequeue(*now, &mut |_| ());
            offer(&mut queue, 0, Ecn::Ect0, *now).is_queued()
        })
        .count()
    };
    let admitted: Vec<usize> = (1..10).map(&mut admitted_in).collect();
    assert!(admitted[1..].iter().all(|admitted| (36..=38).contains(admitted)), "37 a second: {admitted:?}");
    assert!((41..=43).contains(&admitted[0]), "and a burst of five after a pause: {admitted:?}");
}

#[test]
fn only_linux_drops_ecn_flows_that_ignore_marks_above_one_half() {
    // Full bins, a probability of 0.8 after two packets more, and no penalty box before 1.
    let forced = |above_half| {
        let config = SfbConfig {
            bin_size: 1,
            max: 100,
            increment: Prob::clamped(0.4),
            above_half,
            ..SfbConfig::default()
        };
        let mut counts = (0, 0);
        for seed in 0..2000 {
            let config = config.resolve(&slow_link()).unwrap();
            let law = Sfb::new(&config, &slow_link(), Stream::named(seed, "sfb"));
            let mut queue: Fifo<Sfb, u32> = Fifo::new(law, config.limit);
            let mut admissions = (0..3).map(|_| offer(&mut queue, 0, Ecn::Ect0, Time::ZERO));
            let last = admissions.by_ref().last().unwrap();
            counts.0 += u32::from(last == Admission::DroppedForced);
            counts.1 += u32::from(last == Admission::Marked);
        }
        (f64::from(counts.0) / 2000.0, f64::from(counts.1) / 2000.0)
    };
    let near = |found: f64, expected: f64| (found - expected).abs() < 0.045;
    let (dropped, marked) = forced(AboveHalf::Mark);
    assert!(dropped <= 0.0 && near(marked, 0.8), "{dropped} dropped, {marked} marked");
    let (dropped, marked) = forced(AboveHalf::DropSome);
    assert!(near(dropped, 0.6) && near(marked, 0.2), "{dropped} dropped, {marked} marked");
}

#[test]
fn new_hash_functions_free_a_flow_from_a_greedy_ones_bins() {
    let config = SfbConfig {
        levels: 2,
        bins: 8,
        bin_size: 5,
        max: 1000,
        increment: Prob::clamped(0.5),
        penalty_burst: 0,
        hashing: Hashing::Moving,
        ..SfbConfig::default()
    };
    let mut queue = sfb(&config);
    (0..20).for_each(|_| {
        offer(&mut queue, 0, Ecn::NotEct, Time::ZERO);
    });
    let victims: Vec<u32> = (1..2000).filter(|&flow| bins_of(flow, &config) == bins_of(0, &config)).collect();
    assert!(victims.len() > 10, "one flow in 64");
    let before =
        victims.iter().filter(|&&flow| offer(&mut queue.clone(), flow, Ecn::NotEct, Time::ZERO).is_queued());
    assert_eq!(before.count(), 0);
    let due = queue.poll_timeout().expect("the hash functions move");
    assert_eq!(due, Time::from_secs_f64(600.0));
    queue.on_timeout(due);
    (0..20).for_each(|_| {
        offer(&mut queue, 0, Ecn::NotEct, due);
    });
    assert!(p_max(&queue) >= 1.0, "the greedy flow is found again");
    let after = victims.iter().filter(|&&flow| offer(&mut queue.clone(), flow, Ecn::NotEct, due).is_queued());
    assert!(after.count() > victims.len() * 8 / 10, "and collides with only a few of its old companions");
}

#[test]
fn warmed_up_bins_detect_the_unresponsive_flow_at_once() {
    // Nothing leaves, so that all bins of the flow stay full; 5,000 tokens pass it.
    let config = SfbConfig {
        bin_size: 5,
        max: 100_000,
        increment: Prob::clamped(0.1),
        penalty_burst: 5000,
        limit: Limit::Packets(100_000),
        ..SfbConfig::default()
    };
    let after_rehash = |hashing| {
        let mut queue = sfb(&SfbConfig { hashing, ..config.clone() });
        (0..100).for_each(|_| {
            offer(&mut queue, 0, Ecn::Ect0, Time::ZERO);
        });
        assert!(p_max(&queue) >= 1.0, "the flow is unresponsive");
        let warm = Time::from_secs_f64(540.0);
        if hashing == Hashing::DoubleBuffered {
            assert_eq!(queue.poll_timeout(), Some(warm));
            queue.on_timeout(warm);
        }
        (0..100).for_each(|_| {
            offer(&mut queue, 0, Ecn::Ect0, warm);
        });
        assert!(p_max(&queue) >= 1.0, "the bins in use stay in use");
        queue.on_timeout(Time::from_secs_f64(600.0));
        p_max(&queue)
    };
    assert!(after_rehash(Hashing::DoubleBuffered) >= 1.0);
    assert!(after_rehash(Hashing::Moving) <= 0.0);
}

#[test]
fn with_fixed_hash_functions_nothing_falls_due() {
    let queue = sfb(&SfbConfig { hashing: Hashing::Fixed, ..SfbConfig::default() });
    assert_eq!(queue.poll_timeout(), None);
}

#[test]
fn an_unresponsive_flow_is_held_to_less_than_twice_its_share() {
    for (adaptive, load) in [(9, 0.5), (9, 2.0), (30, 1.0)] {
        let share = loops::share(&QueueConfig::Sfb(SfbConfig::default()), Scenario { adaptive, load });
        let fair = 1.0 / (adaptive + 1) as f64;
        assert!(share < 2.0 * fair, "a load of {load} takes {share}, not {fair}");
    }
}
