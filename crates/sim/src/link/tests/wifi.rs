//! Wi-Fi: the share of the airtime, the aggregates and the access delay in closed form, and the order of packets.

use serde_json::{Value, json};

use super::traces::{arrivals, departures, link};
use super::*;
use crate::link::CapacitySpec;

fn wifi(values: &Value) -> CapacitySpec {
    serde_json::from_value(json!({ "wifi": values })).expect("a station")
}

fn close(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() < share, "{value}, in theory {expected}");
}

#[test]
fn a_busy_station_has_its_share_of_the_airtime() {
    for (stations, frames, rate) in [(1, 64, 866), (4, 64, 866), (4, 64, 65), (10, 16, 300), (2, 1, 54)] {
        let values = json!({ "rate": format!("{rate} Mbit/s"), "stations": stations, "frames": frames });
        let kind = wifi(&values);
        // Full frames of 1,542 bytes, for at least 2,000 turns.
        let packets: u64 = 128_000;
        let arrivals: Vec<(u64, u16)> = (0..packets).map(|_| (0, 1_500)).collect();
        let left = departures(link(&kind, 42, 1_000_000), &arrivals);
        let (_, last) = left[left.len() - 1];
        let mbps = packets as f64 * 1_542.0 * 8.0 / (last as f64 / 1e3);
        close(mbps, kind.rate().bits_per_sec() as f64 / 1e6, 0.05);
        // By hand: an aggregate of n frames, 190 us, and three other turns of 4 ms.
        let time = 1_542.0 * 8.0 / f64::from(rate);
        let n = f64::from(frames).min((4_000.0 / time).floor());
        let theory = n * 1_542.0 * 8.0 / (190.0 + n * time + 4_000.0 * f64::from(stations - 1));
        close(kind.rate().bits_per_sec() as f64 / 1e6, theory, 1e-3);
    }
}

#[test]
fn a_lone_packet_waits_for_the_others() {
    for stations in [1, 2, 6] {
        let kind = wifi(&json!({ "rate": "100 Mbit/s", "stations": stations }));
        let arrivals: Vec<(u64, u16)> = (0..20_000).map(|number| (number * 397_300_123, 1_000)).collect();
        let left = departures(link(&kind, 0, 100), &arrivals);
        let waits = left.iter().zip(&arrivals).map(|(&(_, at), &(arrived, _))| (at - arrived) as f64 / 1e6);
        let mean = waits.sum::<f64>() / 20_000.0;
        // Half a transmission of another station, and a geometric number of them.
        let others = if stations == 1 { 0.0 } else { 2.0 + 4.0 * (f64::from(stations) - 1.0) };
        close(mean, others + 0.19 + 0.08, 0.03);
    }
}

#[test]
fn an_aggregate_has_the_packets_that_waited_at_its_beginning() {
    let kind = wifi(&json!({ "rate": "80 Mbit/s", "frames": 4, "access": "1 ms" }));
    let packets = |times: &[u64]| times.iter().map(|us| (us * 1_000, 1_000)).collect::<Vec<(u64, u16)>>();
    let at = |times: &[u64]| -> Vec<u64> {
        departures(link(&kind, 0, 100), &packets(times)).iter().map(|&(_, at)| at / 1_000).collect()
    };
    // The first packet goes alone; the others wait for its end, and go together: 100 us each after 1 ms of access.
    assert_eq!(at(&[0, 10, 20]), [1_100, 2_200, 2_300]);
    // Five that wait are four and one.
    assert_eq!(at(&[0, 10, 20, 30, 40, 50]), [1_100, 2_200, 2_300, 2_400, 2_500, 3_600]);
    // The time of the bits bounds an aggregate: at most 0.25 ms, and one packet at least.
    let short = |longest: &str| {
        let kind = wifi(&json!({ "rate": "80 Mbit/s", "longest": longest, "access": "1 ms" }));
        departures(link(&kind, 0, 100), &packets(&[0, 10, 20, 30]))
            .iter()
            .map(|&(_, at)| at / 1_000)
            .collect::<Vec<u64>>()
    };
    assert_eq!(short("250 us"), [1_100, 2_200, 2_300, 3_400]);
    assert_eq!(short("50 us"), [1_100, 2_200, 3_300, 4_400]);
}

proptest! {
    #[test]
    fn aggregates_keep_the_order_and_their_bounds(
        stations in 1..6u32, frames in 1..20u32, longest in 200..4_000u64, rate in 10..400u64, arrivals in arrivals(),
    ) {
        let kind = wifi(&json!({
            "rate": format!("{rate} Mbit/s"), "stations": stations, "frames": frames, "longest": format!("{longest} us"),
        }));
        let left = departures(link(&kind, 42, 10_000), &arrivals);
        prop_assert_eq!(left.len(), arrivals.len());
        prop_assert!((0..).zip(&left).all(|(number, &(left, _))| number == left), "the order is kept");
        // Packets whose bits follow each other are one aggregate.
        let time = |number: usize| (u64::from(arrivals[number].1) + 42) * 8_000 / rate;
        let (mut begin, mut count) = (0, 0);
        for number in 0..left.len() {
            let first = left[number].1 - time(number);
            prop_assert!(first >= arrivals[number].0 + 190_000 - 2, "packet {} before the channel is won", number);
            let follows = number > 0 && first.abs_diff(left[number - 1].1) < 100;
            (begin, count) = if follows { (begin, count + 1) } else { (first, 1) };
            prop_assert!(count <= frames);
            prop_assert!(count == 1 || left[number].1 - begin <= longest * 1_000 + 15_000 * 8_000 / rate, "packet {}", number);
        }
    }
}
