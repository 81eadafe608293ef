//! By throughput: the harmonic mean of the last segments (Yin et al. 2015).

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration};

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

    /// The highest rate up to the harmonic mean.
    pub(super) fn choose(&self, rates: &[f64]) -> usize {
        let inverse: f64 = self.0.iter().map(|throughput| 1.0 / throughput).sum();
        let mean = self.0.len() as f64 / inverse;
        rates.iter().rposition(|&rate| rate <= mean).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_the_harmonic_mean_of_five_segments() {
        let mut throughputs = Throughputs::default();
        // 100 Mbit/s is forgotten; 2 of 6 and 3 of 3 Mbit/s have a harmonic mean of 5 / (2 / 6 + 3 / 3) = 3.75.
        for (megabits, seconds) in [(100, 1), (6, 1), (6, 1), (3, 1), (6, 2), (3, 1)] {
            throughputs.add(Bytes::new(megabits * 125_000), Duration::from_secs(seconds));
        }
        assert_eq!(throughputs.choose(&[1e6, 3.749e6, 3.751e6]), 1);
        assert_eq!(throughputs.choose(&[4e6, 5e6]), 0);
    }
}
