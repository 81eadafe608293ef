//! Whole populations: the properties that the model was built to have.

mod driver;

use std::collections::BTreeSet;

use aqmlab_units::{Duration, Stream, Time};
use aqmlab_workload::{Completed, Connection, RttConfig, UserAction, Web, WebConfig};
use driver::{Driver, Network, Outcome};

/// Round trips as on an idle network, with a random delay at each step; some connections may break.
struct Idle {
    stream: Stream,
    break_one_in: Option<u64>,
}

impl Idle {
    fn outcome(&mut self, connection: &Connection, round_trips: u64) -> Outcome {
        let after = connection.min_rtt() * round_trips + Duration::from_micros(self.stream.below(5_000));
        match self.break_one_in {
            Some(n) if self.stream.below(n) == 0 => Outcome::Broken(after),
            _ => Outcome::Done(after),
        }
    }
}

impl Network for Idle {
    fn connect(&mut self, connection: &Connection, _: Time) -> Outcome {
        self.outcome(connection, 1)
    }

    fn exchange(&mut self, connection: &Connection, _: &mut u32, _: Time) -> Outcome {
        let round_trips = 1 + connection.awaits().get() / 10_000;
        self.outcome(connection, round_trips.min(20))
    }
}

fn web(workload: &str, rtt: &str, seed: u64) -> Web {
    let config = WebConfig::shipped(workload).expect("shipped");
    Web::new(&config, &RttConfig::shipped(rtt).expect("shipped"), seed).expect("valid")
}

fn idle() -> Idle {
    Idle { stream: Stream::named(5, "test"), break_one_in: None }
}

fn minutes(n: u64) -> Time {
    Time::ZERO + Duration::from_secs(60 * n)
}

/// All exchanges of `users` users in `span` minutes, and the number of connections, persistent and in all.
fn live(workload: &str, users: u32, span: u64) -> (Vec<Completed>, [u64; 2]) {
    let web = web(workload, "uniform", 1);
    let (mut exchanges, mut connections) = (Vec::new(), [0; 2]);
    Driver::new(&web, idle(), users).run(minutes(span), |seen| match seen.action {
        UserAction::Open(connection) => {
            connections[0] += u64::from(connection.is_persistent());
            connections[1] += 1;
        }
        UserAction::Completed(completed) => exchanges.push(*completed),
        _ => {}
    });
    (exchanges, connections)
}

#[test]
fn the_published_shares_of_persistent_connections_come_out() {
    // 15 % of connections, more than 50 % of objects, 40 % of bytes (Le et al. 2004, section 3.1).
    for workload in WebConfig::SHIPPED {
        let (exchanges, connections) = live(workload, 4_000, 30);
        let persistent = || exchanges.iter().filter(|e| e.persistent);
        let bytes: f64 = exchanges.iter().map(|e| e.response.as_f64()).sum();
        let of_connections = connections[0] as f64 / connections[1] as f64;
        let of_objects = persistent().count() as f64 / exchanges.len() as f64;
        let of_bytes = persistent().map(|e| e.response.as_f64()).sum::<f64>() / bytes;
        assert!((of_connections - 0.15).abs() < 0.002, "{workload}: {of_connections}");
        assert!(0.50 < of_objects && of_objects < 0.515, "{workload}: {of_objects}");
        assert!((of_bytes - 0.40).abs() < 0.01, "{workload}: {of_bytes}");
    }
}

#[test]
fn responses_have_the_published_p50_and_p90_and_offered_mean() {
    // About 1,000 bytes or less, slightly above 10,000 (Le et al. 2003, section 3); 7.2 kB fits users and Mbit/s.
    for workload in WebConfig::SHIPPED {
        let (exchanges, _) = live(workload, 4_000, 30);
        let mut sizes: Vec<u64> = exchanges.iter().map(|e| e.response.get()).collect();
        sizes.sort_unstable();
        let percentile = |p: usize| sizes[p * sizes.len() / 100];
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((900..=1_000).contains(&percentile(50)), "{workload}: median {}", percentile(50));
        assert!(
            (10_000..=11_000).contains(&percentile(90)),
            "{workload}: 90th percentile {}",
            percentile(90)
        );
        assert!((mean / 7_200.0 - 1.0).abs() < 0.03, "{workload}: mean {mean}");
    }
}

