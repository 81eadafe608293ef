//! Slow start by bytes acknowledged, for the controls that use one.
//!
//! Sources: RFC 5681 §3.1, RFC 3465 §2.2-2.3 (appropriate byte counting), RFC 9406 (HyStart++).

use super::hystart_plus_plus::HyStartPlusPlus;
use super::{Ack, MAX_WINDOW};
use crate::profile::HyStartForm;

/// The most segments that one acknowledgement counts for (RFC 3465 §2.2), and after a timeout (§2.3).
const L: u32 = 2;
const L_AFTER_TIMEOUT: u32 = 1;

/// Growth of the window below the threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowStart {
    /// HyStart++ until the first congestion, if the profile has it.
    hystart: Option<HyStartPlusPlus>,
    limit: u32,
}

impl SlowStart {
    pub(super) fn new(hystart: HyStartForm) -> SlowStart {
        let has_plus_plus = hystart == HyStartForm::PlusPlus;
        SlowStart { hystart: has_plus_plus.then(HyStartPlusPlus::default), limit: L }
    }

    /// Return the bytes that `ack` adds to the window, or `None` when a rise of the delay ends slow start.
    pub(super) fn growth(&mut self, ack: &Ack) -> Option<u32> {
        let growth = match &mut self.hystart {
            Some(hystart) => hystart.growth(ack)?,
            // cwnd += min(N, L * SMSS)
            None => ack.bytes.min(self.limit.saturating_mul(ack.mss)),
        };
        Some(if ack.window_limited { growth.min(MAX_WINDOW) } else { 0 })
    }

    /// Handle a loss or mark. HyStart++ is for the first slow start only (RFC 9406 §4.3).
    pub(super) fn on_congestion(&mut self) {
        *self = SlowStart { hystart: None, limit: L };
    }

    pub(super) fn on_timeout(&mut self) {
        *self = SlowStart { hystart: None, limit: L_AFTER_TIMEOUT };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_counts_for_two_segments_but_one_after_a_timeout() {
        let ack = Ack { bytes: 9000, mss: 1000, window_limited: true, ..Ack::default() };
        let mut slow_start = SlowStart::new(HyStartForm::Off);
        assert_eq!(slow_start.growth(&ack), Some(2000));
        slow_start.on_timeout();
        assert_eq!(slow_start.growth(&ack), Some(1000));
        slow_start.on_congestion();
        assert_eq!(slow_start.growth(&ack), Some(2000));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        for hystart in [HyStartForm::Off, HyStartForm::PlusPlus] {
            let ack = Ack { bytes: 1000, mss: 1000, ..Ack::default() };
            assert_eq!(SlowStart::new(hystart).growth(&ack), Some(0));
        }
    }

    #[test]
    fn hystart_is_for_the_first_slow_start_only() {
        let ack = Ack { bytes: 9000, mss: 1000, window_limited: true, ..Ack::default() };
        let mut slow_start = SlowStart::new(HyStartForm::PlusPlus);
        assert_eq!(slow_start.growth(&ack), Some(8000));
        slow_start.on_congestion();
        assert_eq!(slow_start.growth(&ack), Some(2000));
    }
}
