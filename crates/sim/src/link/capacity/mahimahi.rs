//! Mahimahi: delivery opportunities of a recorded trace, each of 1,504 bytes.
//!
//! Source: the README and the behaviour of Mahimahi's `mm-link` (Netravali et al., "Mahimahi: accurate record-and-replay for
//! HTTP", USENIX ATC 2015):
//!
//! * a line is the millisecond of an opportunity, and equal lines are several of them; after the last line the trace begins again;
//! * an opportunity has 1,504 bytes: see `opportunities.rs`.
//!
//! Without a device FIFO it is exact: the packet being sent has left the discipline's queue, at the opportunity of its first byte.

use aqmlab_aqm::LinkContext;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use super::opportunities::{Opportunities, Opportunity, Scheduler};
use super::{BoxedCapacity, CapacityKind, MOST_ROWS, Streams, rate_of};
use crate::spec::SpecError;

/// The bytes of an opportunity: an IP packet of 1,500 bytes and 4 bytes of Mahimahi's TUN header.
const OPPORTUNITY: Bytes = Bytes::new(1_504);

/// The span over which opportunities are averaged where they are drawn, and the most spans of a run. Ours.
const SPAN: Duration = Duration::from_millis(100);
const MOST_SPANS: u64 = 100_000;

/// Delivery opportunities of a trace of Mahimahi, each of 1,504 bytes, over and over. Mahimahi counts 4 bytes for the header of
/// a packet: `link.overhead = "4 B"`. The link's discipline knows the mean rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Mahimahi", transform = with_ranges::<MahimahiSpec>))]
#[serde(deny_unknown_fields)]
pub struct MahimahiSpec {
    /// The milliseconds of the opportunities, in order of time, as the lines of the trace have them.
    pub opportunities: Vec<u32>,
}

ranges! {
    MahimahiSpec {}
}

impl MahimahiSpec {
    /// The time after which the trace begins again.
    fn period(&self) -> Duration {
        ms(*self.opportunities.last().expect("a trace has an opportunity"))
    }

    /// Returns the number of opportunities up to `time`, included.
    fn opportunities_until(&self, time: Time) -> f64 {
        let (nanos, period) = (time.as_nanos(), self.period().as_nanos());
        let rest = Duration::from_nanos(nanos % period);
        let begun = self.opportunities.partition_point(|&at| ms(at) <= rest);
        (nanos / period) as f64 * self.opportunities.len() as f64 + begun as f64
    }
}

fn ms(count: u32) -> Duration {
    Duration::from_millis(count.into())
}

impl CapacityKind for MahimahiSpec {
    fn rate(&self) -> BitRate {
        let bits = 8.0 * OPPORTUNITY.as_f64() * self.opportunities.len() as f64;
        rate_of(bits / self.period().as_secs_f64())
    }

    /// The rate of the millisecond with most opportunities.
    fn fastest(&self) -> BitRate {
        let at_once = self.opportunities.chunk_by(|one, next| one == next).map(<[u32]>::len).max();
        rate_of(8e3 * OPPORTUNITY.as_f64() * at_once.expect("a trace has an opportunity") as f64).max(self.rate())
    }

    fn bits_between(&self, start: Time, end: Time, _streams: &Streams) -> f64 {
        8.0 * OPPORTUNITY.as_f64() * (self.opportunities_until(end) - self.opportunities_until(start))
    }

    /// The mean rates of equal spans: a drawing shows no single opportunity.
    fn drain_rates(&self, until: Time, streams: &Streams) -> Vec<(Time, f64)> {
        let span = SPAN.as_nanos().max(until.as_nanos() / MOST_SPANS);
        let starts = (0..).map(|number| Time::from_nanos(number * span)).take_while(|&start| start < until);
        let rate = |start| {
            let span = Duration::from_nanos(span);
            (start, self.bits_between(start, start + span, streams) / span.as_secs_f64())
        };
        starts.map(rate).collect()
    }

    fn check(&self, frame: Bytes) -> Result<(), SpecError> {
        let fault = |path: String, message| Err(SpecError { path, message });
        let lines = &self.opportunities;
        if lines.is_empty() || lines.len() > MOST_ROWS {
            let message = format!("must have 1 to {MOST_ROWS} opportunities, got {}", lines.len());
            return fault("opportunities".to_owned(), message);
        }
        if let Some(number) = (1..lines.len()).find(|&number| lines[number] < lines[number - 1]) {
            let message = format!("must be at least {}, got {}", lines[number - 1], lines[number]);
            return fault(format!("opportunities[{number}]"), message);
        }
        if lines.last() == Some(&0) {
            return fault(format!("opportunities[{}]", lines.len() - 1), "must be above 0, got 0".into());
        }
        if frame > OPPORTUNITY {
            let message = format!(
                "needs link.mtu and link.overhead of {OPPORTUNITY} together, as 1500 B and 4 B, got {frame}"
            );
            return fault("opportunities".to_owned(), message);
        }
        Ok(())
    }

    fn capacity(&self, link: &LinkContext, _streams: &Streams) -> BoxedCapacity {
        let trace = Mahimahi { trace: self.clone(), base: Time::ZERO, next: 0 };
        Box::new(Opportunities::new(trace, link.overhead))
    }
}

/// A trace that is replayed.
#[derive(Debug)]
struct Mahimahi {
    trace: MahimahiSpec,
    /// The time at which the trace has begun, again or for the first time.
    base: Time,
    /// The index of the next opportunity.
    next: usize,
}

impl Scheduler for Mahimahi {
    fn next(&mut self) -> Opportunity {
        let at = self.base + ms(self.trace.opportunities[self.next]);
        self.next += 1;
        if self.next == self.trace.opportunities.len() {
            self.next = 0;
            self.base += self.trace.period();
        }
        Opportunity { at, bytes: OPPORTUNITY }
    }

    fn skip_before(&mut self, time: Time) {
        if self.base + ms(self.trace.opportunities[self.next]) >= time {
            return;
        }
        // Periods whose last opportunity is before `time`.
        let (since, period) = ((time - self.base).as_nanos(), self.trace.period().as_nanos());
        self.base += Duration::from_nanos((since - 1) / period * period);
        let since = time - self.base;
        self.next = self.trace.opportunities.partition_point(|&at| ms(at) < since);
    }
}
