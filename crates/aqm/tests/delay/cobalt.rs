//! COBALT.
#![expect(clippy::float_cmp, reason = "the link of these tests takes packets at whole milliseconds")]

use aqmlab_aqm::{
    Aqm, CeSelector, Cobalt, CobaltConfig, Counters, Ecn, Limit, Packet, QueueConfig, QueueState, Sqrt,
    Verdict,
};
use aqmlab_units::{Bytes, Duration, Prob, Time};
use proptest::prelude::*;

use super::cobalt_oracle;
use crate::common::oracle::compare;
use crate::common::probed;
use crate::common::traffic::phases;
use crate::common::{link, packet, rng};

/// Settings under which random traffic overflows, empties and delays the queue many times.
fn eager() -> impl Strategy<Value = CobaltConfig> {
    let sqrt = prop::sample::select(Sqrt::ALL);
    let times = (0_u64..2000, 500_u64..20_000, 500_u64..10_000);
    (times, 0_u64..3000, sqrt, 0.0..0.2, 0.0..0.2, any::<bool>()).prop_map(
        |((target, interval, threshold), mtu, sqrt, p_inc, p_dec, blue_on_delay)| CobaltConfig {
            target: Duration::from_micros(target),
            interval: Duration::from_micros(interval),
            mtu: Bytes::new(mtu.saturating_sub(500)),
            sqrt,
            p_inc: Prob::clamped(p_inc),
            p_dec: Prob::clamped(p_dec),
            blue_on_delay,
            blue_threshold: Duration::from_micros(threshold),
            limit: Limit::Packets(40),
            ..CobaltConfig::default()
        },
    )
}

fn run(config: &CobaltConfig, seed: u64) -> Result<Counters, TestCaseError> {
    let oracle = cobalt_oracle::Cobalt::new(config, 40, rng());
    let config = QueueConfig::Cobalt(config.clone()).resolve(&link())?;
    compare(config.queue(&link(), rng()), oracle, &phases(seed, 4000))
}

proptest! {
    #[test]
    fn cobalt_decides_as_cake_does(config in eager(), seed: u64) {
        run(&config, seed)?;
    }
}

#[test]
fn the_traffic_makes_cobalt_mark_drop_and_refuse() {
    let config = CobaltConfig {
        target: Duration::from_micros(300),
        interval: Duration::from_millis(2),
        limit: Limit::Packets(40),
        ..CobaltConfig::default()
    };
    let seen = run(&config, 1).unwrap();
    assert!(seen.marked > 100 && seen.dropped_at_dequeue > 50 && seen.dropped_by_limit > 10, "{seen:?}");
}

const MS: u64 = 1_000_000;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * MS)
}

fn not_capable() -> Packet {
    packet(1500, Ecn::NotEct)
}

fn cobalt(config: &CobaltConfig) -> Cobalt {
    Cobalt::new(config, &link(), rng())
}

fn judge(law: &mut Cobalt, pkt: &Packet, sojourn: u64, millis: u64) -> Verdict {
    let queue = QueueState { packets: 10, bytes: Bytes::new(15_000) };
    law.on_dequeue(pkt, at(millis - sojourn), queue, at(millis))
}

/// A packet leaves each millisecond from `from` to `to`, each having waited `sojourn` milliseconds, and the next one at
/// once when it is dropped. The milliseconds of signals.
fn signals(law: &mut Cobalt, pkt: &Packet, (from, to): (u64, u64), sojourn: u64) -> Vec<u64> {
    let mut signals = Vec::new();
    for millis in from..to {
        while judge(law, pkt, sojourn, millis) != Verdict::Pass {
            signals.push(millis);
            assert!(signals.len() < 10_000, "a few signals a gap");
            if pkt.ecn.is_capable() {
                break;
            }
        }
    }
    signals
}

fn count(law: &Cobalt) -> f64 {
    probed(law, "count")
}

