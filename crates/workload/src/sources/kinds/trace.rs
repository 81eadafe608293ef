//! A trace: transfers with their times, given as columns.

use aqmlab_units::{Bytes, Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, refuse};
use crate::sources::draws::distribution::{MAX_SIZE, MAX_TIME};
use crate::sources::draws::rtt::{MAX_RTT, MinRttConfig};
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::recorded::Recorded;

/// Transfers, one a row, each on a connection of its own; row i is the i-th entry of each column. Rows may stand in
/// any order; those of one instant start in theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<TraceConfig>))]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The opening time of each connection, in seconds from 0.
    pub start_seconds: Vec<f64>,
    /// The side of the link that opens it, 0 or 1.
    pub side: Vec<u8>,
    /// Bytes of the request, at least 1.
    pub request_bytes: Vec<u64>,
    /// Bytes of the response; 0: an upload, which nothing answers.
    pub response_bytes: Vec<u64>,
    /// Minimum round-trip time in milliseconds; absent: from `rtt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<Vec<f64>>,
    /// Minimum round-trip times where there is no column `rtt_ms`; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

ranges! {
    TraceConfig {}
}

impl SourceKind for TraceConfig {
    const EXAMPLE: &'static str = r#"{"trace": {"start_seconds": [2, 1, 1], "side": [0, 1, 0], "request_bytes": [9, 9, 9], "response_bytes": [5, 6, 7]}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        let rows = self.start_seconds.len();
        if !(1..=MAX_ROWS).contains(&rows) {
            return refuse("start_seconds", format!("must have between 1 and {MAX_ROWS} rows, got {rows}"));
        }
        let columns = [
            ("side", self.side.len()),
            ("request_bytes", self.request_bytes.len()),
            ("response_bytes", self.response_bytes.len()),
            ("rtt_ms", self.rtt_ms.as_ref().map_or(rows, Vec::len)),
        ];
        for (name, length) in columns {
            if length != rows {
                return refuse(name, format!("must have {rows} rows, as start_seconds has, got {length}"));
            }
        }
        if self.rtt_ms.is_some() && self.rtt.is_some() {
            return refuse("rtt", "must be absent where there is a column rtt_ms".into());
        }
        check_column("start_seconds", &self.start_seconds, 0.0, MAX_TIME.as_secs_f64())?;
        check_column("side", &self.side, 0, 1)?;
        check_column("request_bytes", &self.request_bytes, 1, MAX_SIZE.get())?;
        check_column("response_bytes", &self.response_bytes, 0, MAX_SIZE.get())?;
        if let Some(rtt_ms) = &self.rtt_ms {
            check_column("rtt_ms", rtt_ms, 0.0, MAX_RTT.as_millis_f64())?;
        }
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(self.record(), self.rtt.as_ref()))
    }
}

impl TraceConfig {
    fn record(&self) -> Recorded {
        let mut recorded = Recorded::default();
        for (row, &start) in self.start_seconds.iter().enumerate() {
            let rtt = self.rtt_ms.as_ref().map(|rtt_ms| Duration::from_secs_f64(rtt_ms[row] * 1e-3));
            recorded.push_exchange(
                (Time::from_secs_f64(start), self.side[row], rtt),
                Bytes::new(self.request_bytes[row]),
                Bytes::new(self.response_bytes[row]),
            );
        }
        recorded.sorted()
    }
}

/// Connections of one trace.
pub(crate) const MAX_ROWS: usize = 100_000_000;

/// Every entry lies in its range; the first that does not is named by its row.
fn check_column<T: PartialOrd + Copy + std::fmt::Display>(
    name: &str,
    column: &[T],
    min: T,
    max: T,
) -> Result<(), ConfigError> {
    match column.iter().position(|entry| !(min..=max).contains(entry)) {
        Some(row) => {
            refuse(&format!("{name}[{row}]"), format!("must be between {min} and {max}, got {}", column[row]))
        }
        None => Ok(()),
    }
}
