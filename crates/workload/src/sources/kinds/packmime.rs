//! PackMime-HTTP: web connections as they arrive on a link, described by their rate alone.
//!
//! Source: Cao, Cleveland, Gao, Jeffay, Smith and Weigle, "Stochastic models for generating synthetic HTTP source
//! traffic", INFOCOM 2004; the numbers are those that its authors gave to ns-2 (`packmime_ranvar.cc`). The tables
//! are in `data/packmime.json`.
//!
//! * Gaps between connections are Weibull and long-range dependent: a [`Fractional`] series with d = 0.33 is put through
//!   the normal distribution function and the Weibull's quantile function. Shape and noise share depend on the rate.
//! * Sizes of requests come from such a series too, with d = 0.31 and their own table.
//! * Responses alternate between runs of cache validations and runs of bodies; a run's length is a Weibull draw,
//!   rounded up.
//! * Servers take the inverse of a Weibull draw to answer, at most 0.1 s.
//! * With HTTP/1.1 a connection is persistent with probability 0.09. It carries pages of objects; all its requests have
//!   one size. Gaps and later responses are lognormal about a location and with a scale that belong to the connection;
//!   if the first response was a cache validation, the others have its size.
//!
//! Differs from ns-2: location and scale of gaps are drawn for each connection, as the paper has it, instead of once for
//! all; the fractional series of request sizes keeps 1,000 lags instead of 5,000; sizes end at the last value of their
//! table; round-trip times are the experiment's or the source's, not those of the model.

mod note;

use aqmlab_units::range::from;
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use self::note::Note;
use super::fields::{SIDE, TIMES, no_time};
use crate::QuantileConfig;
use crate::config::ConfigError;
use crate::quantile::Quantile;
use crate::sources::draws::distribution::{MAX_TIME, whole_bytes};
use crate::sources::draws::fractional::Fractional;
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::variates::{gamma, normal, normal_below, weibull};
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::adu::{Adu, End, turn};
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// Web connections of PackMime-HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<PackmimeConfig>))]
#[serde(deny_unknown_fields)]
pub struct PackmimeConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New connections per second.
    pub rate_per_second: f64,
    /// The side of the link that the browsers are on.
    #[serde(default)]
    pub side: u8,
    /// Allows persistent connections. The default is the paper's; in ns-2 it must be set.
    #[serde(default)]
    pub http: HttpVersion,
    /// The time of the first arrivals.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// Minimum round-trip times; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

/// The version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HttpVersion {
    /// One exchange a connection.
    #[serde(rename = "1.0")]
    Http10,
    /// Some connections are persistent.
    #[default]
    #[serde(rename = "1.1")]
    Http11,
}

ranges! {
    PackmimeConfig { rate_per_second: from(1.0).up_to(1e5), side: SIDE, start: TIMES }
}

impl SourceKind for PackmimeConfig {
    const EXAMPLE: &'static str = r#"{"packmime": {"rate_per_second": 100}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(Packmime::new(self, setting.key), self.rtt.as_ref()))
    }
}

/// Scales of the Weibull run lengths of cache validations and of bodies.
const RUN_SCALE: [f64; 2] = [0.775, 3.11];
/// Largest response that counts as a cache validation.
const CACHE_VALIDATION: Bytes = Bytes::new(275);
const PERSISTENT: f64 = 0.09;
const ONE_PAGE: f64 = 0.82;
/// Mean of the exponential draw that, rounded up, says how many pages there are beyond the first.
const MORE_PAGES: f64 = 0.417;
const ONE_OBJECT: f64 = 0.69;
/// The same for the objects of a page.
const MORE_OBJECTS: f64 = 1.578;
const BETWEEN_PAGES: ConnectionVariate =
    ConnectionVariate { mean: 3.22, variance: 0.73, shape: 1.85, error: 1.21 };
const BETWEEN_OBJECTS: ConnectionVariate =
    ConnectionVariate { mean: -4.15, variance: 3.12, shape: 2.35, error: 1.57 };
const LATER_RESPONSES: ConnectionVariate =
    ConnectionVariate { mean: 10.62, variance: 0.94, shape: 3.22, error: 2.43 };

/// A quantity whose logarithm to base 2 has a location and a scale of the connection's own.
struct ConnectionVariate {
    /// Mean and variance of the location.
    mean: f64,
    variance: f64,
    /// The shape of the scale, a gamma draw of mean 1.
    shape: f64,
    /// The mean variance about the location.
    error: f64,
}

impl ConnectionVariate {
    /// A draw from `stream` for the connection whose habits come from `habits`.
    fn draw(&self, habits: &mut Stream, stream: &mut Stream) -> f64 {
        let location = self.mean + libm::sqrt(self.variance) * normal(habits);
        let scale = gamma(self.shape, habits);
        libm::exp2(location + libm::sqrt(scale * self.error) * normal(stream))
    }
}

/// The tables as they are shipped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the unit is part of a table's name")]
struct Tables {
    cache_validation_bytes: QuantileConfig,
    body_bytes: QuantileConfig,
    request_bytes: QuantileConfig,
}

#[derive(Debug)]
pub(crate) struct Packmime {
    side: u8,
    http: HttpVersion,
    next: Time,
    gaps: Fractional,
    gap_shape: f64,
    gap_scale: f64,
    requests: Fractional,
    request_bytes: Quantile,
    /// Cache validations and bodies.
    response_bytes: [Quantile; 2],
    runs: Runs,
    /// Draws which connections are persistent, and their numbers of pages.
    structure: Stream,
}

