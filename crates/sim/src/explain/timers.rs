//! When and why the timers of an endpoint were set.

use aqmlab_tcp::TimerKind;
use aqmlab_units::Time;

use super::blame::{Blame, Part};
use super::timeline::What;

/// An endpoint's timers: until when each runs, and the moment at which it was set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timers {
    set: [(Time, Blame); TimerKind::COUNT],
}

impl Timers {
    /// The timers are as given after what happened at the moment `now`: those that have moved were set by it.
    pub(super) fn are(&mut self, deadlines: [(TimerKind, Time); TimerKind::COUNT], now: Blame) {
        for (set, (_, deadline)) in self.set.iter_mut().zip(deadlines) {
            if set.0 != deadline {
                *set = (deadline, now);
            }
        }
    }

    /// The first timer that has expired by `now`, and the moment at which it was set.
    pub(super) fn expired(
        &self,
        deadlines: [(TimerKind, Time); TimerKind::COUNT],
        now: Time,
    ) -> Option<(TimerKind, Blame)> {
        let timers = self.set.iter().zip(deadlines);
        timers.filter(|&(_, (_, deadline))| deadline <= now).map(|(&(_, set), (kind, _))| (kind, set)).next()
    }
}

/// What the wait for a timer is booked as, and what its expiry is called if it says something by itself.
pub(super) fn meaning(kind: TimerKind, is_opening: bool) -> (Part, Option<What>) {
    match kind {
        TimerKind::Retransmission if is_opening => (Part::SynTimeouts, Some(What::SynTimeout)),
        TimerKind::Retransmission => (Part::DataTimeouts, Some(What::DataTimeout)),
        TimerKind::Reordering => (Part::Reordering, Some(What::ReorderingOver)),
        TimerKind::Probe => (Part::Probes, Some(What::Probe)),
        TimerKind::Pacing => (Part::Pacing, None),
        TimerKind::DelayedAck => (Part::DelayedAcks, Some(What::DelayedAck)),
    }
}
