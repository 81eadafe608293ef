//! The upstream of a cable modem: the wait of its requests in closed form, the tokens of its plan, and the order of packets.

use serde_json::{Value, json};

use super::traces::{arrivals, departures, link};
use super::*;
use crate::link::CapacitySpec;

fn cable(values: &Value) -> CapacitySpec {
    serde_json::from_value(json!({ "cable": values })).expect("a modem")
}

const MS: f64 = 1e-3;

/// Sends packets of 1,000 bytes without overhead, one each 97.3 ms, and returns the times from their arrivals to their first bits
/// on a channel of 1 Gbit/s.
fn access_delays(values: &Value, packets: u64) -> Vec<f64> {
    let arrivals: Vec<(u64, u16)> = (0..packets).map(|number| (number * 97_300_123, 1_000)).collect();
    let left = departures(link(&cable(values), 0, 100), &arrivals);
    assert_eq!(left.len(), arrivals.len());
    let times =
        left.iter().zip(&arrivals).map(|(&(_, at), &(arrived, _))| (at - arrived) as f64 * 1e-9 - 8e-6);
    times.collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn close(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() < share, "{value}, in theory {expected}");
}

#[test]
fn an_idle_modem_waits_for_its_request_and_its_grant() {
    for (map, grant_delay) in [(2.0, 1.62), (2.0, 2.0), (1.0, 3.5), (5.0, 0.4)] {
        let values = json!({ "rate": "100 Mbit/s", "map": format!("{map} ms"), "grant_delay": format!("{grant_delay} ms") });
        let waits = access_delays(&values, 40_000);
        // Half an interval to the next one, the time of the request in it, the grant, and the place in its interval.
        close(mean(&waits), (grant_delay + 2.0 * map) * MS - 4e-6, 0.005);
        let (least, most) =
            waits.iter().fold((1.0_f64, 0.0_f64), |(least, most), &wait| (least.min(wait), most.max(wait)));
        // The floor: a packet arrives right before an interval that has its request, and the grant begins with its interval.
        let floor = ((grant_delay / map).floor() + 1.0) * map * MS;
        assert!(least >= floor && least < floor + 0.1 * map * MS, "{least} of {floor}");
        let ceiling = (map + ((grant_delay + map) / map).ceil() * map + map) * MS;
        assert!(most < ceiling && most > ceiling - 0.3 * map * MS, "{most} of {ceiling}");
    }
}

#[test]
fn requests_that_collide_are_sent_again_within_longer_windows() {
    let (map, grant_delay) = (2.0, 1.62);
    let without = (grant_delay + 2.0 * map) * MS - 4e-6;
    for collision in [0.1, 0.3] {
        let values = json!({ "rate": "100 Mbit/s", "collision": collision });
        // A retry comes after the interval of the grant that was missed, within a window of 2, 4, 8 or 16 intervals.
        let retry = |number: i32| grant_delay + map / 2.0 + map * f64::from(1 << number.min(4)) / 2.0;
        let retries: f64 =
            (1..=15).map(|number| libm::pow(collision, f64::from(number)) * retry(number)).sum();
        close(mean(&access_delays(&values, 40_000)), without + retries * MS, 0.01);
    }
}

#[test]
fn a_busy_modem_piggybacks_and_sends_the_rate_of_its_plan() {
    for rate in [5, 25, 200] {
        let values = json!({ "rate": format!("{rate} Mbit/s") });
        // Twice its rate for ten seconds.
        let packets = rate * 2_500;
        let arrivals: Vec<(u64, u16)> =
            (0..packets).map(|number| (number * 10_000_000_000 / packets, 1_000)).collect();
        let left = departures(link(&cable(&values), 0, 1_000_000), &arrivals);
        let (_, last) = left[left.len() - 1];
        close(packets as f64 * 8_000.0 / (last as f64 * 1e-9), rate as f64 * 1e6, 0.002);
    }
}

#[test]
fn a_packet_behind_a_request_goes_with_the_next_one() {
    // Both wait when the request is sent, and go in one grant.
    let kind = cable(&json!({ "rate": "100 Mbit/s", "line": "100 Mbit/s" }));
    let left = departures(link(&kind, 0, 100), &[(10, 1_000), (20, 500)]);
    assert_eq!(left[1].1 - left[0].1, 40_000);
    // The second arrives between the request and the grant: it is requested in the grant, with the first.
    let alone = departures(link(&kind, 0, 100), &[(0, 1_000)])[0].1;
    let granted = alone - 80_000;
    let left = departures(link(&kind, 0, 100), &[(0, 1_000), (granted - 1_000, 500)]);
    assert_eq!(left[0].1, alone);
    let wait = left[1].1 - granted;
    assert!((1_620_000..1_620_000 + 4_000_000 + 80_000).contains(&wait), "{wait} ns");
}

proptest! {
    /// The grants of any time have at most the tokens of the plan, and packets lie within intervals and in order.
    #[test]
    fn in_any_time_the_plan_bounds_the_grants(
        rate in 1..40u64, burst in 1_600..20_000u64, map in 500..5_000u64, grant_delay in 0..9_000u64,
        collision in prop_oneof![Just(0.0), Just(0.5)], arrivals in arrivals(),
    ) {
        let kind = cable(&json!({
            "rate": format!("{rate} Mbit/s"), "burst": format!("{burst} B"), "line": "100 Mbit/s",
            "map": format!("{map} us"), "grant_delay": format!("{grant_delay} us"), "collision": collision,
        }));
        let left = departures(link(&kind, 38, 10_000), &arrivals);
        prop_assert_eq!(left.len(), arrivals.len());
        prop_assert!((0..).zip(&left).all(|(number, &(left, _))| number == left), "the order is kept");
        let sizes: Vec<f64> = arrivals.iter().map(|&(_, bytes)| f64::from(bytes) + 38.0).collect();
        for first in 0..left.len() {
            let least = arrivals[first].0 + grant_delay * 1_000;
            prop_assert!(left[first].1 > least, "packet {} before its request can be granted", first);
            let mut bytes = 0.0;
            for last in first + 1..left.len() {
                bytes += sizes[last];
                let span = (left[last].1 - left[first].1) as f64 * 1e-9 + 2.0 * map as f64 * 1e-6;
                let most = burst as f64 + rate as f64 * 1e6 / 8.0 * span + 2.0;
                prop_assert!(bytes <= most, "{} to {}: {} B, at most {} B", first, last, bytes, most);
            }
        }
    }
}
