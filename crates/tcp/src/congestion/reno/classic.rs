//! Reno and `NewReno` of a classic sender, whose fast recovery inflates the window.
//!
//! Sources: RFC 5681 §3.1-3.2, RFC 6582 §3.2, RFC 3168 §6.1.2. The window counts in bytes and grows per
//! acknowledgement. Differs from RFC 5681 (4): the threshold after a loss is half of min(cwnd, peer's window), as
//! in 4.4BSD, not half of the flight size. Differs from RFC 3168: an echo at a window of one segment leaves one
//! segment; the RFC lets the sender wait for its timer.

use crate::Profile;
use crate::congestion::{Ack, CongestionControl, MAX_WINDOW};

/// The window of Reno and `NewReno`, as 4.4BSD inflates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassicReno {
    cwnd: u32,
    ssthresh: u32,
}

impl CongestionControl for ClassicReno {
    fn new(profile: &Profile) -> ClassicReno {
        ClassicReno { cwnd: profile.initial_window_bytes(), ssthresh: MAX_WINDOW }
    }

    #[inline]
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    #[inline]
    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// Slow start: cwnd += min(acknowledged, MSS). Congestion avoidance: cwnd += MSS * MSS / cwnd.
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        // 4.4BSD: cwnd = ssthresh still grows as in slow start.
        let growth = if self.cwnd <= self.ssthresh {
            ack.bytes.min(ack.mss)
        } else {
            (ack.mss * ack.mss / self.cwnd).max(1)
        };
        self.cwnd = (self.cwnd + growth).min(MAX_WINDOW);
    }

    /// ssthresh = max(window / 2, 2 MSS); cwnd = ssthresh + 3 MSS, for the three segments that have left the
    /// network.
    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.ssthresh = half(window, mss).max(2 * mss);
        self.cwnd = self.ssthresh + 3 * mss;
    }

    fn on_duplicate_ack(&mut self, mss: u32) {
        self.cwnd += mss;
    }

    /// RFC 6582 §3.2 (5): deflate by the bytes acknowledged, and add back one segment.
    fn on_partial_ack(&mut self, ack: &Ack) {
        let added_back = if ack.bytes >= ack.mss { ack.mss } else { 0 };
        self.cwnd = self.cwnd.saturating_sub(ack.bytes).max(ack.mss) + added_back;
    }

    /// RFC 6582 §3.2 (3), first choice: cwnd = min(ssthresh, flight + MSS), so no burst follows.
    fn on_recovered(&mut self, flight: u32, mss: u32) {
        self.cwnd = self.ssthresh.min(flight.max(mss) + mss);
    }

    fn on_timeout(&mut self, window: u32, mss: u32) {
        self.ssthresh = half(window, mss).max(2 * mss);
        self.cwnd = mss;
    }

    /// Halve the window as for a loss, but down to one segment, since no data are missing.
    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        self.cwnd = half(window, mss).max(mss);
        self.ssthresh = self.cwnd.max(2 * mss);
    }

    /// RFC 5681 §4.1: restart from min(initial window, cwnd).
    fn on_idle(&mut self, initial_window: u32) {
        self.cwnd = self.cwnd.min(initial_window);
    }
}

/// Return half a window in whole segments, as 4.4BSD rounds it.
fn half(window: u32, mss: u32) -> u32 {
    window / 2 / mss * mss
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn ack() -> Ack {
        Ack { bytes: MSS, mss: MSS, ..Ack::default() }
    }

    fn with_window(segments: u8) -> ClassicReno {
        let mss = u16::try_from(MSS).expect("a small segment");
        ClassicReno::new(&Profile { mss, initial_window: segments, ..Profile::freebsd_4_5() })
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip() {
        let mut cc = with_window(2);
        for _ in 0..2 {
            cc.on_ack(&ack());
        }
        assert_eq!(cc.cwnd(), 4 * MSS);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_each_round_trip() {
        let mut cc = with_window(20);
        cc.on_fast_retransmit(20 * MSS, MSS);
        cc.on_recovered(20 * MSS, MSS);
        cc.on_ack(&ack()); // cwnd = ssthresh still grows as in slow start
        let start = cc.cwnd();
        for _ in 0..start / MSS {
            cc.on_ack(&ack());
        }
        let grown = cc.cwnd() - start;
        assert!((900..=1000).contains(&grown), "grew by {grown} bytes");
    }

    #[test]
    fn a_loss_halves_and_a_timeout_leaves_one_segment() {
        let mut cc = with_window(11);
        cc.on_fast_retransmit(11 * MSS, MSS);
        assert_eq!((cc.ssthresh(), cc.cwnd()), (5 * MSS, 8 * MSS));
        cc.on_timeout(8 * MSS, MSS);
        assert_eq!((cc.ssthresh(), cc.cwnd()), (4 * MSS, MSS));
        cc.on_timeout(MSS, MSS);
        assert_eq!(cc.ssthresh(), 2 * MSS);
    }

    #[test]
    fn an_ecn_echo_halves_down_to_one_segment() {
        let mut cc = with_window(8);
        for expected in [4, 2, 1, 1] {
            cc.on_ecn_echo(cc.cwnd(), MSS);
            assert_eq!(cc.cwnd(), expected * MSS);
        }
    }
}
