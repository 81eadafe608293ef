//! By utility and buffer: BOLA-BASIC and BOLA-O (Spiteri, Urgaonkar and Sitaraman 2016).

use super::estimate::Estimate;
use super::{Choice, Observed};

/// gamma p of the paper's evaluation.
const GAMMA_P: f64 = 5.0;

/// BOLA-BASIC: the version that maximizes (V (utility + gamma p) - Q) / S, with the buffer's level and size in segments.
pub(super) fn choose(rates: &[f64], level: f64, size: f64) -> usize {
    let v = parameter_v(rates, size);
    let score = |rate: f64| (full_level(rates, v, rate) - level) / rate;
    let mut best = 0;
    for rung in 1..rates.len() {
        // Of equal scores, the higher rate.
        if score(rates[rung]) >= score(rates[best]) {
            best = rung;
        }
    }
    best
}

/// V = (Qmax - 1) / (utility of the highest + gamma p): the buffer never exceeds Qmax.
fn parameter_v(rates: &[f64], size: f64) -> f64 {
    (size - 1.0) / (utility(rates, rates[rates.len() - 1]) + GAMMA_P)
}

fn utility(rates: &[f64], rate: f64) -> f64 {
    libm::log(rate / rates[0])
}

/// The level from which on no segment of this rate is worth its download, V (utility + gamma p).
fn full_level(rates: &[f64], v: f64, rate: f64) -> f64 {
    v * (utility(rates, rate) + GAMMA_P)
}

/// BOLA-O: BOLA without oscillations.
#[derive(Clone, Debug, Default)]
pub(super) struct BolaO {
    /// The last choice.
    rung: usize,
}

impl BolaO {
    /// Rise at most to the rate that the estimate sustains; pause until the buffer has the level that suits it.
    pub(super) fn choose(&mut self, observed: &Observed, estimate: &Estimate) -> Choice {
        let rates = &observed.rates;
        let (level, size) = (observed.level / observed.segment, observed.size / observed.segment);
        let wanted = choose(rates, level, size);
        let mut choice = Choice::at_once(wanted);
        if wanted > self.rung {
            let sustained = estimate.sustained(observed, 1.0);
            if wanted > sustained && self.rung > sustained {
                choice.rung = self.rung;
            } else if wanted > sustained {
                choice.rung = sustained;
                let full = full_level(rates, parameter_v(rates, size), rates[sustained]);
                choice.pause = ((level - full) * observed.segment).max(0.0);
            }
        }
        self.rung = choice.rung;
        choice
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATES: [f64; 5] = [1e6, 2e6, 3e6, 5e6, 9e6];

    #[test]
    fn bola_rises_through_all_versions_as_the_buffer_fills() {
        let chosen: Vec<usize> =
            (0..=1000).map(|level| choose(&RATES, 9e-3 * f64::from(level), 10.0)).collect();
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
            prop_assert!(choose(&RATES, equal - 1e-6, size) <= low || choose(&RATES, equal - 1e-6, size) > low + 1);
            prop_assert!(choose(&RATES, equal + 1e-6, size) > low);
        }
    }
}
