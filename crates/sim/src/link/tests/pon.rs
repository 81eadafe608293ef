//! The upstream of a passive optical network: the wait for a grant, and the bytes that grants have.

use serde_json::json;

use super::kinds::STREAMS;
use super::traces::{Arrival, departures, link};
use super::*;
use crate::link::CapacitySpec;

const INTERVAL: u64 = 1_000_000;

fn pon(rate: &str) -> CapacitySpec {
    serde_json::from_value(json!({ "pon": { "rate": rate } })).expect("a kind of capacity")
}

#[test]
fn a_packet_on_an_idle_link_waits_evenly_up_to_an_interval() {
    let mut stream = Stream::named(1, "arrivals");
    let count = 20_000;
    let arrivals: Vec<Arrival> =
        (0..count).map(|number| (number * 50_000_000 + stream.below(50 * INTERVAL), 100)).collect();
    let left = departures(link(&pon("100 Mbit/s"), 23, 10), &arrivals);
    let mut waits: Vec<u64> =
        left.iter().zip(&arrivals).map(|(&(_, at), &(arrived, _))| at - arrived).collect();
    waits.sort_unstable();
    // The largest difference to the uniform distribution is below that of Kolmogorov's test at 1 %.
    let shares = waits.iter().map(|&wait| wait as f64 / INTERVAL as f64);
    let distance = (0..).zip(shares).map(|(rank, share)| (share - f64::from(rank) / count as f64).abs());
    assert!(distance.fold(0.0, f64::max) < 1.63 / libm::sqrt(count as f64));
    assert!(*waits.last().expect("there are waits") <= INTERVAL);
}

#[test]
fn a_backlog_gets_the_rate_to_one_grant() {
    // 7.001 and 0.3 Mbit/s have no whole number of bytes in a millisecond.
    for rate in ["100 Mbit/s", "7001 kbit/s", "300 kbit/s"] {
        let kind = pon(rate);
        let arrivals: Vec<Arrival> = (0..500).map(|_| (0, 1_500)).collect();
        let left = departures(link(&kind, 23, 1_000), &arrivals);
        let bytes_in_ns = kind.rate().bits_per_sec() as f64 / 8e9;
        for (number, &(packet, at)) in (1u32..).zip(&left) {
            assert_eq!(packet + 1, number, "the order is kept");
            assert_eq!(at % INTERVAL, 0, "packets leave with grants");
            let due = f64::from(number) * 1_523.0 / bytes_in_ns;
            let late = at as f64 - due;
            assert!(
                (-1.0 / bytes_in_ns..INTERVAL as f64 + 1.0 / bytes_in_ns).contains(&late),
                "{rate}: {late} ns"
            );
        }
        let end = Time::from_nanos(10 * INTERVAL);
        let whole_bytes = kind.rate().bits_per_sec() / 100 / 8;
        let offered = kind.bits_between(Time::ZERO, end, &STREAMS);
        assert!((offered - (8 * whole_bytes) as f64).abs() < 0.5, "{rate}: {offered} bits");
    }
}
