//! BLUE: Feng, Kandlur, Saha and Shin (1999), and its properties.

use aqmlab_aqm::{
    Admission, AdmissionControl, Aqm, Blue, BlueConfig, Discipline, Ecn, Fifo, IdleDecrease, Limit, Qdisc,
    QueueConfig, QueueState,
};
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, compare_law, drawn};
use crate::common::traffic::{Operation, traffic};
use crate::common::{link, packet, probed, rng};

/// The published events, one by one, in whole microseconds.
struct Transcription {
    config: BlueConfig,
    pm: f64,
    last_update: i64,
    empty_since: i64,
    rng: Stream,
}

impl Transcription {
    fn new(config: &BlueConfig, rng: Stream) -> Transcription {
        let never = -freeze_time(config);
        Transcription { config: config.clone(), pm: 0.0, last_update: never, empty_since: 0, rng }
    }

    fn loss(&mut self, now: i64) {
        if now - self.last_update >= freeze_time(&self.config) {
            self.pm += self.config.d1.get();
            if self.pm > 1.0 {
                self.pm = 1.0;
            }
            self.last_update = now;
        }
    }

    fn idle(&mut self, now: i64) {
        if now - self.last_update >= freeze_time(&self.config) {
            self.pm -= self.config.d2.get();
            if self.pm < 0.0 {
                self.pm = 0.0;
            }
            self.last_update = now;
        }
    }
}

fn freeze_time(config: &BlueConfig) -> i64 {
    i64::try_from(config.freeze_time.as_micros()).expect("small")
}

#[expect(clippy::cast_possible_truncation, reason = "the traffic is short")]
fn micros(now: f64) -> i64 {
    (now * 1e6).round() as i64
}

impl Law for Transcription {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        let now = item.secs();
        let now = micros(now);
        if queue.len() as f64 == 0.0 {
            match self.config.idle_decrease {
                IdleDecrease::Once => self.idle(now),
                // The idle link is looked at every microsecond.
                IdleDecrease::WhileIdle => (self.empty_since..=now).for_each(|moment| self.idle(moment)),
            }
        }
        let above = match self.config.level.expect("resolved") {
            Limit::Packets(level) => queue.len() as f64 > f64::from(level),
            Limit::Bytes(level) => bytes(queue) as f64 > level.as_f64(),
        };
        if above {
            self.loss(now);
        }
        if drawn(self.pm, &mut self.rng) { Decision::Mark } else { Decision::Pass }
    }

    fn overflow(&mut self, item: &Item) {
        self.loss(item.at / 1000);
    }

    fn empty(&mut self, now: f64) {
        self.empty_since = micros(now);
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("p", self.pm)]
    }
}

/// A small queue and short freezes, so that p moves within the traffic. Steps are binary fractions: sums of them are
/// exact in any order.
fn blue() -> impl Strategy<Value = BlueConfig> {
    let limit = prop_oneof![
        (2_u32..12).prop_map(Limit::Packets),
        (1500_u64..9000).prop_map(|most| Limit::Bytes(Bytes::new(most)))
    ];
    let level = prop_oneof![
        Just(None),
        (0_u32..8).prop_map(|level| Some(Limit::Packets(level))),
        (0_u64..6000).prop_map(|level| Some(Limit::Bytes(Bytes::new(level))))
    ];
    let idle_decrease = prop::sample::select(IdleDecrease::ALL);
    (1_u32..512, 1_u32..64, 100_u64..8000, idle_decrease, level, limit).prop_map(
        |(d1, d2, freeze, idle_decrease, level, limit)| BlueConfig {
            d1: Prob::clamped(f64::from(d1) / 1024.0),
            d2: Prob::clamped(f64::from(d2) / 1024.0),
            freeze_time: Duration::from_micros(freeze),
            idle_decrease,
            level,
            limit,
        },
    )
}