#[test]
fn no_signal_before_sojourn_exceeds_target_for_an_interval() {
    let mut law = cobalt(&CobaltConfig::default());
    assert!(signals(&mut law, &not_capable(), (1000, 1010), 1).is_empty());
    assert_eq!(signals(&mut law, &not_capable(), (1010, 1150), 6), [1110]);
    let mut law = cobalt(&CobaltConfig::default());
    assert!(signals(&mut law, &not_capable(), (1000, 3000), 5).is_empty(), "5 ms are not above 5 ms");
}

#[test]
fn gaps_shrink_as_interval_over_root_of_count() {
    let mut law = cobalt(&CobaltConfig { sqrt: Sqrt::Exact, ..CobaltConfig::default() });
    signals(&mut law, &not_capable(), (999, 1000), 1);
    let signals = signals(&mut law, &not_capable(), (1000, 4000), 6);
    let mut planned: f64 = 1100.0;
    for (count, signal) in (2..).zip(&signals) {
        assert_eq!(*signal as f64, planned.ceil(), "signal {} planned for {planned}", count - 1);
        planned += 100.0 / f64::from(count).sqrt();
    }
    assert!(signals.len() > 100);
}

#[test]
fn marks_fall_on_the_instants_of_drops() {
    let run = |ecn| {
        let mut law = cobalt(&CobaltConfig::default());
        signals(&mut law, &packet(1500, ecn), (999, 1000), 1);
        signals(&mut law, &packet(1500, ecn), (1000, 2000), 6)
    };
    assert_eq!(run(Ecn::Ect0), run(Ecn::NotEct));
    assert!(run(Ecn::Ect0).len() > 10);
}

#[test]
fn signals_are_taken_back_at_the_pace_at_which_they_were_given() {
    let mut law = cobalt(&CobaltConfig::default());
    signals(&mut law, &not_capable(), (999, 1000), 1);
    let given = signals(&mut law, &not_capable(), (1000, 2000), 6);
    let high = count(&law);
    assert_eq!(high, given.len() as f64 + 1.0);
    let mut fallen = vec![];
    for millis in 2000..4000 {
        let before = count(&law);
        assert_eq!(judge(&mut law, &not_capable(), 1, millis), Verdict::Pass);
        assert!(before - count(&law) == 0.0 || before - count(&law) == 1.0, "one at a time");
        if count(&law) < before {
            fallen.push(millis);
        }
    }
    assert_eq!((fallen.len() as f64, count(&law)), (high, 0.0));
    let gaps: Vec<u64> = fallen.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps[0] < 35 && gaps.last() > Some(&99), "ever more slowly: {gaps:?}");
}

#[test]
fn what_is_left_of_the_count_speeds_up_the_next_episode() {
    let first_gap = |pause: u64| {
        let mut law = cobalt(&CobaltConfig::default());
        signals(&mut law, &not_capable(), (999, 1000), 1);
        signals(&mut law, &not_capable(), (1000, 2000), 6);
        signals(&mut law, &not_capable(), (2000, 2000 + pause), 1);
        let next_episode = signals(&mut law, &not_capable(), (2000 + pause, 3000 + pause), 6);
        next_episode[1] - next_episode[0]
    };
    assert!(first_gap(50) < 40 && first_gap(300) < 60 && first_gap(2000) >= 70);
}

#[test]
fn sojourn_below_four_packet_times_passes_unless_switched_off() {
    // 240,000 B take 19.2 ms at 100 Mbit/s.
    let with = |mtu, sojourn| {
        let mut law = cobalt(&CobaltConfig { mtu: Bytes::new(mtu), ..CobaltConfig::default() });
        signals(&mut law, &not_capable(), (999, 1000), 1);
        signals(&mut law, &not_capable(), (1000, 2000), sojourn).len()
    };
    assert_eq!((with(60_000, 19), with(60_000, 20) > 0, with(0, 19) > 0), (0, true, true));
}

/// A law whose queue has overflowed every `step` milliseconds from 1000 to 1100, and the number of corrections due.
fn overflown(step: u64) -> (Cobalt, u64) {
    let mut law = cobalt(&CobaltConfig::default());
    for millis in (1000..1100).step_by(usize::try_from(step).expect("small")) {
        law.on_overflow(&not_capable(), QueueState::default(), at(millis));
    }
    // More than 5 ms apart.
    (law, 100_u64.div_ceil(step.max(6).next_multiple_of(step)))
}

