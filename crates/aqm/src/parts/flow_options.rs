//! The choices in which descriptions of flow queueing differ and which change results, each with a name.

use std::fmt;

/// The backlog that the law of one among many queues is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Backlog {
    /// Its own queue's. RFC 8289, ns-3.
    Flow,
    /// That of all queues together. Linux.
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

/// What gives way when all queues together are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum NoRoom {
    /// The packet that arrives, whatever its flow. FQ-PIE in Linux.
    Arrival,
    /// Packets at the head of the queue with the most bytes, until half of them are gone. FQ-PIE in ns-3.
    Fattest,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoRoom::Arrival => "arrival",
            NoRoom::Fattest => "fattest",
        })
    }
}

/// Whether a new queue that is empty at its turn has to pass through the old ones before it can be new again, so that a
/// flow of many small bursts does not always go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum ThroughOld {
    /// Always. RFC 8290, section 4.2.
    Always,
    /// If there are any. FQ-CoDel and FQ-PIE in Linux and ns-3.
    IfAny,
    /// Only if its credit is used up. CAKE.
    Never,
}

impl fmt::Display for ThroughOld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ThroughOld::Always => "always",
            ThroughOld::IfAny => "if_any",
            ThroughOld::Never => "never",
        })
    }
}
