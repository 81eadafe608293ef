//! Adaptive video over TCP: a player requests segments, and chooses the rate of each by a rule.
//!
//! Segments have the size of their rate and length, or those of a manifest. Each viewer has one connection, which stays
//! open while the buffer is full. A small `buffer` makes it live video: the player cannot be far behind what is being
//! filmed.
//!
//! Left out: separate sound, requests that are given up, and the live edge itself.

use aqmlab_units::range::{from, up_to};
use aqmlab_units::{BitRate, Bytes, Duration, Range, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{FLOWS, SIDE, SIZES, TIMES, default_request, no_time, one_second};
use crate::config::{ConfigError, refuse};
use crate::sources::draws::distribution::MAX_SIZE;
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::player::{Video, VideoRule};
use crate::sources::vectors::adu::Adu;
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// Adaptive videos.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<VideoConfig>))]
#[serde(deny_unknown_fields)]
pub struct VideoConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Viewers, each on a connection of its own.
    pub flows: u32,
    /// The side of the link that watches.
    #[serde(default)]
    pub side: u8,
    /// The rates of the video's versions, from the lowest to the highest. The default is the ladder for H.264 of Apple's "HLS
    /// authoring specification for Apple devices".
    #[serde(default = "default_ladder")]
    pub ladder: Vec<BitRate>,
    /// The length of a segment. The default is that of the same specification.
    #[serde(default = "six_seconds")]
    pub segment: Duration,
    /// The size of each segment in bytes: a list for each segment, with one size for each rate of the ladder. A video that is
    /// longer begins again. Absent: the size of rate and length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Vec<u64>>>,
    /// The most video that a player holds, at least two segments; some seconds for live video. The default is that of dash.js
    /// (`bufferTimeAtTopQuality`).
    #[serde(default = "thirty_seconds")]
    pub buffer: Duration,
    /// The rule by which the rate of a segment is chosen.
    #[serde(default)]
    pub rule: VideoRule,
    /// The length of a video; absent: endless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Duration>,
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

/// More than any video has.
const HIGHEST: BitRate = BitRate::from_mbit_per_sec(100);

/// More than a day of video has, in segments of a second.
const MOST_SEGMENTS: usize = 100_000;

const SEGMENTS: Range<Duration> = from(Duration::from_millis(100)).up_to(Duration::from_secs(60));

fn default_ladder() -> Vec<BitRate> {
    [145, 365, 730, 1100, 2000, 3000, 4500, 6000, 7800].map(BitRate::from_kbit_per_sec).to_vec()
}

fn six_seconds() -> Duration {
    Duration::from_secs(6)
}

fn thirty_seconds() -> Duration {
    Duration::from_secs(30)
}

ranges! {
    VideoConfig { flows: FLOWS,
        side: SIDE,
        segment: SEGMENTS,
        buffer: up_to(Duration::from_secs(3600)),
        length: TIMES,
        request: SIZES,
        start: TIMES,
        spread: TIMES, }
}

impl VideoConfig {
    fn video(&self) -> Video {
        Video {
            ladder: self.ladder.clone(),
            segment: self.segment,
            sizes: self
                .sizes
                .iter()
                .flatten()
                .map(|sizes| sizes.iter().copied().map(Bytes::new).collect())
                .collect(),
            buffer: self.buffer,
            rule: self.rule,
            request: self.request,
            segments: self.length.map(|length| length.as_nanos().div_ceil(self.segment.as_nanos()).max(1)),
        }
    }
}

impl VideoConfig {
    fn check_sizes(&self) -> Result<(), ConfigError> {
        let Some(sizes) = &self.sizes else { return Ok(()) };
        if !(1..=MOST_SEGMENTS).contains(&sizes.len()) {
            return refuse(
                "sizes",
                format!("must have between 1 and {MOST_SEGMENTS} segments, got {}", sizes.len()),
            );
        }
        for (segment, sizes) in sizes.iter().enumerate() {
            let (name, rates) = (format!("sizes[{segment}]"), self.ladder.len());
            if sizes.len() != rates {
                return refuse(
                    &name,
                    format!("must have {rates} sizes, as the ladder has rates, got {}", sizes.len()),
                );
            }
            if let Some(size) = sizes.iter().find(|size| !(1..=MAX_SIZE.get()).contains(size)) {
                return refuse(
                    &name,
                    format!("must have sizes between 1 and {} bytes, got {size}", MAX_SIZE.get()),
                );
            }
        }
        Ok(())
    }
}

impl SourceKind for VideoConfig {
    const EXAMPLE: &'static str = r#"{"video": {"flows": 2, "rule": "bola", "rtt": {"fixed": "20 ms"}}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        let Some(highest) = self.ladder.last() else {
            return refuse("ladder", "must have at least one rate, got none".into());
        };
        for (&lower, &higher) in self.ladder.iter().zip(&self.ladder[1..]) {
            if lower >= higher {
                return refuse("ladder", format!("must rise from rate to rate, got {higher} after {lower}"));
            }
        }
        if *highest > HIGHEST {
            return refuse("ladder", format!("must have rates of at most {HIGHEST}, got {highest}"));
        }
        let least = self.segment * 2;
        if self.buffer < least {
            return refuse("buffer", format!("must hold two segments, {least}, got {}", self.buffer));
        }
        self.check_sizes()?;
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        let starts = Starts::uniform(self.flows, self.start, self.spread, setting.starts());
        let videos = Videos { starts, side: self.side, video: self.video() };
        Ok(setting.connections(videos, self.rtt.as_ref()))
    }
}

