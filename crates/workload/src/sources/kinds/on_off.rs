//! On-off flows over TCP: each connection carries bursts of random size, with a pause after each.
//!
//! A burst is a response of random size; the pause runs from its last byte to the request for the next one. So the
//! flow is closed-loop: a slow network delays its bursts.

use aqmlab_units::{Bytes, Duration, Stream, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{FLOWS, SIDE, SIZES, TIMES, default_request, no_time, one_second};
use crate::config::ConfigError;
use crate::sources::draws::distribution::{Size, SizeConfig, Span, TimeConfig};
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::adu::{Adu, End, turn};
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// On-off flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<OnOffConfig>))]
#[serde(deny_unknown_fields)]
pub struct OnOffConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Flows, each on a connection of its own.
    pub flows: u32,
    /// The side of the link that asks.
    #[serde(default)]
    pub side: u8,
    /// The size of a burst.
    pub size: SizeConfig,
    /// The pause after it.
    pub off: TimeConfig,
    /// The size of a request. The default is ours.
    #[serde(default = "default_request")]
    pub request: Bytes,
    /// The earliest start.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The starts are spread evenly at random over this time. The default is ours.
    #[serde(default = "one_second")]
    pub spread: Duration,
    /// Minimum round-trip times; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

ranges! {
    OnOffConfig { flows: FLOWS, side: SIDE, request: SIZES, start: TIMES, spread: TIMES }
}

impl SourceKind for OnOffConfig {
    const EXAMPLE: &'static str = r#"{"on_off": {"flows": 20, "size": {"exponential": {"mean": "20 kB"}}, "off": {"pareto": {"mean": "1 s", "shape": 1.5}}}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        self.size.check("size")?;
        self.off.check("off")?;
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(OnOff::new(self, setting.starts()), self.rtt.as_ref()))
    }
}

#[derive(Debug)]
pub(crate) struct OnOff {
    starts: Starts,
    side: u8,
    size: Size,
    off: Span,
    request: Bytes,
}

impl OnOff {
    pub(crate) fn new(config: &OnOffConfig, stream: Stream) -> OnOff {
        OnOff {
            starts: Starts::uniform(config.flows, config.start, config.spread, stream),
            side: config.side,
            size: Size::new(&config.size),
            off: Span::new(&config.off),
            request: config.request,
        }
    }
}

impl Generator for OnOff {
    fn next(&mut self) -> Option<Start> {
        Some(Start { persistent: true, ..Start::at(self.starts.next()?, self.side) })
    }

    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let (number, mut stream) = cursor.step();
        Some(match turn(number) {
            End::Initiator if number == 0 => Adu::request(Duration::ZERO, self.request),
            End::Initiator => Adu::request(self.off.draw(&mut stream), self.request),
            End::Acceptor => Adu::response(Duration::ZERO, self.size.draw(&mut stream)),
        })
    }

    fn is_endless(&self) -> bool {
        true
    }
}
