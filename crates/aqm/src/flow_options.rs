//! Where descriptions of flow queueing differ: which backlog a queue's law is shown.

use std::fmt;

/// The backlog that the law of one among many queues is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Backlog {
    /// Its own queue's, as ns-3 does.
    Flow,
    /// That of all queues together, as Linux does.
    All,
}

impl fmt::Display for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backlog::Flow => "flow",
            Backlog::All => "all",
        })
    }
}
