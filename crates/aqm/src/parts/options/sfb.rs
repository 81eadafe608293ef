//! Choices where published descriptions of SFB differ in ways that change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The condition for dropping a packet because its bins are full.
    pub enum FullBins {
        /// Each of its bins holds `max` packets or more: only a flow that fills bins on every level is limited.
        /// Linux.
        All = "all",
        /// Any of its bins holds `bin_size` packets or more, so that every flow that shares one of its bins
        /// affects a flow. The paper's pseudocode.
        Any = "any",
    }
}

choices! {
    /// Treatment of ECN-capable packets that are signalled while `p_min` is above one half.
    pub enum AboveHalf {
        /// They are marked: the paper, in which ECN alone decides between mark and drop.
        Mark = "mark",
        /// A share of all packets that grows from 0 at `p_min` = 1/2 to 1 at `p_min` = 1 is dropped. Linux.
        DropSome = "drop_some",
    }
}

choices! {
    /// Changes of the hash functions, so that no flow shares its bins with a greedy one forever.
    pub enum Hashing {
        /// None: the paper's basic scheme.
        Fixed = "fixed",
        /// The bins are emptied and their hash functions replaced every `rehash_interval`: the paper's moving
        /// hash functions.
        Moving = "moving",
        /// As `moving`, but the next bins learn about unresponsive flows for `warmup_time` before they are used:
        /// the paper's double buffering, Linux.
        DoubleBuffered = "double_buffered",
    }
}
