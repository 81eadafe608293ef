//! Errors of one line.

use std::io;

/// The error of a failed action.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A system call failed.
    #[error("{what}: {error}")]
    System { what: String, error: io::Error },
    /// Live runs do not support this spec.
    #[error("{0}")]
    Refused(String),
    /// The system is in an unexpected state, or gave an unexpected answer.
    #[error("{0}")]
    Odd(String),
}

/// Adds the name of the failed action to an error.
pub(crate) trait Context<T> {
    /// Returns the error with the action `what`.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error::System { what: what(), error: error.into() })
    }
}
