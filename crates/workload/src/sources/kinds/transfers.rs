//! Transfers that arrive as a Poisson process: an open load.

use aqmlab_units::{Bytes, Duration, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{SIZES, TIMES, check_stop, default_request, no_time};
use crate::config::{ConfigError, refuse};
use crate::sources::draws::distribution::{Size, SizeConfig};
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::variates::exponential;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::adu::Adu;
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// Transfers in two Poisson processes, one for each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<TransfersConfig>))]
#[serde(deny_unknown_fields)]
pub struct TransfersConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Connections per second that side 0 and side 1 open; each 0, or between 0.001 and 1,000,000, and one above 0.
    pub rate_per_second: [f64; 2],
    /// The size of a response.
    pub size: SizeConfig,
    /// The size of a request. The default is ours.
    #[serde(default = "default_request")]
    pub request: Bytes,
    /// The time of the first arrivals.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The time of the last arrivals; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Minimum round-trip times; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

ranges! {
    TransfersConfig { request: SIZES, start: TIMES, stop: TIMES }
}

impl SourceKind for TransfersConfig {
    const EXAMPLE: &'static str = r#"{"transfers": {"rate_per_second": [50, 100], "size": {"lognormal": {"median": "1 kB", "sigma": 1.8}}}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        for (side, &rate) in self.rate_per_second.iter().enumerate() {
            if rate != 0.0 {
                check_rate(&format!("rate_per_second[{side}]"), rate)?;
            }
        }
        if self.rate_per_second.iter().all(|&rate| rate == 0.0) {
            return refuse("rate_per_second", "must be above 0 for one side at least, got [0, 0]".into());
        }
        self.size.check("size")?;
        check_stop(self.start, self.stop)?;
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(Transfers::new(self, setting.key), self.rtt.as_ref()))
    }
}

fn check_rate(path: &str, rate: f64) -> Result<(), ConfigError> {
    if (0.001..=1e6).contains(&rate) {
        return Ok(());
    }
    refuse(path, format!("must be between 0.001 and 1000000 a second, got {rate}"))
}

#[derive(Debug)]
pub(crate) struct Transfers {
    arrivals: [Option<Poisson>; 2],
    stop: Option<Time>,
    size: Size,
    request: Bytes,
}

/// The arrivals of one side.
#[derive(Debug)]
struct Poisson {
    stream: Stream,
    rate: f64,
    next: Time,
}

impl Poisson {
    fn new(rate: f64, start: Duration, stream: Stream) -> Option<Poisson> {
        (rate > 0.0).then(|| {
            let mut arrivals = Poisson { stream, rate, next: Time::ZERO + start };
            arrivals.advance();
            arrivals
        })
    }

    /// Move to the next arrival; returns the one before.
    fn advance(&mut self) -> Time {
        let gap = Duration::from_secs_f64(exponential(&mut self.stream) / self.rate);
        let next = self.next + gap;
        std::mem::replace(&mut self.next, next)
    }
}

impl Transfers {
    pub(crate) fn new(config: &TransfersConfig, key: u64) -> Transfers {
        let arrivals = |side: u8| {
            Poisson::new(
                config.rate_per_second[usize::from(side)],
                config.start,
                Stream::numbered(key, side.into()),
            )
        };
        Transfers {
            arrivals: [arrivals(0), arrivals(1)],
            stop: config.stop.map(|stop| Time::ZERO + stop),
            size: Size::new(&config.size),
            request: config.request,
        }
    }
}

impl Generator for Transfers {
    fn next(&mut self) -> Option<Start> {
        let due = |arrivals: &Option<Poisson>| arrivals.as_ref().map_or(Time::MAX, |side| side.next);
        let side = u8::from(due(&self.arrivals[1]) < due(&self.arrivals[0]));
        let at = self.arrivals[usize::from(side)].as_mut()?.advance();
        self.stop.is_none_or(|stop| at < stop).then(|| Start::at(at, side))
    }

    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let (number, mut stream) = cursor.step();
        match number {
            0 => Some(Adu::request(Duration::ZERO, self.request)),
            1 => Some(Adu::response(Duration::ZERO, self.size.draw(&mut stream))),
            _ => None,
        }
    }
}
