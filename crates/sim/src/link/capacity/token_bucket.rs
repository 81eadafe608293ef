//! Token bucket: a shaper above the line, with the link's discipline as its queue.
//!
//! Source: Linux, `net/sched/sch_tbf.c` and tc-tbf(8), with its overhead.
//!
//! ```text
//!   arrival -> [ discipline's queue ] -> one packet held until it has tokens -> line
//! ```
//!
//! Differs from the source: a packet longer than the burst is refused with the spec, not dropped.

use aqmlab_aqm::{LinkContext, Peak};
use aqmlab_units::range::from;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Time, ranges};
use serde::{Deserialize, Serialize};

use super::bucket::{Bucket, BucketSpec, MOST_BURST, Pair, gigabit};
use super::{BoxedCapacity, Capacity, CapacityKind, Streams};
use crate::link::Transmitter;
use crate::spec::{RATES, SpecError};

/// A token bucket before the line, as `tbf` of Linux: in any time t at most burst + rate t bytes are sent. The link's
/// discipline is its queue, and knows the rate of the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TokenBucket", transform = with_ranges::<TokenBucketSpec>))]
#[serde(deny_unknown_fields)]
pub struct TokenBucketSpec {
    /// The rate at which frames are sent in the long run, their overhead included.
    pub rate: BitRate,
    /// The bytes that may be sent at once after a pause: `burst` of `tbf`.
    pub burst: Bytes,
    /// A second bucket, which bounds the rate of a burst: `peakrate` of `tbf`, and `mtu` of `tbf` as its burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<BucketSpec>,
    /// The rate of the line behind the bucket. The default is Gigabit Ethernet.
    #[serde(default = "gigabit")]
    pub line: BitRate,
}

ranges! {
    TokenBucketSpec { rate: RATES, burst: from(Bytes::new(1)).up_to(MOST_BURST), line: RATES }
}

impl TokenBucketSpec {
    fn pair(&self) -> Pair {
        let TokenBucketSpec { rate, burst, peak, line } = *self;
        Pair { bucket: BucketSpec { rate, burst }, peak, line }
    }
}

impl CapacityKind for TokenBucketSpec {
    fn rate(&self) -> BitRate {
        self.rate
    }

    fn peak(&self) -> Option<Peak> {
        Some(Peak { rate: self.peak.map_or(self.line, |peak| peak.rate), burst: self.burst })
    }

    fn fastest(&self) -> BitRate {
        self.line
    }

    fn check(&self, frame: Bytes) -> Result<(), SpecError> {
        self.pair().check(frame)
    }

    fn capacity(&self, link: &LinkContext, _streams: &Streams) -> BoxedCapacity {
        Box::new(TokenBucket {
            buckets: self.pair().buckets(),
            overhead: link.overhead,
            line: Transmitter::new(self.line, link.overhead),
            released: Time::ZERO,
        })
    }
}

/// A shaper and the line behind it.
#[derive(Debug)]
struct TokenBucket {
    buckets: Vec<Bucket>,
    overhead: Bytes,
    line: Transmitter,
    /// The time at which the last packet has passed the buckets.
    released: Time,
}

impl Capacity for TokenBucket {
    /// One packet is held at a time: the next one is asked for when that has passed.
    fn ready(&self) -> Option<Time> {
        Some(self.released)
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let frame = size + self.overhead;
        self.released = self.buckets.iter().fold(now, |at, bucket| bucket.earliest(frame, at));
        for bucket in &mut self.buckets {
            bucket.take(frame, self.released);
        }
        self.line.send(size, self.released)
    }
}
