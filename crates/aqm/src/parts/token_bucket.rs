//! A token bucket: a rate and a burst.

use aqmlab_units::Time;

/// Tokens that arrive at a steady rate; each lets one packet pass.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    /// Tokens a second.
    rate: f64,
    /// The maximum number of tokens.
    burst: f64,
    tokens: f64,
    filled_at: Time,
}

impl TokenBucket {
    /// Return a full bucket.
    pub(crate) fn new(rate: f64, burst: f64) -> TokenBucket {
        TokenBucket { rate, burst, tokens: burst, filled_at: Time::ZERO }
    }

    /// Take a token at `now`. Returns false if there is none.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        let added = self.rate * (now - self.filled_at).as_secs_f64();
        self.filled_at = now;
        self.tokens = (self.tokens + added).min(self.burst);
        let has_token = self.tokens >= 1.0;
        if has_token {
            self.tokens -= 1.0;
        }
        has_token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_at_once_and_then_packets_at_the_rate() {
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
    fn no_more_tokens_are_kept_than_the_burst() {
        let mut bucket = TokenBucket::new(10.0, 5.0);
        let late = Time::from_secs_f64(1e6);
        assert_eq!((0..100).filter(|_| bucket.take(late)).count(), 5);
        let mut none = TokenBucket::new(10.0, 0.0);
        assert!(!none.take(late), "a bucket without room never has a token");
    }
}
