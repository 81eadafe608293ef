//! The choices in which descriptions of the coupled dual queue differ and which change results, each with a name.

use crate::parameter::choices;

choices! {
    /// When the L4S queue signals on its own account.
    pub enum Native {
        /// Each packet that has waited longer than `step`. Linux, ns-3.
        Step = "step",
        /// None up to `min_th`, each from `min_th` + `range` on, and in between ever more. RFC 9332, appendix A.
        Ramp = "ramp",
    }
}

choices! {
    /// How a probability becomes a decision.
    pub enum Decide {
        /// By a random number. Linux.
        Random = "random",
        /// By summing up likelihoods: whenever the sum exceeds 1 it is reduced by 1. RFC 9332, appendix A.
        Recur = "recur",
    }
}

choices! {
    /// Which queue's delay the controller sees.
    pub enum Controlled {
        /// The longer of the two delays. RFC 9332, appendix A.2; Linux.
        Longer = "longer",
        /// That of the Classic queue, so that L4S traffic alone raises no coupled signal. RFC 9332, appendix A.1; ns-3.
        Classic = "classic",
    }
}

choices! {
    /// What becomes of a load that marking every L4S packet does not reduce.
    pub enum Overload {
        /// Packets are dropped with the Classic probability in both queues, whatever their ECN field: delay stays low.
        Drop = "drop",
        /// No ECN-capable packet is dropped before the buffer is full, and the probabilities stay where they are.
        Overflow = "overflow",
    }
}
