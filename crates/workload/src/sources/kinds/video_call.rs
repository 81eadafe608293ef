//! Video calls: frames in both directions over RTP, UDP and IPv4, whose rate follows the network.
//!
//! The encoder is that of RFC 8593, and the rate control NADA, RFC 8698. The receiver asks for lost packets (RFC 4585,
//! RFC 4588), and for a key frame where that takes too long. The voice of a call is a source of its own, `call`. Forward
//! error correction, layers, changes of resolution, SRTP and compound RTCP packets are left out.
//!
//! A call is judged at both ends: [`crate::sources::quality`].

use aqmlab_units::range::{above, from};
use aqmlab_units::{BitRate, Bytes, Duration, Range, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{SIDE, TIMES, check_stop, no_time, one_second};
use crate::config::{ConfigError, refuse};
use crate::sources::datagrams::{Audience, DatagramFlows, Receivers};
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::quality::FrameBufferConfig;
use crate::sources::video_call::{CallSettings, LEAST_PACKET, VideoCalls};

/// Video calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<VideoCallConfig>))]
#[serde(deny_unknown_fields)]
pub struct VideoCallConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Calls, each with video in both directions.
    pub flows: u32,
    /// The side of the link of those who call.
    #[serde(default)]
    pub side: u8,
    /// Frames in a second. The default is that of RFC 8593 (section 5.1) and RFC 8698 (table 2).
    #[serde(default = "thirty")]
    pub frame_rate: f64,
    /// The lowest rate, with which calls start, headers included. The default is that of RFC 8698 (RMIN).
    #[serde(default = "default_min_rate")]
    pub min_rate: BitRate,
    /// The highest rate, headers included. The default is that of RFC 8698 (RMAX).
    #[serde(default = "default_max_rate")]
    pub max_rate: BitRate,
    /// The mean size of a key frame. The default is that of RFC 8593 (section 5.1) for 720 lines and 30 frames a second with
    /// H.264.
    #[serde(default = "default_key_frame")]
    pub key_frame: Bytes,
    /// The largest packet, headers included. The default is near that of browsers, which is ours.
    #[serde(default = "default_packet")]
    pub packet: Bytes,
    /// True if all packets of a frame leave at once; false if they leave at the sending rate of RFC 8698, section 5.2.1.
    #[serde(default)]
    pub burst: bool,
    /// The jitter buffer of both ends.
    #[serde(default)]
    pub buffer: FrameBufferConfig,
    /// The time from its capture beyond which a frame is late. The default is the limit of ITU-T G.1010 for the one-way delay of
    /// video telephony.
    #[serde(default = "default_late_after")]
    pub late_after: Duration,
    /// The earliest start.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The starts are spread evenly at random over this time. The default is ours.
    #[serde(default = "one_second")]
    pub spread: Duration,
    /// The end of all calls; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Minimum round-trip times of the calls' paths, half of which is spent in each direction; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

/// More than any link carries.
const CALLS: Range<u32> = from(1).up_to(100_000);

/// Frames in a second: no screen shows more.
const FRAME_RATES: Range<f64> = from(1.0).up_to(240.0);

/// From a thumbnail's rate to one beyond that of any video.
const RATES: Range<BitRate> = from(BitRate::from_kbit_per_sec(10)).up_to(BitRate::from_mbit_per_sec(100));

/// Up to a second of the highest rate.
const KEY_FRAMES: Range<Bytes> = from(Bytes::new(100)).up_to(Bytes::new(12_500_000));

/// Packets of at least some data, up to those of IPv4.
const PACKETS: Range<Bytes> = from(Bytes::new(200)).up_to(Bytes::new(65_535));

/// The deepest fixed buffer, beyond which people cannot talk. Source: ours.
const DEEPEST: Duration = Duration::from_secs(1);

fn thirty() -> f64 {
    30.0
}

fn default_min_rate() -> BitRate {
    BitRate::from_kbit_per_sec(150)
}

fn default_max_rate() -> BitRate {
    BitRate::from_kbit_per_sec(1_500)
}

fn default_key_frame() -> Bytes {
    Bytes::new(13_500)
}

fn default_packet() -> Bytes {
    Bytes::new(1_200)
}

fn default_late_after() -> Duration {
    Duration::from_millis(400)
}

ranges! {
    VideoCallConfig { flows: CALLS,
        side: SIDE,
        frame_rate: FRAME_RATES,
        min_rate: RATES,
        max_rate: RATES,
        key_frame: KEY_FRAMES,
        packet: PACKETS,
        late_after: above(Duration::ZERO).up_to(Duration::from_secs(10)),
        start: TIMES,
        spread: TIMES,
        stop: TIMES, }
}

impl SourceKind for VideoCallConfig {
    const EXAMPLE: &'static str = r#"{"video_call": {"flows": 2, "rtt": {"fixed": "40 ms"}}}"#;
    const SENDS_DATAGRAMS: bool = true;

    fn check(&self) -> Result<(), ConfigError> {
        if self.max_rate < self.min_rate {
            let message = format!("must be at least min_rate = {}, got {}", self.min_rate, self.max_rate);
            return refuse("max_rate", message);
        }
        if let FrameBufferConfig::Fixed(depth) = self.buffer
            && depth > DEEPEST
        {
            return refuse("buffer.fixed", format!("must be at most {DEEPEST}, got {depth}"));
        }
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))?;
        check_stop(self.start, self.stop)
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        let settings = CallSettings {
            side: self.side,
            frames_per_second: self.frame_rate,
            rates: [self.min_rate, self.max_rate],
            key_frame: self.key_frame,
            packet: self.packet,
            is_burst: self.burst,
            buffer: self.buffer,
            late_after: self.late_after,
            stop: self.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
        };
        let starts =
            Starts::uniform(self.flows, self.start, self.spread, Stream::numbered(setting.key, u64::MAX));
        let beyond = setting.delays_beyond(self.flows, self.rtt.as_ref());
        Ok(Source::VideoCalls(VideoCalls::new(settings, starts, beyond, setting.key)))
    }

    fn datagrams(&self) -> Option<DatagramFlows> {
        Some(DatagramFlows {
            flows: self.flows,
            sides: [true; 2],
            smallest: LEAST_PACKET,
            largest: self.packet,
            rate: self.max_rate,
        })
    }

    fn receivers(&self, setting: &Setting<'_>) -> Receivers {
        // Those who watch are parts of the source; here are the delays of their paths.
        Receivers::new(setting.delays_beyond(self.flows, self.rtt.as_ref()), Audience::Counters)
    }
}
