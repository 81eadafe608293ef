//! What a link is like, and when its rate changes.

use aqmlab_aqm::LinkContext;
use aqmlab_units::{BitRate, Bytes, Duration, Time};
use serde::{Deserialize, Serialize};

use crate::side::Direction;

use super::{SpecError, WEEK, at_least, at_most, fault};

/// The link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSpec {
    /// Bit rate on the wire, frame overhead included.
    pub rate: BitRate,
    /// The same in direction 1, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_back: Option<BitRate>,
    /// One-way delay, host delays included.
    pub delay: Duration,
    /// Bytes that each packet takes on the wire beyond its IP length. Ethernet: preamble 8, header 14, check
    /// sequence 4, gap 12.
    pub overhead: Bytes,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Packets that the device holds below the discipline, besides the one being sent; 0 for an ideal link.
    pub device_fifo: u32,
    /// When the rate becomes another, in order of time. Disciplines are told the rate at the start and no other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<RateChange>,
}

/// From some time on the link has another rate: a packet is sent at the rate of the moment at which its sending begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateChange {
    /// When, from the start of the run.
    pub at: Duration,
    /// The rate from then on, in both directions.
    pub rate: BitRate,
}

impl Default for LinkSpec {
    /// The testbed's bottleneck: Fast Ethernet. The device FIFO is ours: of 0, 16, 64, 128, 192 and 256 packets 256,
    /// a usual transmit ring, comes closest to the published drop-tail rows (24, 240 and 2,400 packets at 80, 90 and
    /// 98 % load). No row with active queue management was looked at.
    fn default() -> LinkSpec {
        LinkSpec {
            rate: BitRate::from_mbit_per_sec(100),
            rate_back: None,
            delay: Duration::from_micros(500),
            overhead: Bytes::new(38),
            mtu: Bytes::new(1500),
            device_fifo: 256,
            rate_changes: Vec::new(),
        }
    }
}

/// What an IP packet's length field can say (RFC 791, RFC 8200).
const LONGEST_PACKET: Bytes = Bytes::new(65_535);

/// The most changes of one link's rate: one each second of the longest run.
const MOST_CHANGES: usize = 1_000_000;

impl LinkSpec {
    /// What a law at each of its ends may know of it.
    pub fn contexts(&self) -> [LinkContext; 2] {
        Direction::BOTH.map(|direction| self.one_way(direction).context())
    }

    /// What a law may know of a link that has one rate.
    pub(crate) fn context(&self) -> LinkContext {
        LinkContext { rate: self.rate, overhead: self.overhead }
    }

    /// One direction of it: a link that has that direction's rate in both.
    pub(crate) fn one_way(&self, direction: Direction) -> LinkSpec {
        let back = self.rate_back.filter(|_| direction == Direction::BACK);
        LinkSpec { rate: back.unwrap_or(self.rate), rate_back: None, ..self.clone() }
    }

    /// What the link can send from `start` to `end`, in bits.
    pub(crate) fn bits_between(&self, start: Time, end: Time) -> f64 {
        let (mut since, mut rate, mut bits) = (start, self.rate, 0.0);
        for change in &self.rate_changes {
            let at = (Time::ZERO + change.at).min(end);
            bits += at.saturating_since(since).as_secs_f64() * rate.bits_per_sec() as f64;
            (since, rate) = (since.max(at), change.rate);
        }
        bits + end.saturating_since(since).as_secs_f64() * rate.bits_per_sec() as f64
    }

    /// `path` is where it stands in the spec.
    pub(super) fn check(&self, path: &str) -> Result<(), SpecError> {
        let at = |field: &str| format!("{path}.{field}");
        check_rate(&at("rate"), self.rate)?;
        if let Some(rate_back) = self.rate_back {
            check_rate(&at("rate_back"), rate_back)?;
            if !self.rate_changes.is_empty() {
                let message = "a link whose rate changes has one rate in both directions".into();
                return Err(fault(&at("rate_back"), message));
            }
        }
        at_most(&at("delay"), self.delay, Duration::from_secs(60))?;
        at_most(&at("overhead"), self.overhead, Bytes::new(1_000))?;
        at_most(&at("mtu"), self.mtu, LONGEST_PACKET)?;
        at_most(&at("device_fifo"), self.device_fifo, 1_000_000)?;
        at_most(&at("rate_changes"), self.rate_changes.len(), MOST_CHANGES)?;
        let mut before = Duration::ZERO;
        for (number, change) in self.rate_changes.iter().enumerate() {
            let place = at(&format!("rate_changes[{number}]"));
            if change.at <= before {
                let since = if number == 0 { "the start of the run" } else { "the change before" };
                let message = format!("must be after {since}, {before}, got {}", change.at);
                return Err(fault(&format!("{place}.at"), message));
            }
            at_most(&format!("{place}.at"), change.at, WEEK + WEEK)?;
            check_rate(&format!("{place}.rate"), change.rate)?;
            before = change.at;
        }
        Ok(())
    }
}

/// From a link on which a packet takes seconds to a hundred times what is built.
fn check_rate(path: &str, rate: BitRate) -> Result<(), SpecError> {
    at_least(path, rate, SLOWEST)?;
    at_most(path, rate, BitRate::from_mbit_per_sec(1_000_000))
}

pub(super) const SLOWEST: BitRate = match BitRate::from_bits_per_sec(1_000) {
    Some(rate) => rate,
    None => unreachable!(),
};
