//! AVQ: Kunniyur and Srikant (2001), and its properties.

use aqmlab_aqm::{
    AdmissionControl, Aqm, Avq, AvqConfig, AvqLoad, Discipline, Ecn, Limit, Packet, QueueConfig, QueueState,
    Verdict,
};
use aqmlab_units::{Bytes, Prob, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, compare_law};
use crate::common::traffic::traffic;
use crate::common::{packet, probed, slow_link, walk};

/// 10 Mbit/s in bytes per second.
const C: f64 = 1.25e6;

/// The paper's few lines, with ns-2's second clock for the capacity.
struct Transcription {
    config: AvqConfig,
    vq: f64,
    c_tilde: f64,
    vq_time: f64,
    c_time: f64,
}

impl Transcription {
    fn new(config: &AvqConfig) -> Transcription {
        let c_tilde = config.initial.get() * C;
        Transcription { config: config.clone(), vq: 0.0, c_tilde, vq_time: 0.0, c_time: 0.0 }
    }

    fn room(&self) -> f64 {
        let mean = self.config.mean_packet.as_f64();
        let packets = match self.config.limit {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(bytes) => bytes.as_f64() / mean,
        };
        self.config.buffer * packets * (mean + 38.0)
    }
}

impl Law for Transcription {
    fn arrive(&mut self, item: &Item, _queue: &Queue) -> Decision {
        let (size, now) = (item.size as f64, item.secs());
        let b = size + 38.0;
        self.vq -= self.c_tilde * (now - self.vq_time);
        self.vq_time = now;
        if self.vq < 0.0 {
            self.vq = 0.0;
        }
        let marked = self.vq + b > self.room();
        if !marked {
            self.vq += b;
        }
        let dropped = marked && !item.capable();
        if !(dropped && self.config.load == AvqLoad::Accepted) {
            self.c_tilde += self.config.alpha * self.config.gamma.get() * C * (now - self.c_time);
            if self.c_tilde > C {
                self.c_tilde = C;
            }
            self.c_tilde -= self.config.alpha * b;
            if self.c_tilde < 0.0 {
                self.c_tilde = 0.0;
            }
            self.c_time = now;
        }
        if marked { Decision::Mark } else { Decision::Pass }
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("vq", self.vq), ("c_tilde", self.c_tilde)]
    }
}

/// A virtual queue of a few packets, and a virtual capacity that moves within the traffic.
fn avq() -> impl Strategy<Value = AvqConfig> {
    let limit = prop_oneof![
        (2_u32..20).prop_map(Limit::Packets),
        (1500_u64..15_000).prop_map(|most| Limit::Bytes(Bytes::new(most)))
    ];
    let load = prop::sample::select(AvqLoad::ALL);
    (0.1..50.0, 0.1..1.0, 0.1..1.5, 0.0..1.0, load, 300_u64..1000, limit).prop_map(
        |(alpha, gamma, buffer, initial, load, mean_packet, limit)| AvqConfig {
            alpha,
            gamma: Prob::clamped(gamma),
            buffer,
            initial: Prob::clamped(initial),
            load,
            mean_packet: Bytes::new(mean_packet),
            limit,
        },
    )
}

proptest! {
    #[test]
    fn avq_decides_as_its_paper_does(config in avq(), traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::Avq(config.clone()), 1, |_| Transcription::new(&config), &traffic)?;
    }

    #[test]
    fn the_virtual_capacity_stays_between_nothing_and_the_links(config in avq()) {
        let mut control = AdmissionControl::new(Avq::new(&config, &slow_link()), config.limit);
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let law = control.law.clone();
            walk(&mut control, ecn);
            prop_assert!((0.0..=C).contains(&probed(&control.law, "c_tilde")));
            control.law = law;
        }
    }
}

/// Offers packets of 500 B to `law` at a rate that `next` answers each verdict with, as a multiple of C. Returns the
/// admitted load after the first half of `secs`, as a share of C.
fn utilisation(law: &mut Avq, ecn: Ecn, secs: f64, mut next: impl FnMut(Verdict) -> f64) -> f64 {
    let pkt: Packet = packet(500, ecn);
    let (mut now, mut accepted) = (0.0, 0.0);
    while now < secs {
        let verdict = law.on_enqueue(&pkt, QueueState::default(), Time::from_secs_f64(now));
        if now > secs / 2.0 && (verdict == Verdict::Pass || ecn.is_capable()) {
            accepted += 538.0;
        }
        now += 538.0 / (next(verdict) * C);
    }
    accepted / (C * secs / 2.0)
}

#[test]
fn a_load_that_answers_to_marks_settles_at_gamma() {
    for (gamma, gain) in [(0.98, 1e-4), (0.9, 1e-4), (0.7, 1e-3)] {
        let config = AvqConfig { gamma: Prob::clamped(gamma), ..AvqConfig::default() };
        let mut law = Avq::new(&config, &slow_link());
        let mut rate = 0.5;
        // A little more after each packet that passes, a hundred times as much less after a mark.
        let share = utilisation(&mut law, Ecn::Ect0, 200.0, |verdict| {
            rate += if verdict == Verdict::Pass { gain * 0.1 } else { -gain * 10.0 * rate };
            rate = f64::clamp(rate, 0.01, 2.0);
            rate
        });
        assert!((share - gamma).abs() < 0.01, "the link is used at {share}, not {gamma}");
    }
}

#[test]
fn with_accepted_load_gamma_of_an_unresponsive_overload_passes() {
    let share = |load| {
        let mut law = Avq::new(&AvqConfig { load, ..AvqConfig::default() }, &slow_link());
        utilisation(&mut law, Ecn::NotEct, 200.0, |_| 1.5)
    };
    let accepted = share(AvqLoad::Accepted);
    assert!((accepted - 0.98).abs() < 0.01, "{accepted} of the link is used");
    // The offered load stays above gamma, so the virtual capacity falls to zero.
    assert!(share(AvqLoad::Offered) < 0.01);
}

#[test]
fn a_virtual_queue_with_room_signals_nothing() {
    let mut law = Avq::new(&AvqConfig::default(), &slow_link());
    // The limit's 240 packets of 500 B arrive at once; the next one finds no room.
    let mut signalled = || law.on_enqueue(&packet(500, Ecn::Ect0), QueueState::default(), Time::ZERO);
    assert_eq!((0..240).filter(|_| signalled() == Verdict::Pass).count(), 240);
    assert_eq!(signalled(), Verdict::Mark);
}
