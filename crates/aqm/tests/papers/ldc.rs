//! LDC: Kwon and Fahmy (2002), and its properties.

use aqmlab_aqm::{Aqm, Discipline, Ecn, Ldc, LdcConfig, Limit, OutputRate, QueueConfig, QueueState};
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, compare_law, drawn};
use crate::common::traffic::traffic;
use crate::common::{packet, probed, rng, slow_link};

/// 10 Mbit/s in bytes per second.
const CAPACITY: f64 = 1.25e6;

/// Equations 1 to 3, with bytes counted as they come and go.
struct Transcription {
    config: LdcConfig,
    input: f64,
    output: f64,
    q_avg: f64,
    r_avg: f64,
    p_drop: f64,
    rng: Stream,
}

impl Transcription {
    fn new(config: &LdcConfig, rng: Stream) -> Transcription {
        Transcription {
            config: config.clone(),
            input: 0.0,
            output: 0.0,
            q_avg: 0.0,
            r_avg: 0.0,
            p_drop: 0.0,
            rng,
        }
    }
}

fn at_most_one(x: f64) -> f64 {
    if x > 1.0 { 1.0 } else { x }
}

impl Law for Transcription {
    fn arrive(&mut self, item: &Item, _queue: &Queue) -> Decision {
        let size = item.size as f64;
        self.input += size + 38.0;
        if drawn(self.p_drop, &mut self.rng) { Decision::Mark } else { Decision::Pass }
    }

    fn left(&mut self, item: &Item, _queue: &Queue) {
        self.output += item.size as f64 + 38.0;
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.tau.as_secs_f64())
    }

    fn tick(&mut self, queue: &Queue, _now: f64) {
        let LdcConfig { w_q, w_r, n, r_target, .. } = self.config;
        let tau = self.config.tau.as_secs_f64();
        let q = bytes(queue) as f64 + 38.0 * queue.len() as f64;
        self.q_avg = (1.0 - w_q) * self.q_avg + w_q * q;
        let (input_rate, output_rate) = match self.config.output_rate {
            OutputRate::Capacity => (self.input / tau, CAPACITY),
            OutputRate::Departures => (self.input / tau, self.output / tau),
        };
        if input_rate == 0.0 {
            self.r_avg *= 1.0 - w_r;
        } else if output_rate > 0.0 {
            self.r_avg = (1.0 - w_r) * self.r_avg + w_r * (input_rate / output_rate);
        }
        (self.input, self.output) = (0.0, 0.0);
        let q_target = self.config.d_target.as_secs_f64() * CAPACITY;
        let share = self.config.delay_weight.get();
        self.p_drop = share * at_most_one(libm::pow(self.q_avg / q_target, n))
            + (1.0 - share) * at_most_one(libm::pow(self.r_avg / r_target, n));
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("q_avg", self.q_avg), ("r_avg", self.r_avg), ("p_drop", self.p_drop)]
    }
}

fn ldc() -> impl Strategy<Value = LdcConfig> {
    let output_rate = prop::sample::select(OutputRate::ALL);
    let weights = (0.01..1.0, 0.5..1.0, 0.0..1.0, 0.5..4.0);
    (1_u64..50, 0.5..1.5, 1_u64..10, weights, output_rate, 3_u32..50).prop_map(
        |(d_target, r_target, tau, (w_q, w_r, delay_weight, n), output_rate, limit)| LdcConfig {
            d_target: Duration::from_millis(d_target),
            r_target,
            tau: Duration::from_millis(tau),
            w_q,
            w_r,
            n,
            delay_weight: Prob::clamped(delay_weight),
            output_rate,
            limit: Limit::Packets(limit),
        },
    )
}

proptest! {
    #[test]
    fn ldc_decides_as_its_paper_does(config in ldc(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::Ldc(config.clone()), seed, |rng| Transcription::new(&config, rng), &traffic)?;
    }
}

