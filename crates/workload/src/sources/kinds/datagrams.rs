//! Datagrams without congestion control, over UDP: at a constant bit rate, or in bursts at that rate.
//!
//! Bursts and pauses alternate; the flow begins with a burst. Packets are evenly spaced in the time that is spent in
//! bursts, so that the mean rate is exactly rate · on / (on + off), however short the bursts. They are not ECN-capable.

use aqmlab_units::range::{from, up_to};
use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{FLOWS, SIDE, TIMES, check_stop, no_time, one_second};
use crate::config::{ConfigError, refuse};
use crate::sources::datagrams::{DatagramFlows, DatagramSource, PacedFlows, Pattern};
use crate::sources::draws::distribution::{Span, TimeConfig};
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};

/// Flows of datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<DatagramsConfig>))]
#[serde(deny_unknown_fields)]
pub struct DatagramsConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Flows.
    #[serde(default = "one")]
    pub flows: u32,
    /// The side of the link that they are sent from.
    #[serde(default)]
    pub side: u8,
    /// The rate of each flow, in bits of IP packets per second, while it sends.
    pub rate: BitRate,
    /// The size of a packet, IP header included. The default is the MTU of Ethernet.
    #[serde(default = "ethernet_mtu")]
    pub packet: Bytes,
    /// Bursts and the pauses between them; a constant bit rate when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstsConfig>,
    /// The part of the time between two packets that each is held back by at most, at random.
    /// Flows of one rate without it stay in step for ever.
    #[serde(default)]
    pub jitter: f64,
    /// The earliest start.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The starts are spread evenly at random over this time. The default is ours.
    #[serde(default = "one_second")]
    pub spread: Duration,
    /// The end of sending; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

/// Bursts and pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BurstsConfig {
    /// The length of a burst; its mean must be the time from a packet to the next at least.
    pub on: TimeConfig,
    /// The pause after it.
    pub off: TimeConfig,
}

fn one() -> u32 {
    1
}

fn ethernet_mtu() -> Bytes {
    Bytes::new(1500)
}

ranges! {
    DatagramsConfig { flows: FLOWS,
        side: SIDE,
        rate: up_to(BitRate::from_mbit_per_sec(1_000_000)),
        // No packet of the laboratory is shorter than the headers of TCP over IPv4.
        packet: from(Bytes::new(40)).up_to(Bytes::new(65_535)),
        jitter: from(0.0).up_to(1.0),
        start: TIMES,
        spread: TIMES,
        stop: TIMES, }
}

impl SourceKind for DatagramsConfig {
    const EXAMPLE: &'static str = r#"{"datagrams": {"rate": "1 Mbit/s"}}"#;
    const SENDS_DATAGRAMS: bool = true;

    fn check(&self) -> Result<(), ConfigError> {
        if let Some(BurstsConfig { on, off }) = &self.bursts {
            on.check("bursts.on")?;
            off.check("bursts.off")?;
            let interval = self.rate.time_to_send(self.packet);
            if on.mean() < interval {
                return refuse(
                    "bursts.on",
                    format!("must last a packet's time, {interval}, on average, got {}", on.mean()),
                );
            }
        }
        check_stop(self.start, self.stop)
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        let pattern = Pattern {
            rate: self.rate,
            packet: self.packet,
            bursts: self.bursts.as_ref().map(|bursts| (Span::new(&bursts.on), Span::new(&bursts.off))),
            jitter: self.jitter,
            stop: self.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
        };
        let starts =
            Starts::uniform(self.flows, self.start, self.spread, Stream::numbered(setting.key, u64::MAX));
        let flows = PacedFlows::new(pattern, self.side, starts, setting.key);
        Ok(Source::Datagrams(DatagramSource::new(flows)))
    }

    fn datagrams(&self) -> Option<DatagramFlows> {
        Some(DatagramFlows {
            flows: self.flows,
            sides: [0, 1].map(|side| side == self.side),
            smallest: self.packet,
            largest: self.packet,
            rate: self.rate,
        })
    }
}
