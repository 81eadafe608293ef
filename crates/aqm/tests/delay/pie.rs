//! PIE.
#![expect(clippy::float_cmp, reason = "a factor of one half and sums of none are exact")]

use aqmlab_aqm::{
    Aqm, Counters, Decay, DelayFrom, Ecn, LightLoad, Limit, Pie, PieConfig, QueueConfig, QueueState, Verdict,
};
use aqmlab_units::{Bytes, Duration, Prob, Time};
use proptest::prelude::*;

use super::fluid::Fluid;
use super::pie_oracle;
use crate::common::oracle::compare;
use crate::common::probed;
use crate::common::traffic::phases;
use crate::common::{link, packet, rng};

const MS: u64 = 1_000_000;

pub(crate) fn delay_from() -> impl Strategy<Value = DelayFrom> {
    prop::sample::select(DelayFrom::ALL)
}

/// Settings under which every rule matters within the traffic.
fn eager() -> impl Strategy<Value = PieConfig> {
    let times = (200_u64..4000, 200_u64..4000, 0_u64..20_000);
    let gains = (1.0..200.0, 1.0..400.0, 0.05..1.0);
    let rate = (500_u64..6000, 0.05..1.0);
    let switches = any::<[bool; 5]>();
    (times, gains, delay_from(), rate, switches, 0.3..1.0, 20_u64..1500).prop_map(
        |(
            (target, update, burst),
            (alpha, beta, ecnth),
            delay_from,
            (dq_threshold, dq_weight),
            [derandomize, cap, steep, now, light],
            decay_factor,
            mean_packet,
        )| PieConfig {
            // An odd number of nanoseconds, of which no delay in this traffic is exactly half.
            qdelay_ref: Duration::from_nanos(1000 * target + 1),
            t_update: Duration::from_micros(update),
            alpha,
            beta,
            max_burst: Duration::from_micros(burst),
            mark_ecnth: Prob::clamped(ecnth),
            delay_from,
            dq_threshold: Bytes::new(dq_threshold),
            dq_weight,
            derandomize,
            cap,
            steep,
            light_load: if now { LightLoad::Now } else { LightLoad::LastUpdate },
            decay: if light { Decay::Light } else { Decay::Idle },
            decay_factor,
            mean_packet: Bytes::new(mean_packet),
            limit: Limit::Packets(60),
            ..PieConfig::default()
        },
    )
}

fn run(config: &PieConfig, seed: u64) -> Result<Counters, TestCaseError> {
    let oracle = pie_oracle::Pie::new(config, 60, rng());
    let config = QueueConfig::Pie(config.clone()).resolve(&link())?;
    compare(config.queue(&link(), rng()), oracle, &phases(seed, 4000))
}

proptest! {
    #[test]
    fn pie_decides_as_the_pseudocode_of_the_rfc_does(config in eager(), seed: u64) {
        run(&config, seed)?;
    }
}

#[test]
fn the_traffic_makes_pie_signal_and_the_limit_refuse() {
    for delay_from in [DelayFrom::Timestamp, DelayFrom::RateEstimate, DelayFrom::LinkRate] {
        let config = PieConfig {
            qdelay_ref: Duration::from_millis(1),
            t_update: Duration::from_millis(1),
            alpha: 20.0,
            beta: 40.0,
            max_burst: Duration::from_millis(5),
            dq_threshold: Bytes::new(3000),
            delay_from,
            limit: Limit::Packets(60),
            ..PieConfig::default()
        };
        let seen = run(&config, 2).unwrap();
        assert!(
            seen.marked + seen.dropped_early + seen.dropped_forced > 100 && seen.dropped_by_limit > 0,
            "{delay_from}: {seen:?}"
        );
    }
}

/// By the link's rate, so that the length of the queue is all that a test has to set.
fn by_length() -> PieConfig {
    PieConfig { delay_from: DelayFrom::LinkRate, ..PieConfig::default() }
}

/// A queue of this delay on a link of 100 Mbit/s: 80 ns for each byte.
fn queue(millis: f64) -> QueueState {
    let nanos = Duration::from_secs_f64(millis / 1e3).as_nanos();
    QueueState { packets: 0, bytes: Bytes::new(nanos / 80) }
}

