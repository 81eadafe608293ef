//! The instants at which a given number of things begin, one after another without keeping them all.

use aqmlab_units::{Duration, Stream, Time};

use super::variates::exponential;

/// `n` independent instants in order of time.
///
/// The smallest of k independent uniform numbers from the rest of an interval leaves a share (1 - u)^(1/k) of it, and
/// the smallest of k exponential ones is exponential with a k-th of the mean.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    stream: Stream,
    law: Law,
    from: Time,
    left: u32,
    /// Seconds since `from` of the last one.
    seconds: f64,
}

#[derive(Clone, Copy, Debug)]
enum Law {
    /// Uniform over this number of seconds.
    Uniform(f64),
    /// With this mean, in seconds.
    Exponential(f64),
}

impl Starts {
    /// Uniform over `spread` from `from`.
    pub(crate) fn uniform(n: u32, from: Duration, spread: Duration, stream: Stream) -> Starts {
        Starts {
            stream,
            law: Law::Uniform(spread.as_secs_f64()),
            from: Time::ZERO + from,
            left: n,
            seconds: 0.0,
        }
    }

    /// Exponential of this mean.
    pub(crate) fn exponential(n: u32, from: Duration, mean: Duration, stream: Stream) -> Starts {
        Starts {
            stream,
            law: Law::Exponential(mean.as_secs_f64()),
            from: Time::ZERO + from,
            left: n,
            seconds: 0.0,
        }
    }

    pub(crate) fn next(&mut self) -> Option<Time> {
        let still = f64::from(self.left);
        self.left = self.left.checked_sub(1)?;
        // Exp(1) / k is -ln of the share that is left.
        let step = exponential(&mut self.stream) / still;
        self.seconds = match self.law {
            Law::Uniform(spread) => spread - (spread - self.seconds) * libm::exp(-step),
            Law::Exponential(mean) => self.seconds + mean * step,
        };
        Some(self.from + Duration::from_secs_f64(self.seconds))
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{LN_2, LN_10};

    use super::*;

    fn all(mut starts: Starts) -> Vec<f64> {
        std::iter::from_fn(|| starts.next()).map(Time::as_secs_f64).collect()
    }

    #[test]
    fn uniform_starts_come_in_order_and_fill_their_interval_evenly() {
        let from = Duration::from_secs(2);
        let starts = all(Starts::uniform(10_000, from, Duration::from_secs(10), Stream::named(1, "test")));
        assert_eq!(starts.len(), 10_000);
        assert!(starts.is_sorted() && starts[0] >= 2.0 && starts[9_999] <= 12.0);
        for i in 0..10_000_u32 {
            // The order statistics' standard deviation is at most 10 / 2 / sqrt(n).
            let expected = 2.0 + 10.0 * f64::from(i) / 1e4;
            assert!((starts[i as usize] - expected).abs() < 0.2, "{i}: {}", starts[i as usize]);
        }
    }

    #[test]
    fn exponential_starts_have_the_quantiles_of_their_distribution() {
        let mean = Duration::from_secs(30);
        let starts = all(Starts::exponential(10_000, Duration::ZERO, mean, Stream::named(1, "test")));
        assert!(starts.is_sorted());
        for (place, quantile) in [(5_000, LN_2), (9_000, LN_10)] {
            let drawn = starts[place] / 30.0;
            assert!((drawn - quantile).abs() < 0.12, "4 standard errors: {drawn} for {quantile}");
        }
    }

    #[test]
    fn no_spread_is_one_instant() {
        let one = Starts::uniform(3, Duration::from_secs(1), Duration::ZERO, Stream::named(1, "test"));
        assert_eq!(all(one), [1.0; 3]);
    }
}