proptest! {
    #[test]
    fn blue_decides_as_its_paper_does(config in blue(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&link())?;
        compare_law(&QueueConfig::Blue(config.clone()), seed, |rng| Transcription::new(&config, rng), &traffic)?;
    }

    #[test]
    fn p_changes_on_overflow_or_idle_at_most_once_a_freeze_time(
        config in blue(), traffic in traffic()
    ) {
        let config = BlueConfig { level: None, ..config }.resolve(&link())?;
        let (d1, d2) = (config.d1.get(), config.d2.get());
        let mut fifo = Fifo::new(Blue::new(&config, rng()), config.limit);
        let (mut now, mut p) = (Time::ZERO, 0.0);
        // The last rise, and how many steps p has fallen since then.
        let mut rise = None;
        let mut falls = 0.0;
        for operation in traffic {
            let (Operation::Arrive { after_us, .. } | Operation::Leave { after_us }) = operation;
            now += Duration::from_micros(u64::from(after_us));
            let waited = fifo.state().packets;
            let admission = match operation {
                Operation::Arrive { size, ecn, .. } => {
                    Some(fifo.enqueue(packet(size, ecn), (), now, &mut drop))
                }
                Operation::Leave { .. } => {
                    fifo.dequeue(now, &mut drop);
                    None
                }
            };
            let was = std::mem::replace(&mut p, probed(fifo.law(), "p"));
            prop_assert!((0.0..=1.0).contains(&p));
            if p > was {
                prop_assert_eq!(admission, Some(Admission::DroppedByLimit));
                prop_assert!(p - was <= d1);
                if let Some(rise) = rise {
                    let steps = (now - rise) / config.freeze_time;
                    prop_assert!(steps >= falls + 1.0, "{falls} falls and a rise in {steps} freeze times");
                }
                (rise, falls) = (Some(now), 0.0);
            } else if p < was {
                prop_assert_eq!((waited, admission.is_some()), (0, true), "only an idle period lowers p");
                falls += ((was - p) / d2).ceil();
                if let Some(rise) = rise {
                    prop_assert!((now - rise) / config.freeze_time >= falls);
                }
            }
        }
    }
}

/// A law whose p has been raised `times` at 0.1 s, 0.2 s and so on, and whose queue is empty from `start_idle` on.
fn raised(config: &BlueConfig, times: u64, start_idle: Time) -> AdmissionControl<Blue> {
    let mut control = AdmissionControl::new(Blue::new(config, rng()), config.limit);
    (1..=times).for_each(|tenth| {
        let full = QueueState { packets: 240, bytes: Bytes::new(120_000) };
        control.law.on_overflow(&packet(500, Ecn::NotEct), full, Time::from_nanos(tenth * 100_000_000));
    });
    control.law.on_empty(start_idle);
    control
}

#[test]
fn a_long_idle_period_lowers_p_every_freeze_time_or_once() {
    let after_idleness = |idle_decrease| {
        let config = BlueConfig { idle_decrease, ..BlueConfig::default() };
        // p = 0.05 after 2 s; frozen until 2.1 s, idle from 2.05 s to 3.15 s.
        let mut control = raised(&config, 20, Time::from_secs_f64(2.05));
        assert!((probed(&control.law, "p") - 0.05).abs() < 1e-12);
        control.admit(&packet(500, Ecn::Ect0), QueueState::default(), Time::from_secs_f64(3.15));
        ((0.05 - probed(&control.law, "p")) / 0.00025).round()
    };
    // At 2.1 s, 2.2 s and so on until 3.1 s.
    assert!((after_idleness(IdleDecrease::WhileIdle) - 11.0).abs() < 1e-9);
    assert!((after_idleness(IdleDecrease::Once) - 1.0).abs() < 1e-9);
}

#[test]
fn p_falls_even_while_every_arrival_is_dropped() {
    for idle_decrease in [IdleDecrease::WhileIdle, IdleDecrease::Once] {
        let config = BlueConfig { d1: Prob::ONE, idle_decrease, ..BlueConfig::default() };
        let mut control = raised(&config, 1, Time::from_secs_f64(0.1));
        let mut arrive = |tenth: u64| {
            let now = Time::from_nanos(200_000_000 + tenth * 50_000_000);
            control.admit(&packet(500, Ecn::NotEct), QueueState::default(), now)
        };
        // p is 1 at first and no packet enters to empty the queue again; after 100 s p is 0.75.
        let passed = (0..2000).filter(|&tenth| arrive(tenth) == Admission::Queued).count();
        assert!((100..400).contains(&passed), "{passed} of 2000 passed, not about an eighth");
    }
}

#[test]
fn a_queue_above_the_level_is_as_good_as_an_overflow() {
    let p_after = |level, packets: u32| {
        let config = BlueConfig { level, ..BlueConfig::default() }.resolve(&link()).unwrap();
        let mut control = AdmissionControl::new(Blue::new(&config, rng()), config.limit);
        let queue = QueueState { packets, bytes: Bytes::new(500 * u64::from(packets)) };
        control.admit(&packet(500, Ecn::NotEct), queue, Time::from_secs_f64(1.0));
        probed(&control.law, "p")
    };
    for level in [Limit::Packets(20), Limit::Bytes(Bytes::new(10_000))] {
        assert_eq!([20, 21].map(|packets| p_after(Some(level), packets) > 0.0), [false, true]);
    }
    assert_eq!([239, 240].map(|packets| p_after(None, packets) > 0.0), [false, true]);
}
