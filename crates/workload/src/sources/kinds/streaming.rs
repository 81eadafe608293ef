//! Video that the server paces: much at once, then a block at a time, somewhat faster than it is watched.
//!
//! Source: Rao, Legout, Lim, Towsley, Barakat and Dabbous, "Network characteristics of video streaming traffic",
//! `CoNEXT` 2011: a buffering phase, then short on-off cycles; the defaults are those of Flash videos there.
//!
//! The server writes each block when it is due, independent of those before; so a slow network makes it send
//! without pauses until it has caught up. The quality of a video does not adapt.

use aqmlab_units::range::{above, up_to};
use aqmlab_units::{BitRate, Bytes, Duration, Range, Stream, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{FLOWS, SIDE, SIZES, TIMES, default_request, no_time, one_second};
use crate::config::ConfigError;
use crate::sources::draws::distribution::MAX_TIME;
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::adu::Adu;
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// Videos that servers pace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<StreamingConfig>))]
#[serde(deny_unknown_fields)]
pub struct StreamingConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Videos, each on a connection of its own.
    pub flows: u32,
    /// The side of the link that watches.
    #[serde(default)]
    pub side: u8,
    /// The rate of the video, as it is watched.
    pub rate: BitRate,
    /// The length of a video; absent: endless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Duration>,
    /// The part of the video, as a length of time, that is sent at once. The default is that of Rao et al. 2011.
    #[serde(default = "forty_seconds")]
    pub buffered: Duration,
    /// The size of a block thereafter. The default is that of Rao et al. 2011.
    #[serde(default = "one_block")]
    pub block: Bytes,
    /// The rate of the blocks, divided by `rate`. The default is that of Rao et al. 2011.
    #[serde(default = "one_and_a_quarter")]
    pub accumulation: f64,
    /// The size of the request. The default is ours.
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

/// More than any video has, and how long one may be, or how much of it in time: together the largest size.
const RATES: Range<BitRate> = up_to(BitRate::from_mbit_per_sec(100));
const LENGTHS: Range<Duration> = above(Duration::ZERO).up_to(Duration::from_secs(80_000));

fn forty_seconds() -> Duration {
    Duration::from_secs(40)
}

fn one_block() -> Bytes {
    Bytes::new(64_000)
}

fn one_and_a_quarter() -> f64 {
    1.25
}

/// So much of a video, in bytes: at least one.
fn watched(rate: BitRate, time: Duration) -> Bytes {
    let bytes = u128::from(rate.bits_per_sec()) * u128::from(time.as_nanos()) / 8_000_000_000;
    Bytes::new(u64::try_from(bytes).expect("at most the largest size").max(1))
}

ranges! {
    StreamingConfig { flows: FLOWS,
        side: SIDE,
        rate: RATES,
        length: LENGTHS,
        buffered: LENGTHS,
        block: SIZES,
        accumulation: above(0.0).up_to(100.0),
        request: SIZES,
        start: TIMES,
        spread: TIMES, }
}

impl SourceKind for StreamingConfig {
    const EXAMPLE: &'static str = r#"{"streaming": {"flows": 5, "rate": "2 Mbit/s", "length": "5 min"}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        Ok(setting.connections(Streaming::new(self, setting.starts()), self.rtt.as_ref()))
    }
}

#[derive(Debug)]
struct Streaming {
    starts: Starts,
    side: u8,
    request: Bytes,
    /// The bytes that are sent at once.
    buffered: Bytes,
    block: Bytes,
    /// From the write of a block to that of the next.
    cycle: Duration,
    /// Bytes of a whole video.
    size: Option<Bytes>,
}

impl Streaming {
    fn new(config: &StreamingConfig, stream: Stream) -> Streaming {
        let size = config.length.map(|length| watched(config.rate, length));
        let buffered = watched(config.rate, config.buffered);
        let seconds =
            config.block.as_f64() / config.rate.packets_per_sec(Bytes::new(1)) / config.accumulation;
        Streaming {
            starts: Starts::uniform(config.flows, config.start, config.spread, stream),
            side: config.side,
            request: config.request,
            buffered: size.map_or(buffered, |size| size.min(buffered)),
            block: config.block,
            cycle: Duration::from_secs_f64(seconds).min(MAX_TIME),
            size,
        }
    }

