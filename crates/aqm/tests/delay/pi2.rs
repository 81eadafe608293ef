//! PI2.

use aqmlab_aqm::{
    Aqm, Counters, DelayFrom, Ecn, Limit, Pi2, Pi2Config, QueueConfig, QueueState, SignalAt, Verdict,
};
use aqmlab_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use super::fluid::Fluid;
use super::pi2_oracle;
use super::pie::delay_from;
use crate::common::oracle::compare;
use crate::common::probed;
use crate::common::traffic::phases;
use crate::common::{link, packet, rng};

/// Settings under which p' moves between 0 and 1 within the traffic.
fn eager() -> impl Strategy<Value = Pi2Config> {
    let times = (0_u64..4000, 200_u64..4000);
    let gains = (1.0..100.0, 1.0..200.0, 0.2..4.0);
    let rate = (500_u64..6000, 0.05..1.0);
    (times, gains, delay_from(), rate, any::<[bool; 2]>(), 0_u64..5000).prop_map(
        |((target, update), (alpha, beta, k), delay_from, rate, [coupled, departure], min_backlog)| {
            Pi2Config {
                target: Duration::from_micros(target),
                t_update: Duration::from_micros(update),
                alpha,
                beta,
                coupled,
                k,
                signal_at: if departure { SignalAt::Departure } else { SignalAt::Arrival },
                min_backlog: Bytes::new(min_backlog.saturating_sub(2000)),
                delay_from,
                dq_threshold: Bytes::new(rate.0),
                dq_weight: rate.1,
                limit: Limit::Packets(60),
            }
        },
    )
}

fn run(config: &Pi2Config, seed: u64) -> Result<Counters, TestCaseError> {
    let oracle = pi2_oracle::Pi2::new(config, 60, rng());
    let config = QueueConfig::Pi2(config.clone()).resolve(&link())?;
    compare(config.queue(&link(), rng()), oracle, &phases(seed, 4000))
}

proptest! {
    #[test]
    fn pi2_decides_as_its_paper_does(config in eager(), seed: u64) {
        run(&config, seed)?;
    }
}

#[test]
fn the_traffic_covers_arrival_departure_and_limit() {
    for delay_from in [DelayFrom::Timestamp, DelayFrom::RateEstimate, DelayFrom::LinkRate] {
        let arrival = Pi2Config {
            target: Duration::from_millis(2),
            t_update: Duration::from_millis(1),
            alpha: 10.0,
            beta: 40.0,
            dq_threshold: Bytes::new(3000),
            delay_from,
            limit: Limit::Packets(60),
            ..Pi2Config::default()
        };
        let seen = run(&arrival, 1).unwrap();
        assert!(
            seen.marked + seen.dropped_early + seen.dropped_forced > 50 && seen.dropped_by_limit > 0,
            "{delay_from}: {seen:?}"
        );
        assert_eq!(seen.dropped_at_dequeue, 0);
        let seen = run(&Pi2Config { signal_at: SignalAt::Departure, ..arrival }, 1).unwrap();
        assert!(seen.marked > 50 && seen.dropped_at_dequeue > 20, "{delay_from}: {seen:?}");
        assert_eq!(seen.dropped_early + seen.dropped_forced, 0);
    }
}

/// By the link's rate, so that the length of the queue is all that a test has to set.
fn by_length() -> Pi2Config {
    Pi2Config { delay_from: DelayFrom::LinkRate, ..Pi2Config::default() }
}

/// A queue of this delay on a link of 100 Mbit/s: 80 ns for each byte.
fn queue(millis: u64) -> QueueState {
    QueueState { packets: 0, bytes: Bytes::new(millis * 12_500) }
}

/// A law after one update at a delay for which p' is `p`.
fn at(config: &Pi2Config, p: f64) -> Pi2 {
    let mut pi2 = Pi2::new(&Pi2Config { alpha: p / 0.985, beta: 1e-9, ..config.clone() }, &link(), rng());
    pi2.on_timeout(queue(1000), pi2.poll_timeout().expect("PI2 updates"));
    assert!((probed(&pi2, "p'") - p).abs() < 1e-6);
    pi2
}

