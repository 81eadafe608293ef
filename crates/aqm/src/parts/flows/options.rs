//! Choices where descriptions of flow queueing differ in ways that change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The backlog that the law of one of many queues sees.
    pub enum Backlog {
        /// That of its own queue. RFC 8289, ns-3.
        Flow = "flow",
        /// That of all queues together. Linux.
        All = "all",
    }
}

choices! {
    /// The packets that are dropped when all queues together are full.
    pub enum NoRoom {
        /// The arriving packet, of any flow. FQ-PIE in Linux.
        Arrival = "arrival",
        /// Packets at the head of the queue with the most bytes, until half of its bytes are dropped. FQ-PIE in
        /// ns-3.
        Fattest = "fattest",
    }
}

choices! {
    /// Passage of a new queue that is empty at its turn through the old queues, before it can be new again. It
    /// keeps a flow of many small bursts from always going first.
    pub enum ThroughOld {
        /// Always. RFC 8290, section 4.2.
        Always = "always",
        /// If there are old queues. FQ-CoDel and FQ-PIE in Linux and ns-3.
        IfAny = "if_any",
        /// Only if its credit is used up. CAKE.
        Never = "never",
    }
}
