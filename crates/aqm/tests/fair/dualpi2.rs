//! DualPI2: RFC 9332's pseudocode, the coupling in counts, the closed loop and overload.
#![expect(clippy::float_cmp, reason = "what never happens has a share of exactly 0, and bounds are exact")]

use aqmlab_aqm::{
    Controlled, Counters, Decide, Discipline, DualPi2, DualPi2Config, Ecn, Identifier, Limit, Native,
    Overload, Packet, Qdisc, Share,
};
use aqmlab_units::{Bytes, Duration, Stream, Time};
use proptest::prelude::*;

use crate::closed_loop::{Sender, run as closed_loop};
use crate::common::link;
use crate::common::oracle::{compare, reached};
use crate::common::traffic::{Operation, traffic_with};
use crate::rfc9332;

/// Settings under which random traffic of a hundred milliseconds has everything, overload too.
fn settings() -> impl Strategy<Value = DualPi2Config> {
    let limit = prop_oneof![
        (1_u32..60).prop_map(Limit::Packets),
        Just(Limit::Packets(10_000)),
        (1_u64..60_000).prop_map(|n| Limit::Bytes(Bytes::new(n)))
    ];
    let pi = (0_u64..3000, 100_u64..3000, 0.1..40.0, 0.1..100.0, 1.0..5.0);
    let native = (any::<bool>(), 0_u64..2000, 0_u64..2000, 0_u64..1000, 0_u32..4, 0_u64..6000);
    let share = (any::<bool>(), 1_u32..100, 0_u64..3000);
    (pi, native, share, any::<[bool; 4]>(), limit).prop_map(
        |((target, t_update, alpha, beta, k), native, (wrr, classic_weight, tshift), flags, limit)| {
            let (step, step_us, min_th, range, min_left, min_backlog) = native;
            DualPi2Config {
                target: Duration::from_micros(target),
                t_update: Duration::from_micros(t_update),
                alpha,
                beta,
                k,
                controlled: if flags[0] { Controlled::Longer } else { Controlled::Classic },
                native: if step { Native::Step } else { Native::Ramp },
                step: Duration::from_micros(step_us),
                min_th: Duration::from_micros(min_th),
                range: Duration::from_micros(range),
                min_left,
                min_backlog: Bytes::new(min_backlog),
                decide: if flags[1] { Decide::Random } else { Decide::Recur },
                share: if wrr { Share::Wrr } else { Share::TsFifo },
                classic_weight,
                tshift: Duration::from_micros(tshift),
                overload: if flags[2] { Overload::Drop } else { Overload::Overflow },
                identifier: if flags[3] { Identifier::L4sEct } else { Identifier::AnyEct },
                limit,
                ..DualPi2Config::default()
            }
        },
    )
}

fn any_l4s_ecn() -> impl Strategy<Value = Ecn> + Clone {
    prop_oneof![1 => Just(Ecn::Ce), 3 => prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1)], 1 => Just(Ecn::Ect1)]
}

fn run(config: &DualPi2Config, seed: u64, traffic: &[Operation]) -> Result<Counters, TestCaseError> {
    let config = config.resolve(&link())?;
    let rng = Stream::named(seed, "queue");
    compare(Box::new(DualPi2::new(&config, rng.clone())), rfc9332::DualPi2::new(&config, rng), traffic)
}

proptest! {
    #[test]
    fn dualpi2_decides_as_the_rfc_does(config in settings(), seed: u64, traffic in traffic_with(any_l4s_ecn())) {
        run(&config, seed, &traffic)?;
    }
}

#[test]
fn the_traffic_makes_dualpi2_mark_and_drop() {
    let sum =
        reached((settings(), traffic_with(any_l4s_ecn())), |(config, traffic)| run(&config, 1, &traffic));
    assert!(sum.marked > 3000 && sum.dropped_at_dequeue > 1000 && sum.dropped_by_limit > 500, "{sum:?}");
}

