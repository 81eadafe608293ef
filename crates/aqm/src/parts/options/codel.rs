//! The choices in which published descriptions of CoDel differ and which change results, each with a name.

use crate::parameter::choices;

choices! {
    /// From when the next mark is planned after an ECN-capable packet was marked. A drop is always followed by one planned
    /// from the instant for which it had been planned.
    pub enum NextMarkFrom {
        /// From the instant for which this mark had been planned, as for drops: a late mark shortens the wait for the next.
        /// Linux; RFC 8289 has no pseudocode for marks.
        DropNext = "drop_next",
        /// From the instant at which the packet was marked. ns-3.
        Now = "now",
    }
}

choices! {
    /// How much of the signalling rate of the last episode a new one begins with.
    pub enum Reentry {
        /// With the number of signals by which the last episode's count rose, if that is above 1 and the last episode ended
        /// less than 16 intervals ago. RFC 8289, Linux, ns-3.
        Delta = "delta",
        /// With the last count less 1, if less than 16 intervals ago. ns-2.
        MinusOne = "minus_one",
        /// With the last count less 2, if less than 8 intervals ago. FreeBSD.
        MinusTwo = "minus_two",
        /// With the last count less 2, if less than one interval ago; otherwise an episode begins only after a second
        /// interval above target. Nichols and Jacobson (2012).
        Paper = "paper",
    }
}

impl Reentry {
    /// The number of intervals for which the last episode is remembered.
    pub(crate) fn memory(self) -> u64 {
        match self {
            Reentry::Delta | Reentry::MinusOne => 16,
            Reentry::MinusTwo => 8,
            Reentry::Paper => 1,
        }
    }

    /// The count of an episode that begins soon after one which ran from `lastcount` to `count`.
    pub(crate) fn restored(self, count: u32, lastcount: u32) -> u32 {
        let restored = match self {
            Reentry::Delta => count.saturating_sub(lastcount),
            Reentry::MinusOne => count.saturating_sub(1),
            Reentry::MinusTwo | Reentry::Paper => count.saturating_sub(2),
        };
        restored.max(1)
    }
}
