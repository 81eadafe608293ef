//! The interface of a kind of source: its table in a spec, and the traffic that it generates.

use aqmlab_units::Stream;
use aqmlab_units::range::Ranges;

use super::datagrams::DatagramSource;
use super::draws::rtt::{MinRtt, MinRttConfig};
use super::vectors::VectorSource;
use super::vectors::generator::Generator;
use crate::RttConfig;
use crate::config::ConfigError;

/// The table of a kind of source.
pub(crate) trait SourceKind: Ranges {
    /// One of them, as a spec has it.
    const EXAMPLE: &'static str;

    /// Refuses what cannot be a source although each field lies in its range; the first mistake is reported.
    fn check(&self) -> Result<(), ConfigError>;

    /// The source, of a table that has passed the check.
    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError>;
}

/// A source, ready to run.
#[derive(Debug)]
pub enum Source {
    /// Of connections over TCP.
    Connections(VectorSource),
    /// Of datagrams over UDP.
    Datagrams(DatagramSource),
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

impl Setting<'_> {
    /// Returns the stream from which starts are drawn.
    pub(crate) fn starts(&self) -> Stream {
        Stream::numbered(self.key, 0)
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
