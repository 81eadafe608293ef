//! The buckets of a cable modem's shaper, as its law knows them: tokens of the sustained rate, and the peak rate.
//!
//! Source: RFC 8034, section 4.2 and appendix A.2.

use aqmlab_units::{BitRate, Bytes, Time};

/// The bucket of the Maximum Sustained Traffic Rate, and the rate at which it can be emptied.
#[derive(Clone, Debug)]
pub(crate) struct MsrBucket {
    /// Bytes a second.
    msr: f64,
    peak_rate: f64,
    /// The most tokens, in bytes.
    burst: f64,
    /// Below zero while a packet that has left the queue waits for its tokens.
    tokens: f64,
    filled_at: Time,
}

impl MsrBucket {
    /// Return a full bucket.
    pub(crate) fn new(msr: BitRate, peak_rate: BitRate, burst: Bytes) -> MsrBucket {
        let bytes_per_sec = |rate: BitRate| rate.bits_per_sec() as f64 / 8.0;
        MsrBucket {
            msr: bytes_per_sec(msr),
            peak_rate: bytes_per_sec(peak_rate),
            burst: burst.as_f64(),
            tokens: burst.as_f64(),
            filled_at: Time::ZERO,
        }
    }

    fn tokens_at(&self, now: Time) -> f64 {
        let added = self.msr * now.saturating_since(self.filled_at).as_secs_f64();
        (self.tokens + added).min(self.burst)
    }

    /// Take the tokens of a packet of `size` bytes on the wire, which leaves the queue.
    pub(crate) fn take(&mut self, size: f64, now: Time) {
        self.tokens = self.tokens_at(now) - size;
        self.filled_at = now;
    }

    /// Return the time in which `byte_length` bytes leave, in seconds.
    pub(crate) fn delay(&self, byte_length: f64, now: Time) -> f64 {
        let msrtokens = self.tokens_at(now).max(0.0);
        if byte_length <= msrtokens {
            return byte_length / self.peak_rate;
        }
        (byte_length - msrtokens) / self.msr + msrtokens / self.peak_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_leaves_at_the_peak_rate_while_there_are_tokens() {
        let rate = |mbit| BitRate::from_mbit_per_sec(mbit);
        let mut bucket = MsrBucket::new(rate(8), rate(80), Bytes::new(30_000));
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let takes_ms = |bucket: &MsrBucket, bytes: f64, ms, expected: f64| {
            (bucket.delay(bytes, at(ms)) * 1e3 - expected).abs() < 1e-3
        };
        assert!(takes_ms(&bucket, 30_000.0, 0, 3.0));
        assert!(takes_ms(&bucket, 40_000.0, 0, 13.0), "10,000 B without tokens take 10 ms");
        bucket.take(29_000.0, at(1));
        assert!(takes_ms(&bucket, 4_000.0, 1, 3.1), "1,000 tokens are left");
        assert!(takes_ms(&bucket, 4_000.0, 4, 0.4), "3,000 have come in 3 ms");
        bucket.take(5_500.0, at(4));
        assert!(takes_ms(&bucket, 1_000.0, 4, 1.0), "a packet waits for its tokens");
    }
}
