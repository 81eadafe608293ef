//! What a whole population does: the properties that the model was built to have.

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

fn web(rtt: &str, seed: u64) -> Web {
    let config = WebConfig::shipped("unc-2001").expect("shipped");
    Web::new(&config, &RttConfig::shipped(rtt).expect("shipped"), seed).expect("valid")
}

fn idle() -> Idle {
    Idle { stream: Stream::named(5, "test"), break_one_in: None }
}

fn minutes(n: u64) -> Time {
    Time::ZERO + Duration::from_secs(60 * n)
}

/// All exchanges of `users` users in `span` minutes, and the number of connections, persistent and in all.
fn live(users: u32, span: u64) -> (Vec<Completed>, [u64; 2]) {
    let web = web("uniform", 1);
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
    let (exchanges, connections) = live(4_000, 30);
    let persistent = || exchanges.iter().filter(|e| e.persistent);
    let bytes: f64 = exchanges.iter().map(|e| e.response.as_f64()).sum();
    let of_connections = connections[0] as f64 / connections[1] as f64;
    let of_objects = persistent().count() as f64 / exchanges.len() as f64;
    let of_bytes = persistent().map(|e| e.response.as_f64()).sum::<f64>() / bytes;
    assert!((of_connections - 0.15).abs() < 0.002, "{of_connections}");
    assert!(0.50 < of_objects && of_objects < 0.515, "{of_objects}");
    assert!((of_bytes - 0.40).abs() < 0.01, "{of_bytes}");
}

#[test]
fn responses_have_the_published_median_and_ninetieth_percentile_and_the_mean_of_the_offered_load() {
    // About 1,000 bytes or less, slightly above 10,000 (Le et al. 2003, section 3); 7.2 kB fits users and Mbit/s.
    let (exchanges, _) = live(4_000, 30);
    let mut sizes: Vec<u64> = exchanges.iter().map(|e| e.response.get()).collect();
    sizes.sort_unstable();
    let percentile = |p: usize| sizes[p * sizes.len() / 100];
    let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    assert!((900..=1_000).contains(&percentile(50)), "median {}", percentile(50));
    assert!((10_000..=11_000).contains(&percentile(90)), "90th percentile {}", percentile(90));
    assert!((mean / 7_200.0 - 1.0).abs() < 0.03, "mean {mean}");
}

#[test]
fn pages_start_at_their_long_run_rate_from_the_first_minute() {
    for rtt in ["uniform", "general"] {
        let web = web(rtt, 2);
        let mut pages = [0u32; 30];
        Driver::new(&web, idle(), 8_000).run(minutes(30), |seen| {
            if seen.connection.is_none() {
                let minute = seen.now.as_nanos() / 60_000_000_000;
                pages[usize::try_from(minute).expect("30 at most")] += 1;
            }
        });
        let long_run = f64::from(pages[10..].iter().sum::<u32>()) / 20.0;
        for (minute, &count) in pages[..5].iter().enumerate() {
            // 25,000 pages a minute: 2 % is three standard deviations of a Poisson count.
            let ratio = f64::from(count) / long_run;
            assert!((ratio - 1.0).abs() < 0.02, "{rtt}: minute {minute} has {ratio} of the long-run rate");
        }
    }
}

#[test]
fn every_exchange_begun_is_completed_aborted_or_in_progress() {
    let web = web("uniform", 3);
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
