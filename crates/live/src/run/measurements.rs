//! The measurements by which `aqmlab.live.validity` decides whether a live run is valid.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::report::SideReport;
use crate::router::RouterStats;

/// The measurements of a run on itself and its machine.
#[derive(Debug, Serialize)]
pub(crate) struct Measurements {
    router_lateness_ms_p99: f64,
    router_lateness_ms_p999: f64,
    read_lag_ms_p99: f64,
    wake_lateness_ms_p99: f64,
    /// Processor time that the run left unused.
    cpu_left_percent: f64,
    /// Packets lost outside the emulated network.
    lost_outside: u64,
    /// Packets of no flow.
    strays: u64,
    /// The kernel's TCP counters by name, summed over both sides.
    tcp_counters: BTreeMap<&'static str, u64>,
    /// The number of failed connections by error.
    socket_errors: BTreeMap<String, u64>,
    /// The number of connection ends of users and sources by congestion control, as the kernel reports it.
    ends_by_congestion: BTreeMap<String, u64>,
}

impl Measurements {
    pub(crate) fn new(
        router: &RouterStats,
        reports: impl IntoIterator<Item = SideReport>,
        cpu_left_percent: f64,
    ) -> Measurements {
        let mut wakes = Histogram::new(3).expect("three significant digits are allowed");
        let (mut socket_errors, mut ends_by_congestion) = (BTreeMap::new(), BTreeMap::new());
        let mut tcp_counters = BTreeMap::new();
        let mut lost_outside = router.undelivered + router.unread;
        for side in reports {
            wakes += side.wake_lateness_us;
            lost_outside += side.lost;
            for (name, count) in side.tcp {
                *tcp_counters.entry(name).or_default() += count;
            }
            for (error, count) in side.errors {
                *socket_errors.entry(error).or_default() += count;
            }
            for (control, count) in side.congestion {
                *ends_by_congestion.entry(control).or_default() += count;
            }
        }
        let ms = |late_ns: &Histogram<u64>, share| late_ns.value_at_quantile(share) as f64 * 1e-6;
        Measurements {
            router_lateness_ms_p99: ms(&router.lateness_ns, 0.99),
            router_lateness_ms_p999: ms(&router.lateness_ns, 0.999),
            read_lag_ms_p99: ms(&router.read_lag_ns, 0.99),
            wake_lateness_ms_p99: wakes.value_at_quantile(0.99) as f64 * 1e-3,
            cpu_left_percent,
            lost_outside,
            strays: router.strays,
            tcp_counters,
            socket_errors,
            ends_by_congestion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &str = "Connection timed out (os error 110)";

    fn side(woken_late_us: u64, broken: u64) -> SideReport {
        let mut wake_lateness_us = Histogram::new(3).expect("three digits");
        wake_lateness_us.record(woken_late_us).expect("it resizes itself");
        SideReport {
            wake_lateness_us,
            errors: BTreeMap::from([(ERROR.to_owned(), broken)]),
            congestion: BTreeMap::from([("reno".to_owned(), 150)]),
            lost: 4,
            tcp: BTreeMap::from([("ListenDrops", 3)]),
            retransmissions_before: 0,
            exit_code: None,
        }
    }

    #[test]
    fn the_reports_of_router_and_sides_are_summed() {
        let mut router = RouterStats { strays: 5, undelivered: 1, unread: 2, ..RouterStats::new() };
        for (late_ns, packets) in [(900_000, 995), (6_000_000, 5)] {
            router.lateness_ns.record_n(late_ns, packets).expect("it resizes itself");
        }
        router.read_lag_ns.record(700_000).expect("it resizes itself");
        let measurements = Measurements::new(&router, [side(1, 1), side(11_000, 2)], 40.0);
        let near =
            |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-3, "{measurements:?}");
        near(measurements.router_lateness_ms_p99, 0.9);
        near(measurements.router_lateness_ms_p999, 6.0);
        near(measurements.read_lag_ms_p99, 0.7);
        near(measurements.wake_lateness_ms_p99, 11.0);
        near(measurements.cpu_left_percent, 40.0);
        assert_eq!((measurements.lost_outside, measurements.strays), (11, 5));
        assert_eq!(measurements.tcp_counters["ListenDrops"], 6);
        assert_eq!(measurements.socket_errors[ERROR], 3);
        assert_eq!(measurements.ends_by_congestion["reno"], 300);
    }
}
