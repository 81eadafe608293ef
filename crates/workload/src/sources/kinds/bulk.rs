//! Long transfers: each connection carries one, of a given size or without end.

use aqmlab_units::range::{Ranges, from};
use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{FLOWS, SIDE, SIZES, TIMES, default_request, no_time, one_second};
use crate::config::{ConfigError, refuse};
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::transfer::{ENDLESS, LimitedTransfer};
use crate::sources::vectors::adu::{Adu, End, turn};
use crate::sources::vectors::generator::{Cursor, Generator, Start};

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
    /// Changes of the rate of the application, in order of time; for endless transfers. Before the first one it has more data than
    /// TCP can send. At a rate it gives data of 1 ms at a time, or 1,448 B if these take longer.
    // Left out of a spec in full unless there are some: it is younger than stored results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<ApplicationRateChange>,
}

/// From some time on an application has another rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<ApplicationRateChange>))]
#[serde(deny_unknown_fields)]
pub struct ApplicationRateChange {
    /// The time since the start of the run; later than the change before.
    pub at: Duration,
    /// The rate at which it gives data to TCP from then on, without headers; absent: more than TCP can send. With a change to a rate,
    /// unsent data are taken back, but for those in a send buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

/// The most changes of a rate: one each second of the longest run.
const MOST_CHANGES: usize = 1_000_000;

/// The slowest and the fastest rate of a link.
const SLOWEST: BitRate = BitRate::from_kbit_per_sec(1);
const FASTEST: BitRate = BitRate::from_mbit_per_sec(1_000_000);

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

ranges! {
    ApplicationRateChange { at: TIMES, rate: from(SLOWEST).up_to(FASTEST) }
}

impl SourceKind for BulkConfig {
    const EXAMPLE: &'static str = r#"{"bulk": {"flows": 20, "bytes": "1 MB"}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        check_rate_changes(&self.rate_changes, self.bytes)?;
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(Bulk::new(self, setting.starts()), self.rtt.as_ref()))
    }
}

fn check_rate_changes(changes: &[ApplicationRateChange], bytes: Option<Bytes>) -> Result<(), ConfigError> {
    if let (Some(bytes), false) = (bytes, changes.is_empty()) {
        return refuse(
            "bytes",
            format!("must be absent with rate_changes, which are of endless transfers, got {bytes}"),
        );
    }
    if changes.len() > MOST_CHANGES {
        return refuse(
            "rate_changes",
            format!("must have at most {MOST_CHANGES} entries, got {}", changes.len()),
        );
    }
    let mut before: Option<&ApplicationRateChange> = None;
    for (number, change) in changes.iter().enumerate() {
        let place = |key: &str| format!("rate_changes[{number}].{key}");
        change.check_ranges().or_else(|outside| refuse(&place(outside.field), outside.message))?;
        if let Some(before) = before.filter(|before| change.at <= before.at) {
            return refuse(
                &place("at"),
                format!("must be after the change before, {}, got {}", before.at, change.at),
            );
        }
        if change.rate == before.and_then(|before| before.rate) {
            let message = change.rate.map_or_else(
                || "must be given: without one nothing changes, got none".to_owned(),
                |rate| format!("must differ from the rate before, got {rate}"),
            );
            return refuse(&place("rate"), message);
        }
        before = Some(change);
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct Bulk {
    starts: Starts,
    side: u8,
    direction: TransferDirection,
    bytes: Option<Bytes>,
    limited: Option<LimitedTransfer>,
}

impl Bulk {
    pub(crate) fn new(config: &BulkConfig, stream: Stream) -> Bulk {
        let rates = config.rate_changes.iter().map(|change| (Time::ZERO + change.at, change.rate)).collect();
        let request = (config.direction == TransferDirection::Download).then(default_request);
        Bulk {
            starts: Starts::uniform(config.flows, config.start, config.spread, stream),
            side: config.side,
            direction: config.direction,
            bytes: config.bytes,
            limited: (!config.rate_changes.is_empty()).then_some(LimitedTransfer { request, rates }),
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

    fn limited_transfer(&self) -> Option<&LimitedTransfer> {
        self.limited.as_ref()
    }

    fn is_endless(&self) -> bool {
        self.bytes.is_none()
    }
}

#[cfg(test)]
mod tests {
    use crate::sources::SourceConfig;

    #[test]
    fn changes_without_effect_are_refused_in_one_line() {
        for (rest, why) in [
            (
                r#""bytes": "5 MB", "rate_changes": [{"at": "1 s", "rate": "5 Mbit/s"}]"#,
                "bulk.bytes: must be absent with rate_changes, which are of endless transfers, got 5000000 B",
            ),
            (
                r#""rate_changes": [{"at": "1 s", "rate": "5 Mbit/s"}, {"at": "1 s"}]"#,
                "bulk.rate_changes[1].at: must be after the change before, 1 s, got 1 s",
            ),
            (
                r#""rate_changes": [{"at": "1 s", "rate": "100 bit/s"}]"#,
                "bulk.rate_changes[0].rate: must be between 1 kbit/s and 1000 Gbit/s, got 100 bit/s",
            ),
            (
                r#""rate_changes": [{"at": "1 s"}]"#,
                "bulk.rate_changes[0].rate: must be given: without one nothing changes, got none",
            ),
            (
                r#""rate_changes": [{"at": "1 s", "rate": "5 Mbit/s"}, {"at": "2 s", "rate": "5 Mbit/s"}]"#,
                "bulk.rate_changes[1].rate: must differ from the rate before, got 5 Mbit/s",
            ),
        ] {
            let json = format!(r#"{{"bulk": {{"flows": 1, {rest}}}}}"#);
            let config: SourceConfig = serde_json::from_str(&json).expect("each value is of its type");
            assert_eq!(config.check().expect_err("a mistake").to_string(), why);
        }
    }
}
