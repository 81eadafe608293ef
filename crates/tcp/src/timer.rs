//! Timers of an endpoint: optional deadlines of eight bytes.

use aqmlab_units::Time;

/// Purpose of an endpoint's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// Retransmits unacknowledged data (RFC 6298) or a SYN.
    Retransmission,
    /// Declares delayed segments lost (RFC 8985 §5.4 and §6.2 step 5).
    Reordering,
    /// Sends a tail loss probe (RFC 8985 §7).
    Probe,
    /// Sends the next segment at the congestion control's rate.
    Pacing,
    /// Sends a delayed acknowledgement (RFC 9293 §3.8.6.3).
    DelayedAck,
}

impl TimerKind {
    /// All kinds.
    pub const ALL: [TimerKind; 5] = [
        TimerKind::Retransmission,
        TimerKind::Reordering,
        TimerKind::Probe,
        TimerKind::Pacing,
        TimerKind::DelayedAck,
    ];
}

/// A timer: off, or due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer(Time);

impl Timer {
    pub(crate) const OFF: Timer = Timer(Time::MAX);

    #[inline]
    pub(crate) fn at(deadline: Time) -> Timer {
        debug_assert!(deadline < Time::MAX, "Time::MAX means that the timer is off");
        Timer(deadline)
    }

    #[inline]
    pub(crate) fn is_off(self) -> bool {
        self.0 == Time::MAX
    }

    #[inline]
    pub(crate) fn is_due(self, now: Time) -> bool {
        self.0 <= now
    }

    /// The deadline; [`Time::MAX`] if off.
    #[inline]
    pub(crate) fn deadline(self) -> Time {
        self.0
    }
}
