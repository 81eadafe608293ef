//! Policer: a token bucket without a queue. A packet without tokens is dropped on arrival, before the link's queue.
//!
//! Source: Linux, tc-police(8): `rate` and `burst`, `peakrate` and `mtu`, conform-exceed drop.

use aqmlab_aqm::LinkContext;
use aqmlab_units::range::from;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Time, ranges};
use serde::{Deserialize, Serialize};

use super::bucket::{Bucket, BucketSpec, MOST_BURST, Pair, gigabit};
use super::{BoxedCapacity, Capacity, CapacityKind, Streams};
use crate::link::Transmitter;
use crate::spec::{RATES, SpecError};

/// A token bucket that drops what it has no tokens for, before the queue, as `police` of Linux. The link's discipline knows
/// the rate of the line, which empties its queue; loads and utilization refer to the rate of the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Policer", transform = with_ranges::<PolicerSpec>))]
#[serde(deny_unknown_fields)]
pub struct PolicerSpec {
    /// The rate at which frames pass in the long run, their overhead included.
    pub rate: BitRate,
    /// The bytes that pass at once after a pause.
    pub burst: Bytes,
    /// A second bucket, which bounds the rate of a burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<BucketSpec>,
    /// The rate of the line behind the policer. The default is Gigabit Ethernet.
    #[serde(default = "gigabit")]
    pub line: BitRate,
}

ranges! {
    PolicerSpec { rate: RATES, burst: from(Bytes::new(1)).up_to(MOST_BURST), line: RATES }
}

impl PolicerSpec {
    fn pair(&self) -> Pair {
        let PolicerSpec { rate, burst, peak, line } = *self;
        Pair { bucket: BucketSpec { rate, burst }, peak, line }
    }
}

impl CapacityKind for PolicerSpec {
    fn rate(&self) -> BitRate {
        self.rate
    }

    fn drain_rate(&self) -> BitRate {
        self.line
    }

    fn polices(&self) -> bool {
        true
    }

    fn check(&self, frame: Bytes) -> Result<(), SpecError> {
        self.pair().check(frame)
    }

    fn capacity(&self, link: &LinkContext, _streams: &Streams) -> BoxedCapacity {
        Box::new(Policer {
            buckets: self.pair().buckets(),
            overhead: link.overhead,
            line: Transmitter::new(self.line, link.overhead),
        })
    }
}

/// A policer and the line behind it.
#[derive(Debug)]
struct Policer {
    buckets: Vec<Bucket>,
    overhead: Bytes,
    line: Transmitter,
}

impl Capacity for Policer {
    fn admit(&mut self, size: Bytes, now: Time) -> bool {
        let frame = size + self.overhead;
        let conforms = self.buckets.iter().all(|bucket| bucket.earliest(frame, now) == now);
        if conforms {
            self.buckets.iter_mut().for_each(|bucket| bucket.take(frame, now));
        }
        conforms
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        self.line.send(size, now)
    }
}
