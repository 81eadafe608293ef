//! The quality that people experience: of calls, games and videos.

pub(crate) mod call;
pub(crate) mod e_model;
pub(crate) mod game;
mod jitter_buffer;
mod video;

pub use self::call::CallQuality;
pub(crate) use self::call::Listener;
pub use self::game::GameQuality;
pub(crate) use self::game::Updates;
pub use self::jitter_buffer::JitterBufferConfig;
pub use self::video::{VideoQuality, Viewer, Watched};
