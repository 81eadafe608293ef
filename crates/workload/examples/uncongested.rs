//! The shipped workload on an uncongested link: the laboratory's calibration, without its network.
//!
//! Two sides of users for 90 minutes after 15 minutes of warm-up, over idealised TCP: no queues, no loss, an initial
//! window of 2 segments of 1,460 bytes, a largest window of 11 segments (16 kB), one round trip for the handshake
//! and one for each window. Prints the facts that docs/workload.md compares with the papers.
//!
//!     cargo run --release -p aqmlab-workload --example uncongested -- uniform 9520
//!
//! After the number of users may stand a seed, and a shipped workload or a JSON file with one.

#[path = "../tests/driver/mod.rs"]
mod driver;

use std::error::Error;

use aqmlab_units::{Duration, Time};
use aqmlab_workload::{Completed, Connection, RttConfig, UserAction, Web, WebConfig};
use driver::{Driver, Network, Outcome};

const WARM_UP: u64 = 15 * 60;
const MEASURED: u64 = 90 * 60;
const MSS: u64 = 1460;
const HEADER: u64 = 40;
/// SYN, SYN/ACK, ACK, and FIN and ACK from either side.
const CONTROL_PACKETS: u64 = 7;
const INITIAL_WINDOW: u32 = 2;
const LARGEST_WINDOW: u32 = 11;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rtt = arguments.next().unwrap_or_else(|| "uniform".into());
    let per_side: u32 = arguments.next().unwrap_or_else(|| "9520".into()).parse()?;
    let seed: u64 = arguments.next().unwrap_or_else(|| "1".into()).parse()?;
    let workload = arguments.next().unwrap_or_else(|| "unc-2001".into());
    let config = match workload.strip_suffix(".json") {
        Some(_) => serde_json::from_str(&std::fs::read_to_string(&workload)?)?,
        None => WebConfig::shipped(&workload)?,
    };

    let web = Web::new(&config, &RttConfig::shipped(&rtt)?, seed)?;
    let mut tally = Tally::default();
    let rounds = Rounds { bytes: vec![0; (MEASURED * 10).try_into()?] };
    let mut driver = Driver::new(&web, rounds, 2 * per_side);
    let (from, to) = (Time::from_nanos(WARM_UP * 1_000_000_000), (WARM_UP + MEASURED) * 1_000_000_000);
    let mut asleep = vec![None; 2 * per_side as usize];
    driver.run(Time::from_nanos(to), |seen| {
        let measured = seen.now >= from;
        match seen.action {
            UserAction::Open(connection) if measured => tally.opened(connection),
            UserAction::Completed(completed) if measured => tally.completed(completed),
            UserAction::Sleep(think) => {
                if let Some(woke) = asleep[seen.user]
                    && measured
                {
                    tally.page(seen.now - woke, *think);
                }
                asleep[seen.user] = Some(seen.now + *think);
            }
            _ => {}
        }
    });
    println!("{rtt} round-trip times, {per_side} users a side, seed {seed}, {MEASURED} s measured");
    tally.print(f64::from(per_side));
    println!("Hurst parameter by aggregated variance of response bytes:");
    for (low, high) in [(2, 100), (10, 500), (100, 2000)] {
        let name = format!("{} to {} s", low as f64 / 10.0, high / 10);
        println!("{name:>40} {:10.2}", hurst(&driver.network.bytes, low, high));
    }
    Ok(())
}

/// TCP as rounds: a window of segments each round-trip time, growing by half of itself (an ACK for every second
/// segment) up to the largest.
struct Rounds {
    /// Response bytes in each tenth of a second measured.
    bytes: Vec<u64>,
}

impl Network for Rounds {
    fn connect(&mut self, connection: &Connection, _: Time) -> Outcome {
        Outcome::Done(connection.min_rtt())
    }

    fn exchange(&mut self, connection: &Connection, window: &mut u32, now: Time) -> Outcome {
        let mut segments = connection.awaits().get().div_ceil(MSS);
        *window = (*window).max(INITIAL_WINDOW);
        let mut took = Duration::ZERO;
        while segments > 0 {
            took = took + connection.min_rtt();
            let sent = segments.min(u64::from(*window));
            segments -= sent;
            *window = (*window + window.div_ceil(2)).min(LARGEST_WINDOW);
            self.count(now + took, sent * (MSS + HEADER));
        }
        Outcome::Done(took)
    }
}

impl Rounds {
    fn count(&mut self, at: Time, bytes: u64) {
        let bin =
            (at.as_nanos() / 100_000_000).checked_sub(WARM_UP * 10).and_then(|bin| usize::try_from(bin).ok());
        if let Some(sum) = bin.and_then(|bin| self.bytes.get_mut(bin)) {
            *sum += bytes;
        }
    }
}

