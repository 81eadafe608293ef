//! The web users of 3GPP's evaluation methodology: read a page, fetch its main object, parse it, fetch what it embeds.
//!
//! Source: the HTTP model of 3GPP TR 25.892 (whose mean number of embedded objects, 5.64, the
//! tests hold to), with the parameters that ns-3 documents (`ThreeGppHttpVariables`).
//!
//! Each user has one connection, which carries one object after another and stays open over the reading times, as in
//! ns-3. The first page of each user comes after a reading time, so that pages start at the long-run rate.
//!
//! Differs from ns-3: the number of embedded objects ends in an atom at its maximum, as the methodology defines it,
//! instead of being drawn again above it (a mean of 4.4); responses are not cut into parts of 1,460 or 536 bytes,
//! because the segment size is the stack's.

use aqmlab_units::{Bytes, Duration, Stream, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{FLOWS, SIDE, TIMES, no_time};
use crate::config::ConfigError;
use crate::sources::draws::distribution::whole_bytes;
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::draws::variates::{exponential, normal};
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::adu::{Adu, End, turn};
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// Web users of 3GPP's model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<ThreeGppConfig>))]
#[serde(deny_unknown_fields)]
pub struct ThreeGppConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of users.
    pub users: u32,
    /// The side of the link that they are on.
    #[serde(default)]
    pub side: u8,
    /// Mean time from the end of a page to the start of the next, exponential. The default is that of TR 25.892.
    #[serde(default = "thirty_seconds")]
    pub reading: Duration,
    /// The time at which they begin to read.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// Minimum round-trip times; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

fn thirty_seconds() -> Duration {
    Duration::from_secs(30)
}

ranges! {
    ThreeGppConfig { users: FLOWS, side: SIDE, reading: TIMES, start: TIMES }
}

impl SourceKind for ThreeGppConfig {
    const EXAMPLE: &'static str = r#"{"three_gpp": {"users": 30}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(ThreeGpp::new(self, setting.starts()), self.rtt.as_ref()))
    }
}

/// Bytes of a request. Source: ns-3.
const REQUEST: Bytes = Bytes::new(328);
/// Mean time to parse a main object, in seconds.
const PARSING: f64 = 0.13;
/// The number of embedded objects is Pareto of this shape and scale, cut off at the maximum, less the scale.
const EMBEDDED_SHAPE: f64 = 1.1;
const EMBEDDED_SCALE: f64 = 2.0;
const EMBEDDED_MAX: f64 = 55.0;

/// Sizes of objects: lognormal with mean and standard deviation before truncation, drawn again outside of the range.
struct Objects {
    mean: f64,
    deviation: f64,
    min: f64,
    max: f64,
}

const MAIN: Objects = Objects { mean: 10_710.0, deviation: 25_032.0, min: 100.0, max: 2e6 };
const EMBEDDED: Objects = Objects { mean: 7_758.0, deviation: 126_168.0, min: 50.0, max: 2e6 };

impl Objects {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        // sigma^2 = ln(1 + sd^2 / mean^2);  mu = ln(mean) - sigma^2 / 2
        let ratio = self.deviation / self.mean;
        let variance = libm::log1p(ratio * ratio);
        let mu = libm::log(self.mean) - 0.5 * variance;
        loop {
            let size = libm::exp(mu + libm::sqrt(variance) * normal(stream));
            if (self.min..self.max).contains(&size) {
                return whole_bytes(size);
            }
        }
    }
}

/// Draws the number of objects that a page embeds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 53")]
fn embedded(stream: &mut Stream) -> u64 {
    let drawn = EMBEDDED_SCALE * libm::exp(exponential(stream) / EMBEDDED_SHAPE);
    (drawn.min(EMBEDDED_MAX) - EMBEDDED_SCALE + 0.5) as u64
}

#[derive(Debug)]
pub(crate) struct ThreeGpp {
    starts: Starts,
    side: u8,
    /// Seconds.
    reading: f64,
}

impl ThreeGpp {
    pub(crate) fn new(config: &ThreeGppConfig, stream: Stream) -> ThreeGpp {
        ThreeGpp {
            starts: Starts::exponential(config.users, config.start, config.reading, stream),
            side: config.side,
            reading: config.reading.as_secs_f64(),
        }
    }
}

/// The notes: the number of embedded objects still to be fetched, and a flag for the main object.
const MAIN_OBJECT: u64 = 1 << 32;
const FIRST_EMBEDDED: u64 = 1 << 33;
const OBJECTS: u64 = MAIN_OBJECT - 1;

impl Generator for ThreeGpp {
    fn next(&mut self) -> Option<Start> {
        Some(Start { persistent: true, ..Start::at(self.starts.next()?, self.side) })
    }

    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let (number, mut stream) = cursor.step();
        let left = cursor.state & OBJECTS;
        Some(match turn(number) {
            End::Initiator if left == 0 => {
                // The reading time before the first page has passed before the connection.
                let mean = if number == 0 { 0.0 } else { self.reading };
                cursor.state = MAIN_OBJECT;
                Adu::request(Duration::from_secs_f64(mean * exponential(&mut stream)), REQUEST)
            }
            End::Initiator => {
                let mean = if cursor.state & FIRST_EMBEDDED == 0 { 0.0 } else { PARSING };
                cursor.state = left - 1;
                Adu::request(Duration::from_secs_f64(mean * exponential(&mut stream)), REQUEST)
            }
            End::Acceptor if cursor.state & MAIN_OBJECT != 0 => {
                cursor.state = FIRST_EMBEDDED | embedded(&mut stream);
                Adu::response(Duration::ZERO, MAIN.draw(&mut stream))
            }
            End::Acceptor => Adu::response(Duration::ZERO, EMBEDDED.draw(&mut stream)),
        })
    }

    fn is_endless(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
