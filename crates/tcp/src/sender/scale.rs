//! Window scaling (RFC 7323 §2): windows beyond 65,535 bytes, in a field of 16 bits that is shifted if both ends
//! offer it.

use std::fmt::Debug;

use crate::Profile;

/// Window scaling of an endpoint.
pub trait Scaling: Copy + Debug + Default + Send + 'static {
    /// Return the scaling negotiated by `offer` in the peer's SYN or SYN/ACK.
    fn negotiate(offer: Option<u8>, profile: &Profile) -> Self;

    /// Return the shift to offer (§2.2): a SYN offers the profile's, a SYN/ACK only if the SYN did.
    fn offer(self, is_responder: bool, profile: &Profile) -> Option<u8>;

    /// Return the peer's window in bytes for the window field of its segments.
    fn peer_window(self, field: u16) -> u32;

    /// Convert the unscaled window of a SYN (§2.2) to the field of a later segment, rounding down.
    fn field_from_syn(self, window: u16) -> u16;

    /// Return the field to keep after a segment without SYN; `previous` is that of the segment before.
    fn updated_field(self, previous: u16, field: u16) -> u16;

    /// Return the field of segments that advertise the own `window`.
    fn own_window(self, window: u32, profile: &Profile) -> u16;
}

/// No scaling: the window of the peer's SYN stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unscaled;

impl Scaling for Unscaled {
    fn negotiate(_offer: Option<u8>, _profile: &Profile) -> Unscaled {
        Unscaled
    }

    fn offer(self, _is_responder: bool, _profile: &Profile) -> Option<u8> {
        None
    }

    #[inline(always)]
    fn peer_window(self, field: u16) -> u32 {
        u32::from(field)
    }

    fn field_from_syn(self, window: u16) -> u16 {
        window
    }

    #[inline(always)]
    fn updated_field(self, previous: u16, _field: u16) -> u16 {
        previous
    }

    #[inline(always)]
    fn own_window(self, window: u32, _profile: &Profile) -> u16 {
        in_16_bits(window)
    }
}

/// Shift of the window field of the peer's segments without SYN (`Snd.Wind.Shift`), if both ends have offered it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scale(Option<u8>);

/// The largest shift; larger offers are reduced to it (§2.3).
const MAX_SHIFT: u8 = 14;

impl Scaling for Scale {
    fn negotiate(offer: Option<u8>, profile: &Profile) -> Scale {
        Scale(offer.filter(|_| profile.window_scaling).map(|shift| shift.min(MAX_SHIFT)))
    }

    fn offer(self, is_responder: bool, profile: &Profile) -> Option<u8> {
        let offers = if is_responder { self.0.is_some() } else { profile.window_scaling };
        offers.then(|| profile.window_shift())
    }

    /// SND.WND = SEG.WND << Snd.Wind.Shift (§2.3).
    #[inline]
    fn peer_window(self, field: u16) -> u32 {
        u32::from(field) << self.0.unwrap_or(0)
    }

    fn field_from_syn(self, window: u16) -> u16 {
        window >> self.0.unwrap_or(0)
    }

    #[inline(always)]
    fn updated_field(self, _previous: u16, field: u16) -> u16 {
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
