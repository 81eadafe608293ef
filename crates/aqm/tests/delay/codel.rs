//! CoDel.
#![expect(clippy::float_cmp, reason = "the link of these tests takes packets at whole milliseconds")]

use aqmlab_aqm::{
    Aqm, CeSelector, Codel, CodelConfig, Counters, Ecn, NextMarkFrom, Packet, QueueConfig, QueueState,
    Reentry, Sqrt, Verdict,
};
use aqmlab_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use super::codel_oracle;
use crate::common::oracle::compare;
use crate::common::traffic::phases;
use crate::common::{link, packet, rng};

/// Settings under which random traffic of a few hundred milliseconds has many episodes.
fn eager() -> impl Strategy<Value = CodelConfig> {
    let sqrt = prop::sample::select(Sqrt::ALL);
    let next_mark_from = prop::sample::select(NextMarkFrom::ALL);
    let reentry = prop::sample::select(Reentry::ALL);
    let times = (0_u64..2000, 500_u64..20_000, 0_u64..4000);
    (times, sqrt, next_mark_from, reentry).prop_map(
        |((target, interval, mtu), sqrt, next_mark_from, reentry)| CodelConfig {
            target: Duration::from_micros(target),
            interval: Duration::from_micros(interval),
            mtu: Bytes::new(mtu),
            sqrt,
            next_mark_from,
            reentry,
            ..CodelConfig::default()
        },
    )
}

fn run(config: &CodelConfig, seed: u64) -> Result<Counters, TestCaseError> {
    let oracle = codel_oracle::Codel::new(config);
    let config = QueueConfig::Codel(config.clone()).resolve(&link())?;
    compare(config.queue(&link(), rng()), oracle, &phases(seed, 4000))
}

proptest! {
    #[test]
    fn codel_decides_as_the_loop_of_the_rfc_does(config in eager(), seed: u64) {
        run(&config, seed)?;
    }
}

#[test]
fn the_traffic_makes_codel_mark_and_drop_many_packets() {
    let config = CodelConfig {
        target: Duration::from_micros(300),
        interval: Duration::from_millis(2),
        ..CodelConfig::default()
    };
    let seen = run(&config, 1).unwrap();
    assert!(seen.marked > 100 && seen.dropped_at_dequeue > 50, "{seen:?}");
}

const MS: u64 = 1_000_000;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * MS)
}

/// Ten full packets wait behind the one that is judged.
fn backlog() -> QueueState {
    QueueState { packets: 10, bytes: Bytes::new(15_000) }
}

/// A link that takes a packet every `step` microseconds from `from` to `to` milliseconds, each having waited `sojourn`
/// milliseconds; when one is dropped, the next is taken at once. The instants of signals in milliseconds.
fn signals(codel: &mut Codel, pkt: &Packet, (from, to, step): (u64, u64, u64), sojourn: u64) -> Vec<f64> {
    let mut signals = Vec::new();
    for micros in (from * 1000..to * 1000).step_by(usize::try_from(step).expect("small")) {
        let now = Time::from_nanos(micros * 1000);
        let arrived = Time::from_nanos((micros * 1000).saturating_sub(sojourn * MS));
        while codel.on_dequeue(pkt, arrived, backlog(), now) == Verdict::Mark {
            signals.push(now.as_secs_f64() * 1e3);
            assert!(signals.len() < 10_000, "a few signals a gap");
            if pkt.ecn.is_capable() {
                break;
            }
        }
    }
    signals
}

fn codel(config: &CodelConfig) -> Codel {
    Codel::new(config, &link(), rng())
}

fn not_capable() -> Packet {
    packet(1500, Ecn::NotEct)
}

