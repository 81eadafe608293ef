//! A long text that is read once, although it is checked first and made into a source later.

use std::sync::Mutex;

use crate::config::ConfigError;
use crate::sources::vectors::recorded::Recorded;

/// What the check of a configuration has read, for the source that is made of it next. A copy, which may be changed, has read
/// nothing.
#[derive(Debug, Default)]
pub(super) struct ReadOnce(Mutex<Option<Recorded>>);

impl ReadOnce {
    /// The check has read `recorded`.
    pub(super) fn keep(&self, recorded: Recorded) {
        *self.0.lock().expect("nobody panics while holding it") = Some(recorded);
    }

    /// What the check has read, if that is not taken yet; else what `read` reads.
    pub(super) fn take_or(
        &self,
        read: impl FnOnce() -> Result<Recorded, ConfigError>,
    ) -> Result<Recorded, ConfigError> {
        let kept = self.0.lock().expect("nobody panics while holding it").take();
        kept.map_or_else(read, Ok)
    }
}

impl Clone for ReadOnce {
    fn clone(&self) -> ReadOnce {
        ReadOnce::default()
    }
}

/// Configurations with the same text are the same, read or not.
impl PartialEq for ReadOnce {
    fn eq(&self, _other: &ReadOnce) -> bool {
        true
    }
}
