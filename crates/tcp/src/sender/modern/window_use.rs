//! Use of the congestion window, which grows only if it limits the sender (`tcp_cwnd_validate` and `tcp_is_cwnd_limited` of
//! Linux).

use super::Modern;
use crate::Seq;
use crate::congestion::CongestionControl;
use crate::core::Core;

/// Use of the congestion window in the current round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    /// The window held data back, or was full.
    is_limiting: bool,
    /// The most bytes that were unacknowledged.
    most: u32,
    /// The acknowledgement of this number ends the round trip.
    end: Seq,
}

impl<C: CongestionControl> Modern<C> {
    /// Record the use of the window since the previous acknowledgement.
    #[inline]
    pub(super) fn note_window_use(&mut self, core: &Core) {
        let is_limiting =
            std::mem::take(&mut self.window_limited) || self.congestion_window() <= self.board.pipe();
        let most = core.snd_max - core.snd_una;
        let last = &mut self.window_use;
        if is_limiting || last.end <= core.snd_una || !last.is_limiting && last.most < most {
            *last = WindowUse { is_limiting, most, end: core.snd_nxt };
        }
    }

    /// True if the window has limited the sender in the last round trip. In slow start, use of more than half suffices.
    #[inline]
    pub(super) fn is_window_limiting(&self) -> bool {
        let (window_use, control) = (&self.window_use, &self.classic.congestion);
        let cwnd = control.cwnd();
        window_use.is_limiting || cwnd < control.ssthresh() && cwnd < 2 * window_use.most
    }
}