fn gaps(signals: &[f64]) -> Vec<f64> {
    signals.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn no_signal_before_sojourn_exceeds_target_for_an_interval() {
    let mut law = codel(&CodelConfig::default());
    let signals = signals(&mut law, &not_capable(), (1000, 1200, 1000), 6);
    assert_eq!(signals[0], 1100.0, "the first packet above target was taken at 1000 ms");
}

#[test]
fn a_wait_of_the_target_is_too_long() {
    let signals =
        |sojourn| signals(&mut codel(&CodelConfig::default()), &not_capable(), (1000, 1200, 1000), sojourn);
    assert_eq!((signals(5).len(), signals(4).len()), (1, 0));
}

#[test]
fn one_sojourn_below_target_restarts_the_interval() {
    let mut law = codel(&CodelConfig::default());
    assert!(signals(&mut law, &not_capable(), (1000, 1090, 10_000), 6).is_empty());
    assert!(signals(&mut law, &not_capable(), (1090, 1100, 10_000), 4).is_empty());
    let then = signals(&mut law, &not_capable(), (1100, 1300, 10_000), 6);
    assert_eq!(then[0], 1200.0);
}

#[test]
fn gaps_shrink_as_interval_over_root_of_count() {
    let mut law = codel(&CodelConfig::default());
    let signals = signals(&mut law, &not_capable(), (1000, 5000, 100), 6);
    assert!(signals.len() > 100);
    let mut planned = signals[0];
    for (count, signal) in (1..).zip(&signals[1..]) {
        planned += 100.0 / f64::from(count).sqrt();
        assert!((signal - planned).abs() <= 0.1 + 1e-6, "signal {count} at {signal}, planned for {planned}");
    }
}

#[test]
fn marks_fall_on_the_instants_of_drops() {
    let run = |ecn| signals(&mut codel(&CodelConfig::default()), &packet(1500, ecn), (1000, 5000, 100), 6);
    assert_eq!(run(Ecn::Ect0), run(Ecn::NotEct));
}

#[test]
fn nothing_is_signalled_while_at_most_one_mtu_stays_behind() {
    for (bytes, expected) in [(1500, false), (1501, true)] {
        let mut law = codel(&CodelConfig::default());
        let queue = QueueState { packets: 2, bytes: Bytes::new(bytes) };
        let signalled = (1000..2000)
            .any(|ms| law.on_dequeue(&not_capable(), at(ms - 50), queue, at(ms)) != Verdict::Pass);
        assert_eq!(signalled, expected, "{bytes} B stay behind");
    }
}

#[test]
fn the_drop_after_next_is_scheduled_after_the_next_packet() {
    let mut law = codel(&CodelConfig::default());
    assert_eq!(signals(&mut law, &not_capable(), (1000, 1600, 1000), 6).len(), 10);
    let due = (1600..1700)
        .find(|ms| law.on_dequeue(&not_capable(), at(ms - 6), backlog(), at(*ms)) == Verdict::Mark);
    let due = due.expect("the eleventh drop");
    let next = law.on_dequeue(&not_capable(), at(due - 1), backlog(), at(due));
    assert_eq!(next, Verdict::Pass, "the packet behind it waited in time: the episode is over");
    // The twelfth drop would have been planned for 30 ms later. It was not: an episode that begins 1610 ms after the
    // eleventh is too late to take up its rate.
    let next_episode = signals(&mut law, &not_capable(), (due + 1510, due + 1800, 1000), 6);
    assert_eq!(gaps(&next_episode)[0], 100.0);
}

#[test]
fn the_second_gap_is_71_ms_with_exact_root_50_ms_in_16_bits() {
    let second = |sqrt| {
        let mut law = codel(&CodelConfig { sqrt, ..CodelConfig::default() });
        gaps(&signals(&mut law, &not_capable(), (1000, 1400, 100), 6))[1]
    };
    assert!((second(Sqrt::Exact) - 70.7).abs() < 0.11);
    assert!((second(Sqrt::Table32) - 70.7).abs() < 0.11);
    assert!((second(Sqrt::Newton16) - 50.0).abs() < 0.11);
}

#[test]
fn a_late_mark_shortens_the_next_gap_unless_planned_from_now() {
    // A packet leaves every 60 ms only, so that each mark is late.
    let run = |next_mark_from| {
        let mut law = codel(&CodelConfig { next_mark_from, ..CodelConfig::default() });
        signals(&mut law, &packet(1500, Ecn::Ect0), (1000, 1500, 60_000), 6)
    };
    // Planned for 1220, then from there for 1290.7; from 1240 for 1310.7.
    assert_eq!(run(NextMarkFrom::DropNext)[..3], [1120.0, 1240.0, 1300.0]);
    assert_eq!(run(NextMarkFrom::Now)[..3], [1120.0, 1240.0, 1360.0]);
}

/// The gap after the first signal of a second episode, which begins `pause` milliseconds after the first with its 11
/// signals, and when it began.
fn second_episode(reentry: Reentry, pause: u64) -> (f64, f64) {
    let mut law = codel(&CodelConfig { reentry, ..CodelConfig::default() });
    let mut first = Vec::new();
    let mut end = 1000;
    while first.len() < 11 {
        assert!(end < 3000, "11 signals within two seconds");
        first.extend(signals(&mut law, &not_capable(), (end, end + 1, 100), 6));
        end += 1;
    }
    assert!(signals(&mut law, &not_capable(), (end, end + 1, 1000), 1).is_empty());
    let begin = end + pause;
    let second = signals(&mut law, &not_capable(), (begin, begin + 500, 100), 6);
    (second[0] - begin as f64, second[1] - second[0])
}

#[test]
fn a_new_episode_resumes_the_last_rate_per_the_option() {
    // 11 signals: count is 11, and rose by 10.
    let expected = |count: f64| 100.0 / count.sqrt();
    for (reentry, pause, count) in [
        (Reentry::Delta, 20, 10.0),
        (Reentry::Delta, 1450, 10.0),
        (Reentry::Delta, 1650, 1.0),
        (Reentry::MinusOne, 1450, 10.0),
        (Reentry::MinusOne, 1650, 1.0),
        (Reentry::MinusTwo, 650, 9.0),
        (Reentry::MinusTwo, 850, 1.0),
        (Reentry::Paper, 20, 9.0),
        (Reentry::Paper, 400, 1.0),
    ] {
        let (_, gap) = second_episode(reentry, pause);
        assert!((gap - expected(count)).abs() < 0.11, "{reentry} after {pause} ms: {gap}, not as at {count}");
    }
}

#[test]
fn an_episode_of_the_paper_begins_an_interval_later() {
    assert_eq!(second_episode(Reentry::Delta, 400).0, 100.0);
    assert_eq!(second_episode(Reentry::Paper, 400).0, 200.0);
}

/// The verdict on the first packet of `ecn` that leaves after a sojourn time in milliseconds, with a threshold of 1 ms.
fn above_threshold(selector: CeSelector, ecn: Ecn, sojourn: u64) -> Verdict {
    let ce_threshold = Some(Duration::from_millis(1));
    let mut law =
        codel(&CodelConfig { ce_threshold, ce_threshold_selector: selector, ..CodelConfig::default() });
    law.on_dequeue(&packet(1500, ecn), at(1000 - sojourn), backlog(), at(1000))
}

#[test]
fn a_threshold_marks_selected_packets_above_it_and_drops_none() {
    for (selector, marked) in [
        (CeSelector::Any, [false, true, true, true]),
        (CeSelector::Ect0, [false, true, false, false]),
        (CeSelector::Ect1, [false, false, true, false]),
    ] {
        for (ecn, is_marked) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().zip(marked) {
            let expected = if is_marked { Verdict::Mark } else { Verdict::Pass };
            assert_eq!(above_threshold(selector, ecn, 2), expected, "{selector} {ecn:?}");
            assert_eq!(
                above_threshold(selector, ecn, 1),
                Verdict::Pass,
                "at the threshold: {selector} {ecn:?}"
            );
        }
    }
}

#[test]
fn a_selector_without_a_threshold_is_refused() {
    let config = CodelConfig { ce_threshold_selector: CeSelector::Ect1, ..CodelConfig::default() };
    let refused = QueueConfig::Codel(config).resolve(&link()).unwrap_err();
    assert_eq!(refused.to_string(), "ce_threshold_selector: must be any without ce_threshold, got ect1");
}
