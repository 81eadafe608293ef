//! The choices in which published descriptions of PIE differ and which change results, each with a name.

use std::fmt;

/// Which delay must be below half the target for PIE to let everything through while its probability is below 0.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum LightLoad {
    /// That of the last update. RFC 8033, section 4.1; ns-3.
    LastUpdate,
    /// That of the moment. Linux, which with timestamps looks at the packet that left last.
    Now,
}

impl fmt::Display for LightLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LightLoad::LastUpdate => "last_update",
            LightLoad::Now => "now",
        })
    }
}

/// When the probability decays exponentially, at this update and the last:
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Decay {
    /// The delay was none. RFC 8033, section 4.2 and appendix A; Linux, ns-3, FreeBSD.
    Idle,
    /// The delay was below half the target. RFC 8033, appendix B; DPDK.
    Light,
}

impl fmt::Display for Decay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decay::Idle => "idle",
            Decay::Light => "light",
        })
    }
}
