//! Datagrams without congestion control, over UDP: at a constant bit rate, or in bursts at that rate.
//!
//! Bursts and pauses alternate; the flow begins with a burst. Packets are evenly spaced in the time that is spent in
//! bursts, so that the mean rate is exactly rate · on / (on + off), however short the bursts. They are not ECN-capable.

use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};
use serde::{Deserialize, Serialize};

use super::fields::{check_flows, check_side, check_stop, no_time, one_second};
use crate::config::{ConfigError, check_range, refuse};
use crate::sources::datagrams::{DatagramSource, Pattern};
use crate::sources::draws::distribution::{Span, TimeConfig, check_time};
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};

/// Flows of datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DatagramsConfig {
    /// What to call the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Flows; 1 to 1,000,000, default 1.
    #[serde(default = "one")]
    pub flows: u32,
    /// The side of the link that they are sent from, 0 or 1; default 0.
    #[serde(default)]
    pub side: u8,
    /// The rate of each flow, in bits of IP packets per second, while it sends.
    pub rate: BitRate,
    /// The size of a packet, IP header included: 28 to 65,535 B; default 1,500 B, the MTU of Ethernet.
    #[serde(default = "ethernet_mtu")]
    pub packet: Bytes,
    /// Bursts and the pauses between them; absent: a constant bit rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstsConfig>,
    /// The part of the time between two packets that each is held back by at most, at random; in \[0, 1\], default 0.
    /// Flows of one rate without it stay in step for ever.
    #[serde(default)]
    pub jitter: f64,
    /// The earliest start; default 0.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The starts are spread evenly at random over this time; default 1 s, ours.
    #[serde(default = "one_second")]
    pub spread: Duration,
    /// When they end; absent: never.
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

impl SourceKind for DatagramsConfig {
    const EXAMPLE: &'static str = r#"{"datagrams": {"rate": "1 Mbit/s"}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        check_flows("flows", self.flows)?;
        check_side(self.side)?;
        if self.rate > MAX_RATE {
            return refuse("rate", format!("must be at most {MAX_RATE}, got {}", self.rate));
        }
        if !(28..=65_535).contains(&self.packet.get()) {
            return refuse("packet", format!("must be between 28 B and 65535 B, got {}", self.packet));
        }
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
        check_range("jitter", self.jitter, 0.0, 1.0)?;
        check_time("start", self.start)?;
        check_time("spread", self.spread)?;
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
        Ok(Source::Datagrams(DatagramSource::new(pattern, self.side, starts, setting.key)))
    }
}

/// 1 Tbit/s.
const MAX_RATE: BitRate = BitRate::from_mbit_per_sec(1_000_000);
