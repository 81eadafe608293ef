//! The quality that people experience: of calls and games.

pub(crate) mod call;
pub(crate) mod e_model;
pub(crate) mod game;
mod jitter_buffer;

pub use self::call::CallQuality;
pub(crate) use self::call::Listener;
pub use self::game::GameQuality;
pub(crate) use self::game::Updates;
pub use self::jitter_buffer::JitterBufferConfig;
