//! Traffic other than web users: everything over TCP as connection vectors, and datagrams over UDP.
//!
//! A [`Source`] is a stream of connections to open, or of packets to send, in order of time; a driver asks for the
//! next when the time of the last has come. [`Vector`] says when and where a connection starts;
//! [`VectorSource::open`] gives its state, which is driven as a user is: [`VectorEvent`]s in, [`VectorAction`]s out.
//! What a connection sends is drawn when it is needed, so that an endless one takes no more room than any other.
//!
//! | kind | in [`SourceConfig`] |
//! |---|---|
//! | long transfers, of a given size or endless | `bulk` |
//! | bursts with pauses over TCP | `on_off` |
//! | transfers that arrive in a Poisson process | `transfers` |
//! | transfers of a trace, as columns or as text with pairs of hosts | `trace`, `pair_trace` |
//! | web connections of PackMime-HTTP | `packmime` |
//! | web users of 3GPP | `three_gpp` |
//! | connection vectors of tmix | `tmix` |
//! | constant bit rate and on-off over UDP | `datagrams` |
//!
//! **The same traffic under every queue discipline.** Source i draws from streams of its own. When connections start
//! is drawn by the source in order; each connection has a family of streams, and each unit that it sends a stream in
//! that. So nothing that the network does shifts a draw.

mod bulk;
mod connection;
mod datagrams;
mod distribution;
mod fractional;
mod generator;
mod on_off;
mod packmime;
mod pair_trace;
mod recorded;
mod rtt;
mod starts;
mod three_gpp;
mod tmix;
mod trace;
mod transfers;
mod variates;
mod vector;

use aqmlab_units::{Stream, Time};
use serde::{Deserialize, Serialize};

pub use self::bulk::{BulkConfig, ENDLESS, TransferDirection};
pub use self::connection::VectorConnection;
pub use self::datagrams::{BurstsConfig, Datagram, DatagramSource, DatagramsConfig};
pub use self::distribution::{SizeConfig, TailConfig, TimeConfig};
pub use self::on_off::OnOffConfig;
pub use self::packmime::{HttpVersion, PackmimeConfig};
pub use self::pair_trace::PairTraceConfig;
pub use self::rtt::MinRttConfig;
pub use self::three_gpp::ThreeGppConfig;
pub use self::tmix::TmixConfig;
pub use self::trace::TraceConfig;
pub use self::transfers::TransfersConfig;
pub use self::vector::{Adu, End, Vector, VectorAction, VectorEvent};

use self::generator::{Generator, Place};
use self::rtt::MinRtt;
use crate::RttConfig;
use crate::config::{ConfigError, refuse};

/// A source of traffic: `{"bulk": {"flows": 10}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SourceConfig {
    /// Long transfers.
    Bulk(BulkConfig),
    /// On-off flows over TCP.
    OnOff(OnOffConfig),
    /// Transfers that arrive at random.
    Transfers(TransfersConfig),
    /// A trace as columns.
    Trace(TraceConfig),
    /// A trace as text, with pairs of hosts.
    PairTrace(PairTraceConfig),
    /// PackMime-HTTP.
    Packmime(PackmimeConfig),
    /// Web users of 3GPP.
    ThreeGpp(ThreeGppConfig),
    /// Connection vectors of tmix.
    Tmix(TmixConfig),
    /// Constant bit rate and on-off over UDP.
    Datagrams(DatagramsConfig),
}

impl SourceConfig {
    /// The kind, as it is written.
    pub fn kind(&self) -> &'static str {
        match self {
            SourceConfig::Bulk(_) => "bulk",
            SourceConfig::OnOff(_) => "on_off",
            SourceConfig::Transfers(_) => "transfers",
            SourceConfig::Trace(_) => "trace",
            SourceConfig::PairTrace(_) => "pair_trace",
            SourceConfig::Packmime(_) => "packmime",
            SourceConfig::ThreeGpp(_) => "three_gpp",
            SourceConfig::Tmix(_) => "tmix",
            SourceConfig::Datagrams(_) => "datagrams",
        }
    }

    /// What it was called, else its kind.
    pub fn name(&self) -> &str {
        let name = match self {
            SourceConfig::Bulk(config) => &config.name,
            SourceConfig::OnOff(config) => &config.name,
            SourceConfig::Transfers(config) => &config.name,
            SourceConfig::Trace(config) => &config.name,
            SourceConfig::PairTrace(config) => &config.name,
            SourceConfig::Packmime(config) => &config.name,
            SourceConfig::ThreeGpp(config) => &config.name,
            SourceConfig::Tmix(config) => &config.name,
            SourceConfig::Datagrams(config) => &config.name,
        };
        name.as_deref().unwrap_or(self.kind())
    }

    /// Refuses what cannot be a source; the first mistake is reported, with the kind in its path.
    pub fn check(&self) -> Result<(), ConfigError> {
        let checked = match self {
            SourceConfig::Bulk(config) => config.check(),
            SourceConfig::OnOff(config) => config.check(),
            SourceConfig::Transfers(config) => config.check(),
            SourceConfig::Trace(config) => config.check(),
            SourceConfig::PairTrace(config) => config.check(),
            SourceConfig::Packmime(config) => config.check(),
            SourceConfig::ThreeGpp(config) => config.check(),
            SourceConfig::Tmix(config) => config.check(),
            SourceConfig::Datagrams(config) => config.check(),
        };
        checked.map_err(|error| error.inside(self.kind()))
    }

    /// Where the round-trip times of its connections come from, if not from the experiment.
    fn rtt(&self) -> Option<&MinRttConfig> {
        match self {
            SourceConfig::Bulk(config) => config.rtt.as_ref(),
            SourceConfig::OnOff(config) => config.rtt.as_ref(),
            SourceConfig::Transfers(config) => config.rtt.as_ref(),
            SourceConfig::Trace(config) => config.rtt.as_ref(),
            SourceConfig::Packmime(config) => config.rtt.as_ref(),
            SourceConfig::ThreeGpp(config) => config.rtt.as_ref(),
            SourceConfig::Tmix(config) => config.rtt.as_ref(),
            SourceConfig::PairTrace(_) | SourceConfig::Datagrams(_) => None,
        }
    }
}

