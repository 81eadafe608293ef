//! Two rules of dash.js: THROUGHPUT and DYNAMIC (Spiteri, Sitaraman and Sparacio 2018).

use super::estimate::Estimate;
use super::{Choice, Observed};

/// The share of the estimated throughput that may be used.
const SAFETY: f64 = 0.9;

/// The share of the buffer that a download may take: at first, when it also falls by this factor each time, and at least.
const FIRST_SHARE: f64 = 0.9;
const LEAST_SHARE: f64 = 0.5;

/// The buffer from which on DYNAMIC may follow BOLA, in seconds.
const LOW_BUFFER: f64 = 10.0;

/// THROUGHPUT, with the rule against too small a buffer.
#[derive(Clone, Debug)]
pub(super) struct SafeThroughput {
    share: f64,
}

impl Default for SafeThroughput {
    fn default() -> SafeThroughput {
        SafeThroughput { share: FIRST_SHARE }
    }
}

impl SafeThroughput {
    pub(super) fn choose(&mut self, observed: &Observed, estimate: &Estimate) -> Choice {
        let sustained = estimate.sustained(observed, SAFETY);
        // Bits that come before a share of the buffer has been played.
        let safe = self.share * (observed.level - estimate.latency()) * estimate.throughput();
        self.share = (self.share * FIRST_SHARE).max(LEAST_SHARE);
        let too_large = |&rung: &usize| observed.rates[rung + 1] * observed.segment > safe;
        Choice::at_once((0..sustained).find(too_large).unwrap_or(sustained))
    }
}

/// DYNAMIC: which of two rules is followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Dynamic {
    follows_bola: bool,
}

impl Dynamic {
    pub(super) fn choose(&mut self, level: f64, bola: Choice, throughput: Choice) -> Choice {
        if self.follows_bola {
            self.follows_bola = level >= LOW_BUFFER || bola.rung >= throughput.rung;
        } else {
            self.follows_bola = level > LOW_BUFFER && bola.rung >= throughput.rung;
        }
        if self.follows_bola { bola } else { throughput }
    }
}
