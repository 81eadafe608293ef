//! A link, and the changes of its rate.

use aqmlab_aqm::LinkContext;
use aqmlab_units::range::{above, from, up_to};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Duration, Range, Time, ranges};
use serde::{Deserialize, Serialize};

use crate::link::{CapacitySpec, Streams};
use crate::side::Direction;

use super::impairments::{LONGEST, PROBABILITIES};
use super::per_direction::check_in_range;
#[cfg(feature = "schema")]
use super::schema::with_queues;
use super::{
    DelayChange, EcnPath, LossSpec, OutageSpec, PerDirection, ProfileSpec, RateSpec, ReorderSpec, SpecError,
    at_most, fault, within,
};

/// A link: two directions, each with a queue of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Link", transform = with_ranges::<LinkSpec>, transform = with_queues))]
#[serde(deny_unknown_fields, default)]
pub struct LinkSpec {
    /// The bit rate on the wire, the overhead of frames included: of both directions, or `{ up = "20 Mbit/s", down = "250 Mbit/s" }`.
    /// Up is direction 0, which carries what side 0 sends. Loads are given as numbers of users where the two rates differ. In
    /// place of a bit rate there may be a table of one kind of capacity, such as `{ token_bucket = { rate = "20 Mbit/s", burst =
    /// "64 kB" } }`: see docs/guide/links.md.
    pub rate: PerDirection<RateSpec>,
    /// Propagation delay of one direction.
    pub delay: Duration,
    /// The losses on the wire: the probability that a packet is lost, of both directions or of `{ up, down }`; or a table of a
    /// process with bursts, such as `{ gilbert_elliott = { p = 0.001, r = 0.1 } }`. They are counted apart from the queues' drops.
    // Left out of a spec in full unless there are some: it is younger than stored results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<PerDirection<LossSpec>>,
    /// The probability that a bit of a frame is damaged, of both directions or of `{ up, down }`. A frame with a damaged bit is
    /// lost: its check sequence fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<PerDirection<f64>>,
    /// The probability that a packet arrives twice, of both directions or of `{ up, down }`: `duplicate` of `netem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<PerDirection<f64>>,
    /// The longest additional delay of a packet, of both directions or of `{ up, down }`; that of each packet is uniform from 0 to
    /// it. Packets keep their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<PerDirection<Duration>>,
    /// Packets that arrive late, so that others overtake them: `{ probability = 0.01, delay = "5 ms" }`, of both directions or of
    /// `{ up, down }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<PerDirection<ReorderSpec>>,
    /// The delay of each packet in order, over and over, beyond that of the link, or its loss: `{ file = "profile.txt" }`, of both
    /// directions or of `{ up, down }`. A packet may overtake those before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<PerDirection<ProfileSpec>>,
    /// The treatment of ECN by the path, of both directions or of `{ up, down }`: `pass` for nothing; `bleach` clears the ECN field,
    /// `clear_ce` undoes marks, `rewrite_ect1` changes ECT(1) to ECT(0), `refuse_syn` loses SYNs that request ECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<PerDirection<EcnPath>>,
    /// Spans in which the link is down, in both directions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = [])))]
    pub outages: Vec<OutageSpec>,
    /// Changes of the delay, in order of time: a change of the path. A packet has the delay at the time of its departure, so that
    /// it overtakes those before it on a longer path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = [])))]
    pub delay_changes: Vec<DelayChange>,
    /// The bytes on the wire of a frame beyond its IP packet. Ethernet: preamble 8, header 14, check sequence 4, gap 12.
    pub overhead: Bytes,
    /// The part of the overhead that queue disciplines count in the size of a packet: 14 B where they see Ethernet's header, as
    /// in ALTQ and Linux.
    // Left out of a spec in full unless there is some: it is younger than stored results.
    #[serde(skip_serializing_if = "is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = "0 B")))]
    pub header: Bytes,
    /// The longest IP packet.
    pub mtu: Bytes,
    /// Packets that the device holds below the queue discipline, besides the one being sent: one where byte queue limits keep
    /// it short, as in Linux; 0 for an ideal link; 256 for the ring of a driver without them.
    pub device_fifo: u32,
    /// Changes of the rate, in order of time. A packet is sent at the rate at the start of its transmission; queue disciplines
    /// know the first rate only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = [])))]
    pub rate_changes: Vec<RateChange>,
}

/// From some time on a link has another rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = with_ranges::<RateChange>))]
#[serde(deny_unknown_fields)]
pub struct RateChange {
    /// The time since the start of the run; later than the change before.
    pub at: Duration,
    /// The rate from then on, of both directions, or `{ up, down }`.
    pub rate: PerDirection<BitRate>,
}