#[test]
fn pages_have_as_many_embedded_objects_as_their_version_says() {
    // 3.0: the whole part of 3GPP2's Pareto distribution (C.R1002: shape 1.1 from 2, cut at 55), less 2.
    let beyond = |n: f64| libm::pow(2.0 / (n + 2.0), 1.1);
    let share = |n: f64| beyond(n) - if n < 53.0 { beyond(n + 1.0) } else { 0.0 };
    let counts = WebConfig::shipped("unc-2001-v3").expect("shipped").embedded_per_page;
    assert_eq!((counts.min, counts.probabilities.len()), (0, 54));
    for (n, p) in (0u32..).zip(&counts.probabilities) {
        assert!((p - share(f64::from(n))).abs() < 1e-5, "{n}: {p}");
    }
    for (workload, exchanges_per_page) in [("unc-2001", 2.97), ("unc-2001-v3", 6.20)] {
        let (mut exchanges, mut pages) = (0u32, 0u32);
        Driver::new(&web(workload, "uniform", 4), idle(), 4_000).run(minutes(30), |seen| {
            pages += u32::from(seen.connection.is_none());
            exchanges += u32::from(matches!(seen.action, UserAction::Completed(_)));
        });
        let ratio = f64::from(exchanges) / f64::from(pages);
        assert!((ratio / exchanges_per_page - 1.0).abs() < 0.02, "{workload}: {ratio}");
    }
}

#[test]
fn pages_start_at_their_long_run_rate_from_the_first_minute() {
    for (workload, rtt) in [
        ("unc-2001", "uniform"),
        ("unc-2001", "general"),
        ("unc-2001-v3", "uniform"),
        ("unc-2001-v3", "general"),
    ] {
        let web = web(workload, rtt, 2);
        let mut pages = [0u32; 30];
        Driver::new(&web, idle(), 8_000).run(minutes(30), |seen| {
            if seen.connection.is_none() {
                let minute = seen.now.as_nanos() / 60_000_000_000;
                pages[usize::try_from(minute).expect("30 at most")] += 1;
            }
        });
        let long_run = f64::from(pages[10..].iter().sum::<u32>()) / 20.0;
        for (minute, &count) in pages[..5].iter().enumerate() {
            // Three standard deviations of a Poisson count; 25,000 pages a minute with 2.0, 12,000 with 3.0.
            let ratio = f64::from(count) / long_run;
            assert!(
                (ratio - 1.0).abs() < 3.0 / long_run.sqrt(),
                "{workload}, {rtt}: minute {minute} has {ratio} of the long-run rate"
            );
        }
    }
}

#[test]
fn every_exchange_begun_is_completed_aborted_or_in_progress() {
    let web = web("unc-2001", "uniform", 3);
    let network = Idle { break_one_in: Some(20), ..idle() };
    let mut driver = Driver::new(&web, network, 500);
    let [mut begun, mut completed, mut aborted] = [0; 3];
    let mut opening = BTreeSet::new();
    driver.run(minutes(30), |seen| match seen.action {
        UserAction::Open(connection) => {
            begun += 1;
            opening.insert((seen.user, connection.number()));
        }
        UserAction::Write(_) => {
            // The write after a handshake belongs to the exchange that began with connect().
            let number = seen.connection.expect("writes answer an event").number();
            begun += usize::from(!opening.remove(&(seen.user, number)));
        }
        UserAction::Completed(_) => completed += 1,
        UserAction::Aborted => aborted += 1,
        _ => {}
    });
    assert!(completed > 20_000 && aborted > 1_000, "{completed} completed, {aborted} aborted");
    assert_eq!(begun, completed + aborted + driver.in_progress());
}
