//! The kinds of sources there are, one a file. A new one is its file and its lines here.

mod bulk;
mod call;
mod datagrams;
mod fields;
mod game;
mod lines;
mod on_off;
mod packmime;
mod pair_trace;
mod read_once;
mod streaming;
mod three_gpp;
mod tmix;
mod trace;
mod transfers;
mod video;
mod video_call;

use serde::{Deserialize, Serialize};

pub use self::bulk::{ApplicationRateChange, TransferDirection};
pub use self::call::Codec;
pub use self::datagrams::BurstsConfig;
pub use self::game::Synchronization;
pub use self::packmime::HttpVersion;
use super::datagrams::{DatagramFlows, Receivers};
use super::kind::{Setting, Source, SourceKind};
use crate::config::{ConfigError, refuse};

/// From a line for each kind, `module: Variant(Configuration)`: the configuration of any source. The module's name is what
/// the kind is called.
macro_rules! kinds {
    ($($(#[$doc:meta])* $module:ident: $Kind:ident($Config:ident),)+) => {
        $(pub use self::$module::$Config;)+

        /// A source of traffic: `{"bulk": {"flows": 10}}`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum SourceConfig {
            $($(#[$doc])* $Kind($Config),)+
        }

        impl SourceConfig {
            /// One of each kind, as a spec has it.
            pub const EXAMPLES: &[&str] = &[$($Config::EXAMPLE),+];

            /// The kind, as it is written.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(SourceConfig::$Kind(_) => stringify!($module),)+
                }
            }

            /// The given name, or else the kind.
            pub fn name(&self) -> &str {
                let name = match self {
                    $(SourceConfig::$Kind(config) => &config.name,)+
                };
                name.as_deref().unwrap_or(self.kind())
            }

            /// Refuses what cannot be a source; the first mistake is reported, with the kind in its path.
            pub fn check(&self) -> Result<(), ConfigError> {
                let checked = match self {
                    $(SourceConfig::$Kind(config) => {
                        check_name(config.name.as_deref())
                            .and_then(|()| in_range(config))
                            .and_then(|()| config.check())
                    })+
                };
                checked.map_err(|error| error.inside(self.kind()))
            }

            /// Sources of this kind send datagrams, and open no connections.
            pub fn sends_datagrams(kind: &str) -> bool {
                match kind {
                    $(stringify!($module) => $Config::SENDS_DATAGRAMS,)+
                    _ => false,
                }
            }

            /// The flows of datagrams; `None` for a source of connections.
            pub fn datagrams(&self) -> Option<DatagramFlows> {
                match self {
                    $(SourceConfig::$Kind(config) => config.datagrams(),)+
                }
            }

            /// The receivers of its datagrams.
            pub(super) fn receivers_in(&self, setting: &Setting<'_>) -> Receivers {
                match self {
                    $(SourceConfig::$Kind(config) => config.receivers(setting),)+
                }
            }

            /// The source, of a configuration that has passed the check.
            pub(super) fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
                match self {
                    $(SourceConfig::$Kind(config) => config.source(setting),)+
                }
            }
        }
    };
}

/// The longest name of a source, in characters.
const MOST_OF_NAME: usize = 100;

/// A name stands in tables and on terminals, in one line.
fn check_name(name: Option<&str>) -> Result<(), ConfigError> {
    let is_wrong = |name: &&str| {
        name.trim().is_empty() || name.chars().count() > MOST_OF_NAME || name.chars().any(char::is_control)
    };
    match name.filter(is_wrong) {
        None => Ok(()),
        Some(name) => refuse(
            "name",
            format!(
                "must have 1 to {MOST_OF_NAME} characters, not all spaces, no line break or other control character, got {name:?}"
            ),
        ),
    }
}

/// That the fields of a kind's table lie in their ranges.
fn in_range(table: &impl SourceKind) -> Result<(), ConfigError> {
    table.check_ranges().or_else(|outside| refuse(outside.field, outside.message))
}

kinds! {
    /// Long transfers.
    bulk: Bulk(BulkConfig),
    /// On-off flows over TCP.
    on_off: OnOff(OnOffConfig),
    /// Videos that servers pace.
    streaming: Streaming(StreamingConfig),
    /// Transfers that arrive at random.
    transfers: Transfers(TransfersConfig),
    /// A trace as columns.
    trace: Trace(TraceConfig),
    /// A trace as text, with pairs of hosts.
    pair_trace: PairTrace(PairTraceConfig),
    /// PackMime-HTTP.
    packmime: Packmime(PackmimeConfig),
    /// Web users of 3GPP.
    three_gpp: ThreeGpp(ThreeGppConfig),
    /// Connection vectors of tmix.
    tmix: Tmix(TmixConfig),
    /// Constant bit rate and on-off over UDP.
    datagrams: Datagrams(DatagramsConfig),
    /// Calls: voice in both directions over UDP.
    call: Call(CallConfig),
    /// Games: updates in both directions over UDP.
    game: Game(GameConfig),
    /// Adaptive videos.
    video: Video(VideoConfig),
    /// Video calls: frames in both directions over UDP, with rate control.
    video_call: VideoCall(VideoCallConfig),
}