/// Runs of responses of one class.
#[derive(Debug)]
struct Runs {
    stream: Stream,
    shape: [f64; 2],
    class: usize,
    left: f64,
}

impl Runs {
    /// The class of the next response.
    fn next(&mut self) -> usize {
        if self.left < 1.0 {
            self.class = 1 - self.class;
            let length = weibull(self.shape[self.class], RUN_SCALE[self.class], &mut self.stream);
            self.left = libm::ceil(length).max(1.0);
        }
        self.left -= 1.0;
        self.class
    }
}

impl Packmime {
    pub(crate) fn new(config: &PackmimeConfig, key: u64) -> Packmime {
        let Tables { cache_validation_bytes, body_bytes, request_bytes } =
            serde_json::from_str(include_str!("../../../data/packmime.json"))
                .expect("the shipped tables are well formed");
        let rate = config.rate_per_second;
        let by_rate = |intercept, slope| logistic(intercept + slope * libm::log2(rate));
        let gap_shape = by_rate(0.352, 0.388);
        let quantile = |table: &QuantileConfig| Quantile::new(&table.nodes);
        let mut source = Packmime {
            side: config.side,
            http: config.http,
            next: Time::ZERO + config.start,
            gaps: Fractional::new(0.33, by_rate(0.333, 0.414), Stream::numbered(key, 0)),
            gap_shape,
            // The mean gap is 1 / rate.
            gap_scale: 1.0 / (rate * libm::tgamma(1.0 + 1.0 / gap_shape)),
            requests: Fractional::new(0.31, by_rate(0.123, 0.494), Stream::numbered(key, 1)),
            request_bytes: quantile(&request_bytes),
            response_bytes: [quantile(&cache_validation_bytes), quantile(&body_bytes)],
            runs: Runs {
                stream: Stream::numbered(key, 2),
                shape: [by_rate(0.718, 0.357), by_rate(1.293, 0.316)],
                class: 0,
                left: 0.0,
            },
            structure: Stream::numbered(key, 3),
        };
        let gap = source.gap();
        source.next += gap;
        source
    }

    fn gap(&mut self) -> Duration {
        // F(gap) = Φ(y), so that -ln(1 - F) = -ln Φ(-y).
        let exponential = -libm::log(normal_below(-self.gaps.next()));
        Duration::from_secs_f64(self.gap_scale * libm::pow(exponential, 1.0 / self.gap_shape)).min(MAX_TIME)
    }

    /// The response to the first request of a connection.
    fn first_response(&self, class: usize, stream: &mut Stream) -> Bytes {
        whole_bytes(self.response_bytes[class].value(stream.uniform()))
    }
}

/// 1 / (1 + exp(-x))
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// 1 plus an exponential draw rounded up; at least 2.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 100")]
fn several(mean: f64, stream: &mut Stream) -> u64 {
    1 + libm::ceil(weibull(1.0, mean, stream)).max(1.0) as u64
}

/// The stream of a connection's habits, apart from those of its units.
fn habits(key: u64, which: u64) -> Stream {
    Stream::numbered(key, u64::MAX - which)
}

impl Generator for Packmime {
    #[expect(clippy::cast_possible_truncation, reason = "requests and numbers of pages are small")]
    fn next(&mut self) -> Option<Start> {
        let gap = self.gap();
        let at = self.next;
        self.next = at + gap;
        let persistent = self.http == HttpVersion::Http11 && self.structure.chance(Prob::clamped(PERSISTENT));
        let one_page = !persistent || self.structure.chance(Prob::clamped(ONE_PAGE));
        let pages = if one_page { 1 } else { several(MORE_PAGES, &mut self.structure) };
        let request = whole_bytes(self.request_bytes.value(normal_below(self.requests.next())));
        let note = Note {
            request: request.get() as u32,
            body: self.runs.next() == 1,
            persistent,
            one_page,
            objects_left: 0,
            pages_left: pages as u8,
        };
        Some(Start { persistent, state: note.state(), ..Start::at(at, self.side) })
    }

    #[expect(clippy::cast_possible_truncation, reason = "objects of a page are few")]
    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let (number, mut stream) = cursor.step();
        let mut note = Note::from_state(cursor.state);
        if turn(number) == End::Acceptor {
            // Half of all servers answer within 6 ms.
            let pause = 1.0 / weibull(0.63, 305.0, &mut stream).max(10.0);
            let class = usize::from(note.body);
            let mut first = Stream::numbered(cursor.key, u64::MAX);
            let mut size = self.first_response(class, &mut first);
            if number > 1 && size > CACHE_VALIDATION {
                size = whole_bytes(LATER_RESPONSES.draw(&mut habits(cursor.key, 1), &mut stream));
            }
            return Some(Adu::response(Duration::from_secs_f64(pause), size));
        }
        let mut pause = 0.0;
        if note.objects_left == 0 {
            note.pages_left = note.pages_left.checked_sub(1)?;
            // A persistent connection with a single page has several objects on it.
            let one_object = !note.persistent || (!note.one_page && stream.chance(Prob::clamped(ONE_OBJECT)));
            note.objects_left = if one_object { 1 } else { several(MORE_OBJECTS, &mut stream) as u8 };
            if number > 0 {
                pause = BETWEEN_PAGES.draw(&mut habits(cursor.key, 2), &mut stream);
            }
        } else {
            pause = BETWEEN_OBJECTS.draw(&mut habits(cursor.key, 3), &mut stream);
        }
        note.objects_left -= 1;
        cursor.state = note.state();
        let pause = Duration::from_secs_f64(pause).min(MAX_TIME);
        Some(Adu::request(pause, Bytes::new(note.request.into())))
    }
}
