//! Choices where published descriptions of CoDel differ in ways that change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The time from which the next mark is scheduled after a mark. After a drop, the next one is always
    /// scheduled from the time for which the drop had been scheduled.
    pub enum NextMarkFrom {
        /// The time for which this mark had been scheduled, as for drops: a late mark shortens the time to the
        /// next. Linux; RFC 8289 has no pseudocode for marks.
        DropNext = "drop_next",
        /// The time of the mark. ns-3.
        Now = "now",
    }
}

choices! {
    /// The initial count of an episode after a recent one.
    pub enum Reentry {
        /// The number of signals by which the last episode's count rose, if that is above 1 and the last episode
        /// ended less than 16 intervals ago. RFC 8289, Linux, ns-3.
        Delta = "delta",
        /// The last count less 1, if less than 16 intervals ago. ns-2.
        MinusOne = "minus_one",
        /// The last count less 2, if less than 8 intervals ago. FreeBSD.
        MinusTwo = "minus_two",
        /// The last count less 2, if less than one interval ago. Otherwise an episode begins only after a second
        /// interval above target. Nichols and Jacobson (2012).
        Paper = "paper",
    }
}

impl Reentry {
    /// The number of intervals for which the last episode's count is remembered.
    pub(crate) fn memory_intervals(self) -> u64 {
        match self {
            Reentry::Delta | Reentry::MinusOne => 16,
            Reentry::MinusTwo => 8,
            Reentry::Paper => 1,
        }
    }

    /// The initial count of an episode soon after one whose count rose from `lastcount` to `count`.
    pub(crate) fn initial_count(self, count: u32, lastcount: u32) -> u32 {
        let initial = match self {
            Reentry::Delta => count.saturating_sub(lastcount),
            Reentry::MinusOne => count.saturating_sub(1),
            Reentry::MinusTwo | Reentry::Paper => count.saturating_sub(2),
        };
        initial.max(1)
    }
}
