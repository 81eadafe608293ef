//! The interface of a kind of source: its table in a spec, and the traffic that it generates.

use aqmlab_units::range::Ranges;
use aqmlab_units::{Duration, Stream};

use super::datagrams::{DatagramFlows, DatagramSource, Receivers};
use super::draws::rtt::{MinRtt, MinRttConfig};
use super::vectors::VectorSource;
use super::vectors::generator::Generator;
use super::video_call::VideoCalls;
use crate::RttConfig;
use crate::config::ConfigError;

/// The table of a kind of source.
pub(crate) trait SourceKind: Ranges {
    /// One of them, as a spec has it.
    const EXAMPLE: &'static str;

    /// It sends datagrams, and opens no connections.
    const SENDS_DATAGRAMS: bool = false;

    /// Refuses what cannot be a source although each field lies in its range; the first mistake is reported.
    fn check(&self) -> Result<(), ConfigError>;

    /// The source, of a table that has passed the check.
    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError>;

    /// The flows of datagrams, of a kind that sends datagrams.
    fn datagrams(&self) -> Option<DatagramFlows> {
        None
    }

    /// The receivers of its datagrams.
    fn receivers(&self, _setting: &Setting<'_>) -> Receivers {
        Receivers::default()
    }
}

/// A source, ready to run.
#[derive(Debug)]
pub enum Source {
    /// Of connections over TCP.
    Connections(VectorSource),
    /// Of datagrams over UDP.
    Datagrams(DatagramSource),
    /// Of video calls, whose datagrams depend on what arrives.
    VideoCalls(VideoCalls),
}

/// The parts of the experiment that a source depends on.
pub(crate) struct Setting<'a> {
    /// The key of its streams: when things start or are sent.
    pub(crate) key: u64,
    /// That of what its connections do.
    pub(crate) connections: u64,
    /// The experiment's round-trip times.
    pub(crate) rtt: &'a RttConfig,
}

impl<'a> Setting<'a> {
    /// The setting of source number `index` of the run `seed`.
    pub(crate) fn new(index: u32, rtt: &'a RttConfig, seed: u64) -> Setting<'a> {
        let key = Stream::key(seed, &format!("source/{index}"));
        let connections = Stream::key(seed, &format!("source/{index}/connection"));
        Setting { key, connections, rtt }
    }

    /// Returns the stream from which starts are drawn.
    pub(crate) fn starts(&self) -> Stream {
        Stream::numbered(self.key, 0)
    }

    /// Draw the one-way delay of each of `flows` beyond the link: half of a minimum round-trip time.
    pub(crate) fn delays_beyond(&self, flows: u32, own_rtt: Option<&MinRttConfig>) -> Vec<Duration> {
        let rtts = MinRtt::new(own_rtt, self.rtt);
        let rtt = |flow: u32| {
            let key = Stream::numbered(self.connections, flow.into()).next_u64();
            rtts.draw(&mut Stream::numbered(key, 0))
        };
        (0..flows).map(|flow| Duration::from_nanos(rtt(flow).as_nanos() / 2)).collect()
    }

    /// The source whose connections `generator` says, with round-trip times of its own if it has any.
    pub(crate) fn connections(
        &self,
        generator: impl Generator + 'static,
        own_rtt: Option<&MinRttConfig>,
    ) -> Source {
        let rtts = MinRtt::new(own_rtt, self.rtt);
        Source::Connections(VectorSource::new(Box::new(generator), rtts, self.connections))
    }
}
