//! The choices in which published descriptions of CoDel differ and which change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The instant from which the next mark is scheduled after a mark. The signal after a drop is always scheduled from
    /// the instant for which the drop had been scheduled.
    pub enum NextMarkFrom {
        /// From the instant for which this mark had been scheduled, as for drops: a late mark brings the next one
        /// closer. Linux; RFC 8289 has no pseudocode for marks.
        DropNext = "drop_next",
        /// From the instant at which the packet was marked. ns-3.
        Now = "now",
    }
}

choices! {
    /// The count, and so the signalling rate, with which a new episode begins.
    pub enum Reentry {
        /// The number of signals by which the last episode's count rose, if that is above 1 and the last episode ended
        /// less than 16 intervals ago. RFC 8289, Linux, ns-3.
        Delta = "delta",
        /// The last count less 1, if less than 16 intervals ago. ns-2.
        MinusOne = "minus_one",
        /// The last count less 2, if less than 8 intervals ago. FreeBSD.
        MinusTwo = "minus_two",
        /// The last count less 2, if less than one interval ago; otherwise an episode begins only after a second
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
