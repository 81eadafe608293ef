//! Calls: voice in both directions at a constant packet rate, over RTP, UDP and IPv4.
//!
//! Each packet has a frame of speech, 12 bytes of RTP header (RFC 3550), 8 of UDP and 20 of IPv4. Packets are sent in
//! silence too, and a call neither adapts its rate nor reacts to marks, so that its packets are not ECN-capable
//! (RFC 6679 makes ECN depend on a response). Authentication tags of SRTP, forward error correction and RTCP are left out.
//!
//! A call is judged at both ends: [`crate::sources::quality`].

use aqmlab_units::range::from;
use aqmlab_units::{BitRate, Bytes, Duration, Range, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::fields::{SIDE, TIMES, check_stop, no_time, one_second};
use crate::config::{ConfigError, refuse};
use crate::sources::datagrams::{
    Audience, DatagramFlows, DatagramSource, Interval, PacketSize, Peer, Receivers, TwoWayFlows,
};
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::quality::e_model::EquipmentImpairment;
use crate::sources::quality::{JitterBufferConfig, Listener};

/// Calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<CallConfig>))]
#[serde(deny_unknown_fields)]
pub struct CallConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Calls, each with packets in both directions.
    pub flows: u32,
    /// The side of the link of those who call.
    #[serde(default)]
    pub side: u8,
    /// The codec.
    #[serde(default)]
    pub codec: Codec,
    /// The bit rate of Opus, 32 kbit/s when left out: for speech of full band RFC 7587 (section 3.1.1) has 28 to 40 kbit/s.
    /// Other codecs have the rate of their Recommendation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// The speech in a packet, as a length of time. The default is that of RFC 3551 and RFC 7587.
    #[serde(default = "twenty_milliseconds")]
    pub frame: Duration,
    /// The jitter buffer of both ends.
    #[serde(default)]
    pub buffer: JitterBufferConfig,
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

/// A codec of speech, with loss concealment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// Opus (RFC 6716), with a look-ahead of 6.5 ms. ITU-T G.113 has no impairment of it on the scale of G.107: it is rated
    /// like G.711, which is ours.
    #[default]
    Opus,
    /// G.711 at 64 kbit/s with the concealment of its appendix I: Ie 0 and Bpl 25.1 (ITU-T G.113, appendix I).
    G711,
    /// G.729A at 8 kbit/s, with a look-ahead of 5 ms: Ie 11 and Bpl 19 (ITU-T G.113, appendix I).
    G729a,
}

/// Headers of RTP, UDP and IPv4, in bytes.
const HEADERS: u64 = 12 + 8 + 20;

/// The range of Opus (RFC 6716, section 2.1.1).
const OPUS_RATES: Range<BitRate> = from(BitRate::from_kbit_per_sec(6)).up_to(BitRate::from_kbit_per_sec(510));

/// Packets of speech: frames of Opus, and of the others some of 10 ms.
const FRAMES: Range<Duration> = from(Duration::from_millis(10)).up_to(Duration::from_millis(120));

/// More than any link carries; each has a jitter buffer at both ends.
const CALLS: Range<u32> = from(1).up_to(100_000);

/// The deepest fixed buffer, beyond which people cannot talk. Source: ours.
const DEEPEST: Duration = Duration::from_secs(1);

fn twenty_milliseconds() -> Duration {
    Duration::from_millis(20)
}

ranges! {
    CallConfig { flows: CALLS,
        side: SIDE,
        rate: OPUS_RATES,
        frame: FRAMES,
        start: TIMES,
        spread: TIMES,
        stop: TIMES, }
}

impl Codec {
    fn impairment(self) -> EquipmentImpairment {
        match self {
            Codec::Opus | Codec::G711 => EquipmentImpairment { ie: 0.0, bpl: 25.1 },
            Codec::G729a => EquipmentImpairment { ie: 11.0, bpl: 19.0 },
        }
    }

    fn look_ahead(self) -> Duration {
        Duration::from_micros(match self {
            Codec::Opus => 6_500,
            Codec::G711 => 0,
            Codec::G729a => 5_000,
        })
    }
}

impl CallConfig {
    /// The bit rate of speech.
    fn speech_rate(&self) -> BitRate {
        let kbit_per_sec = match self.codec {
            Codec::Opus => return self.rate.unwrap_or(BitRate::from_kbit_per_sec(32)),
            Codec::G711 => 64,
            Codec::G729a => 8,
        };
        BitRate::from_kbit_per_sec(kbit_per_sec)
    }

    /// The size of a packet, headers included.
    fn packet(&self) -> Bytes {
        let bit_nanos = u128::from(self.speech_rate().bits_per_sec()) * u128::from(self.frame.as_nanos());
        let speech = u64::try_from(bit_nanos.div_ceil(8_000_000_000)).expect("a frame is short");
        Bytes::new(HEADERS + speech)
    }
}

impl SourceKind for CallConfig {
    const EXAMPLE: &'static str = r#"{"call": {"flows": 2, "codec": "opus", "rtt": {"fixed": "40 ms"}}}"#;
    const SENDS_DATAGRAMS: bool = true;

