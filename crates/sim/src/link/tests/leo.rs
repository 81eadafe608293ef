//! Satellites in low orbit: the times of the intervals, the rates, the delays and the losses of each.

use serde_json::{Value, json};

use super::kinds::STREAMS;
use super::traces::{departures, link};
use super::*;
use crate::link::{CapacitySpec, Streams};
use crate::side::Direction;

fn leo(values: &Value) -> CapacitySpec {
    serde_json::from_value(json!({ "leo": values })).expect("a satellite")
}

fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// The additional delay in milliseconds, and the probability of a loss.
fn path(kind: &CapacitySpec, seconds: f64) -> (f64, f64) {
    let state = kind.path(&STREAMS).expect("a path").at(at(seconds));
    (state.delay.as_millis_f64(), state.loss)
}

#[test]
fn intervals_begin_at_seconds_12_27_42_and_57() {
    let rates = leo(&json!({ "rate": "100 Mbit/s" })).drain_rates(at(75.0), &STREAMS);
    let starts: Vec<f64> = rates.iter().map(|(start, _)| start.as_secs_f64()).collect();
    assert_eq!(starts, [0.0, 12.0, 27.0, 42.0, 57.0, 72.0]);
    assert!(rates.windows(2).all(|pair| pair[0].1.to_bits() != pair[1].1.to_bits()));
}

#[test]
fn rates_and_paths_are_uniform_around_their_means() {
    let kind = leo(&json!({ "rate": "100 Mbit/s", "spread": 0.4, "path": "10 ms", "handover": "0 s" }));
    let end = at(15.0 * 20_000.0);
    let mbps: Vec<f64> = kind.drain_rates(end, &STREAMS).iter().map(|(_, bps)| bps / 1e6).collect();
    let mean = mbps.iter().sum::<f64>() / mbps.len() as f64;
    let variance = mbps.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / mbps.len() as f64;
    assert!((mean - 100.0).abs() < 0.5, "{mean}");
    // A uniform distribution of the width 80 has the variance 80^2 / 12.
    assert!((variance / (6_400.0 / 12.0) - 1.0).abs() < 0.03, "{variance}");
    assert!((kind.bits_between(Time::ZERO, end, &STREAMS) / end.as_secs_f64() / 1e6 - mean).abs() < 0.01);
    let delays = (0..20_000).map(|number| path(&kind, 13.0 + 15.0 * f64::from(number)).0);
    let mean = delays.sum::<f64>() / 20_000.0;
    assert!((mean - 5.0).abs() < 0.1, "{mean}");
}

#[test]
fn packets_of_a_handover_are_held_until_its_end_or_lost() {
    let kind = leo(&json!({ "rate": "100 Mbit/s", "path": "0 s", "handover": "40 ms", "loss": 0.25 }));
    let state = |seconds| path(&kind, seconds);
    assert_eq!(state(0.0), (0.0, 0.0));
    assert_eq!(state(12.0), (40.0, 0.25));
    assert_eq!(state(27.030), (10.0, 0.25));
    assert_eq!(state(27.040), (0.0, 0.0));
}

#[test]
fn both_directions_have_one_path() {
    let kind = leo(&json!({ "rate": "100 Mbit/s" }));
    let back = Streams { direction: Direction::REVERSE, ..STREAMS };
    assert_eq!(kind.drain_rates(at(100.0), &STREAMS), kind.drain_rates(at(100.0), &back));
    assert_ne!(
        kind.drain_rates(at(100.0), &STREAMS),
        kind.drain_rates(at(100.0), &Streams { seed: 2, ..STREAMS })
    );
    let mut paths = [&STREAMS, &back].map(|streams| kind.path(streams).expect("a path"));
    assert!([1.0, 12.01, 30.0, 59.0].iter().all(|&time| paths[0].at(at(time)) == paths[1].at(at(time))));
}

#[test]
fn a_packet_is_sent_at_the_rate_of_its_interval() {
    let kind = leo(&json!({ "rate": "10 Mbit/s" }));
    let rates = kind.drain_rates(at(60.0), &STREAMS);
    let arrivals =
        [5_000_000, 11_999_999, 12_500_000, 30_000_000, 58_000_000].map(|us: u64| (us * 1_000, 1_500));
    for ((_, last), (arrived, _)) in departures(link(&kind, 0, 100), &arrivals).into_iter().zip(arrivals) {
        let (_, bps) = rates[rates.partition_point(|(start, _)| start.as_nanos() <= arrived) - 1];
        assert!(((last - arrived) as f64 - 12_000.0 / bps * 1e9).abs() < 2.0);
    }
}