/// A law after updates: pairs of a number of updates and the delay that they find, in milliseconds.
fn after(config: &PieConfig, updates: &[(u32, f64)]) -> Pie {
    let mut pie = Pie::new(config, &link(), rng());
    for (times, millis) in updates {
        for _ in 0..*times {
            pie.on_timeout(queue(*millis), pie.poll_timeout().expect("PIE updates"));
        }
    }
    pie
}

/// A law at a probability of hardly more than `p`, which has last found a delay of 15 ms.
fn at(config: &PieConfig, p: f64) -> Pie {
    // Nearly without beta, so that a change of the delay does not change the probability.
    let mut pie = after(&PieConfig { beta: 1e-6, ..config.clone() }, &[(1, 15.0)]);
    for _ in 0..100_000 {
        if probed(&pie, "p") >= p {
            break;
        }
        pie.on_timeout(queue(15.1), pie.poll_timeout().expect("PIE updates"));
    }
    pie.on_timeout(queue(15.0), pie.poll_timeout().expect("PIE updates"));
    let reached = probed(&pie, "p");
    assert!(p <= reached * (1.0 + 1e-6) && reached < 1.1 * p, "{reached} is about {p}");
    pie
}

/// The change of the probability at one more update that finds this delay.
fn step(pie: &Pie, millis: f64) -> f64 {
    let mut next = pie.clone();
    next.on_timeout(queue(millis), next.poll_timeout().expect("PIE updates"));
    probed(&next, "p") - probed(pie, "p")
}

fn signalled(pie: &mut Pie, millis: f64, arrivals: u32) -> u32 {
    let judge =
        |_| u32::from(pie.on_enqueue(&packet(1000, Ecn::NotEct), queue(millis), Time::ZERO) != Verdict::Pass);
    (0..arrivals).map(judge).sum()
}

#[test]
fn delay_settles_at_reference_and_returns_after_a_load_step() {
    for delay_from in [DelayFrom::Timestamp, DelayFrom::RateEstimate, DelayFrom::LinkRate] {
        let config = PieConfig { delay_from, ..PieConfig::default() };
        let mut fluid = Fluid::new(Pie::new(&config, &link(), rng()), |law| probed(law, "p"));
        for excess in [1.1, 1.4, 1.05] {
            let (delay, p) = fluid.run(excess, 60.0);
            assert!((delay - 0.015).abs() < 0.0015, "{delay_from}: {delay} s at {excess}");
            assert!((p - (1.0 - 1.0 / excess)).abs() < 0.01, "{delay_from}: p = {p} at {excess}");
        }
    }
}

#[test]
fn nothing_is_signalled_while_a_burst_is_allowed() {
    // 150 ms are ten updates; the probability grows meanwhile.
    let mut pie = after(&by_length(), &[(9, 500.0)]);
    assert!(probed(&pie, "p") > 0.01);
    assert_eq!(signalled(&mut pie, 500.0, 1000), 0);
    let mut pie = after(&by_length(), &[(10, 500.0)]);
    assert!(signalled(&mut pie, 500.0, 1000) > 10);
}

#[test]
fn a_burst_is_allowed_again_only_after_quiet_times() {
    let config = PieConfig { beta: 0.001, derandomize: false, ..by_length() };
    let then_a_burst = |mut pie: Pie| {
        signalled(&mut pie, 0.0, 1);
        pie.on_timeout(queue(500.0), pie.poll_timeout().expect("PIE updates"));
        signalled(&mut pie, 500.0, 1000)
    };
    let quiet = after(&config, &[(30, 500.0), (200, 0.0)]);
    assert_eq!((probed(&quiet, "p"), then_a_burst(quiet)), (0.0, 0));
    let busy = after(&config, &[(30, 500.0), (2, 0.0)]);
    assert!(probed(&busy, "p") > 0.05 && then_a_burst(busy) > 0, "the probability had not gone back to 0");
}