    /// The size of block `number`, the first being 0; the last one is what is left.
    fn block(&self, number: u32) -> Option<Bytes> {
        let Some(size) = self.size else { return Some(self.block) };
        let sent = self.buffered.get().saturating_add(self.block.get().saturating_mul(number.into()));
        let left = size.get().saturating_sub(sent);
        (left > 0).then(|| self.block.min(Bytes::new(left)))
    }
}

impl Generator for Streaming {
    fn next(&mut self) -> Option<Start> {
        Some(Start::at(self.starts.next()?, self.side))
    }

    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let (number, _) = cursor.step();
        Some(match number {
            0 => Adu::request(Duration::ZERO, self.request),
            1 => Adu::response(Duration::ZERO, self.buffered),
            _ => Adu::response(self.cycle, self.block(number - 2)?),
        })
    }

    fn is_endless(&self) -> bool {
        self.size.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::SourceConfig;
    use crate::sources::draws::distribution::MAX_SIZE;

    fn config(json: &str) -> StreamingConfig {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
    }

    fn streaming(json: &str) -> Streaming {
        let config = config(json);
        Streaming::new(&config, Stream::numbered(1, 0))
    }

    /// Returns the units that a connection sends, at most `most`.
    fn sent(video: &Streaming, most: usize) -> Vec<Adu> {
        let mut cursor = Cursor { key: 1, state: 0, next: 0 };
        std::iter::from_fn(|| video.adu(&mut cursor)).take(most).collect()
    }

    #[test]
    fn blocks_are_faster_than_the_video_by_the_accumulation_ratio() {
        // Rao et al. 2011, section 5: what is sent in a cycle, over its time, is the ratio times the video's rate.
        let video = streaming(r#"{"flows": 1, "rate": "1 Mbit/s"}"#);
        assert!(video.is_endless());
        let units = sent(&video, 1002);
        assert_eq!(units[1], Adu::response(Duration::ZERO, Bytes::new(5_000_000)), "40 s of it");
        let (mut bytes, mut seconds) = (0.0, 0.0);
        for unit in &units[2..] {
            bytes += unit.size.as_f64();
            seconds += unit.pause.as_secs_f64();
        }
        assert!((bytes * 8.0 / seconds / 1.25e6 - 1.0).abs() < 1e-6, "{bytes} B in {seconds} s");
    }

    #[test]
    fn a_video_is_sent_to_its_last_byte_and_no_further() {
        for (length, buffered, blocks) in [("100 s", "40 s", 118), ("10 s", "40 s", 0), ("1 s", "1 s", 0)] {
            let json = format!(
                r#"{{"flows": 1, "rate": "1 Mbit/s", "length": "{length}", "buffered": "{buffered}"}}"#
            );
            let units = sent(&streaming(&json), 10_000);
            let bytes: u64 = units[1..].iter().map(|unit| unit.size.get()).sum();
            let seconds: u64 = length.trim_end_matches(" s").parse().expect("a number");
            assert_eq!((bytes, units.len() - 2), (125_000 * seconds, blocks), "{length}");
        }
    }

    #[test]
    fn the_longest_video_has_the_largest_size() {
        assert_eq!(watched(BitRate::from_mbit_per_sec(100), Duration::from_secs(80_000)), MAX_SIZE);
    }

    #[test]
    fn mistakes_are_refused_in_one_line() {
        for (rest, why) in [
            (r#""rate": "20 Gbit/s""#, "streaming.rate: must be at most 100 Mbit/s, got 20 Gbit/s"),
            (
                r#""rate": "1 Mbit/s", "length": "0 s""#,
                "streaming.length: must be above 0 s and at most 80000 s, got 0 s",
            ),
        ] {
            let json = format!(r#"{{"streaming": {{"flows": 1, {rest}}}}}"#);
            let config: SourceConfig = serde_json::from_str(&json).expect("each value is of its type");
            assert_eq!(config.check().expect_err("a mistake").to_string(), why);
        }
    }
}
