//! Long transfers: each connection carries one, of a given size or without end.

use aqmlab_units::{Bytes, Duration, Stream, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{FLOWS, SIDE, SIZES, TIMES, default_request, no_time, one_second};
use crate::config::ConfigError;
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::adu::{Adu, End, turn};
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// The size of an endless transfer: at 1 Tbit/s it takes a year.
pub const ENDLESS: Bytes = Bytes::new(1 << 62);

/// Long transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<BulkConfig>))]
#[serde(deny_unknown_fields)]
pub struct BulkConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Transfers, each on a connection of its own.
    pub flows: u32,
    /// The side of the link that the initiators are on.
    #[serde(default)]
    pub side: u8,
    /// The end that sends the data; absent: as for users.
    #[serde(default)]
    pub direction: TransferDirection,
    /// The size of each; endless when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// The earliest start.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The starts are spread evenly at random over this time. The default is ours: flows that start at one instant
    /// would have their slow starts in step.
    #[serde(default = "one_second")]
    pub spread: Duration,
    /// Minimum round-trip times; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

/// The end that sends the data of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TransferDirection {
    /// The acceptor, asked by a request of 300 bytes.
    #[default]
    Download,
    /// The initiator.
    Upload,
}

ranges! {
    BulkConfig { flows: FLOWS, side: SIDE, bytes: SIZES, start: TIMES, spread: TIMES }
}

impl SourceKind for BulkConfig {
    const EXAMPLE: &'static str = r#"{"bulk": {"flows": 20, "bytes": "1 MB"}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(Bulk::new(self, setting.starts()), self.rtt.as_ref()))
    }
}

#[derive(Debug)]
pub(crate) struct Bulk {
    starts: Starts,
    side: u8,
    direction: TransferDirection,
    bytes: Option<Bytes>,
}

impl Bulk {
    pub(crate) fn new(config: &BulkConfig, stream: Stream) -> Bulk {
        Bulk {
            starts: Starts::uniform(config.flows, config.start, config.spread, stream),
            side: config.side,
            direction: config.direction,
            bytes: config.bytes,
        }
    }
}

impl Generator for Bulk {
    fn next(&mut self) -> Option<Start> {
        Some(Start::at(self.starts.next()?, self.side))
    }

    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let (number, _) = cursor.step();
        let bytes = self.bytes.unwrap_or(ENDLESS);
        let units = if self.direction == TransferDirection::Upload { 1 } else { 2 };
        if number >= units && !self.is_endless() {
            return None;
        }
        Some(match (self.direction, turn(number)) {
            (TransferDirection::Upload, End::Initiator) => Adu::request(Duration::ZERO, bytes),
            (TransferDirection::Download, End::Initiator) => Adu::request(Duration::ZERO, default_request()),
            // After an endless upload it is never reached; it is there so that a lost one is begun again.
            (_, End::Acceptor) => Adu::response(Duration::ZERO, bytes),
        })
    }

    fn is_endless(&self) -> bool {
        self.bytes.is_none()
    }
}
