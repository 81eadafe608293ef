//! GSP: Lautenschlaeger and Francini (2015), and its properties.

mod common;

use aqmlab_aqm::{Aqm, Discipline, Ecn, Gsp, GspConfig, Limit, QueueConfig, QueueState, Verdict};
use aqmlab_units::{Bytes, Duration, Time};
use common::oracle::{Decision, Item, Law, Queue, compare_law, reached};
use common::traffic::traffic;
use common::{link, packet, probed, slow_link};
use proptest::prelude::*;

/// The published steps at every arrival; the shortest queue since the one before says whether it was above all the time.
struct Paper {
    threshold: f64,
    preset_int: f64,
    tau: f64,
    alpha: f64,
    max_time: f64,
    cumul_time: f64,
    last_arrival: i64,
    shortest: usize,
    expiry: i64,
}

impl Paper {
    fn new(config: &GspConfig) -> Paper {
        Paper {
            threshold: config.threshold.expect("resolved"),
            preset_int: config.interval.as_secs_f64(),
            tau: config.tau.as_secs_f64(),
            alpha: config.alpha,
            max_time: config.max_time.as_secs_f64(),
            cumul_time: 0.0,
            last_arrival: 0,
            shortest: 0,
            expiry: 0,
        }
    }

    fn interval(&self) -> f64 {
        self.preset_int / (1.0 + self.cumul_time / self.tau)
    }
}

impl Law for Paper {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        let seconds = (item.at - self.last_arrival) as f64 / 1e9;
        let (mut time_above, mut time_below) = (0.0, 0.0);
        if self.shortest.min(queue.len()) as f64 > self.threshold {
            time_above = seconds;
        } else {
            time_below = seconds;
        }
        self.cumul_time += self.alpha * time_above - time_below;
        self.cumul_time = f64::min(self.max_time, f64::max(0.0, self.cumul_time));
        self.last_arrival = item.at;
        self.shortest = usize::MAX;
        if queue.len() as f64 > self.threshold && item.at >= self.expiry {
            #[expect(clippy::cast_possible_truncation, reason = "the traffic is short")]
            let nanos = (self.interval() * 1e9).round() as i64;
            self.expiry = item.at + nanos;
            return Decision::Mark;
        }
        Decision::Pass
    }

    fn left(&mut self, _item: &Item, queue: &Queue) {
        self.shortest = self.shortest.min(queue.len());
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("cumul_time", self.cumul_time), ("interval", self.interval())]
    }

    fn variable_mut(&mut self, name: &str) -> Option<&mut f64> {
        (name == "cumul_time").then_some(&mut self.cumul_time)
    }
}

prop_compose! {
    /// Settings that a fraction of a second takes everywhere.
    fn settings()(
        threshold in 0.0..30.0, interval in 50_u64..50_000, tau in 100_u64..100_000,
        alpha in 0.5..4.0, max_time in 0_u64..200_000, limit in 5_u32..200,
    ) -> GspConfig {
        GspConfig {
            threshold: Some(threshold),
            interval: Duration::from_micros(interval),
            tau: Duration::from_micros(tau),
            alpha,
            max_time: Duration::from_micros(max_time),
            limit: Limit::Packets(limit),
            ..GspConfig::default()
        }
    }
}

proptest! {
    #[test]
    fn gsp_decides_as_its_paper_does(config in settings(), traffic in traffic()) {
        compare_law(&QueueConfig::Gsp(config.clone()), 1, |_| Paper::new(&config), &traffic)?;
    }
}

#[test]
fn the_oracles_traffic_reaches_every_fate() {
    let counters = reached((settings(), traffic()), |(config, traffic)| {
        compare_law(&QueueConfig::Gsp(config.clone()), 1, |_| Paper::new(&config), &traffic)
    });
    assert!(counters.marked > 100 && counters.dropped_early > 100 && counters.dropped_by_limit > 100);
}

/// One arrival a millisecond that finds `packets` queued, for this many seconds; returns the number of signals.
fn signals(gsp: &mut Gsp, packets: u32, seconds: std::ops::Range<u64>) -> usize {
    let queue = QueueState { packets, bytes: Bytes::new(500 * u64::from(packets)) };
    let judged = (1000 * seconds.start..1000 * seconds.end).map(|millis| {
        gsp.on_enqueue(&packet(500, Ecn::Ect0), queue, Time::ZERO + Duration::from_millis(millis))
    });
    judged.filter(|verdict| *verdict == Verdict::Mark).count()
}

fn of_20_packets() -> GspConfig {
    GspConfig { threshold: Some(20.0), ..GspConfig::default() }
}

#[test]
fn one_packet_is_signalled_in_an_interval_while_nothing_adapts() {
    let mut gsp = Gsp::new(&GspConfig { max_time: Duration::ZERO, ..of_20_packets() }, &link());
    assert_eq!(signals(&mut gsp, 20, 0..1), 0, "a queue that stands at the threshold does not exceed it");
    assert_eq!(signals(&mut gsp, 21, 1..61), 300);
}

#[test]
fn signals_grow_with_squared_time_above_and_stop_below() {
    // Their rate is (1 + 2 t) / 200 ms, so that there are 5 (t + t^2) of them, in steps of an arrival.
    let mut gsp = Gsp::new(&of_20_packets(), &link());
    let signalled = signals(&mut gsp, 21, 0..4);
    assert!((90..=100).contains(&signalled), "{signalled}");
    assert!(probed(&gsp, "interval") < 0.025);
    assert_eq!(signals(&mut gsp, 3, 4..13), 0);
    assert!((probed(&gsp, "interval") - 0.2).abs() < 1e-9, "the excess time above has been compensated");
}

#[test]
fn the_interval_shrinks_no_further_than_the_bound_says() {
    let config = GspConfig { max_time: Duration::from_secs(3), ..of_20_packets() };
    let mut gsp = Gsp::new(&config, &link());
    signals(&mut gsp, 21, 0..20);
    assert!((probed(&gsp, "interval") - 0.05).abs() < 1e-9);
}

#[test]
fn the_automatic_threshold_is_link_rate_times_target_delay() {
    for (link, expected) in [(link(), 116.2), (slow_link(), 11.62)] {
        let threshold = GspConfig::default().resolve(&link).unwrap().threshold.expect("resolved");
        assert!((threshold - expected).abs() < 0.1, "{threshold} packets");
    }
}
