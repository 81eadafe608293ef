//! Token buckets, as of token bucket filters and policers: bytes that arrive at a rate, and the most that are saved.
//!
//! Source: Linux, `net/sched/sch_tbf.c`: tokens are times to send bytes at the rate, rounded down to nanoseconds.

use aqmlab_units::range::from;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use crate::spec::{RATES, SpecError};

/// A token bucket. It starts full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Bucket", transform = with_ranges::<BucketSpec>))]
#[serde(deny_unknown_fields)]
pub struct BucketSpec {
    /// The rate at which bytes of frames on the wire may be sent in the long run.
    pub rate: BitRate,
    /// The bytes that may be sent at once after a pause; a frame at least.
    pub burst: Bytes,
}

ranges! {
    BucketSpec { rate: RATES, burst: from(Bytes::new(1)).up_to(MOST_BURST) }
}

/// Some seconds of the fastest link.
pub(super) const MOST_BURST: Bytes = Bytes::new(1_000_000_000_000);

/// The line behind a bucket where a spec gives none: Gigabit Ethernet.
pub(super) fn gigabit() -> BitRate {
    BitRate::from_mbit_per_sec(1_000)
}

/// The values of a pair of buckets before a line, checked together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) bucket: BucketSpec,
    pub(super) peak: Option<BucketSpec>,
    pub(super) line: BitRate,
}

impl Pair {
    /// Checks that a frame passes, and that each value has an effect.
    pub(super) fn check(&self, frame: Bytes) -> Result<(), SpecError> {
        let fault = |path: &str, message| Err(SpecError { path: path.to_owned(), message });
        let Pair { bucket, peak, line } = *self;
        if bucket.burst < frame {
            let message = format!("must be at least the longest frame, {frame}, got {}", bucket.burst);
            return fault("burst", message);
        }
        if line < bucket.rate {
            return fault("line", format!("must be at least rate = {}, got {line}", bucket.rate));
        }
        let Some(peak) = peak else { return Ok(()) };
        if peak.burst < frame {
            let message = format!("must be at least the longest frame, {frame}, got {}", peak.burst);
            return fault("peak.burst", message);
        }
        if peak.rate <= bucket.rate || line <= peak.rate {
            let message =
                format!("must be above rate = {} and below line = {line}, got {}", bucket.rate, peak.rate);
            return fault("peak.rate", message);
        }
        Ok(())
    }

    /// Returns the buckets, full.
    pub(super) fn buckets(&self) -> Vec<Bucket> {
        std::iter::once(self.bucket).chain(self.peak).map(Bucket::new).collect()
    }
}

/// The state of a token bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Nanoseconds per byte in units of 2^-20 ns.
    ns_per_byte: u64,
    /// The time to fill it.
    depth: Duration,
    /// The time at which it is full again.
    full_at: Time,
}

impl Bucket {
    #[expect(clippy::cast_possible_truncation, reason = "the time to fill a bucket fits in 64 bits")]
    pub(super) fn new(spec: BucketSpec) -> Bucket {
        let ns_per_byte = spec.rate.ns_per_byte();
        let depth = (u128::from(spec.burst.get()) * u128::from(ns_per_byte)) >> 20;
        Bucket { ns_per_byte, depth: Duration::from_nanos(depth as u64), full_at: Time::ZERO }
    }

    fn cost(&self, size: Bytes) -> Duration {
        Duration::from_nanos((size.get() * self.ns_per_byte) >> 20)
    }

    /// Returns the first time from `now` on at which it has tokens for `size` bytes.
    pub(super) fn earliest(&self, size: Bytes, now: Time) -> Time {
        // Tokens at t are depth - (full_at - t), which must be at least the cost.
        let enough = (self.full_at + self.cost(size)).as_nanos().saturating_sub(self.depth.as_nanos());
        now.max(Time::from_nanos(enough))
    }

    /// Returns the bytes that it has tokens for at `now`.
    pub(super) fn tokens(&self, now: Time) -> u64 {
        let missing = self.full_at.saturating_since(now);
        (self.depth.as_nanos().saturating_sub(missing.as_nanos()) << 20) / self.ns_per_byte
    }

    /// Takes the tokens for `size` bytes at `now`.
    pub(super) fn take(&mut self, size: Bytes, now: Time) {
        self.full_at = self.full_at.max(now) + self.cost(size);
    }
}
