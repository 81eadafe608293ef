//! PON: the upstream of a passive optical network, whose head end grants each home a burst at regular intervals.
//!
//! Source: Leligou, Linardakis, Kanonakis, Angelopoulos and Orphanoudakis, "Efficient medium arbitration of FSAN-compliant
//! GPONs", 2006 (GIANT): assured bandwidth is a number of bytes in each service interval, which is a multiple of the frame of
//! 125 us (ITU-T G.984.3).
//!
//! The bytes of a grant leave at its instant. Packets are fragmented between grants, as GEM does; what a grant has left is lost,
//! since it is reserved for this home.

use aqmlab_aqm::LinkContext;
use aqmlab_units::range::from;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use super::opportunities::{Opportunities, Opportunity, Scheduler};
use super::{BoxedCapacity, CapacityKind, Streams};
use crate::spec::{RATES, SpecError};

/// The upstream of a passive optical network: the head end grants the same number of bytes at regular intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Pon", transform = with_ranges::<PonSpec>))]
#[serde(deny_unknown_fields)]
pub struct PonSpec {
    /// The assured rate of this home.
    pub rate: BitRate,
    /// The time from one grant to the next, a multiple of 125 us.
    #[serde(default = "default_interval")]
    pub interval: Duration,
}

/// The frame of the upstream (ITU-T G.984.3).
const FRAME: Duration = Duration::from_micros(125);

ranges! {
    PonSpec {
        rate: RATES,
        interval: from(FRAME).up_to(Duration::from_millis(100)),
    }
}

/// Ours: eight frames.
fn default_interval() -> Duration {
    FRAME * 8
}

impl PonSpec {
    /// Returns the bytes of the first `grants` grants.
    #[expect(clippy::cast_possible_truncation, reason = "the bytes of a run fit in 64 bits")]
    fn granted(&self, grants: u64) -> u64 {
        let nanos = u128::from(self.interval.as_nanos()) * u128::from(grants);
        (u128::from(self.rate.bits_per_sec()) * nanos / 8_000_000_000) as u64
    }

    /// Returns the bytes of the grants up to `time`, included.
    fn granted_until(&self, time: Time) -> u64 {
        self.granted(time.as_nanos() / self.interval.as_nanos())
    }
}

impl CapacityKind for PonSpec {
    fn rate(&self) -> BitRate {
        self.rate
    }

    fn bits_between(&self, start: Time, end: Time, _streams: &Streams) -> f64 {
        8.0 * (self.granted_until(end) - self.granted_until(start)) as f64
    }

    fn check(&self, _frame: Bytes) -> Result<(), SpecError> {
        if self.interval.as_nanos().is_multiple_of(FRAME.as_nanos()) {
            return Ok(());
        }
        let message = format!("must be a multiple of {FRAME}, got {}", self.interval);
        Err(SpecError { path: "interval".to_owned(), message })
    }

    fn capacity(&self, link: &LinkContext, _streams: &Streams) -> BoxedCapacity {
        Box::new(Opportunities::new(Grants { pon: *self, number: 0 }, link.overhead))
    }
}

/// Grants at regular intervals.
#[derive(Debug)]
struct Grants {
    pon: PonSpec,
    /// The number of the last one; the first ends the first interval.
    number: u64,
}

impl Scheduler for Grants {
    fn next(&mut self) -> Opportunity {
        loop {
            let before = self.pon.granted(self.number);
            self.number += 1;
            let bytes = self.pon.granted(self.number) - before;
            // At a low rate some grants have no whole byte.
            if bytes > 0 {
                return Opportunity { at: Time::ZERO + self.pon.interval * self.number, bytes: Bytes::new(bytes) };
            }
        }
    }

    fn skip_before(&mut self, time: Time) {
        self.number = self.number.max(time.as_nanos().saturating_sub(1) / self.pon.interval.as_nanos());
    }
}