/// Events in the measurement window.
#[derive(Default)]
struct Tally {
    connections: u64,
    persistent_connections: u64,
    persistent_exchanges: u64,
    persistent_bytes: u64,
    requests: u64,
    segments: u64,
    request_segments: u64,
    delayed_acks: u64,
    sizes: Vec<u64>,
    times: Vec<Duration>,
    pages: u64,
    page_time: f64,
    think: f64,
}

impl Tally {
    fn opened(&mut self, connection: &Connection) {
        self.connections += 1;
        self.persistent_connections += u64::from(connection.is_persistent());
    }

    fn completed(&mut self, exchange: &Completed) {
        let (request, response) = (exchange.request.get(), exchange.response.get());
        let segments = response.div_ceil(MSS);
        self.requests += request;
        self.request_segments += request.div_ceil(MSS);
        self.segments += segments;
        self.delayed_acks += segments.div_ceil(2);
        self.sizes.push(response);
        self.times.push(exchange.response_time);
        if exchange.persistent {
            self.persistent_exchanges += 1;
            self.persistent_bytes += response;
        }
    }

    fn page(&mut self, took: Duration, think: Duration) {
        self.pages += 1;
        self.page_time += took.as_secs_f64();
        self.think += think.as_secs_f64();
    }

    fn print(mut self, per_side: f64) {
        let row = |name: &str, value: f64| println!("{name:>40} {value:10.4}");
        self.sizes.sort_unstable();
        self.times.sort_unstable();
        let n = self.sizes.len() as f64;
        let responses: u64 = self.sizes.iter().sum();
        row("exchanges, millions", n / 1e6);
        row("seconds per exchange per user", 2.0 * per_side * MEASURED as f64 / n);
        row("mean response, bytes", responses as f64 / n);
        row("mean request, bytes", self.requests as f64 / n);
        for per_mille in [500, 900, 990, 999] {
            let size = self.sizes[self.sizes.len() * per_mille / 1000];
            row(&format!("{} % of responses at most, bytes", per_mille as f64 / 10.0), size as f64);
        }
        let above = |size: u64| (self.sizes.len() - self.sizes.partition_point(|&s| s <= size)) as f64;
        row("responses above 10 MB", above(10_000_000));
        row("responses above 100 MB", above(100_000_000));
        row("connections per exchange", self.connections as f64 / n);
        row(
            "persistent: % of connections",
            self.persistent_connections as f64 / self.connections as f64 * 100.0,
        );
        row("persistent: % of objects", self.persistent_exchanges as f64 / n * 100.0);
        row("persistent: % of bytes", self.persistent_bytes as f64 / responses as f64 * 100.0);
        row("exchanges per page", n / self.pages as f64);
        row("mean page time, s", self.page_time / self.pages as f64);
        row("mean think time, s", self.think / self.pages as f64);
        for (name, acks) in [("every second segment", self.delayed_acks), ("every segment", self.segments)] {
            let packets = self.connections * CONTROL_PACKETS + self.request_segments + self.segments + acks;
            let bytes = packets * HEADER + self.requests + responses;
            println!("with an ACK for {name}:");
            row("packets per exchange", packets as f64 / n);
            row("wire bytes per exchange", bytes as f64 / n);
            row("mean IP packet, bytes", bytes as f64 / packets as f64);
            row("Mbit/s in each direction", bytes as f64 * 8.0 / 2.0 / MEASURED as f64 / 1e6);
        }
        for ms in [125, 250, 500, 1000, 2000] {
            let within = self.times.partition_point(|&t| t <= Duration::from_millis(ms));
            row(&format!("% of response times within {ms} ms"), within as f64 / n * 100.0);
        }
    }
}

/// H = 1 + s/2, where s is the slope of ln(variance of block means) over ln(block length), for blocks of `shortest`
/// tenths of a second, half as many again and so on up to `longest`.
fn hurst(bytes: &[u64], shortest: usize, longest: usize) -> f64 {
    let lengths = std::iter::successors(Some(shortest), |length| Some(length.div_ceil(2) + length));
    let points: Vec<(f64, f64)> = lengths
        .take_while(|&length| length <= longest)
        .map(|length| (libm::log(length as f64), libm::log(variance_of_means(bytes, length))))
        .collect();
    let n = points.len() as f64;
    let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    1.0 + covariance / variance / 2.0
}

fn variance_of_means(bytes: &[u64], length: usize) -> f64 {
    let means: Vec<f64> =
        bytes.chunks_exact(length).map(|block| block.iter().sum::<u64>() as f64 / length as f64).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64
}
