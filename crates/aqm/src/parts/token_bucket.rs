//! A token bucket: a rate in packets per second, and a burst.

use aqmlab_units::Time;

/// Tokens that arrive at a steady rate; each passes one packet.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    /// Tokens a second.
    rate: f64,
    /// The most that are kept.
    burst: f64,
    tokens: f64,
    filled_at: Time,
}

impl TokenBucket {
    /// A full bucket.
    pub(crate) fn new(rate: f64, burst: f64) -> TokenBucket {
        TokenBucket { rate, burst, tokens: burst, filled_at: Time::ZERO }
    }

    /// Take a token, if there is one at `now`.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        let came = self.rate * (now - self.filled_at).as_secs_f64();
        self.filled_at = now;
        self.tokens = (self.tokens + came).min(self.burst);
        let one = self.tokens >= 1.0;
        if one {
            self.tokens -= 1.0;
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_at_once_and_then_what_the_rate_allows() {
        let mut bucket = TokenBucket::new(10.0, 5.0);
        // A hundred packets in each of ten seconds.
        let passed: Vec<usize> = (0_u64..10)
            .map(|second| {
                (0..100)
                    .filter(|step| bucket.take(Time::from_nanos(second * 1_000_000_000 + step * 10_000_000)))
                    .count()
            })
            .collect();
        assert_eq!(
            passed.iter().sum::<usize>(),
            5 + 99,
            "five at once, and ten a second for 9.99 s: {passed:?}"
        );
    }

    #[test]
    fn no_more_is_kept_than_the_burst() {
        let mut bucket = TokenBucket::new(10.0, 5.0);
        let late = Time::from_secs_f64(1e6);
        assert_eq!((0..100).filter(|_| bucket.take(late)).count(), 5);
        let mut none = TokenBucket::new(10.0, 0.0);
        assert!(!none.take(late), "without room for a token none is ever there");
    }
}