/// A source, ready to run.
#[derive(Debug)]
pub enum Source {
    /// Of connections over TCP.
    Connections(VectorSource),
    /// Of datagrams over UDP.
    Datagrams(DatagramSource),
}

impl Source {
    /// Source number `index` of the run `seed`; `rtt` is the experiment's table.
    pub fn new(config: &SourceConfig, index: u32, rtt: &RttConfig, seed: u64) -> Result<Source, ConfigError> {
        config.check()?;
        rtt.check()?;
        // When things start or are sent, and what connections do.
        let key = Stream::key(seed, &format!("source/{index}"));
        let starts = || Stream::numbered(key, 0);
        let generator: Box<dyn Generator> = match config {
            SourceConfig::Bulk(config) => Box::new(bulk::Bulk::new(config, starts())),
            SourceConfig::OnOff(config) => Box::new(on_off::OnOff::new(config, starts())),
            SourceConfig::Transfers(config) => Box::new(transfers::Transfers::new(config, key)),
            SourceConfig::Trace(config) => Box::new(config.record()),
            SourceConfig::PairTrace(config) => Box::new(config.record()?),
            SourceConfig::Packmime(config) => Box::new(packmime::Packmime::new(config, key)),
            SourceConfig::ThreeGpp(config) => Box::new(three_gpp::ThreeGpp::new(config, starts())),
            SourceConfig::Tmix(config) => Box::new(config.record()?),
            SourceConfig::Datagrams(config) => {
                return Ok(Source::Datagrams(DatagramSource::new(config, key)));
            }
        };
        Ok(Source::Connections(VectorSource {
            generator,
            rtts: MinRtt::new(config.rtt(), rtt),
            connections: Stream::key(seed, &format!("source/{index}/connection")),
            number: 0,
        }))
    }
}

/// A source of connections.
#[derive(Debug)]
pub struct VectorSource {
    generator: Box<dyn Generator>,
    rtts: MinRtt,
    /// The key of the family of streams, one for each connection.
    connections: u64,
    /// Connections so far.
    number: u64,
}

impl Iterator for VectorSource {
    type Item = Vector;

    /// The next connection, in order of start.
    fn next(&mut self) -> Option<Vector> {
        let start = self.generator.next()?;
        let number = self.number;
        self.number += 1;
        let key = Stream::numbered(self.connections, number).next_u64();
        Some(Vector {
            number,
            start: start.at,
            side: start.side,
            min_rtt: start.min_rtt.unwrap_or_else(|| self.rtts.draw(&mut Stream::numbered(key, 0))),
            concurrent: start.concurrent,
            persistent: start.persistent,
            place: Place { key, state: start.state, next: start.next },
        })
    }
}

impl VectorSource {
    /// The state of `vector`, one of this source's, as it is opened at `now`.
    pub fn open(&self, vector: &Vector, now: Time) -> VectorConnection {
        VectorConnection::new(self, vector, now)
    }

    /// Something happened to `connection`, one of this source's.
    pub fn on_event(
        &self,
        connection: &mut VectorConnection,
        event: VectorEvent,
        now: Time,
        out: &mut Vec<VectorAction>,
    ) {
        connection.on_event(self, event, now, out);
    }

    fn adu(&self, place: &mut Place) -> Option<Adu> {
        self.generator.adu(place)
    }

    fn replaces_lost(&self) -> bool {
        self.generator.is_endless()
    }
}

fn check_side(side: u8) -> Result<(), ConfigError> {
    if side <= 1 { Ok(()) } else { refuse("side", format!("must be 0 or 1, got {side}")) }
}

#[cfg(test)]
mod tests;
