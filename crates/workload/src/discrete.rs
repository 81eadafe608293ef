//! A distribution over a few whole numbers.

use aqmlab_units::Stream;

use crate::DiscreteConfig;

/// Draws by searching the cumulative probabilities.
#[derive(Clone, Debug)]
pub(crate) struct Discrete {
    min: u8,
    /// P(X <= min + i); the last is above 1, so that rounding loses no draw.
    cumulative: Vec<f64>,
}

impl Discrete {
    /// From a checked configuration.
    pub(crate) fn new(config: &DiscreteConfig) -> Discrete {
        let mut cumulative: Vec<f64> = config
            .probabilities
            .iter()
            .scan(0.0, |sum, p| {
                *sum += p;
                Some(*sum)
            })
            .collect();
        if let Some(last) = cumulative.last_mut() {
            *last = f64::INFINITY;
        }
        Discrete { min: config.min, cumulative }
    }

    /// A draw.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a checked table ends at 255 or below")]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u8 {
        let u = stream.uniform();
        self.min + self.cumulative.partition_point(|&sum| sum <= u) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_with_their_probabilities_and_none_else() {
        let discrete = Discrete::new(&DiscreteConfig { min: 2, probabilities: vec![0.5, 0.0, 0.5] });
        let mut stream = Stream::named(1, "test");
        let mut counts = [0u32; 8];
        for _ in 0..10_000 {
            counts[usize::from(discrete.draw(&mut stream))] += 1;
        }
        assert_eq!(counts[2] + counts[4], 10_000);
        assert!(counts[2].abs_diff(5_000) < 200, "4 standard deviations, got {}", counts[2]);
    }
}
