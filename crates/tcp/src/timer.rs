//! An optional deadline in eight bytes.

use aqmlab_units::Time;

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
