//! A user of a cell: its share and the gain of many users in closed form, and the opportunities of a seed.

use serde_json::{Value, json};

use super::kinds::STREAMS;
use super::traces::{arrivals, departures, link};
use super::*;
use crate::link::{CapacitySpec, Streams};

fn cell(values: &Value) -> CapacitySpec {
    serde_json::from_value(json!({ "cellular": values })).expect("a cell")
}

fn mbps_over(kind: &CapacitySpec, seconds: u64) -> f64 {
    let end = Time::from_nanos(seconds * 1_000_000_000);
    kind.bits_between(Time::ZERO, end, &STREAMS) / seconds as f64 / 1e6
}

/// The exponential integral E1 by its series, for small arguments.
fn e1(x: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for n in 1..100 {
        term *= -x / f64::from(n);
        sum -= term / f64::from(n);
    }
    -0.577_215_664_901_532_9 - libm::log(x) + sum
}

/// E log2(1 + snr g) of the largest of n exponential gains, by the binomial theorem.
fn largest(n: u32, snr: f64) -> f64 {
    let mut choose = 1.0;
    let mut sum = 0.0;
    for k in 1..=n {
        choose *= f64::from(n - k + 1) / f64::from(k);
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        let x = f64::from(k) / snr;
        sum += sign * choose * libm::exp(x) * e1(x);
    }
    sum / std::f64::consts::LN_2
}

#[test]
fn the_mean_rate_is_the_share_with_the_gain_of_many_users() {
    for (users, snr) in [(1, 10.0), (2, 10.0), (5, 10.0), (8, 3.0)] {
        let kind = cell(&json!({ "rate": "40 Mbit/s", "users": users, "snr": snr }));
        let linear = libm::pow(10.0, snr / 10.0);
        let theory = 40.0 * largest(users, linear) / largest(1, linear) / f64::from(users);
        let mean = kind.rate().bits_per_sec() as f64 / 1e6;
        assert!((mean / theory - 1.0).abs() < 1e-3, "{mean} and {theory}");
    }
}

#[test]
fn the_scheduler_gives_that_share_where_its_average_is_long() {
    // The channel forgets in 5 ms, the scheduler in 2 s.
    for users in [1, 2, 5] {
        let mut values = json!({ "rate": "40 Mbit/s", "users": users, "coherence": "5 ms" });
        if users > 1 {
            values["average"] = json!("2 s");
        }
        let kind = cell(&values);
        let (got, mean) = (mbps_over(&kind, 200), kind.rate().bits_per_sec() as f64 / 1e6);
        assert!((got / mean - 1.0).abs() < 0.02, "{users} users: {got} and {mean}");
    }
}

#[test]
fn a_short_average_gives_turns_and_less_gain() {
    // It prefers the user with the longest wait to the one with the best channel.
    let kind = cell(&json!({ "rate": "40 Mbit/s", "users": 4, "coherence": "5 ms", "average": "4 ms" }));
    let (got, mean) = (mbps_over(&kind, 100), kind.rate().bits_per_sec() as f64 / 1e6);
    assert!(10.0 < got && got < 0.9 * mean, "{got} and {mean}");
}

#[test]
fn each_seed_and_direction_has_a_channel_of_its_own() {
    let kind = cell(&json!({ "rate": "40 Mbit/s", "users": 3 }));
    let until = Time::from_nanos(5_000_000_000);
    let rates = |streams: &Streams| kind.drain_rates(until, streams);
    assert_eq!(rates(&STREAMS), rates(&STREAMS));
    assert_ne!(rates(&STREAMS), rates(&Streams { seed: 2, ..STREAMS }));
    assert_ne!(rates(&STREAMS), rates(&Streams { direction: crate::side::Direction::REVERSE, ..STREAMS }));
    let bits: f64 = rates(&STREAMS).iter().map(|(_, bps)| bps * 0.1).sum();
    let offered = kind.bits_between(Time::ZERO, until, &STREAMS);
    assert!((bits / offered - 1.0).abs() < 1e-9, "{bits} and {offered}");
}

proptest! {
    /// The slots offer at least the bytes that are sent, and packets leave in order.
    #[test]
    fn slots_send_what_waits_in_order(users in 1..5u32, arrivals in arrivals()) {
        let kind = cell(&json!({ "rate": "5 Mbit/s", "users": users }));
        let left = departures(link(&kind, 8, 10_000), &arrivals);
        prop_assert_eq!(left.len(), arrivals.len());
        prop_assert!((0..).zip(&left).all(|(number, &(left, _))| number == left), "the order is kept");
        let (_, last) = left[left.len() - 1];
        let bytes: f64 = arrivals.iter().map(|&(_, bytes)| f64::from(bytes) + 8.0).sum();
        let offered = kind.bits_between(Time::ZERO, Time::from_nanos(last), &STREAMS) / 8.0;
        prop_assert!(offered >= bytes, "{} of {} B", offered, bytes);
        // Packets leave at the ends of slots.
        prop_assert!(left.iter().zip(&arrivals).all(|(&(_, at), &(arrived, _))| at % 1_000_000 == 0 && at > arrived));
    }
}