/// Viewers of one video.
#[derive(Debug)]
struct Videos {
    starts: Starts,
    side: u8,
    video: Video,
}

impl Generator for Videos {
    fn next(&mut self) -> Option<Start> {
        Some(Start { persistent: true, ..Start::at(self.starts.next()?, self.side) })
    }

    /// A player decides itself.
    fn adu(&self, _cursor: &mut Cursor) -> Option<Adu> {
        None
    }

    fn video(&self) -> Option<&Video> {
        Some(&self.video)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::SourceConfig;

    fn config(rest: &str) -> VideoConfig {
        serde_json::from_str(&format!(r#"{{"flows": 1{rest}}}"#)).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_video_has_all_of_its_length_in_segments() {
        assert_eq!(config(r#", "length": "61 s""#).video().segments, Some(11));
        assert_eq!(config("").video().segments, None);
    }

    #[test]
    fn mistakes_are_refused_in_one_line() {
        for (rest, why) in [
            (r#", "ladder": []"#, "video.ladder: must have at least one rate, got none"),
            (
                r#", "ladder": ["2 Mbit/s", "1 Mbit/s"]"#,
                "video.ladder: must rise from rate to rate, got 1 Mbit/s after 2 Mbit/s",
            ),
            (
                r#", "ladder": ["1 Gbit/s"]"#,
                "video.ladder: must have rates of at most 100 Mbit/s, got 1 Gbit/s",
            ),
            (
                r#", "ladder": ["1 Mbit/s", "2 Mbit/s"], "sizes": [[1, 2], [3]]"#,
                "video.sizes[1]: must have 2 sizes, as the ladder has rates, got 1",
            ),
            (
                r#", "ladder": ["1 Mbit/s"], "sizes": [[0]]"#,
                "video.sizes[0]: must have sizes between 1 and 1000000000000 bytes, got 0",
            ),
            (r#", "sizes": []"#, "video.sizes: must have between 1 and 100000 segments, got 0"),
            (r#", "buffer": "10 s""#, "video.buffer: must hold two segments, 12 s, got 10 s"),
        ] {
            let error = SourceConfig::Video(config(rest)).check().expect_err("a mistake").to_string();
            assert_eq!(error, why);
        }
    }
}
