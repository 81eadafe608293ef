//! A long text that is read once, although it is checked first and made into a source later.

use std::sync::Mutex;

use crate::config::ConfigError;
use crate::sources::vectors::recorded::Recorded;

/// A file that the check of a configuration has read, for the source that is built next. A copy of a configuration may be
/// changed, so that it keeps nothing.
#[derive(Debug, Default)]
pub(super) struct ReadOnce(Mutex<Option<Recorded>>);

impl ReadOnce {
    /// The check has read `recorded`.
    pub(super) fn keep(&self, recorded: Recorded) {
        *self.0.lock().expect("no holder panics") = Some(recorded);
    }

    /// Takes the contents that the check has read; if they were taken before, reads them with `read`.
    pub(super) fn take_or(
        &self,
        read: impl FnOnce() -> Result<Recorded, ConfigError>,
    ) -> Result<Recorded, ConfigError> {
        let kept = self.0.lock().expect("no holder panics").take();
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
