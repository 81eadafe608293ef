//! Satellites in low orbit: the path, its delay and its rate change at once for all users, in intervals of 15 seconds.
//!
//! Source: Mohan et al., "A multifaceted look at Starlink performance", WWW 2024, for the intervals, which begin at seconds 12,
//! 27, 42 and 57 of each minute; Huston, "A transport protocol's view of Starlink", APNIC blog, May 2024, for the steps of the
//! delay and for the handover, which adds 30 to 50 ms and loses packets:
//!
//! ```text
//!   interval k:         rate (1 + spread u_k), delay + path v_k          u uniform in [-1, 1), v in [0, 1)
//!   its first handover: packets arrive as if they were sent at its end, or are lost with a probability
//! ```
//!
//! Both directions have the same intervals and draws.

use aqmlab_aqm::LinkContext;
use aqmlab_units::range::{above, from, up_to};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Range, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::path::{BoxedPath, Path, PathChanges, PathState};
use super::{BoxedCapacity, Capacity, CapacityKind, Streams, rate_of};
use crate::link::Transmitter;
use crate::spec::{RATES, SpecError};

/// A link over satellites in low orbit: in each interval of 15 s it has another path, with another delay and rate. The link's
/// discipline knows the mean rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Leo", transform = with_ranges::<LeoSpec>))]
#[serde(deny_unknown_fields)]
pub struct LeoSpec {
    /// The mean rate.
    pub rate: BitRate,
    /// The largest distance of an interval's rate from the mean, as a share of the mean.
    #[serde(default = "default_spread")]
    pub spread: f64,
    /// The largest additional delay of an interval's path, beyond `link.delay`.
    #[serde(default = "default_path")]
    pub path: Duration,
    /// The time at the beginning of an interval in which packets are held until its end.
    #[serde(default = "default_handover")]
    pub handover: Duration,
    /// The probability that a packet of a handover is lost.
    #[serde(default = "default_loss")]
    pub loss: f64,
    /// The time of the first change; the run starts at second 0 of a minute.
    #[serde(default = "default_offset")]
    pub offset: Duration,
    /// The time from one change to the next.
    #[serde(default = "default_every")]
    pub every: Duration,
}

const LONGEST: Duration = Duration::from_secs(1);
const SPREADS: Range<f64> = from(0.0).up_to(0.95);
const LOSSES: Range<f64> = from(0.0).up_to(1.0);

ranges! {
    LeoSpec {
        rate: RATES,
        spread: SPREADS,
        path: up_to(LONGEST),
        handover: up_to(LONGEST),
        loss: LOSSES,
        offset: up_to(Duration::from_secs(3_600)),
        every: above(Duration::ZERO).up_to(Duration::from_secs(3_600)),
    }
}

/// Ours.
fn default_spread() -> f64 {
    0.4
}

/// Ours: a change of the round trip by at most 20 ms.
fn default_path() -> Duration {
    Duration::from_millis(10)
}

/// Huston: a handover adds 30 to 50 ms.
fn default_handover() -> Duration {
    Duration::from_millis(40)
}

/// Ours: one packet in ten is lost, which the source does not quantify.
fn default_loss() -> f64 {
    0.1
}

/// Mohan et al.
fn default_offset() -> Duration {
    Duration::from_secs(12)
}

fn default_every() -> Duration {
    Duration::from_secs(15)
}

/// An interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Time,
    end: Time,
    rate: BitRate,
    /// The delay beyond the link's.
    path: Duration,
    /// The end of its handover.
    settled: Time,
}

impl LeoSpec {
    /// Returns the interval of `time`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay is bounded")]
    fn interval(&self, time: Time, key: u64) -> Interval {
        let first = Time::ZERO + self.offset;
        let number =
            if time < first { 0 } else { 1 + (time - first).as_nanos() / self.every.as_nanos() };
        let start = if number == 0 { Time::ZERO } else { first + self.every * (number - 1) };
        let mut stream = Stream::numbered(key, number);
        let share = 1.0 + self.spread * (2.0 * stream.uniform() - 1.0);
        let path = Duration::from_nanos((self.path.as_nanos() as f64 * stream.uniform()) as u64);
        Interval {
            start,
            end: first + self.every * number,
            rate: rate_of(self.rate.bits_per_sec() as f64 * share),
            path,
            // The run does not start with a handover.
            settled: if number == 0 { start } else { start + self.handover },
        }
    }

