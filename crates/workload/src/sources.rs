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
//! | adaptive videos over TCP | `video` |
//! | calls: voice in both directions over UDP | `call` |
//! | video calls: frames in both directions over UDP, with rate control | `video_call` |
//! | games: updates in both directions over UDP | `game` |
//!
//! **The same traffic under every queue discipline.** Source i draws from streams of its own. When connections start
//! is drawn by the source in order; each connection has a family of streams, and each unit that it sends a stream in
//! that. So nothing that the network does shifts a draw.

mod datagrams;
pub(crate) mod draws;
mod kind;
mod kinds;
mod player;
mod quality;
mod transfer;
mod vectors;
mod video_call;

pub use self::datagrams::{Datagram, DatagramFlows, DatagramSource, Receivers};
pub use self::draws::distribution::{SizeConfig, TailConfig, TimeConfig};
pub use self::draws::rtt::MinRttConfig;
use self::kind::Setting;
pub use self::kind::Source;
pub use self::kinds::*;
pub use self::player::VideoRule;
pub use self::quality::{
    CallQuality, FrameBufferConfig, GameQuality, JitterBufferConfig, VideoCallQuality, VideoQuality, Viewer,
    Watched,
};
pub use self::vectors::{Adu, ConnectionState, End, Vector, VectorAction, VectorEvent, VectorSource};
pub use self::video_call::VideoCalls;
use crate::RttConfig;
use crate::config::ConfigError;

impl Source {
    /// Source number `index` of the run `seed`; `rtt` is the experiment's table. Both have passed their checks, for which a
    /// trace is read from end to end: it is not checked again here.
    pub fn new(config: &SourceConfig, index: u32, rtt: &RttConfig, seed: u64) -> Result<Source, ConfigError> {
        config.source(&Setting::new(index, rtt, seed))
    }
}

impl SourceConfig {
    /// The receivers of the datagrams of this source, number `index` of the run `seed`.
    pub fn receivers(&self, index: u32, rtt: &RttConfig, seed: u64) -> Receivers {
        self.receivers_in(&Setting::new(index, rtt, seed))
    }
}

#[cfg(test)]
mod tests;