#[test]
fn blue_rises_on_overflow_and_falls_when_empty_once_a_target() {
    for step in [1, 6, 10] {
        let (law, corrections) = overflown(step);
        assert_eq!(probed(&law, "p_drop"), corrections as f64 / 256.0, "an overflow every {step} ms");
    }
    let (mut law, corrections) = overflown(10);
    for millis in 1105..1205 {
        law.on_empty(at(millis));
    }
    let falls = 17.0;
    assert_eq!(probed(&law, "p_drop"), corrections as f64 / 256.0 - falls / 4096.0);
    (2000..20_000).for_each(|millis| law.on_empty(at(millis)));
    assert_eq!(probed(&law, "p_drop"), 0.0);
}

#[test]
fn blue_drops_with_its_probability_even_what_could_be_marked() {
    let config = CobaltConfig { p_inc: Prob::clamped(0.3), ..CobaltConfig::default() };
    let mut law = cobalt(&config);
    law.on_overflow(&not_capable(), QueueState::default(), at(1000));
    let drops = (2000..12_000)
        .filter(|millis| judge(&mut law, &packet(1500, Ecn::Ect0), 1, *millis) == Verdict::Drop)
        .count();
    // Three standard deviations of 10,000 trials are 137.
    assert!((2860..3140).contains(&drops), "{drops} of 10,000");
    let mut never = cobalt(&CobaltConfig::default());
    assert!((2000..12_000).all(|millis| judge(&mut never, &not_capable(), 1, millis) == Verdict::Pass));
}

#[test]
fn an_overflow_lets_codel_signal_at_once() {
    let mut law = cobalt(&CobaltConfig { p_inc: Prob::ZERO, ..CobaltConfig::default() });
    law.on_overflow(&not_capable(), QueueState::default(), at(1000));
    assert_eq!(signals(&mut law, &not_capable(), (1001, 1050), 6), [1001]);
}

#[test]
fn a_long_wait_raises_blue_only_as_an_option() {
    let p_drop = |blue_on_delay, sojourn| {
        let mut law = cobalt(&CobaltConfig { blue_on_delay, ..CobaltConfig::default() });
        (1000..1006).for_each(|millis| {
            judge(&mut law, &packet(1500, Ecn::Ect0), sojourn, millis);
        });
        probed(&law, "p_drop")
    };
    assert_eq!([p_drop(false, 401), p_drop(true, 400), p_drop(true, 401)], [0.0, 0.0, 1.0 / 256.0]);
}

#[test]
fn a_threshold_marks_selected_packets_above_it() {
    let verdict = |selector, ecn, sojourn_ms: u64| {
        let config = CobaltConfig {
            ce_threshold: Some(Duration::from_millis(1)),
            ce_threshold_selector: selector,
            ..CobaltConfig::default()
        };
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let waiting = QueueState { packets: 9, bytes: Bytes::new(9 * 1500) };
        let mut law = Cobalt::new(&config, &link(), rng());
        law.on_dequeue(&packet(1500, ecn), at(1000 - sojourn_ms), waiting, at(1000))
    };
    for (selector, ecn, marks) in [
        (CeSelector::Any, Ecn::Ect0, true),
        (CeSelector::Any, Ecn::NotEct, false),
        (CeSelector::Ect1, Ecn::Ect1, true),
        (CeSelector::Ect1, Ecn::Ect0, false),
    ] {
        let expected = if marks { Verdict::Mark } else { Verdict::Pass };
        assert_eq!(verdict(selector, ecn, 2), expected, "{selector} {ecn:?}");
        assert_eq!(verdict(selector, ecn, 1), Verdict::Pass, "at the threshold: {selector} {ecn:?}");
    }
    let config = CobaltConfig { ce_threshold_selector: CeSelector::Ect1, ..CobaltConfig::default() };
    let refused = QueueConfig::Cobalt(config).resolve(&link()).unwrap_err();
    assert_eq!(refused.to_string(), "ce_threshold_selector: must be any without ce_threshold, got ect1");
}
