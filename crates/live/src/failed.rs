//! What cannot be done, in one line.

use std::io;

/// What was tried and what came of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// The system refuses.
    #[error("{what}: {error}")]
    System { what: String, error: io::Error },
    /// The spec asks for what live does not have.
    #[error("{0}")]
    Refused(String),
    /// The system answers nonsense.
    #[error("{0}")]
    Odd(String),
}

/// Names what was tried.
pub(crate) trait Trying<T> {
    /// `what` was tried.
    fn trying(self, what: impl FnOnce() -> String) -> Result<T, Failed>;
}

impl<T, E: Into<io::Error>> Trying<T> for Result<T, E> {
    fn trying(self, what: impl FnOnce() -> String) -> Result<T, Failed> {
        self.map_err(|error| Failed::System { what: what(), error: error.into() })
    }
}