ranges! {
    LinkSpec {
        rate: RATES,
        delay: up_to(LONGEST),
        bit_error_rate: PROBABILITIES,
        duplicate: PROBABILITIES,
        jitter: up_to(LONGEST),
        overhead: up_to(Bytes::new(1_000)),
        // What an IP packet's length field can say (RFC 791, RFC 8200).
        mtu: up_to(Bytes::new(65_535)),
        device_fifo: up_to(1_000_000),
    }
}

ranges! {
    RateChange { at: above(Duration::ZERO).up_to(Duration::from_secs(2 * 7 * 24 * 3600)), rate: RATES }
}

/// From a link on which a packet takes seconds to a hundred times what is built.
pub(crate) const RATES: Range<BitRate> = from(SLOWEST).up_to(BitRate::from_mbit_per_sec(1_000_000));

pub(super) const SLOWEST: BitRate = match BitRate::from_bits_per_sec(1_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

impl Default for LinkSpec {
    /// Fast Ethernet to a device that byte queue limits (Linux 3.3, `dynamic_queue_limits.h`) leave one packet beside the one
    /// being sent.
    fn default() -> LinkSpec {
        LinkSpec {
            rate: RateSpec::from(BitRate::from_mbit_per_sec(100)).into(),
            delay: Duration::from_micros(500),
            loss: None,
            bit_error_rate: None,
            duplicate: None,
            jitter: None,
            reorder: None,
            profile: None,
            ecn: None,
            outages: Vec::new(),
            delay_changes: Vec::new(),
            overhead: Bytes::new(38),
            header: Bytes::ZERO,
            mtu: Bytes::new(1500),
            device_fifo: 1,
            rate_changes: Vec::new(),
        }
    }
}

/// The most changes of one link's rate: one each second of the longest run.
const MOST_CHANGES: usize = 1_000_000;

impl LinkSpec {
    /// Returns the link as the law at each of its ends may know it.
    pub fn contexts(&self) -> [LinkContext; 2] {
        Direction::BOTH.map(|direction| self.one_way(direction).context())
    }

    /// Returns direction 0 as a law may know it.
    pub(crate) fn context(&self) -> LinkContext {
        let rate = self.rate.of(Direction::FORWARD);
        LinkContext {
            rate: rate.drain(),
            header: self.header,
            overhead: self.overhead - self.header,
            peak: rate.peak(),
        }
    }

    /// The highest rate that it ever has, in either direction.
    pub(super) fn fastest(&self) -> BitRate {
        let later = self.rate_changes.iter().flat_map(|change| change.rate.both());
        let first = Direction::BOTH.map(|direction| self.rate.of(direction).fastest());
        later.chain(first).max().expect("there is a rate")
    }

    /// Returns the losses of `direction`, if any.
    pub(crate) fn loss(&self, direction: Direction) -> Option<LossSpec> {
        self.loss.as_ref().map(|loss| *loss.of(direction)).filter(|loss| !loss.is_none())
    }

    /// Returns the mean rate of each direction at the start: loads refer to it.
    pub fn mean_rates(&self) -> [BitRate; 2] {
        Direction::BOTH.map(|direction| self.rate.of(direction).mean())
    }

    /// Returns the times before `until` from which the queue of `direction`, 0 or 1, is emptied at other rates, in bits a second,
    /// from 0 on. The last one, at `until`, is the mean.
    ///
    /// `seed` is that of the run, and `link` the number of this link in its chain, from 0.
    pub fn drain_rates(&self, direction: usize, until: Time, seed: u64, link: u32) -> Vec<(Time, f64)> {
        let direction = Direction::BOTH[direction];
        let one_way = self.one_way(direction);
        let rate = one_way.rate.of(Direction::FORWARD);
        let bps = |rate: BitRate| rate.bits_per_sec() as f64;
        let rates = match rate.kind() {
            None => std::iter::once((Time::ZERO, rate.drain()))
                .chain(one_way.rates())
                .map(|(at, rate)| (at, bps(rate)))
                .collect(),
            Some(kind) => {
                let rates = kind.drain_rates(until, &Streams { seed, link, direction });
                rates.into_iter().chain([(until, bps(kind.drain_rate()))]).collect()
            }
        };
        self.with_outages(rates, until)
    }

    /// Returns true if a direction has a kind of capacity in place of a bit rate.
    pub fn has_kind(&self) -> bool {
        Direction::BOTH.iter().any(|&direction| self.rate.of(direction).kind().is_some())
    }

    /// Returns true if a direction draws its rates.
    pub fn is_random(&self) -> bool {
        let draws = |direction| self.rate.of(direction).kind().is_some_and(CapacitySpec::is_random);
        [Direction::FORWARD, Direction::REVERSE].into_iter().any(draws)
    }

    /// Returns true if its capacity varies: the rate changes, packets wait in outages, or it is another kind than a bit rate.
    pub fn varies(&self) -> bool {
        !self.rate_changes.is_empty() || self.has_kind() || !self.waiting_outages().is_empty()
    }

    /// Returns true if `direction` has a policer.
    pub(crate) fn has_policer(&self, direction: Direction) -> bool {
        self.rate.of(direction).kind().is_some_and(CapacitySpec::polices)
    }

    /// Returns true if both directions always have the same rate.
    pub(crate) fn is_symmetric(&self) -> bool {
        !self.is_random()
            && self.rate.is_same()
            && self.rate_changes.iter().all(|change| change.rate.is_same())
    }

    /// Returns true if both directions have one bit rate that does not change, and no impairments.
    pub(crate) fn is_constant(&self) -> bool {
        self.impairment().is_none()
            && self.rate.is_same()
            && self.rate.of(Direction::FORWARD).kind().is_none()
            && self.rate_changes.is_empty()
    }

    /// One direction of it: a link that has that direction's rate in both.
    pub(crate) fn one_way(&self, direction: Direction) -> LinkSpec {
        let change =
            |change: &RateChange| RateChange { rate: (*change.rate.of(direction)).into(), ..*change };
        LinkSpec {
            rate: self.rate.of(direction).clone().into(),
            rate_changes: self.rate_changes.iter().map(change).collect(),
            ..self.clone()
        }
    }

    /// Returns the changes of the rate of direction 0, in order of time.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (Time, BitRate)> {
        self.rate_changes.iter().map(|change| (Time::ZERO + change.at, *change.rate.of(Direction::FORWARD)))
    }

    /// Returns rates over time with those of outages, which are 0. The last one, at `until` or later, is not in an outage.
    fn with_outages(&self, rates: Vec<(Time, f64)>, until: Time) -> Vec<(Time, f64)> {
        let outages = self.waiting_outages();
        if outages.is_empty() {
            return rates;
        }
        let ends = outages.spans_up(Time::ZERO, until).flat_map(|(start, end)| [start, end]);
        let starts = rates.iter().map(|&(at, _)| at);
        let mut times: Vec<Time> = ends.chain(starts).filter(|&at| at < until).collect();
        times.sort_unstable();
        times.dedup();
        let rate_at = |time| rates[rates.partition_point(|&(at, _)| at <= time) - 1].1;
        let pieces =
            times.into_iter().map(|at| (at, if outages.up_from(at) == at { rate_at(at) } else { 0.0 }));
        pieces.chain([(until, rate_at(until))]).collect()
    }

    /// Returns the bits that direction 0 can send from `start` to `end`.
    pub(crate) fn bits_between(&self, start: Time, end: Time, streams: &Streams) -> f64 {
        let outages = self.waiting_outages();
        outages.spans_up(start, end).map(|(start, end)| self.bits_without_outages(start, end, streams)).sum()
    }

    fn bits_without_outages(&self, start: Time, end: Time, streams: &Streams) -> f64 {
        let (mut since, mut rate, mut bits) = (start, self.rate.of(Direction::FORWARD).clone(), 0.0);
        for (at, changed) in self.rates() {
            let at = at.min(end);
            bits += rate.bits_between(since, at, streams);
            (since, rate) = (since.max(at), changed.into());
        }
        bits + rate.bits_between(since, end, streams)
    }

    /// `path` is where it stands in the spec.
    pub(super) fn check(&self, path: &str) -> Result<(), SpecError> {
        within(path, self)?;
        if self.header > self.overhead {
            let message = format!("must be at most overhead = {}, got {}", self.overhead, self.header);
            return Err(fault(&format!("{path}.header"), message));
        }
        self.check_impairments(path)?;
        for (path_of_rate, rate) in self.rate.each(&format!("{path}.rate")) {
            rate.check(&path_of_rate, self.mtu + self.overhead)?;
            if let (Some(kind), false) = (rate.kind(), self.rate_changes.is_empty()) {
                let message = format!("must be a bit rate on a link with rate_changes, got {}", kind.name());
                return Err(fault(&path_of_rate, message));
            }
        }
        at_most(&format!("{path}.rate_changes"), self.rate_changes.len(), MOST_CHANGES)?;
        let mut before = Duration::ZERO;
        for (number, change) in self.rate_changes.iter().enumerate() {
            let place = format!("{path}.rate_changes[{number}]");
            if change.at <= before {
                let since = if number == 0 { "the start of the run" } else { "the change before" };
                let message = format!("must be after {since}, {before}, got {}", change.at);
                return Err(fault(&format!("{place}.at"), message));
            }
            within(&place, change)?;
            for (path_of_rate, rate) in change.rate.each(&format!("{place}.rate")) {
                check_in_range(&path_of_rate, *rate, RATES)?;
            }
            before = change.at;
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(bytes: &Bytes) -> bool {
    *bytes == Bytes::ZERO
}
