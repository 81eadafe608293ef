//! The choices in which descriptions of flow queueing differ and which change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The backlog that the law of one among many queues is shown.
    pub enum Backlog {
        /// Its own queue's. RFC 8289, ns-3.
        Flow = "flow",
        /// That of all queues together. Linux.
        All = "all",
    }
}

choices! {
    /// What gives way when all queues together are full.
    pub enum NoRoom {
        /// The packet that arrives, whatever its flow. FQ-PIE in Linux.
        Arrival = "arrival",
        /// Packets at the head of the queue with the most bytes, until half of them are gone. FQ-PIE in ns-3.
        Fattest = "fattest",
    }
}

choices! {
    /// Whether a new queue that is empty at its turn has to pass through the old ones before it can be new again, so that a
    /// flow of many small bursts does not always go first.
    pub enum ThroughOld {
        /// Always. RFC 8290, section 4.2.
        Always = "always",
        /// If there are any. FQ-CoDel and FQ-PIE in Linux and ns-3.
        IfAny = "if_any",
        /// Only if its credit is used up. CAKE.
        Never = "never",
    }
}
