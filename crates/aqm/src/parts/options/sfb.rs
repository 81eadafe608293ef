//! The choices in which published descriptions of SFB differ and which change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The condition under which a packet is dropped because its bins are full.
    pub enum FullBins {
        /// Each of its bins holds `max` packets or more: only a flow that fills bins on every level is bounded. Linux.
        All = "all",
        /// Any of its bins holds `bin_size` packets or more, so that a flow suffers for each that shares a bin with it.
        /// The paper's pseudocode.
        Any = "any",
    }
}

choices! {
    /// The treatment of ECN-capable packets that are signalled while `p_min` is above one half.
    pub enum AboveHalf {
        /// They are marked: the paper, which leaves the choice between mark and drop to ECN alone.
        Mark = "mark",
        /// A share of all packets that grows from 0 at `p_min` = 1/2 to 1 at `p_min` = 1 is dropped. Linux.
        DropSome = "drop_some",
    }
}

choices! {
    /// The change of the hash functions over time, so that no flow shares its bins with a greedy one permanently.
    pub enum Hashing {
        /// None: the paper's basic scheme.
        Fixed = "fixed",
        /// The bins are emptied and their hash functions exchanged every `rehash_interval`: the paper's moving hash functions.
        Moving = "moving",
        /// The same, and the next bins learn about unresponsive flows for `warmup_time` before they are used: the paper's
        /// double buffering, Linux.
        DoubleBuffered = "double_buffered",
    }
}
