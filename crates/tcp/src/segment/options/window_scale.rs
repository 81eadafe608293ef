//! Window scaling's option (RFC 7323 §2.2), the only option of segments of 2001.

use std::num::NonZeroU8;

use super::HeaderOptions;

/// The only option that 2001's TCP carries from end to end: on a SYN, the shift of the window field in later
/// segments (RFC 7323 §2.2). The bytes of a SYN's options are not counted, so that all headers have one length.
///
/// A plain number, 1 for none: as an [`Option`] it cost 30 instructions a packet. It is never 0, so that an enum
/// around a segment needs no room for its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowScale(NonZeroU8);

impl WindowScale {
    /// Return the option of a SYN with this shift.
    pub fn from_offer(shift: Option<u8>) -> WindowScale {
        shift.map_or(WindowScale::default(), |shift| {
            WindowScale(NonZeroU8::MIN.saturating_add(shift).saturating_add(1))
        })
    }

    /// The shift, if it is offered.
    pub fn shift(self) -> Option<u8> {
        self.0.get().checked_sub(2)
    }
}

impl Default for WindowScale {
    #[inline]
    fn default() -> WindowScale {
        WindowScale(NonZeroU8::MIN)
    }
}

impl HeaderOptions for WindowScale {
    #[inline]
    fn len(&self) -> u16 {
        0
    }
}