#[test]
fn steps_grow_with_the_probability_as_the_table_says() {
    for (p, divisor) in
        [(5e-7, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (5e-2, 2.0), (0.5, 1.0)]
    {
        let expected = 0.125 * 0.001 / divisor;
        let step = step(&at(&by_length(), p), 16.0);
        assert!((step / expected - 1.0).abs() < 1e-4, "{step} at p = {p}");
    }
}

#[test]
fn steps_are_capped_at_0_02_from_p_0_1_and_a_steep_one_adds_it() {
    let low = |config: &PieConfig| step(&after(config, &[(6, 300.0)]), 800.0);
    let at_a_tenth = |config: &PieConfig| step(&after(config, &[(20, 300.0)]), 800.0);
    let plain = PieConfig { cap: false, ..by_length() };
    let capped = PieConfig { cap: true, ..plain.clone() };
    assert!(probed(&after(&plain, &[(6, 300.0)]), "p") < 0.1 && low(&capped) == low(&plain));
    assert!(at_a_tenth(&plain) > 0.3);
    assert!((at_a_tenth(&capped) - 0.02).abs() < 1e-12);
    let steep = PieConfig { steep: true, ..by_length() };
    assert!((step(&after(&steep, &[(12, 300.0)]), 800.0) - 0.04).abs() < 1e-12);
    let (mild, steep) = (after(&by_length(), &[(1, 249.0)]), after(&steep, &[(1, 249.0)]));
    assert_eq!(step(&mild, 250.0), step(&steep, 250.0), "250 ms are not above 250 ms");
}

/// The arrivals between signals at a probability of about 0.05.
fn gaps(derandomize: bool) -> Vec<u32> {
    let mut pie = at(&PieConfig { derandomize, ..by_length() }, 0.05);
    let mut gaps = vec![];
    let mut gap = 0;
    for _ in 0..100_000 {
        gap += 1;
        if signalled(&mut pie, 20.0, 1) == 1 {
            gaps.push(gap);
            gap = 0;
        }
    }
    let p = probed(&pie, "p");
    assert!(gaps.iter().all(|gap| !derandomize || (0.85 / p) <= f64::from(*gap) + 1.0), "p = {p}");
    assert!(gaps.iter().all(|gap| !derandomize || f64::from(*gap) <= 8.5 / p + 1.0), "p = {p}");
    gaps
}

#[test]
fn derandomised_signals_are_neither_too_close_nor_too_far_apart() {
    let even = gaps(true);
    let random = gaps(false);
    assert!(even.iter().min() > Some(&8) && random.iter().min() < Some(&3));
    assert!(even.len() < random.len());
}

#[test]
fn a_packet_is_signalled_at_the_latest_where_p_adds_up_to_8_5() {
    // RFC 8033 section 5.4. Where p is 0.05, one gap in 2,000 reaches the bound.
    let mut pie = at(&by_length(), 0.05);
    let bound = (8.5 / probed(&pie, "p")).ceil();
    let (mut longest, mut gap) = (0, 0);
    for _ in 0..1_000_000 {
        gap = if signalled(&mut pie, 20.0, 1) == 1 { 0 } else { gap + 1 };
        longest = longest.max(gap + 1);
    }
    assert_eq!(f64::from(longest), bound);
}

#[test]
fn ecn_capable_packets_are_marked_below_p_0_1_else_dropped() {
    let verdict = |times| {
        let mut pie = after(&by_length(), &[(times, 100.0)]);
        let p = probed(&pie, "p");
        let judged = (0..1000).map(|_| pie.on_enqueue(&packet(1000, Ecn::Ect0), queue(100.0), Time::ZERO));
        (p, judged.into_iter().find(|verdict| *verdict != Verdict::Pass).expect("a signal"))
    };
    let all: Vec<_> = (20..60).map(verdict).collect();
    assert!(all.iter().all(|(p, verdict)| (*p < 0.1) == (*verdict == Verdict::Mark)));
    assert!(all[0].0 < 0.1 && all[39].0 > 0.1);
}

#[test]
fn light_load_is_judged_at_the_last_update_or_at_arrival() {
    let signals = |light_load| {
        let config = PieConfig { light_load, ..by_length() };
        // The delay was long at the last update, and the queue has drained since; or the other way round.
        let mut drained = at(&config, 0.1);
        let mut filled = at(&config, 0.1);
        filled.on_timeout(queue(7.0), filled.poll_timeout().expect("PIE updates"));
        (signalled(&mut drained, 7.0, 2000) > 0, signalled(&mut filled, 20.0, 2000) > 0)
    };
    assert_eq!(signals(LightLoad::LastUpdate), (true, false));
    assert_eq!(signals(LightLoad::Now), (false, true));
}

#[test]
fn no_signal_while_at_most_two_mean_packets_are_queued() {
    let config = PieConfig { mean_packet: Bytes::new(1000), derandomize: false, ..by_length() };
    let mut pie = after(&config, &[(40, 100.0)]);
    let mut any = |bytes| {
        let queue = QueueState { packets: 1, bytes: Bytes::new(bytes) };
        (0..1000).any(|_| pie.on_enqueue(&packet(1000, Ecn::NotEct), queue, Time::ZERO) != Verdict::Pass)
    };
    assert_eq!((any(2000), any(2001)), (false, true));
}

#[test]
fn probability_decays_when_idle_or_at_light_load() {
    let ratio = |decay, millis| {
        let plain = PieConfig { decay, decay_factor: 1.0, ..by_length() };
        let decaying = PieConfig { decay_factor: 0.5, ..plain.clone() };
        let updates = [(40, 100.0), (1, millis), (1, millis)];
        probed(&after(&decaying, &updates), "p") / probed(&after(&plain, &updates), "p")
    };
    assert_eq!((ratio(Decay::Idle, 0.0), ratio(Decay::Idle, 7.0)), (0.5, 1.0));
    assert_eq!((ratio(Decay::Light, 0.0), ratio(Decay::Light, 7.0)), (0.5, 0.5));
    assert_eq!(ratio(Decay::Light, 8.0), 1.0);
}

#[test]
fn a_complete_measurement_finds_the_links_departure_rate() {
    let config = PieConfig {
        delay_from: DelayFrom::RateEstimate,
        dq_threshold: Bytes::new(10_000),
        ..PieConfig::default()
    };
    let mut pie = Pie::new(&config, &link(), rng());
    let deep = QueueState { packets: 40, bytes: Bytes::new(40_000) };
    for packet_number in 0..=10 {
        let mut unknown = pie.clone();
        unknown.on_timeout(deep, unknown.poll_timeout().unwrap());
        assert_eq!(probed(&unknown, "qdelay"), 0.0, "unknown after {packet_number} packets");
        // One packet of 1000 B a millisecond: 10,000 B take 10 ms.
        pie.on_dequeue(&packet(1000, Ecn::NotEct), Time::ZERO, deep, Time::from_nanos(packet_number * MS));
    }
    pie.on_timeout(deep, pie.poll_timeout().unwrap());
    assert!((probed(&pie, "qdelay") - 0.040).abs() < 1e-12);
}

#[test]
fn with_timestamps_an_empty_queue_has_no_delay() {
    let mut pie = Pie::new(&PieConfig::default(), &link(), rng());
    let late = Time::from_nanos(50 * MS);
    pie.on_dequeue(&packet(1000, Ecn::NotEct), Time::ZERO, queue(1.0), late);
    pie.on_dequeue(&packet(1000, Ecn::NotEct), Time::ZERO, QueueState { packets: 1, ..queue(1.0) }, late);
    let mut waits = pie.clone();
    waits.on_timeout(queue(1.0), waits.poll_timeout().unwrap());
    assert_eq!(probed(&waits, "qdelay"), 0.050);
    pie.on_dequeue(&packet(1000, Ecn::NotEct), Time::ZERO, QueueState::default(), late);
    pie.on_timeout(QueueState::default(), pie.poll_timeout().unwrap());
    assert_eq!(probed(&pie, "qdelay"), 0.0);
}

#[test]
fn a_refused_packet_starts_derandomisation_afresh() {
    let mut pie = after(&by_length(), &[(40, 100.0)]);
    let p = probed(&pie, "p");
    let (mut judged, mut signals) = (0, 0);
    while judged < 10_000 {
        judged += 1;
        signals += signalled(&mut pie, 100.0, 1);
        pie.on_overflow(&packet(1000, Ecn::NotEct), self::queue(100.0), Time::ZERO);
    }
    assert!(p < 0.85 && signals == 0, "p = {p} never adds up to 0.85");
}