#[test]
fn one_update_corrects_by_distance_and_change() {
    let mut pi2 = Pi2::new(&by_length(), &link(), rng());
    let mut update = |millis| {
        pi2.on_timeout(queue(millis), pi2.poll_timeout().expect("PI2 updates"));
        probed(&pi2, "p'")
    };
    let first = 0.16 * (0.020 - 0.015) + 3.2 * 0.020;
    assert!((update(20) - first).abs() < 1e-12);
    assert!((update(25) - (first + 0.16 * 0.010 + 3.2 * 0.005)).abs() < 1e-12);
    assert!(update(0).abs() < 1e-12 && update(10_000) > 1.0 - 1e-12, "kept in [0, 1]");
}

/// The share of 40,000 packets that `pi2` signals.
fn share(mut pi2: Pi2, ecn: Ecn) -> f64 {
    let signals =
        (0..40_000).filter(|_| pi2.on_enqueue(&packet(1000, ecn), queue(1000), Time::ZERO) == Verdict::Mark);
    signals.count() as f64 / 40_000.0
}

#[test]
fn classic_gets_p_squared_and_coupled_scalable_k_times_p() {
    let coupled = Pi2Config { coupled: true, ..by_length() };
    let triple = Pi2Config { k: 3.0, ..coupled.clone() };
    for (config, p, ecn, expected) in [
        (by_length(), 0.1, Ecn::NotEct, 0.01),
        (by_length(), 0.5, Ecn::Ect0, 0.25),
        (by_length(), 0.5, Ecn::Ect1, 0.25),
        (coupled.clone(), 0.5, Ecn::Ect0, 0.25),
        (coupled.clone(), 0.5, Ecn::NotEct, 0.25),
        (coupled.clone(), 0.2, Ecn::Ect1, 0.4),
        (triple, 0.2, Ecn::Ect1, 0.6),
        (coupled, 0.7, Ecn::Ect1, 1.0),
    ] {
        let share = share(at(&config, p), ecn);
        let error: f64 = (expected * (1.0 - expected) / 40_000.0_f64).sqrt();
        assert!((share - expected).abs() <= 4.0 * error, "{ecn:?} at p' = {p}: {share}, not {expected}");
    }
}

#[test]
fn nothing_is_signalled_while_less_than_the_least_backlog_waits() {
    let mut pi2 = at(&Pi2Config { min_backlog: Bytes::new(3000), ..by_length() }, 1.0);
    let mut judge = |bytes| {
        let queue = QueueState { packets: 2, bytes: Bytes::new(bytes) };
        pi2.on_enqueue(&packet(1000, Ecn::NotEct), queue, Time::ZERO)
    };
    assert_eq!((judge(2999), judge(3000)), (Verdict::Pass, Verdict::Mark));
}

#[test]
fn the_delay_settles_at_target_and_returns_after_a_load_step() {
    let paper = Pi2Config {
        target: Duration::from_millis(20),
        t_update: Duration::from_millis(32),
        alpha: 0.3125,
        beta: 3.125,
        ..Pi2Config::default()
    };
    for delay_from in [DelayFrom::Timestamp, DelayFrom::RateEstimate, DelayFrom::LinkRate] {
        for config in [Pi2Config::default(), paper.clone()] {
            let config = Pi2Config { delay_from, ..config };
            let target = config.target.as_secs_f64();
            let mut fluid = Fluid::new(Pi2::new(&config, &link(), rng()), |law| probed(law, "p'").powi(2));
            for excess in [1.1, 1.4, 1.05] {
                let (delay, p) = fluid.run(excess, 60.0);
                assert!((delay - target).abs() < 0.1 * target, "{delay_from}: {delay} s at {excess}");
                assert!((p - (1.0 - 1.0 / excess)).abs() < 0.01, "{delay_from}: p'^2 = {p} at {excess}");
            }
        }
    }
}
