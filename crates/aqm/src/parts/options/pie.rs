//! Choices where published descriptions of PIE differ in ways that change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The delay that must be below half the target for PIE to signal no packet while its probability is below
    /// 0.2.
    pub enum LightLoad {
        /// The delay at the last update. RFC 8033, section 4.1; ns-3.
        LastUpdate = "last_update",
        /// The current delay. Linux, which with timestamps uses the packet that left last.
        Now = "now",
    }
}

choices! {
    /// The condition at this update and the last for an exponential decay of the probability:
    pub enum Decay {
        /// The delay was zero. RFC 8033, section 4.2 and appendix A; Linux, ns-3, FreeBSD.
        Idle = "idle",
        /// The delay was below half the target. RFC 8033, appendix B; DPDK.
        Light = "light",
    }
}
