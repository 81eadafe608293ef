//! A trace as text, with pairs of hosts instead of round-trip times.
//!
//! One transfer a line, `t dir pair size`: when its connection is opened, in seconds; the side that opens it, 0 or 1;
//! the pair of hosts, which has a minimum round-trip time; the bytes of the response. Empty lines and comments after a
//! `#` are skipped.

use aqmlab_units::{Bytes, Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{SIZES, default_request};
use super::lines::{each_line, fields, number};
use super::read_once::ReadOnce;
use crate::config::{ConfigError, refuse};
use crate::sources::draws::distribution::{MAX_SIZE, MAX_TIME};
use crate::sources::draws::rtt::check_rtt;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::recorded::Recorded;

/// Transfers between pairs of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<PairTraceConfig>))]
#[serde(deny_unknown_fields)]
pub struct PairTraceConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The trace, line by line: `t dir pair size`.
    pub text: String,
    /// The minimum round-trip time of each pair, from pair 0 on.
    pub rtt: Vec<Duration>,
    /// The size of every request. The default is ours.
    #[serde(default = "default_request")]
    pub request: Bytes,
    #[serde(skip)]
    read: ReadOnce,
}

ranges! {
    PairTraceConfig { request: SIZES }
}

impl SourceKind for PairTraceConfig {
    const EXAMPLE: &'static str =
        r#"{"pair_trace": {"text": "2 0 0 5\n1 1 0 6\n1 0 1 7\n", "rtt": ["10 ms", "20 ms"]}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        for (pair, &rtt) in self.rtt.iter().enumerate() {
            check_rtt(&format!("rtt[{pair}]"), rtt)?;
        }
        self.read.keep(self.record()?);
        Ok(())
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(self.read.take_or(|| self.record())?, None))
    }
}

impl PairTraceConfig {
    fn record(&self) -> Result<Recorded, ConfigError> {
        let mut recorded = Recorded::default();
        each_line(&self.text, |line, words| {
            let [t, dir, pair, size] = fields(line, words, "t dir pair size")?;
            let t = number(line, "t", t, 0.0, MAX_TIME.as_secs_f64())?;
            let dir: u8 = number(line, "dir", dir, 0, 1)?;
            let size = number(line, "size", size, 1, MAX_SIZE.get())?;
            let Some(last) = self.rtt.len().checked_sub(1) else {
                return refuse("rtt", "must have a round-trip time for each pair, got none".into());
            };
            let pair = number(line, "pair", pair, 0, last)?;
            recorded.push_exchange(
                (Time::from_secs_f64(t), dir, Some(self.rtt[pair])),
                self.request,
                Bytes::new(size),
            );
            Ok(())
        })?;
        Ok(recorded.sorted())
    }
}
