//! Errors of one line.

use std::io;

/// An action that failed, and its error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
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
pub(crate) trait Context<T> {
    /// `what` was tried.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error::System { what: what(), error: error.into() })
    }
}
