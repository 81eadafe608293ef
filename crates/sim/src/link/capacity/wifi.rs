//! Wi-Fi: a station that wins the channel at random among busy stations, and sends an aggregate of the packets that wait.
//!
//! Source: the airtime model of Høiland-Jørgensen et al., "Ending the anomaly: achieving low latency and airtime fairness in
//! WiFi", USENIX ATC 2017, section 2, for the time of an aggregate; the random order of the stations is that of Bianchi,
//! "Performance analysis of the IEEE 802.11 distributed coordination function", 2000, without collisions:
//!
//! ```text
//!   | others | others | access, then the bits of an aggregate | others | access, ...
//! ```
//!
//! * each of n busy stations wins the channel with probability 1 / n, whenever it is free;
//! * another station holds it for a constant time;
//! * an aggregate has the packets that wait when it begins, up to a number of frames and a time of their bits.
//!
//! Packets keep their order, and wait for a geometric number of other stations.

use aqmlab_aqm::{LinkContext, QueueState};
use aqmlab_units::range::{from, up_to};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::{BoxedCapacity, Capacity, CapacityKind, Streams, rate_of};
use crate::spec::{RATES, SpecError};

/// A station of a Wi-Fi network: it wins the channel at random among busy stations, and sends the packets that wait as one
/// aggregate. The link's discipline knows the mean rate of full aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Wifi", transform = with_ranges::<WifiSpec>))]
#[serde(deny_unknown_fields)]
pub struct WifiSpec {
    /// The rate of the bits of frames, their overhead included.
    pub rate: BitRate,
    /// The busy stations on the channel, this one included.
    #[serde(default = "one")]
    pub stations: u32,
    /// The most frames of an aggregate: the window of a block acknowledgement.
    #[serde(default = "default_frames")]
    pub frames: u32,
    /// The longest time of the bits of an aggregate.
    #[serde(default = "default_longest")]
    pub longest: Duration,
    /// The time that an aggregate takes beside its bits: access to the channel, preamble and block acknowledgement.
    #[serde(default = "default_access")]
    pub access: Duration,
    /// The time for which another station holds the channel.
    #[serde(default = "default_longest")]
    pub others: Duration,
}

ranges! {
    WifiSpec {
        rate: RATES,
        stations: from(1).up_to(100),
        frames: from(1).up_to(1_024),
        longest: from(Duration::from_micros(1)).up_to(Duration::from_millis(100)),
        access: up_to(Duration::from_millis(100)),
        others: from(Duration::from_micros(1)).up_to(Duration::from_millis(100)),
    }
}

fn one() -> u32 {
    1
}

/// IEEE 802.11n and 802.11ac.
fn default_frames() -> u32 {
    64
}

/// That of Linux (Høiland-Jørgensen et al.).
fn default_longest() -> Duration {
    Duration::from_millis(4)
}

/// IEEE 802.11ac at 5 GHz: DIFS 34 us, a mean back-off of 7.5 slots of 9 us, preamble 40 us, SIFS 16 us, and a block
/// acknowledgement of 32 us at 24 Mbit/s.
fn default_access() -> Duration {
    Duration::from_micros(190)
}

/// The bytes of a full frame, to which the mean rate refers: 1,500 of IP and 42 of IEEE 802.11.
const FULL_FRAME: Bytes = Bytes::new(1_542);

impl WifiSpec {
    /// Returns the most frames of `bytes` of an aggregate.
    fn frames_of(&self, bytes: Bytes) -> u64 {
        let in_time = self.longest.as_nanos() / self.rate.time_to_send(bytes).as_nanos().max(1);
        in_time.clamp(1, self.frames.into())
    }
}

impl CapacityKind for WifiSpec {
    fn rate(&self) -> BitRate {
        let bytes = Bytes::new(FULL_FRAME.get() * self.frames_of(FULL_FRAME));
        let turn = self.access + self.rate.time_to_send(bytes);
        let cycle = turn + self.others * u64::from(self.stations - 1);
        rate_of(8.0 * bytes.as_f64() / cycle.as_secs_f64())
    }

    fn fastest(&self) -> BitRate {
        self.rate
    }

    fn check(&self, _frame: Bytes) -> Result<(), SpecError> {
        if self.stations == 1 && self.others != default_longest() {
            let message = format!("has no effect: there is no other station, got {}", self.others);
            return Err(SpecError { path: "others".to_owned(), message });
        }
        Ok(())
    }

    fn capacity(&self, link: &LinkContext, streams: &Streams) -> BoxedCapacity {
        Box::new(Wifi {
            spec: *self,
            overhead: link.overhead,
            ns_per_byte: self.rate.ns_per_byte(),
            stream: streams.own("wifi"),
            free_at: Time::ZERO,
            next: Time::ZERO,
            aggregate: None,
        })
    }
}

/// A station and its channel.
#[derive(Debug)]
struct Wifi {
    spec: WifiSpec,
    overhead: Bytes,
    /// Of the bits of frames, in units of 2^-20 ns.
    ns_per_byte: u64,
    stream: Stream,
    /// The end of the station's last aggregate, from which other stations send.
    free_at: Time,
    /// The beginning of its next aggregate, if packets wait.
    next: Time,
    /// The aggregate that begins now.
    aggregate: Option<Aggregate>,
}

/// An aggregate that takes packets.
#[derive(Clone, Copy, Debug)]
struct Aggregate {
    begin: Time,
    /// The packets that it may still take.
    left: u32,
    /// The end of the time of its bits.
    end: Time,
}

impl Wifi {
    /// Contend for the channel with a packet that waits from `now` on.
    fn contend(&mut self, now: Time) {
        let since = now.saturating_since(self.free_at);
        let WifiSpec { stations, others, .. } = self.spec;
        // Others have sent since, so that the channel is free at the next end of their transmissions.
        let free = if stations == 1 { since } else { since.round_up_to(others) };
        self.next = self.free_at + free;
        // One station in n wins: the number of others before it is geometric.
        while stations > 1 && self.stream.below(stations.into()) > 0 {
            self.next += others;
        }
    }
}

impl Capacity for Wifi {
    fn ready(&self) -> Option<Time> {
        Some(if self.is_open() { Time::ZERO } else { self.next })
    }

    fn idle(&mut self, now: Time) {
        self.contend(now);
    }

    fn waiting(&mut self, queue: QueueState, now: Time) {
        if let Some(aggregate) = self.aggregate.take_if(|aggregate| aggregate.begin < now)
            && aggregate.left > 0
        {
            self.contend(now);
        }
        if self.aggregate.is_none() && queue.packets > 0 && self.next <= now {
            let bits_from = now + self.spec.access;
            let left = queue.packets.min(self.spec.frames);
            self.aggregate = Some(Aggregate { begin: now, left, end: bits_from + self.spec.longest });
            self.free_at = bits_from;
        }
    }

    fn is_open(&self) -> bool {
        self.aggregate.is_some_and(|aggregate| aggregate.left > 0)
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let first = self.free_at.max(now);
        let time = Duration::from_nanos(((size + self.overhead).get() * self.ns_per_byte) >> 20);
        let last = first + time;
        self.free_at = last;
        if let Some(aggregate) = &mut self.aggregate {
            // Another packet of this size would end too late.
            let is_full = last + time > aggregate.end;
            aggregate.left = if is_full { 0 } else { aggregate.left - 1 };
        }
        if !self.is_open() {
            self.contend(last);
        }
        (first, last)
    }
}
