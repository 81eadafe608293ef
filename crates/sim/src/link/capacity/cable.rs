//! Cable upstream: a modem requests the bytes that wait, and sends them in the intervals that the network grants (DOCSIS).
//!
//! Source: CM-SP-MULPIv3.1, sections 7.2 and 7.3, as in CableLabs' model for ns-3 (docsis-ns3 1.2, model-overview):
//!
//! ```text
//!   arrival -> contention request in the next MAP interval -> grant in the first interval that begins `grant_delay` later
//!   grant   -> packets that wait, and a piggybacked request for the rest of them
//! ```
//!
//! * time has MAP intervals; a grant lies within one, at a uniformly random place;
//! * a modem without request or grant sends a request at a uniformly random time of the next interval; requests collide with
//!   other modems' with a probability, and then the modem tries again within 2, 4, 8 and then always 16 intervals;
//! * a grant has at most the bytes of its interval, and those that the token bucket of the plan has for it;
//! * a grant carries parts of packets, and a packet leaves with its last byte.
//!
//! Without collisions a packet that arrives at an idle modem waits for `grant_delay` + 2 `map` - its own time, on average.
//!
//! Differs from the source: the last retry never fails, and other modems do not limit the size of a grant.

use std::collections::VecDeque;

use aqmlab_aqm::{LinkContext, Peak, QueueState};
use aqmlab_units::range::{above, from, up_to};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Prob, Range, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::bucket::{Bucket, BucketSpec, MOST_BURST, Pair, gigabit};
use super::{BoxedCapacity, Capacity, CapacityKind, Streams};
use crate::spec::{RATES, SpecError};

/// The upstream of a cable modem (DOCSIS): it requests the bytes that wait, and sends them when they are granted. The link's
/// discipline is the modem's queue, and knows the rate of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Cable", transform = with_ranges::<CableSpec>))]
#[serde(deny_unknown_fields)]
pub struct CableSpec {
    /// The rate of the plan: the Maximum Sustained Traffic Rate of frames with their overhead.
    pub rate: BitRate,
    /// The Maximum Traffic Burst. In any time t at most burst + rate (t + map) bytes are granted.
    #[serde(default = "default_burst")]
    pub burst: Bytes,
    /// The rate of the channel, at which the bytes of a grant are sent.
    #[serde(default = "gigabit")]
    pub line: BitRate,
    /// The time between two allocations of the channel.
    #[serde(default = "default_map")]
    pub map: Duration,
    /// The shortest time from a request to the interval with its grant: `MinReqGntDelay`.
    #[serde(default = "default_grant_delay")]
    pub grant_delay: Duration,
    /// The probability that a request of an idle modem collides with another modem's.
    #[serde(default)]
    pub collision: f64,
}

/// The longest MAP interval and request; ours.
const LONGEST: Duration = Duration::from_secs(1);
const MAPS: Range<Duration> = from(Duration::from_micros(100)).up_to(LONGEST);
const COLLISIONS: Range<f64> = from(0.0).up_to(0.99);

ranges! {
    CableSpec {
        rate: RATES,
        burst: above(Bytes::ZERO).up_to(MOST_BURST),
        line: RATES,
        map: MAPS,
        grant_delay: up_to(LONGEST),
        collision: COLLISIONS,
    }
}

/// The default of CM-SP-MULPIv3.1, C.2.2.7.3.
fn default_burst() -> Bytes {
    Bytes::new(3_044)
}

/// That of CableLabs' model.
fn default_map() -> Duration {
    Duration::from_millis(2)
}

/// Twelve OFDMA frames of 135 us, which CableLabs' model computes from its defaults.
fn default_grant_delay() -> Duration {
    Duration::from_micros(1_620)
}

impl CableSpec {
    fn bucket(&self) -> BucketSpec {
        BucketSpec { rate: self.rate, burst: self.burst }
    }
}

impl CapacityKind for CableSpec {
    fn rate(&self) -> BitRate {
        self.rate
    }

    fn peak(&self) -> Option<Peak> {
        Some(Peak { rate: self.line, burst: self.burst })
    }

    fn fastest(&self) -> BitRate {
        self.line
    }

    fn check(&self, frame: Bytes) -> Result<(), SpecError> {
        Pair { bucket: self.bucket(), peak: None, line: self.line }.check(frame)
    }

    fn capacity(&self, link: &LinkContext, streams: &Streams) -> BoxedCapacity {
        // The tokens of an interval are those of its end.
        let tokens = BucketSpec { burst: self.burst + bytes_in(self.rate, self.map), ..self.bucket() };
        let mut stream = streams.own("cable");
        Box::new(Cable {
            spec: *self,
            overhead: link.overhead,
            ns_per_byte: self.line.ns_per_byte(),
            bucket: Bucket::new(tokens),
            requests: VecDeque::new(),
            free_from: Time::ZERO,
            place: stream.uniform(),
            grant: None,
            stream,
        })
    }
}

/// Returns the bytes that `rate` sends in `span`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are bounded")]
fn bytes_in(rate: BitRate, span: Duration) -> Bytes {
    Bytes::new((rate.bits_per_sec() as f64 * span.as_secs_f64() / 8.0) as u64)
}

/// Returns a share of `span`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are bounded")]
fn part(span: Duration, share: f64) -> Duration {
    Duration::from_nanos((span.as_nanos() as f64 * share) as u64)
}

/// A modem and its share of the channel.
#[derive(Debug)]
struct Cable {
    spec: CableSpec,
    overhead: Bytes,
    /// Of the channel, in units of 2^-20 ns.
    ns_per_byte: u64,
    bucket: Bucket,
    /// The requests whose bytes are not granted yet, in order of time.
    requests: VecDeque<Request>,
    /// The first interval that may have the next grant.
    free_from: Time,
    /// The place of the next grant in its interval, from 0 to 1.
    place: f64,
    grant: Option<Grant>,
    stream: Stream,
}