/// The appendix's own settings.
fn appendix() -> DualPi2Config {
    DualPi2Config {
        t_update: Duration::from_millis(15),
        alpha: 0.15,
        beta: 3.0,
        native: Native::Ramp,
        min_left: 2,
        min_backlog: Bytes::ZERO,
        decide: Decide::Recur,
        ..DualPi2Config::default()
    }
}

fn probed<P>(queue: &DualPi2<P>, wanted: &str) -> f64 {
    let mut probed_value = f64::NAN;
    queue.probe(&mut |name, value| {
        if name == wanted {
            probed_value = value;
        }
    });
    probed_value
}

/// A queue whose p' is fixed: its only update has seen packets of a certain age.
fn fixed(config: &DualPi2Config, p: f64) -> DualPi2<u32> {
    // beta x age = p, and no second update for an hour.
    let age = Duration::from_millis(10);
    let config = DualPi2Config {
        target: age,
        beta: p / age.as_secs_f64(),
        t_update: Duration::from_secs(1000),
        ..config.clone()
    };
    let mut queue = DualPi2::new(&config.resolve(&link()).expect("possible"), Stream::named(1, "queue"));
    let update = Time::ZERO + Duration::from_secs(1000);
    let packet = Packet { size: Bytes::new(1500), ecn: Ecn::NotEct, flow: 0 };
    queue.enqueue(packet, 0, Time::from_nanos(update.as_nanos() - age.as_nanos()), &mut drop);
    queue.on_timeout(update);
    assert!((probed(&queue, "p'") - p).abs() < 1e-9);
    while queue.dequeue(update, &mut drop).is_some() {}
    queue
}

/// Of `n` packets with this ECN field that find a backlog and wait for no time: the shares marked and dropped.
fn shares(queue: &mut DualPi2<u32>, ecn: Ecn, n: u32) -> (f64, f64) {
    let now = Time::ZERO + Duration::from_secs(1001);
    let packet = Packet { size: Bytes::new(1500), ecn, flow: 0 };
    let (mut marked, mut dropped) = (0_u32, 0_u32);
    (0..10).for_each(|_| {
        queue.enqueue(packet, 0, now, &mut drop);
    });
    let mut left = 0;
    while left + dropped < n {
        queue.enqueue(packet, 1, now, &mut drop);
        while queue.state().packets > 10 && left + dropped < n {
            let departure = queue.dequeue(now, &mut |_| dropped += 1).expect("ten wait");
            left += 1;
            marked += u32::from(departure.packet.ecn == Ecn::Ce);
        }
    }
    (f64::from(marked) / f64::from(n), f64::from(dropped) / f64::from(n))
}

fn near(share: f64, p: f64, n: u32) {
    let error = (p * (1.0 - p) / f64::from(n)).sqrt() * 4.0 + 2.0 / f64::from(n);
    assert!((share - p).abs() <= error, "{share}, not {p}");
}

#[test]
fn l4s_is_marked_at_2p_and_classic_at_p_squared() {
    let n = 40_000;
    for decide in [Decide::Random, Decide::Recur] {
        let config = DualPi2Config { decide, ..DualPi2Config::default() };
        for p in [0.02, 0.1, 0.3] {
            let (l4s, _) = shares(&mut fixed(&config, p), Ecn::Ect1, n);
            let (classic, none) = shares(&mut fixed(&config, p), Ecn::Ect0, n);
            let (marks, drops) = shares(&mut fixed(&config, p), Ecn::NotEct, n);
            near(l4s, 2.0 * p, n);
            near(classic, p * p, n);
            near(drops, p * p, n);
            assert_eq!(
                (none, marks),
                (0.0, 0.0),
                "what can be marked is not dropped, and the other way round"
            );
            let k = DualPi2Config { k: 3.0, ..config.clone() };
            near(shares(&mut fixed(&k, p), Ecn::Ect1, n).0, 3.0 * p, n);
        }
    }
}