    fn check(&self) -> Result<(), ConfigError> {
        if self.codec != Codec::Opus
            && let Some(rate) = self.rate
        {
            return refuse("rate", format!("must be left out: only opus has a choice of rates, got {rate}"));
        }
        if let JitterBufferConfig::Fixed(depth) = self.buffer
            && depth > DEEPEST
        {
            return refuse("buffer.fixed", format!("must be at most {DEEPEST}, got {depth}"));
        }
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))?;
        check_stop(self.start, self.stop)
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        let peers = [self.side, 1 - self.side].map(|side| Peer {
            side,
            interval: Interval::Fixed(self.frame),
            size: PacketSize::Fixed(self.packet()),
        });
        let starts =
            Starts::uniform(self.flows, self.start, self.spread, Stream::numbered(setting.key, u64::MAX));
        let stop = self.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        Ok(Source::Datagrams(DatagramSource::new(TwoWayFlows::new(peers, starts, stop, setting.key))))
    }

    fn datagrams(&self) -> Option<DatagramFlows> {
        let packet = self.packet();
        Some(DatagramFlows {
            flows: self.flows,
            sides: [true; 2],
            smallest: packet,
            largest: packet,
            rate: rate_of(packet, self.frame),
        })
    }

    fn receivers(&self, setting: &Setting<'_>) -> Receivers {
        let coding = [self.frame, self.codec.look_ahead()];
        let listener = Listener::new(self.codec.impairment(), coding, self.buffer);
        let listeners = (0..self.flows).map(|_| [listener.clone(), listener.clone()]).collect();
        Receivers::new(setting.delays_beyond(self.flows, self.rtt.as_ref()), Audience::Calls(listeners))
    }
}

/// The rate of packets of this size, one in each `interval`.
pub(super) fn rate_of(packet: Bytes, interval: Duration) -> BitRate {
    let bit_nanos = u128::from(packet.get()) * 8_000_000_000;
    let rate = u64::try_from(bit_nanos.div_ceil(u128::from(interval.as_nanos()))).expect("a bounded rate");
    BitRate::from_bits_per_sec(rate).expect("a packet has bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RttConfig;
    use crate::sources::{Datagram, SourceConfig};

    fn config(rest: &str) -> CallConfig {
        serde_json::from_str(&format!(r#"{{"flows": 3{rest}}}"#)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn packets(rest: &str, n: usize) -> Vec<Datagram> {
        let source = SourceConfig::Call(config(rest));
        let rtt = RttConfig::shipped("uniform").expect("shipped");
        match Source::new(&source, 0, &rtt, 1) {
            Ok(Source::Datagrams(source)) => source.take(n).collect(),
            other => panic!("datagrams: {other:?}"),
        }
    }

    #[test]
    fn packets_have_the_size_of_their_codec_and_headers() {
        for (rest, bytes, kbps) in [
            (r#", "codec": "g711""#, 200, 80),
            (r#", "codec": "g729a""#, 60, 24),
            ("", 120, 48),
            (r#", "rate": "24 kbit/s", "frame": "60 ms""#, 220, 30),
        ] {
            let flows = config(rest).datagrams().expect("datagrams");
            assert_eq!((flows.smallest, flows.largest), (Bytes::new(bytes), Bytes::new(bytes)), "{rest}");
            assert_eq!(flows.rate.bits_per_sec().div_ceil(1000), kbps, "{rest}");
        }
    }

    #[test]
    fn both_ends_of_each_call_send_a_packet_in_every_frame() {
        let sent = packets(r#", "spread": "0 s""#, 600);
        assert!(sent.is_sorted_by_key(|packet| packet.at));
        for flow in 0..3 {
            for side in 0..2 {
                let times: Vec<Time> = sent
                    .iter()
                    .filter(|packet| (packet.flow, packet.side) == (flow, side))
                    .map(|packet| packet.at)
                    .collect();
                assert_eq!(times.len(), 100);
                assert!(times[0] < Time::ZERO + Duration::from_millis(20), "a phase within the frame");
                assert!(times.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_millis(20)));
            }
        }
    }

    #[test]
    fn a_call_ends_at_its_stop() {
        let sent = packets(r#", "stop": "2 s""#, 10_000);
        assert!((500..600).contains(&sent.len()), "{}", sent.len());
        assert!(sent.iter().all(|packet| packet.at < Time::ZERO + Duration::from_secs(2)));
    }

    #[test]
    fn half_of_the_round_trip_time_is_beyond_the_link() {
        let source = SourceConfig::Call(config(r#", "rtt": {"fixed": "50 ms"}"#));
        let rtt = RttConfig::shipped("uniform").expect("shipped");
        let receivers = source.receivers(0, &rtt, 1);
        assert_eq!(receivers.delay_beyond_link(2), Duration::from_millis(25));
    }

    #[test]
    fn mistakes_are_refused_in_one_line() {
        for (rest, why) in [
            (r#", "codec": "g711", "rate": "64 kbit/s""#, "call.rate: must be left out: only opus has"),
            (r#", "rate": "1 Mbit/s""#, "call.rate: must be between 6 kbit/s and 510 kbit/s, got 1 Mbit/s"),
            (r#", "buffer": {"fixed": "2 s"}"#, "call.buffer.fixed: must be at most 1 s, got 2 s"),
            (r#", "start": "3 s", "stop": "1 s""#, "call.stop: must be above start = 3 s, got 1 s"),
        ] {
            let error = SourceConfig::Call(config(rest)).check().expect_err("a mistake").to_string();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
