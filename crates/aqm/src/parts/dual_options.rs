//! The choices in which descriptions of the coupled dual queue differ and which change results, each with a name.

use std::fmt;

/// When the L4S queue signals on its own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Native {
    /// Each packet that has waited longer than `step`. Linux, ns-3.
    Step,
    /// None up to `min_th`, each from `min_th` + `range` on, and in between ever more. RFC 9332, appendix A.
    Ramp,
}

impl fmt::Display for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Native::Step => "step",
            Native::Ramp => "ramp",
        })
    }
}

/// How a probability becomes a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Decide {
    /// By a random number. Linux.
    Random,
    /// By summing up likelihoods: whenever the sum exceeds 1 it is reduced by 1. RFC 9332, appendix A.
    Recur,
}

impl fmt::Display for Decide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decide::Random => "random",
            Decide::Recur => "recur",
        })
    }
}

/// Which queue's delay the controller sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Controlled {
    /// The longer of the two delays. RFC 9332, appendix A.2; Linux.
    Longer,
    /// That of the Classic queue, so that L4S traffic alone raises no coupled signal. RFC 9332, appendix A.1; ns-3.
    Classic,
}

impl fmt::Display for Controlled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Controlled::Longer => "longer",
            Controlled::Classic => "classic",
        })
    }
}

/// What becomes of a load that marking every L4S packet does not reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Overload {
    /// Packets are dropped with the Classic probability in both queues, whatever their ECN field: delay stays low.
    Drop,
    /// No ECN-capable packet is dropped before the buffer is full, and the probabilities stay where they are.
    Overflow,
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Overload::Drop => "drop",
            Overload::Overflow => "overflow",
        })
    }
}