/// A request, sent or about to be sent.
#[derive(Clone, Copy, Debug)]
struct Request {
    at: Time,
    bytes: u64,
}

/// A grant that has begun.
#[derive(Clone, Copy, Debug)]
struct Grant {
    /// The time of its next byte.
    at: Time,
    left: u64,
    /// The modem has not sent a piggybacked request in it.
    may_request: bool,
}

impl Cable {
    fn time_of(&self, bytes: u64) -> Duration {
        Duration::from_nanos((bytes * self.ns_per_byte) >> 20)
    }

    /// Returns the beginning and the bytes of the next grant, and its interval; `None` without a request.
    fn next_grant(&self) -> Option<(Time, u64, Time)> {
        let Request { at, .. } = *self.requests.front()?;
        let map = self.spec.map;
        let first = (at + self.spec.grant_delay).max(self.free_from) - Time::ZERO;
        let mut interval = Time::ZERO + first.round_up_to(map);
        let most = (map.as_nanos() << 20) / self.ns_per_byte;
        loop {
            let in_time = |request: &&Request| request.at + self.spec.grant_delay <= interval;
            let requested: u64 = self.requests.iter().take_while(in_time).map(|request| request.bytes).sum();
            let bytes = requested.min(most).min(self.bucket.tokens(interval));
            if bytes > 0 {
                let rest = map.as_nanos() - self.time_of(bytes).as_nanos();
                return Some((interval + part(Duration::from_nanos(rest), self.place), bytes, interval));
            }
            interval += map;
        }
    }

    /// Begin the next grant.
    fn begin_grant(&mut self) {
        let (at, bytes, interval) = self.next_grant().expect("there is a request");
        self.bucket.take(Bytes::new(bytes), interval);
        let mut granted = bytes;
        while let Some(request) = self.requests.front_mut().filter(|_| granted > 0) {
            let part = request.bytes.min(granted);
            request.bytes -= part;
            granted -= part;
            if request.bytes == 0 {
                self.requests.pop_front();
            }
        }
        self.free_from = interval + self.spec.map;
        self.place = self.stream.uniform();
        self.grant = Some(Grant { at, left: bytes, may_request: true });
    }

    /// Advance to the grant of `now`, if there is one.
    fn settle(&mut self, now: Time) {
        loop {
            if let Some(grant) = &mut self.grant {
                // The bytes before now are lost, because no packet waited.
                let lost = (now.saturating_since(grant.at).as_nanos() << 20) / self.ns_per_byte;
                grant.left = grant.left.saturating_sub(lost);
                grant.at = grant.at.max(now);
                if grant.left > 0 {
                    return;
                }
                self.grant = None;
            }
            match self.next_grant() {
                Some((at, ..)) if at <= now => self.begin_grant(),
                _ => return,
            }
        }
    }

    /// Returns the time of a request that an idle modem makes from `now` on, the first one that does not collide.
    fn contend(&mut self, now: Time) -> Time {
        let map = self.spec.map;
        let mut next_interval = (now - Time::ZERO).round_up_to(map);
        for attempt in 0.. {
            let window = if attempt == 0 { map } else { map * (1 << attempt.min(MOST_DOUBLINGS)) };
            let at = Time::ZERO + next_interval + part(window, self.stream.uniform());
            let collides = self.stream.chance(Prob::clamped(self.spec.collision));
            if !collides || attempt == MOST_RETRIES {
                return at;
            }
            // The interval in which a grant would have come.
            next_interval = (at + self.spec.grant_delay - Time::ZERO).round_up_to(map);
        }
        unreachable!("the last retry does not collide")
    }
}

/// The back-off window ends at 2^4 intervals, and a modem tries sixteen times (CM-SP-MULPIv3.1, 7.2.1.2.2).
const MOST_DOUBLINGS: u32 = 4;
const MOST_RETRIES: u32 = 15;

impl Capacity for Cable {
    fn ready(&self) -> Option<Time> {
        match &self.grant {
            Some(grant) => Some(grant.at),
            None => Some(self.next_grant().map_or(Time::MAX, |(at, ..)| at)),
        }
    }

    fn waiting(&mut self, queue: QueueState, now: Time) {
        self.settle(now);
        let bytes = queue.bytes.get() + self.overhead.get() * u64::from(queue.packets);
        let requested: u64 = self.requests.iter().map(|request| request.bytes).sum();
        if let Some(grant) = &mut self.grant {
            if std::mem::take(&mut grant.may_request) && bytes > grant.left + requested {
                self.requests.push_back(Request { at: now, bytes: bytes - grant.left - requested });
            }
        } else if let Some(last) = self.requests.back_mut() {
            if last.at >= now {
                last.bytes += bytes.saturating_sub(requested);
            }
        } else if bytes > 0 {
            let at = self.contend(now);
            self.requests.push_back(Request { at, bytes });
        }
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let mut rest = (size + self.overhead).get();
        let mut first = None;
        let mut at = now;
        loop {
            let ns_per_byte = self.ns_per_byte;
            if let Some(grant) = &mut self.grant {
                at = at.max(grant.at);
                let part = rest.min(grant.left);
                first = first.or((part > 0).then_some(at));
                at += Duration::from_nanos((part * ns_per_byte) >> 20);
                rest -= part;
                grant.left -= part;
                grant.at = at;
                if grant.left == 0 {
                    self.grant = None;
                }
            }
            if rest == 0 {
                return (first.unwrap_or(at), at);
            }
            if self.requests.is_empty() {
                self.requests.push_back(Request { at, bytes: rest });
            }
            self.begin_grant();
        }
    }
}
