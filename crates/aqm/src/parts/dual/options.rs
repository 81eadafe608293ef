//! The choices in which descriptions of the coupled dual queue differ and which change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The packets that the L4S queue's own AQM marks.
    pub enum Native {
        /// Each packet that has waited longer than `step`. Linux, ns-3.
        Step = "step",
        /// No packet up to `min_th`, each from `min_th` + `range` on, and a growing share in between. RFC 9332,
        /// appendix A.
        Ramp = "ramp",
    }
}

choices! {
    /// The conversion of a probability into decisions.
    pub enum Decide {
        /// By a random number. Linux.
        Random = "random",
        /// By a sum of probabilities: when it exceeds 1, the packet is signalled and the sum reduced by 1. RFC 9332,
        /// appendix A.
        Recur = "recur",
    }
}

choices! {
    /// The delay that the controller holds at its target.
    pub enum Controlled {
        /// The longer of the two delays. RFC 9332, appendix A.2; Linux.
        Longer = "longer",
        /// That of the Classic queue, so that L4S traffic alone raises no coupled signal. RFC 9332, appendix A.1; ns-3.
        Classic = "classic",
    }
}

choices! {
    /// The response to a load that marking each L4S packet does not reduce.
    pub enum Overload {
        /// Packets of both queues are dropped with the Classic probability, regardless of their ECN field: delay stays
        /// low.
        Drop = "drop",
        /// No ECN-capable packet is dropped before the buffer is full, and the probabilities stay where they are.
        Overflow = "overflow",
    }
}
