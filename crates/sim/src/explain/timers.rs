//! The timers of an endpoint: their times and causes.

use aqmlab_tcp::TimerKind;
use aqmlab_units::Time;

use super::attribution::{Attribution, Part};
use super::timeline::EventKind;

/// An endpoint's timers: until when each runs, and the moment at which it was set.
#[derive(Clone, Debug, Default)]
pub(super) struct TimerCauses {
    set: [(Time, Attribution); TimerKind::ALL.len()],
}

impl TimerCauses {
    /// The timers are as given after what happened at the moment `now`: those that have moved were set by it.
    pub(super) fn are(&mut self, deadlines: [(TimerKind, Time); TimerKind::ALL.len()], now: &Attribution) {
        for (set, (_, deadline)) in self.set.iter_mut().zip(deadlines) {
            if set.0 != deadline {
                *set = (deadline, now.clone());
            }
        }
    }

    /// The first timer that has expired by `now`, and the moment at which it was set.
    pub(super) fn expired(
        &self,
        deadlines: [(TimerKind, Time); TimerKind::ALL.len()],
        now: Time,
    ) -> Option<(TimerKind, Attribution)> {
        let timers = self.set.iter().zip(deadlines);
        timers
            .filter(|&(_, (_, deadline))| deadline <= now)
            .map(|((_, set), (kind, _))| (kind, set.clone()))
            .next()
    }
}

/// Returns the part to which the wait for a timer is booked, and the event of its expiry if it has one.
pub(super) fn meaning(kind: TimerKind, is_opening: bool) -> (Part, Option<EventKind>) {
    match kind {
        TimerKind::Retransmission if is_opening => (Part::SynTimeouts, Some(EventKind::SynTimeout)),
        TimerKind::Retransmission => (Part::DataTimeouts, Some(EventKind::DataTimeout)),
        TimerKind::Reordering => (Part::Reordering, Some(EventKind::ReorderingOver)),
        TimerKind::Probe => (Part::Probes, Some(EventKind::Probe)),
        TimerKind::Pacing => (Part::Pacing, None),
        TimerKind::DelayedAck => (Part::DelayedAcks, Some(EventKind::DelayedAck)),
    }
}