/// Averages that are the last sample.
fn unaveraged() -> LdcConfig {
    LdcConfig { w_q: 1.0, w_r: 1.0, ..LdcConfig::default() }
}

/// `law` after an interval in which `arrivals` packets of 500 B came, and `left` of them are waiting.
fn after(config: &LdcConfig, arrivals: u32, waiting: u32) -> Ldc {
    let mut law = Ldc::new(config, &slow_link(), rng());
    (0..arrivals).for_each(|_| {
        law.on_enqueue(&packet(500, Ecn::Ect0), QueueState::default(), Time::ZERO);
    });
    let queue = QueueState { packets: waiting, bytes: Bytes::new(500 * u64::from(waiting)) };
    law.on_timeout(queue, law.poll_timeout().expect("LDC samples"));
    law
}

#[test]
fn delay_and_load_at_their_targets_give_three_quarters_and_one() {
    // In 538 ms a link of 10 Mbit/s sends 1,250 packets of 500 B.
    let span = Duration::from_millis(538);
    let config = LdcConfig { tau: span, d_target: span, r_target: 0.96, ..unaveraged() };
    for (arrivals, waiting, expected) in [
        (0, 1250, 0.75),
        (1200, 0, 0.25),
        (1200, 1250, 1.0),
        (5000, 5000, 1.0),
        (600, 0, 0.25 / 8.0),
        (0, 625, 0.75 / 8.0),
        (0, 0, 0.0),
    ] {
        let p = probed(&after(&config, arrivals, waiting), "p_drop");
        assert!(
            (p - expected).abs() < 1e-9,
            "{arrivals} arrived and {waiting} wait: p = {p}, not {expected}"
        );
    }
}

#[test]
fn departures_are_what_arrived_and_waits_no_longer() {
    let r = |output_rate, arrivals, waiting| {
        probed(
            &after(
                &LdcConfig { tau: Duration::from_millis(538), output_rate, ..unaveraged() },
                arrivals,
                waiting,
            ),
            "r_avg",
        )
    };
    for (arrivals, waiting, capacity, departures) in
        [(125, 0, 0.1, 1.0), (1250, 250, 1.0, 1.25), (100, 100, 0.08, 0.0), (0, 0, 0.0, 0.0)]
    {
        assert!((r(OutputRate::Capacity, arrivals, waiting) - capacity).abs() < 1e-9);
        assert!((r(OutputRate::Departures, arrivals, waiting) - departures).abs() < 1e-9);
    }
}

#[test]
fn the_queue_settles_below_target_where_p_balances_the_load() {
    let config = LdcConfig { w_q: 0.5, ..LdcConfig::default() };
    let mut law = Ldc::new(&config, &slow_link(), rng());
    let (tau, excess) = (config.tau.as_secs_f64(), 2.0);
    let mut waiting = 0.0;
    let mut carried = 0.0;
    // A fluid of twice the capacity comes as packets of 90 B, 62 in tau, 128 B each on the wire.
    for _ in 0..5000 {
        let p = probed(&law, "p_drop");
        carried += excess * CAPACITY * tau / 128.0;
        while carried >= 1.0 {
            carried -= 1.0;
            law.on_enqueue(&packet(90, Ecn::Ect0), QueueState::default(), Time::ZERO);
        }
        waiting = f64::max(0.0, waiting + (excess * (1.0 - p) - 1.0) * CAPACITY * tau);
        let packets = whole(waiting / 128.0);
        let queue = QueueState { packets, bytes: Bytes::new(90 * u64::from(packets)) };
        law.on_timeout(queue, law.poll_timeout().expect("LDC samples"));
    }
    // 1/4 + 3/4 (Q/Q_target)^3 = 1/2: the queue stands at 0.693 of the target.
    let delay = waiting / CAPACITY;
    let expected = 0.005 * libm::cbrt(1.0 / 3.0);
    assert!((delay - expected).abs() < 0.05 * expected, "a delay of {delay} s, not {expected}");
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small queue, not negative")]
fn whole(x: f64) -> u32 {
    x.round() as u32
}