#[test]
fn the_identifier_leads_packets_to_the_l4s_queue() {
    // RFC 9332 section 2.5.1.1: CE is ambiguous, and the L4S queue is the safer guess.
    let default = DualPi2Config::default();
    // `any_ect` of Linux: DCTCP sends ECT(0).
    let any_ect = DualPi2Config { identifier: Identifier::AnyEct, ..default.clone() };
    let of_default = [(Ecn::Ce, 1), (Ecn::Ect1, 1), (Ecn::Ect0, 0), (Ecn::NotEct, 0)];
    let of_any_ect = [(Ecn::Ce, 1), (Ecn::Ect1, 1), (Ecn::Ect0, 1), (Ecn::NotEct, 0)];
    let expected = of_default.map(|it| (&default, it)).into_iter().chain(of_any_ect.map(|it| (&any_ect, it)));
    for (config, (ecn, first)) in expected {
        let mut queue = DualPi2::new(config, Stream::named(1, "queue"));
        for (number, ecn) in [Ecn::NotEct, ecn].into_iter().enumerate() {
            queue.enqueue(Packet { size: Bytes::new(1500), ecn, flow: 0 }, number, Time::ZERO, &mut drop);
        }
        let packet = Packet { size: Bytes::new(1500), ecn, flow: 0 };
        assert_eq!(queue.classes()[usize::from(queue.class_of(&packet))], ["Classic", "L4S"][first]);
        let departure = queue.dequeue(Time::ZERO, &mut drop).expect("two packets wait");
        assert_eq!(departure.payload, first, "{ecn:?}");
    }
}

#[test]
fn recurring_decisions_are_evenly_spaced() {
    let config = DualPi2Config { decide: Decide::Recur, ..DualPi2Config::default() };
    let (share, _) = shares(&mut fixed(&config, 0.1), Ecn::Ect1, 1000);
    assert!((share - 0.2).abs() <= 0.001 + 1e-9, "every fifth of a thousand: {share}");
}

#[test]
fn in_overload_both_queues_drop_at_the_classic_probability() {
    let (n, p) = (40_000, 0.6);
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let (marked, dropped) = shares(&mut fixed(&DualPi2Config::default(), p), ecn, n);
        near(dropped, p * p, n);
        let expected = if ecn == Ecn::Ect1 { 1.0 - p * p } else { 0.0 };
        near(marked, expected, n);
    }
    // Just below saturation nothing ECN-capable is dropped.
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        assert_eq!(shares(&mut fixed(&DualPi2Config::default(), 0.499), ecn, n).1, 0.0);
    }
}

#[test]
fn probabilities_cap_at_full_l4s_marking_if_overload_overflows() {
    let config = DualPi2Config {
        overload: Overload::Overflow,
        limit: Limit::Packets(300),
        ..DualPi2Config::default()
    };
    let mut queue = DualPi2::new(&config, Stream::named(1, "queue"));
    let results = closed_loop_of(&mut queue, &[Sender::Blind(Ecn::Ect1, 2000)], (0.0, 10.0));
    assert_eq!((probed(&queue, "p'"), probed(&queue, "p_cl")), (0.5, 1.0));
    assert_eq!(queue.counters().dropped_at_dequeue, 0);
    assert!(
        queue.counters().dropped_by_limit > 10_000 && results[0] > 30.0,
        "the buffer is full: {results:?}"
    );
}

/// The mean delay of each sender's packets in milliseconds.
fn closed_loop_of(queue: &mut DualPi2<usize>, senders: &[Sender], span: (f64, f64)) -> Vec<f64> {
    let results = closed_loop(queue, senders, Duration::from_millis(10), span);
    results.iter().map(crate::closed_loop::SenderResults::mean_delay_ms).collect()
}

