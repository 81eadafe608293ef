//! Window scaling's option (RFC 7323 §2.2), and all that segments of 2001 carry of options.

use std::num::NonZeroU8;

use super::HeaderOptions;

/// The one option of 2001's TCP that is told from end to end: on a SYN, how far to shift the window field of what follows
/// (RFC 7323 §2.2). The bytes of a SYN's options are not counted, so that all headers are alike.
///
/// A plain number, 1 for none: as an [`Option`] it cost 30 instructions a packet. That it is never 0 gives what is a segment
/// or something else room to say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowScale(NonZeroU8);

impl WindowScale {
    /// What a SYN with this offer carries.
    pub fn offering(shift: Option<u8>) -> WindowScale {
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
