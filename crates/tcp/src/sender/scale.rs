//! Windows beyond 65,535 bytes (RFC 7323 §2): a field of 16 bits, shifted where both ends offer to.

use std::fmt::Debug;

use crate::Profile;

/// What an endpoint makes of window scaling.
pub trait Scaling: Copy + Debug + Default + Send + 'static {
    /// What is agreed on when the peer's SYN or SYN/ACK comes with `offer`.
    fn negotiated(offer: Option<u8>, profile: &Profile) -> Self;

    /// §2.2: a SYN offers what the profile has, a SYN/ACK only if the SYN did.
    fn offer(self, answers: bool, profile: &Profile) -> Option<u8>;

    /// The peer's window, of which its segments say `field`.
    fn peer_window(self, field: u16) -> u32;

    /// What a later segment would say of the window of a SYN, which is never scaled (§2.2): at most as much.
    fn field_of_syn(self, window: u16) -> u16;

    /// The field of a segment without SYN, if the one before it said `known`.
    fn later_field(self, known: u16, field: u16) -> u16;

    /// What segments say of the own `window`.
    fn own_window(self, window: u32, profile: &Profile) -> u16;
}

/// No scaling: the peer's window stays as its SYN says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unscaled;

impl Scaling for Unscaled {
    fn negotiated(_offer: Option<u8>, _profile: &Profile) -> Unscaled {
        Unscaled
    }

    fn offer(self, _answers: bool, _profile: &Profile) -> Option<u8> {
        None
    }

    #[inline(always)]
    fn peer_window(self, field: u16) -> u32 {
        u32::from(field)
    }

    fn field_of_syn(self, window: u16) -> u16 {
        window
    }

    #[inline(always)]
    fn later_field(self, known: u16, _field: u16) -> u16 {
        known
    }

    #[inline(always)]
    fn own_window(self, window: u32, _profile: &Profile) -> u16 {
        in_16_bits(window)
    }
}

/// How far the peer shifts the window field of its segments without SYN (`Snd.Wind.Shift`), once both ends have offered
/// to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scale(Option<u8>);

/// A larger shift is taken for this one (§2.3).
const MAX_SHIFT: u8 = 14;

impl Scaling for Scale {
    fn negotiated(offer: Option<u8>, profile: &Profile) -> Scale {
        Scale(offer.filter(|_| profile.window_scaling).map(|shift| shift.min(MAX_SHIFT)))
    }

    fn offer(self, answers: bool, profile: &Profile) -> Option<u8> {
        let offers = if answers { self.0.is_some() } else { profile.window_scaling };
        offers.then(|| profile.window_shift())
    }

    /// SND.WND = SEG.WND << Snd.Wind.Shift (§2.3).
    #[inline]
    fn peer_window(self, field: u16) -> u32 {
        u32::from(field) << self.0.unwrap_or(0)
    }

    fn field_of_syn(self, window: u16) -> u16 {
        window >> self.0.unwrap_or(0)
    }

    #[inline(always)]
    fn later_field(self, _known: u16, field: u16) -> u16 {
        field
    }

    /// SEG.WND = RCV.WND >> Rcv.Wind.Shift (§2.3).
    #[inline]
    fn own_window(self, window: u32, profile: &Profile) -> u16 {
        if self.0.is_none() {
            return in_16_bits(window);
        }
        in_16_bits(window >> profile.window_shift())
    }
}

#[inline]
fn in_16_bits(window: u32) -> u16 {
    u16::try_from(window).unwrap_or(u16::MAX)
}
