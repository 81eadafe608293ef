//! The quality that people experience: of calls, video calls, games and videos.

pub(crate) mod call;
pub(crate) mod e_model;
mod frame_buffer;
pub(crate) mod game;
mod jitter_buffer;
mod video;
mod video_call;

pub use self::call::CallQuality;
pub(crate) use self::call::Listener;
pub use self::frame_buffer::FrameBufferConfig;
pub use self::game::GameQuality;
pub(crate) use self::game::Updates;
pub use self::jitter_buffer::JitterBufferConfig;
pub use self::video::{VideoQuality, Viewer, Watched};
pub use self::video_call::VideoCallQuality;
pub(crate) use self::video_call::{Screen, Watching};
