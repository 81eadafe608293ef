//! The rules by which players choose the rate of a segment.

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use super::Video;

/// The rule by which a player chooses the rate of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VideoRule {
    /// By throughput: the highest rate that is not above the harmonic mean of the throughputs of the last five segments.
    /// Source: rule RB of Yin, Jindal, Sekar and Sinopoli, "A control-theoretic approach for dynamic adaptive video
    /// streaming over HTTP", SIGCOMM 2015.
    Throughput,
    /// By the buffer: BBA-0 of Huang, Johari and others, "A buffer-based approach to rate adaptation",
    /// SIGCOMM 2014, algorithm 1. The reservoir is 90 s of a buffer of 240 s, and the highest rate is reached at 216 s.
    /// Other buffers have the same shares of the highest level at which a segment is requested, which is ours.
    BufferBased,
    /// By utility and buffer: BOLA-BASIC of Spiteri, Urgaonkar and Sitaraman, "BOLA: near-optimal bitrate adaptation for
    /// online videos", INFOCOM 2016, with logarithmic utilities, gamma p = 5, and V from the size of the buffer.
    #[default]
    Bola,
}

/// The observations of a player when it chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    /// The version of the last segment.
    pub(super) before: Option<usize>,
    pub(super) buffer: Duration,
    pub(super) throughputs: &'a Throughputs,
}

/// The throughputs of the last segments, in bits per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Throughputs(VecDeque<f64>);

/// The segments that Yin et al. 2015 average over.
const REMEMBERED: usize = 5;

impl Throughputs {
    pub(super) fn add(&mut self, size: Bytes, time: Duration) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(8.0 * size.as_f64() / time.as_secs_f64());
    }

    /// The harmonic mean; none before the first segment.
    fn harmonic_mean(&self) -> Option<f64> {
        let inverse: f64 = self.0.iter().map(|throughput| 1.0 / throughput).sum();
        (!self.0.is_empty()).then(|| self.0.len() as f64 / inverse)
    }
}

impl VideoRule {
    /// Return the version of the next segment.
    pub(super) fn choose(self, video: &Video, observed: &Observed<'_>) -> usize {
        let rates: Vec<f64> = video.ladder.iter().map(|rate| rate.bits_per_sec() as f64).collect();
        match self {
            VideoRule::Throughput => by_throughput(&rates, observed.throughputs),
            VideoRule::BufferBased => {
                let highest = video.buffer / video.segment - 1.0;
                let filled = observed.buffer / video.segment / highest;
                by_buffer(&rates, observed.before.unwrap_or(0), filled)
            }
            VideoRule::Bola => bola(&rates, observed.buffer / video.segment, video.buffer / video.segment),
        }
    }
}

fn by_throughput(rates: &[f64], throughputs: &Throughputs) -> usize {
    let Some(throughput) = throughputs.harmonic_mean() else { return 0 };
    rates.iter().rposition(|&rate| rate <= throughput).unwrap_or(0)
}

/// The reservoir of Huang et al. 2014, and the level of the highest rate, as shares of the buffer.
const RESERVOIR: f64 = 90.0 / 240.0;
const UPPER: f64 = 216.0 / 240.0;

/// Algorithm 1: keep the rate until the map from buffer to rate crosses the next higher or lower one.
fn by_buffer(rates: &[f64], before: usize, filled: f64) -> usize {
    let highest = rates.len() - 1;
    let (higher, lower) = ((before + 1).min(highest), before.saturating_sub(1));
    if filled <= RESERVOIR {
        return 0;
    }
    if filled >= UPPER {
        return highest;
    }
    // f(B): linear from the lowest to the highest rate.
    let mapped = rates[0] + (rates[highest] - rates[0]) * (filled - RESERVOIR) / (UPPER - RESERVOIR);
    if mapped >= rates[higher] {
        rates.iter().rposition(|&rate| rate < mapped).unwrap_or(0)
    } else if mapped <= rates[lower] {
        rates.iter().position(|&rate| rate > mapped).unwrap_or(highest)
    } else {
        before
    }
}

/// gamma p of the paper's evaluation.
const GAMMA_P: f64 = 5.0;

/// The version that maximizes (V (utility + gamma p) - Q) / S, with the buffer's level and size in segments.
fn bola(rates: &[f64], level: f64, size: f64) -> usize {
    let utility = |rate: f64| libm::log(rate / rates[0]);
    // V = (Qmax - 1) / (utility of the highest + gamma p): the buffer never exceeds Qmax.
    let v = (size - 1.0) / (utility(rates[rates.len() - 1]) + GAMMA_P);
    let score = |rate: f64| (v * (utility(rate) + GAMMA_P) - level) / rate;
    let mut best = 0;
    for rung in 1..rates.len() {
        // Of equal scores, the higher rate.
        if score(rates[rung]) >= score(rates[best]) {
            best = rung;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATES: [f64; 5] = [1e6, 2e6, 3e6, 5e6, 9e6];

    #[test]
    fn throughput_is_the_harmonic_mean_of_five_segments() {
        let mut throughputs = Throughputs::default();
        assert_eq!(by_throughput(&RATES, &throughputs), 0);
        // 100 Mbit/s is forgotten; 2 of 6 and 3 of 3 Mbit/s have a harmonic mean of 5 / (2 / 6 + 3 / 3) = 3.75.
        for (megabits, seconds) in [(100, 1), (6, 1), (6, 1), (3, 1), (6, 2), (3, 1)] {
            throughputs.add(Bytes::new(megabits * 125_000), Duration::from_secs(seconds));
        }
        assert!((throughputs.harmonic_mean().expect("segments") - 3.75e6).abs() < 1e-3);
        assert_eq!(by_throughput(&RATES, &throughputs), 2);
    }

    #[test]
    fn bba_keeps_its_rate_between_its_neighbours() {
        // 40 % of the cushion is 4.2 Mbit/s: from 1 and 2 up to the highest below, from 9 down to the lowest above.
        let level = RESERVOIR + 0.4 * (UPPER - RESERVOIR);
        assert_eq!([0, 1, 2, 3, 4].map(|before| by_buffer(&RATES, before, level)), [2, 2, 2, 3, 3]);
        assert_eq!((by_buffer(&RATES, 4, RESERVOIR), by_buffer(&RATES, 0, UPPER)), (0, 4));
    }

    #[test]
    fn bola_rises_through_all_versions_as_the_buffer_fills() {
        let chosen: Vec<usize> =
            (0..=1000).map(|level| bola(&RATES, 9e-3 * f64::from(level), 10.0)).collect();
        assert!(chosen.is_sorted() && chosen[0] == 0 && chosen[1000] == 4);
        assert!((0..5).all(|rung| chosen.contains(&rung)));
    }

    proptest! {
        #[test]
        fn bola_changes_version_where_two_scores_are_equal(low in 0..4usize, size in 3.0..40.0) {
            // The level at which neighbours m and n are equal, (S_n V(u_m + gp) - S_m V(u_n + gp)) / (S_n - S_m).
            let utility = |rate: f64| libm::log(rate / RATES[0]) + GAMMA_P;
            let v = (size - 1.0) / utility(RATES[4]);
            let (m, n) = (RATES[low], RATES[low + 1]);
            let equal = v * (n * utility(m) - m * utility(n)) / (n - m);
            prop_assert!(bola(&RATES, equal - 1e-6, size) <= low || bola(&RATES, equal - 1e-6, size) > low + 1);
            prop_assert!(bola(&RATES, equal + 1e-6, size) > low);
        }
    }
}
