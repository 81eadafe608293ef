//! The minimum round-trip time of a connection, where a source has its own.

use aqmlab_units::{Duration, Stream};
use serde::{Deserialize, Serialize};

use crate::RttConfig;
use crate::config::{ConfigError, refuse};
use crate::web::Rtt;

/// A minute, as for tables of round-trip times.
pub(crate) const MAX_RTT: Duration = Duration::from_secs(60);

/// The minimum round-trip times of a source; absent: the experiment's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MinRttConfig {
    /// The same for every connection.
    Fixed(Duration),
    /// Equally likely from `min` to `max`.
    Range {
        /// The smallest.
        min: Duration,
        /// The largest.
        max: Duration,
    },
    /// A table of the source's own.
    Table(RttConfig),
}

impl MinRttConfig {
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        match self {
            MinRttConfig::Fixed(rtt) => check_rtt(&format!("{path}.fixed"), *rtt),
            MinRttConfig::Range { min, max } if min > max => {
                refuse(&format!("{path}.range.min"), format!("must not be above max = {max}, got {min}"))
            }
            MinRttConfig::Range { max, .. } => check_rtt(&format!("{path}.range.max"), *max),
            MinRttConfig::Table(table) => {
                table.check().map_err(|error| error.inside(&format!("{path}.table")))
            }
        }
    }
}

pub(crate) fn check_rtt(path: &str, rtt: Duration) -> Result<(), ConfigError> {
    if rtt <= MAX_RTT {
        return Ok(());
    }
    refuse(path, format!("must be at most {MAX_RTT}, got {rtt}"))
}

/// Draws minimum round-trip times.
#[derive(Clone, Debug)]
pub(crate) enum MinRtt {
    Range { min: Duration, max: Duration },
    Table(Rtt),
}

impl MinRtt {
    /// From checked configurations: the source's own, else the experiment's.
    pub(crate) fn new(own: Option<&MinRttConfig>, experiment: &RttConfig) -> MinRtt {
        match own {
            Some(MinRttConfig::Fixed(rtt)) => MinRtt::Range { min: *rtt, max: *rtt },
            Some(MinRttConfig::Range { min, max }) => MinRtt::Range { min: *min, max: *max },
            Some(MinRttConfig::Table(table)) => MinRtt::Table(Rtt::new(&table.distribution)),
            None => MinRtt::Table(Rtt::new(&experiment.distribution)),
        }
    }

    pub(crate) fn draw(&self, stream: &mut Stream) -> Duration {
        match self {
            MinRtt::Range { min, max } => {
                *min + Duration::from_nanos(stream.below(max.as_nanos() - min.as_nanos() + 1))
            }
            MinRtt::Table(table) => table.draw(stream),
        }
    }
}
