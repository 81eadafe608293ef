//! Windows beyond 65,535 bytes (RFC 7323 §2): a field of 16 bits, shifted where both ends offer to.

use aqmlab_units::Time;

use super::{Endpoint, Extension};
use crate::{Profile, Segment, Stack, WindowScale};

/// How far the peer shifts the window field of its segments without SYN (`Snd.Wind.Shift`), once both ends have offered
/// to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scale(Option<u8>);

/// A larger shift is taken for this one (§2.3).
const MAX_SHIFT: u8 = 14;

impl Scale {
    /// What is agreed on when the peer's SYN or SYN/ACK comes with `offer`.
    pub(super) fn agreed(offer: Option<u8>, profile: &Profile) -> Scale {
        Scale(offer.filter(|_| profile.window_scaling).map(|shift| shift.min(MAX_SHIFT)))
    }

    /// §2.2: a SYN offers what the profile has, a SYN/ACK only if the SYN did.
    pub(super) fn offer(self, answers: bool, profile: &Profile) -> Option<u8> {
        let offers = if answers { self.0.is_some() } else { profile.window_scaling };
        offers.then(|| profile.window_shift())
    }

    /// The peer's window, of which its segments say `field`: SND.WND = SEG.WND << Snd.Wind.Shift (§2.3).
    #[inline]
    pub(super) fn peer_window(self, field: u16) -> u32 {
        u32::from(field) << self.0.unwrap_or(0)
    }

    /// What a later segment would say of the window of a SYN, which is never scaled (§2.2): at most as much.
    pub(super) fn field_of_syn(self, window: u16) -> u16 {
        window >> self.0.unwrap_or(0)
    }

    /// What segments say of the own window: SEG.WND = RCV.WND >> Rcv.Wind.Shift (§2.3).
    #[inline]
    pub(super) fn own_window(self, profile: &Profile) -> u16 {
        if self.0.is_none() {
            return profile.unscaled_window();
        }
        u16::try_from(profile.receive_window >> profile.window_shift()).unwrap_or(u16::MAX)
    }
}

impl<S: Stack<Extension = Scale, Options = WindowScale>> Extension<S> for Scale {
    fn new(_profile: &Profile, _now: Time) -> Scale {
        Scale::default()
    }

    #[inline]
    fn peer_window(tcp: &Endpoint<S>) -> u32 {
        tcp.extension.peer_window(tcp.snd_wnd)
    }

    #[inline]
    fn own_window(tcp: &Endpoint<S>, profile: &Profile) -> u16 {
        tcp.extension.own_window(profile)
    }

    fn syn_options(tcp: &Endpoint<S>, _now: Time, profile: &Profile) -> WindowScale {
        WindowScale::offering(tcp.extension.offer(tcp.answers(), profile))
    }

    fn agree(tcp: &mut Endpoint<S>, syn: &Segment<WindowScale>, profile: &Profile) {
        tcp.extension = Scale::agreed(syn.options.shift(), profile);
        tcp.snd_wnd = tcp.extension.field_of_syn(syn.window);
    }

    #[inline]
    fn note_arrival(tcp: &mut Endpoint<S>, segment: &Segment<WindowScale>) {
        tcp.snd_wnd = segment.window;
    }
}
