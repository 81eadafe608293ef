//! Choices where descriptions of the coupled dual queue differ in ways that change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The L4S queue's own AQM.
    pub enum Native {
        /// Marks each packet with a sojourn time above `step`. Linux, ns-3.
        Step = "step",
        /// Marks none up to `min_th`, all from `min_th` + `range` on, and a rising share in between. RFC 9332,
        /// appendix A.
        Ramp = "ramp",
    }
}

choices! {
    /// The ECN fields of the packets that go to the L4S queue.
    pub enum Identifier {
        /// ECT(1) and CE. RFC 9331; Linux.
        L4sEct = "l4s_ect",
        /// Also ECT(0), which DCTCP sends: for networks whose only ECN is scalable. Linux.
        AnyEct = "any_ect",
    }
}

choices! {
    /// Conversion of a probability into decisions.
    pub enum Decide {
        /// By a random number. Linux.
        Random = "random",
        /// By accumulation: whenever the sum of probabilities exceeds 1, it is reduced by 1. RFC 9332, appendix
        /// A.
        Recur = "recur",
    }
}

choices! {
    /// The delay that the controller uses.
    pub enum Controlled {
        /// The longer of the two delays. RFC 9332, appendix A.2; Linux.
        Longer = "longer",
        /// That of the Classic queue, so that L4S traffic alone raises no coupled signal. RFC 9332, appendix A.1; ns-3.
        Classic = "classic",
    }
}

choices! {
    /// Response to a load that marking every L4S packet does not reduce.
    pub enum Overload {
        /// Packets of both queues are dropped with the Classic probability, ECN-capable or not: delay stays low.
        Drop = "drop",
        /// No ECN-capable packet is dropped before the buffer is full, and the probabilities stay at their
        /// bounds.
        Overflow = "overflow",
    }
}
