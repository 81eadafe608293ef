//! Congestion controls without an endpoint: their published response functions, BBR on a path with one queue, and what
//! must hold for any of them. Then endpoints with every kind of loss recovery around them.

mod bbr;
mod bottleneck;
mod clocked;
mod endpoints;
mod invariants;
#[expect(dead_code, reason = "the transfers use more of it")]
#[path = "../transfers/network.rs"]
mod network;
mod quic;
mod response;

use aqmlab_tcp::{Algorithm, Profile};

/// Bytes of a segment.
pub(crate) const MSS: u32 = 1_000;

/// Ten segments to begin with, and ECN. With SACK: without anything modern Reno's recovery would be a classic one.
pub(crate) fn profile(congestion: Algorithm) -> Profile {
    Profile {
        mss: 1_000,
        sack: true,
        initial_window: 10,
        ecn: aqmlab_tcp::EcnPolicy::Accurate,
        congestion,
        ..Profile::freebsd_4_5()
    }
}
