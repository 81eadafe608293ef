//! A run judges itself: is what it measured the network's doing, or the machine's?

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::counters::LISTEN_DROPS;
use crate::router::Account;
use crate::side::SideReport;

/// Up to where a run is valid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds {
    /// How late packets may leave the router: 99 and 99.9 of 100.
    pub(crate) late_p99_ms: f64,
    pub(crate) late_p999_ms: f64,
    /// How late users and sources may be woken: 99 of 100.
    pub(crate) late_users_ms: f64,
    /// How many ends of connections may break, in percent of all.
    pub(crate) socket_errors_percent: f64,
    /// How much of the processors' time the run has to leave, in percent.
    pub(crate) cpu_left_percent: f64,
}

impl Default for Bounds {
    /// Ours: a tenth of the shortest round trip of the papers' users, half of it, and a thousandth of a think time; as many
    /// broken connections as a congested link may leave of its own; and processors that are not always busy, for how late
    /// the kernel's own work is nobody measures.
    fn default() -> Bounds {
        Bounds {
            late_p99_ms: 1.0,
            late_p999_ms: 5.0,
            late_users_ms: 10.0,
            socket_errors_percent: 1.0,
            cpu_left_percent: 5.0,
        }
    }
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    valid: bool,
    /// Why not.
    invalid_reasons: Vec<String>,
    /// What it was held against.
    bounds: Bounds,
    router_lateness_ms_p99: f64,
    router_lateness_ms_p999: f64,
    wake_lateness_ms_p99: f64,
    /// Processor time that the run could still have had.
    cpu_left_percent: f64,
    /// Packets that were lost outside the queues.
    lost_outside: u64,
    /// Packets of no connection.
    strays: u64,
    /// What the kernels' TCP has counted, both sides together, by its names.
    tcp_counters: BTreeMap<&'static str, u64>,
    /// Connections that broke, by the error.
    socket_errors: BTreeMap<String, u64>,
    /// Ends of connections of users and sources, by the congestion control that the kernel says they have.
    ends_by_congestion: BTreeMap<String, u64>,
}

impl Verdict {
    pub(crate) fn of(
        router: &Account,
        reports: impl IntoIterator<Item = SideReport>,
        cpu_left_percent: f64,
        bounds: Bounds,
    ) -> Verdict {
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
        let lateness_ms = |share| router.lateness_ns.value_at_quantile(share) as f64 * 1e-6;
        let wake_lateness_ms = wakes.value_at_quantile(0.99) as f64 * 1e-3;
        let mut reasons = Vec::new();
        for (what, late, most) in [
            ("router's lateness p99", lateness_ms(0.99), bounds.late_p99_ms),
            ("router's lateness p99.9", lateness_ms(0.999), bounds.late_p999_ms),
            ("users' lateness p99", wake_lateness_ms, bounds.late_users_ms),
        ] {
            if late > most {
                reasons.push(format!("the {what} is {late:.3} ms, more than {most} ms"));
            }
        }
        for (what, count) in [
            ("packets lost outside the queues", lost_outside),
            ("packets of no connection", router.strays),
            (
                "connections that servers had no room for",
                tcp_counters.get(LISTEN_DROPS).copied().unwrap_or(0),
            ),
        ] {
            if count > 0 {
                reasons.push(format!("{what}: {count}"));
            }
        }
        let (errors, ends) = (socket_errors.values().sum::<u64>(), ends_by_congestion.values().sum::<u64>());
        if errors as f64 * 100.0 > bounds.socket_errors_percent * ends as f64 {
            let most = bounds.socket_errors_percent;
            reasons.push(format!(
                "errors of sockets: {errors}, more than {most} % of {ends} ends of connections"
            ));
        }
        if cpu_left_percent < bounds.cpu_left_percent {
            let least = bounds.cpu_left_percent;
            reasons.push(format!(
                "the processors had {cpu_left_percent:.1} % of their time left, less than {least} %"
            ));
        }
        Verdict {
            valid: reasons.is_empty(),
            invalid_reasons: reasons,
            bounds,
            router_lateness_ms_p99: lateness_ms(0.99),
            router_lateness_ms_p999: lateness_ms(0.999),
            wake_lateness_ms_p99: wake_lateness_ms,
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

    fn router(lateness_us: &[u64]) -> Account {
        let mut lateness_ns = Histogram::new(3).expect("three digits");
        for late in lateness_us {
            lateness_ns.record(1000 * late).expect("it resizes itself");
        }
        Account { lateness_ns, strays: 0, undelivered: 0, unread: 0 }
    }

    fn side() -> SideReport {
        SideReport {
            wake_lateness_us: Histogram::new(3).expect("three digits"),
            errors: BTreeMap::new(),
            congestion: BTreeMap::new(),
            lost: 0,
            tcp: BTreeMap::from([(LISTEN_DROPS, 0)]),
            repeats_before: 0,
            exit_code: None,
        }
    }

    #[test]
    fn a_run_that_was_in_time_and_lost_nothing_is_valid() {
        let verdict = Verdict::of(&router(&[900; 2000]), [side(), side()], 50.0, Bounds::default());
        assert!(verdict.valid, "{verdict:?}");
        assert!(verdict.invalid_reasons.is_empty());
    }

    #[test]
    fn who_allows_more_has_more_valid_runs() {
        let bounds = Bounds { late_p99_ms: 3.0, ..Bounds::default() };
        assert!(!Verdict::of(&router(&[2000; 10]), [side(), side()], 50.0, Bounds::default()).valid);
        assert!(Verdict::of(&router(&[2000; 10]), [side(), side()], 50.0, bounds).valid);
    }

    #[test]
    fn each_thing_that_spoils_a_run_is_a_reason() {
        let mut late_often = [900; 1000];
        late_often[..11].fill(2000);
        let mut late_once = [900; 1000];
        late_once[..2].fill(6000);
        let losses = Account { undelivered: 1, unread: 2, ..router(&[]) };
        let full = SideReport { lost: 4, ..side() };
        let woken_late = {
            let mut side = side();
            side.wake_lateness_us.record(11_000).expect("it resizes itself");
            side
        };
        let breaking = SideReport {
            errors: BTreeMap::from([("Connection timed out (os error 110)".to_owned(), 3)]),
            congestion: BTreeMap::from([("reno".to_owned(), 299)]),
            ..side()
        };
        let crowded = SideReport { tcp: BTreeMap::from([(LISTEN_DROPS, 3)]), ..side() };
        for (router, sides, cpu_left, reason) in [
            (router(&late_often), [side(), side()], 5.0, "the router's lateness p99 is 2."),
            (router(&late_once), [side(), side()], 5.0, "the router's lateness p99.9 is "),
            (losses, [side(), full], 5.0, "packets lost outside the queues: 7"),
            (Account { strays: 5, ..router(&[]) }, [side(), side()], 5.0, "packets of no connection: 5"),
            (router(&[]), [side(), woken_late], 5.0, "the users' lateness p99 is 11."),
            (router(&[]), [crowded, side()], 5.0, "connections that servers had no room for: 3"),
            (router(&[]), [breaking, side()], 5.0, "errors of sockets: 3, more than 1 % of 299 ends"),
            (router(&[]), [side(), side()], 4.9, "the processors had 4.9 % of their time left"),
        ] {
            let verdict = Verdict::of(&router, sides, cpu_left, Bounds::default());
            assert!(!verdict.valid);
            let [only] = &verdict.invalid_reasons[..] else { panic!("{verdict:?}") };
            assert!(only.starts_with(reason), "{only}");
        }
    }
}
