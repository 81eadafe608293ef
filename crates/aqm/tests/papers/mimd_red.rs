//! MIMD RED: Feng, Kandlur, Saha and Shin (INFOCOM 1999), and its properties.

use aqmlab_aqm::{Aqm, Discipline, Ecn, MimdRed, MimdRedConfig, Mode, QueueConfig, QueueState, RedConfig};
use aqmlab_units::{Bytes, Stream, Time};
use proptest::prelude::*;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, compare_law};
use crate::common::traffic::traffic;
use crate::common::{packet, probed, rng, slow_link};
use crate::oracle::red;
use crate::settings;

/// The paper's rule around RED's transcription: the new average is worked out here first.
struct Transcription {
    red: red::Red,
    config: MimdRedConfig,
    status: &'static str,
}

impl Transcription {
    fn new(config: &MimdRedConfig, rng: Stream) -> Transcription {
        Transcription { red: red::Red::new(&config.red, rng), config: config.clone(), status: "below" }
    }
}

impl Law for Transcription {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        let now = item.secs();
        let MimdRedConfig { alpha, beta, .. } = self.config;
        let RedConfig { min_th, max_th, w_q, .. } = self.config.red;
        let q = match self.config.red.mode {
            Mode::Packet => queue.len() as f64,
            Mode::Byte => bytes(queue) as f64 / self.config.red.mean_packet.as_f64(),
        };
        self.red.age(now);
        let avg = (1.0 - w_q) * self.red.avg + w_q * q;
        let status = if min_th < avg && avg < max_th {
            "between"
        } else if avg < min_th {
            "below"
        } else if avg > max_th {
            "above"
        } else {
            self.status
        };
        if status != self.status {
            self.status = status;
            if status == "below" {
                self.red.max_p /= alpha;
            }
            if status == "above" {
                self.red.max_p *= beta;
            }
            if self.red.max_p > 1.0 {
                self.red.max_p = 1.0;
            }
        }
        self.red.arrive(item, queue)
    }

    fn empty(&mut self, now: f64) {
        self.red.empty(now);
    }

    fn variables(&self, queue: &Queue) -> Vec<(&'static str, f64)> {
        let mut variables = self.red.variables(queue);
        variables.push(("max_p", self.red.max_p));
        variables
    }
}

fn mimd_red() -> impl Strategy<Value = MimdRedConfig> {
    let red = settings::red(MimdRedConfig::default().red, 0.5..6.0, 0.05..1.0);
    (1.1..5.0, 1.1..5.0, red).prop_map(|(alpha, beta, red)| MimdRedConfig { alpha, beta, red })
}

proptest! {
    #[test]
    fn mimd_red_decides_as_its_paper_does(config in mimd_red(), seed: u64, traffic in traffic()) {
        let config = config.resolve(&slow_link())?;
        compare_law(&QueueConfig::MimdRed(config.clone()), seed, |rng| Transcription::new(&config, rng), &traffic)?;
    }
}

/// `max_p` after each arrival of a sequence that finds these queues, when the average is the last sample.
fn adapted(queues: &[u32]) -> Vec<f64> {
    let config = MimdRedConfig {
        red: RedConfig { w_q: 1.0, ..MimdRedConfig::default().red },
        ..MimdRedConfig::default()
    };
    let mut law = MimdRed::new(&config, &slow_link(), rng());
    queues
        .iter()
        .map(|&packets| {
            let queue = QueueState { packets, bytes: Bytes::new(500 * u64::from(packets)) };
            law.on_enqueue(&packet(500, Ecn::Ect0), queue, Time::ZERO);
            probed(&law, "max_p")
        })
        .collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let close = found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 1e-12);
    assert!(close, "{found:?} is not {expected:?}");
}

#[test]
fn max_p_changes_once_each_time_the_average_leaves_the_band() {
    assert_close(
        &adapted(&[3, 10, 20, 25, 16, 10, 16, 10, 4, 4, 10, 4, 20, 3]),
        &[
            0.1,
            0.1,
            0.2,
            0.2,
            0.2,
            0.2,
            0.4,
            0.4,
            0.4 / 3.0,
            0.4 / 3.0,
            0.4 / 3.0,
            0.4 / 9.0,
            0.8 / 9.0,
            0.8 / 27.0,
        ],
    );
}

#[test]
fn an_average_on_a_threshold_is_neither_inside_nor_outside() {
    assert_close(
        &adapted(&[15, 20, 15, 20, 5, 4, 5, 4]),
        &[0.1, 0.2, 0.2, 0.2, 0.2, 0.2 / 3.0, 0.2 / 3.0, 0.2 / 3.0],
    );
}

#[test]
fn max_p_stays_a_probability_and_comes_back_from_any_depth() {
    let swing = |outside: u32, times: usize| [10, outside].repeat(times);
    let up = adapted(&swing(20, 10));
    assert_eq!(up.last(), Some(&1.0));
    let deep = adapted(&swing(1, 2000));
    assert!(deep.iter().all(|max_p| *max_p > 0.0));
    let mut there_and_back = swing(1, 2000);
    there_and_back.extend(swing(20, 2000));
    assert_eq!(adapted(&there_and_back).last(), Some(&1.0));
}