#[test]
fn l4s_delay_is_1_ms_beside_classic_at_target_with_fair_rates() {
    for config in [DualPi2Config::default(), appendix()] {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let senders = [Sender::Reno(ecn), Sender::Reno(ecn), Sender::Scalable, Sender::Scalable];
            let mut queue = DualPi2::new(&config, Stream::named(1, "queue"));
            let results = closed_loop(&mut queue, &senders, Duration::from_millis(10), (20.0, 60.0));
            let (classic, l4s) = (results[0].mean_delay_ms(), results[2].mean_delay_ms());
            assert!((classic - 15.0).abs() < 3.0, "{ecn:?}: Classic packets wait {classic} ms");
            assert!(l4s < 1.2, "{ecn:?}: L4S packets wait {l4s} ms");
            let packets = |who: usize| results[who].packets as f64;
            let used = results.iter().map(|results| results.packets).sum::<u64>() as f64 / (40.0 * 8127.4);
            assert!(used > 0.98, "the link is idle for {}", 1.0 - used);
            // Equal windows are not equal rates: the round trips are 11 and 25 ms, and 1.2/p' is not 1/p'.
            let ratio = (packets(2) + packets(3)) / (packets(0) + packets(1));
            assert!((1.0..4.0).contains(&ratio), "{ecn:?}: L4S senders get {ratio} times as much");
            assert_eq!(results[2].lost + results[3].lost, 0, "L4S senders lose nothing");
        }
    }
}

#[test]
fn classic_keeps_its_weight_against_unresponsive_l4s() {
    for per_thousand in [1100, 1500, 3000] {
        let mut queue = DualPi2::new(&DualPi2Config::default(), Stream::named(1, "queue"));
        let senders = [Sender::Blind(Ecn::NotEct, 500), Sender::Blind(Ecn::Ect1, per_thousand)];
        let results = closed_loop(&mut queue, &senders, Duration::from_millis(10), (5.0, 20.0));
        let share = results[0].packets as f64 / (results[0].packets + results[1].packets) as f64;
        assert!(share >= 0.099, "{per_thousand}: Classic traffic gets {share}");
        assert!(queue.counters().dropped_at_dequeue > 0 && results[1].lost > 0, "overload drops");
    }
}

#[test]
fn only_overload_drops_bound_the_delay_of_unresponsive_l4s() {
    let delay = |overload| {
        let config = DualPi2Config { overload, ..DualPi2Config::default() };
        let mut queue = DualPi2::new(&config, Stream::named(1, "queue"));
        closed_loop_of(&mut queue, &[Sender::Blind(Ecn::Ect1, 1300)], (20.0, 40.0))[0]
    };
    let (with_drops, without) = (delay(Overload::Drop), delay(Overload::Overflow));
    assert!(with_drops < 20.0, "held near the target: {with_drops} ms");
    assert!(without > 1000.0, "a full buffer of 10,000 packets: {without} ms");
}

#[test]
fn lone_l4s_is_controlled_only_if_the_longer_delay_counts() {
    let p = |controlled| {
        let config = DualPi2Config { controlled, ..DualPi2Config::default() };
        let mut queue = DualPi2::new(&config, Stream::named(1, "queue"));
        closed_loop_of(&mut queue, &[Sender::Blind(Ecn::Ect1, 1300)], (0.0, 10.0));
        probed(&queue, "p'")
    };
    assert!(p(Controlled::Longer) > 0.4);
    assert_eq!(p(Controlled::Classic), 0.0);
}

/// The order in which `l4s` and `classic` packets, all of 1500 B and arrived in this order, leave after a millisecond.
fn order(config: &DualPi2Config, classic_head_start: Duration) -> String {
    let mut queue = DualPi2::new(config, Stream::named(1, "queue"));
    let start = Time::from_secs_f64(1.0);
    for (ecn, at) in [(Ecn::Ect0, start), (Ecn::Ect1, start + classic_head_start)] {
        for _ in 0..20 {
            queue.enqueue(Packet { size: Bytes::new(1500), ecn, flow: 0 }, 'x', at, &mut drop);
        }
    }
    let now = start + classic_head_start;
    let left = std::iter::from_fn(|| queue.dequeue(now, &mut drop));
    left.map(|left| if left.packet.ecn == Ecn::Ect0 { 'c' } else { 'l' }).collect()
}