    fn key(streams: &Streams) -> u64 {
        streams.shared_key("leo")
    }

    /// Returns the intervals from `start` to `end`.
    fn intervals(&self, start: Time, end: Time, streams: &Streams) -> impl Iterator<Item = Interval> {
        let (key, mut at) = (LeoSpec::key(streams), start);
        std::iter::from_fn(move || {
            let interval = (at < end).then(|| self.interval(at, key))?;
            at = interval.end;
            Some(interval)
        })
    }
}

impl CapacityKind for LeoSpec {
    fn rate(&self) -> BitRate {
        self.rate
    }

    fn fastest(&self) -> BitRate {
        rate_of(self.rate.bits_per_sec() as f64 * (1.0 + self.spread))
    }

    fn bits_between(&self, start: Time, end: Time, streams: &Streams) -> f64 {
        let bits = |interval: Interval| {
            let span = interval.end.min(end).saturating_since(interval.start.max(start));
            span.as_secs_f64() * interval.rate.bits_per_sec() as f64
        };
        self.intervals(start, end, streams).map(bits).sum()
    }

    fn drain_rates(&self, until: Time, streams: &Streams) -> Vec<(Time, f64)> {
        let rates = self.intervals(Time::ZERO, until, streams);
        rates.map(|interval| (interval.start, interval.rate.bits_per_sec() as f64)).collect()
    }

    fn is_random(&self) -> bool {
        true
    }

    fn path_changes(&self) -> PathChanges {
        let has_handover = self.handover > Duration::ZERO;
        PathChanges { delay: has_handover || self.path > Duration::ZERO, loss: has_handover && self.loss > 0.0 }
    }

    fn path(&self, streams: &Streams) -> Option<BoxedPath> {
        let path = LeoPath { spec: *self, key: LeoSpec::key(streams) };
        self.path_changes().any().then(|| Box::new(path) as BoxedPath)
    }

    #[expect(clippy::float_cmp, reason = "a loss is written")]
    fn check(&self, _frame: Bytes) -> Result<(), SpecError> {
        let fault = |path: &str, message| Err(SpecError { path: path.to_owned(), message });
        if self.handover >= self.every {
            return fault("handover", format!("must be shorter than every = {}, got {}", self.every, self.handover));
        }
        if self.handover == Duration::ZERO && self.loss != default_loss() {
            return fault("loss", format!("has no effect: handover = 0 s, got {}", self.loss));
        }
        Ok(())
    }

    fn capacity(&self, link: &LinkContext, streams: &Streams) -> BoxedCapacity {
        let key = LeoSpec::key(streams);
        let interval = self.interval(Time::ZERO, key);
        let transmitter = Transmitter::new(interval.rate, link.overhead);
        Box::new(Leo { spec: *self, key, transmitter, until: interval.end })
    }
}

/// A network interface whose rate is that of the interval in which a packet begins.
#[derive(Debug)]
struct Leo {
    spec: LeoSpec,
    /// Of the intervals' streams.
    key: u64,
    transmitter: Transmitter,
    /// The end of the interval whose rate the transmitter has.
    until: Time,
}

impl Capacity for Leo {
    fn is_known_ahead(&self) -> bool {
        true
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let first = self.transmitter.busy_until().max(now);
        if first >= self.until {
            let interval = self.spec.interval(first, self.key);
            self.transmitter.set_rate(interval.rate);
            self.until = interval.end;
        }
        self.transmitter.send(size, first)
    }
}

/// The delays and the losses of the intervals.
#[derive(Debug)]
struct LeoPath {
    spec: LeoSpec,
    key: u64,
}

impl Path for LeoPath {
    fn at(&mut self, departure: Time) -> PathState {
        let Interval { path, settled, .. } = self.spec.interval(departure, self.key);
        let held = settled.saturating_since(departure);
        PathState { delay: path + held, loss: if held > Duration::ZERO { self.spec.loss } else { 0.0 } }
    }
}
