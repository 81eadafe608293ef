//! An optional deadline in eight bytes.

use aqmlab_units::Time;

/// What a timer of an endpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// To send again what nobody has acknowledged (RFC 6298); a SYN too.
    Retransmission,
    /// To take for lost what may only have been late (RFC 8985 §5.4 and §6.2 step 5).
    Reordering,
    /// To send a tail-loss probe (RFC 8985 §7).
    Probe,
    /// To send the next segment at the congestion control's rate.
    Pacing,
    /// To send an acknowledgement that was held back (RFC 9293 §3.8.6.3).
    DelayedAck,
}

impl TimerKind {
    /// All there are.
    pub const ALL: [TimerKind; 5] = [
        TimerKind::Retransmission,
        TimerKind::Reordering,
        TimerKind::Probe,
        TimerKind::Pacing,
        TimerKind::DelayedAck,
    ];
}

/// A timer: off, or due at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer(Time);

impl Timer {
    pub(crate) const OFF: Timer = Timer(Time::MAX);

    #[inline]
    pub(crate) fn at(deadline: Time) -> Timer {
        debug_assert!(deadline < Time::MAX, "the end of time stands for a timer that is off");
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

    /// The deadline; [`Time::MAX`] when off.
    #[inline]
    pub(crate) fn deadline(self) -> Time {
        self.0
    }
}