#[test]
fn weighted_round_robin_serves_the_classic_queue_once_in_ten() {
    let order = order(&DualPi2Config::default(), Duration::ZERO);
    assert_eq!(order, "lllllllllclllllllllcllcccccccccccccccccc");
    let half = DualPi2Config { classic_weight: 50, ..DualPi2Config::default() };
    assert_eq!(
        self::order(&half, Duration::ZERO),
        "lc".repeat(20),
        "L4S packets first when no queue has credit"
    );
}

#[test]
fn the_time_shifted_fifo_serves_l4s_within_its_shift() {
    let config = DualPi2Config { share: Share::TsFifo, ..DualPi2Config::default() };
    assert!(order(&config, Duration::from_millis(50)).starts_with("llllllllllllllllllll"));
    assert!(order(&config, Duration::from_millis(51)).starts_with("cccccccccccccccccccc"));
}

#[test]
fn the_ramp_marks_ever_more_and_the_step_all_or_none() {
    let marked = |native, micros: u64| {
        let config = DualPi2Config { native, ..appendix() };
        let mut queue = DualPi2::new(&config, Stream::named(1, "queue"));
        for _ in 0..1002 {
            let packet = Packet { size: Bytes::new(100), ecn: Ecn::Ect1, flow: 0 };
            queue.enqueue(packet, (), Time::ZERO, &mut drop);
        }
        let now = Time::ZERO + Duration::from_micros(micros);
        (0..1000).filter(|_| queue.dequeue(now, &mut drop).expect("it waits").packet.ecn == Ecn::Ce).count()
    };
    let ramp = [800, 900, 1000, 1100, 1200].map(|micros| marked(Native::Ramp, micros));
    for (marked, expected) in ramp.into_iter().zip([0_usize, 250, 500, 750, 1000]) {
        assert!(marked.abs_diff(expected) <= 1, "{marked}, not {expected}");
    }
    assert_eq!([1000, 1001].map(|micros| marked(Native::Step, micros)), [0, 999]);
}

#[test]
fn a_small_backlog_is_spared() {
    let signals = |config: DualPi2Config, waiting: u32| {
        let mut queue = fixed(&config, 1.0);
        let now = Time::ZERO + Duration::from_secs(1001);
        for _ in 0..waiting {
            queue.enqueue(Packet { size: Bytes::new(1500), ecn: Ecn::Ect1, flow: 0 }, 0, now, &mut drop);
        }
        let mut dropped = 0;
        let left = queue.dequeue(now, &mut |_| dropped += 1);
        dropped + u32::from(left.is_some_and(|left| left.packet.ecn == Ecn::Ce))
    };
    let overflow = DualPi2Config { min_backlog: Bytes::new(3028), ..DualPi2Config::default() };
    assert_eq!(signals(overflow.clone(), 3), 0, "two packets of 1500 B stay behind");
    assert!(signals(overflow, 4) > 0);
    assert!(signals(DualPi2Config { min_backlog: Bytes::ZERO, ..DualPi2Config::default() }, 1) > 0);
}

#[test]
fn a_packet_is_of_the_class_whose_queue_it_joins() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        let mut queue = DualPi2::new(&DualPi2Config::default(), Stream::named(1, "queue"));
        let packet = Packet { size: Bytes::new(1000), ecn, flow: 1 };
        let _ = queue.enqueue(packet, (), Time::ZERO, &mut |()| panic!("there is room"));
        let class = Qdisc::<()>::classes(&queue)[usize::from(Qdisc::<()>::class_of(&queue, &packet))];
        let of_queue = match class {
            "L4S" => "l4s_packets",
            "Classic" => "classic_packets",
            other => panic!("{other} is no queue"),
        };
        let mut joined = None;
        Qdisc::<()>::probe(&queue, &mut |name, value| {
            joined = joined.or((value == 1.0 && name == of_queue).then_some(name));
        });
        assert_eq!(joined, Some(of_queue), "{ecn:?}");
    }
}
