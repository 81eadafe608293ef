//! Reno. [`Reno`] is for endpoints whose loss recovery limits the data sent (SACK, PRR), and does not inflate the
//! window. [`ClassicReno`] inflates it, which is the loss recovery of a classic endpoint. `congestion = "reno"`
//! is the one that fits the endpoint.
//!
//! Sources: RFC 5681 §3.1-3.2, RFC 3465 (the window grows by bytes acknowledged), RFC 3168 §6.1.2, RFC 8511
//! (ABE), RFC 4015 §3 (undo of a spurious reduction), RFC 9406 (HyStart++, optional).
//!
//! Differs from RFC 5681 (4): the threshold after a loss is half of the data allowed in flight, not of the flight
//! size. The window does not grow while it is not used, so the two are close. Differs from RFC 4015: the window
//! returns to its former value, and pacing or PRR limits the burst.
mod classic;

pub use classic::ClassicReno;

use super::slow_start::SlowStart;
use super::{Ack, CongestionControl, MAX_WINDOW};
use crate::Profile;

/// Factor of the window at a loss (RFC 5681), and at a mark (RFC 3168).
const BETA: f64 = 0.5;
/// Factor at a mark in congestion avoidance with ABE (RFC 8511 §3).
const BETA_ECN: f64 = 0.8;

/// Reno's window.
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    cwnd: u32,
    ssthresh: u32,
    /// Bytes acknowledged in congestion avoidance since the window last grew (RFC 3465 §2.1). The small
    /// reductions of [`Dctcp`](super::Dctcp) keep the count; otherwise they would come before it ever reaches a
    /// window.
    bytes_acked: u32,
    slow_start: SlowStart,
    /// Factor of the window at a mark in congestion avoidance.
    beta_ecn: f64,
    /// The smallest window after a mark, in segments.
    min_window: u8,
    /// Window and threshold before the last loss or timeout.
    undo: Option<(u32, u32)>,
}

impl Reno {
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// End slow start: the window is large enough.
    pub(super) fn leave_slow_start(&mut self) {
        self.slow_start.on_congestion();
        self.ssthresh = self.cwnd;
    }

    /// cwnd = max(window * beta, `min_window` MSS). A mark may leave one segment (RFC 3168 §6.1.2); the threshold
    /// is at least 2 MSS, as for a loss (RFC 5681 (4)).
    pub(super) fn reduce_for_marks(&mut self, window: u32, beta: f64, mss: u32) {
        self.slow_start.on_congestion();
        self.undo = None;
        self.cwnd = scaled(window, beta).max(u32::from(self.min_window) * mss);
        self.ssthresh = self.cwnd.max(2 * mss);
    }

    fn reduce_for_loss(&mut self, window: u32, mss: u32) {
        self.undo = Some((self.cwnd, self.ssthresh));
        // ssthresh = max(FlightSize / 2, 2 * SMSS); a mark may have reduced for the same window of data.
        self.ssthresh = scaled(window, BETA).min(self.cwnd).max(2 * mss);
        self.bytes_acked = 0;
    }
}

impl CongestionControl for Reno {
    fn new(profile: &Profile) -> Reno {
        Reno {
            cwnd: profile.initial_window_bytes(),
            ssthresh: MAX_WINDOW,
            bytes_acked: 0,
            slow_start: SlowStart::new(profile.hystart),
            beta_ecn: if profile.abe { BETA_ECN } else { BETA },
            min_window: profile.min_window,
            undo: None,
        }
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn has_abe(&self) -> bool {
        true
    }

    /// Slow start below the threshold; from it on one segment for each window acknowledged (RFC 3465 §2.1).
    fn on_ack(&mut self, ack: &Ack) {
        if self.in_slow_start() {
            match self.slow_start.growth(ack) {
                Some(growth) => self.cwnd = (self.cwnd + growth).min(MAX_WINDOW),
                None => self.leave_slow_start(),
            }
        } else if ack.window_limited {
            self.bytes_acked = self.bytes_acked.saturating_add(ack.bytes);
            if self.bytes_acked >= self.cwnd {
                self.bytes_acked -= self.cwnd;
                self.cwnd = (self.cwnd + ack.mss).min(MAX_WINDOW);
            }
        }
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.reduce_for_loss(window, mss);
        self.slow_start.on_congestion();
        self.cwnd = self.ssthresh;
    }

    fn on_recovered(&mut self, _flight: u32, _mss: u32) {
        self.cwnd = self.ssthresh;
    }

    /// RFC 5681 §3.1: reduce to one segment.
    fn on_timeout(&mut self, window: u32, mss: u32) {
        // If a retransmission expires again, cwnd is still one segment, and the threshold stays (RFC 5681 §3.1).
        if self.cwnd > mss {
            self.reduce_for_loss(window, mss);
        }
        self.slow_start.on_timeout();
        self.cwnd = mss;
    }

    fn on_spurious(&mut self) {
        if let Some((cwnd, ssthresh)) = self.undo.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// ABE is for congestion avoidance (RFC 8511 §3). Slow start has overshot, so its window is halved.
    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        let beta = if self.in_slow_start() { BETA } else { self.beta_ecn };
        self.reduce_for_marks(window, beta, mss);
        self.bytes_acked = 0;
    }

    /// RFC 5681 §4.1: restart from min(initial window, cwnd).
    fn on_idle(&mut self, initial_window: u32) {
        self.cwnd = self.cwnd.min(initial_window);
    }
}

/// Return `window * factor` in whole bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the factor is from 0 to 1")]
pub(super) fn scaled(window: u32, factor: f64) -> u32 {
    (f64::from(window) * factor) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HyStartForm;

    const MSS: u32 = 1000;

    fn ack() -> Ack {
        Ack { bytes: MSS, mss: MSS, window_limited: true, ..Ack::default() }
    }

    fn reno(segments: u8, change: impl FnOnce(&mut Profile)) -> Reno {
        let mut profile = Profile {
            mss: 1000,
            initial_window: segments,
            ecn: crate::EcnPolicy::Rfc3168,
            ..Profile::freebsd_4_5()
        };
        change(&mut profile);
        Reno::new(&profile)
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip() {
        let mut cc = reno(10, |_| {});
        (0..10).for_each(|_| cc.on_ack(&ack()));
        assert_eq!(cc.cwnd(), 20 * MSS);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_for_each_acked_window() {
        // RFC 3465 §2.1
        let mut cc = reno(20, |_| {});
        cc.on_fast_retransmit(20 * MSS, MSS);
        cc.on_recovered(10 * MSS, MSS);
        for expected in [11, 12, 13] {
            (0..cc.cwnd() / MSS).for_each(|_| cc.on_ack(&ack()));
            assert_eq!(cc.cwnd(), expected * MSS);
        }
    }

    #[test]
    fn delayed_acknowledgements_do_not_slow_growth() {
        // RFC 3465 §2.1: bytes count, not acknowledgements.
        let mut cc = reno(20, |_| {});
        cc.on_fast_retransmit(20 * MSS, MSS);
        (0..5).for_each(|_| cc.on_ack(&Ack { bytes: 2 * MSS, ..ack() }));
        assert_eq!(cc.cwnd(), 11 * MSS);
    }

    #[test]
    fn what_is_acknowledged_beyond_a_window_counts_for_the_next() {
        // RFC 3465 §2.1: 12 segments for a window of 10, so 9 more for one of 11.
        let mut cc = reno(20, |_| {});
        cc.on_fast_retransmit(20 * MSS, MSS);
        (0..7).for_each(|_| cc.on_ack(&Ack { bytes: 3 * MSS, ..ack() }));
        assert_eq!(cc.cwnd(), 12 * MSS);
    }

    #[test]
    fn a_loss_halves_the_window_without_inflating_it() {
        let mut cc = reno(11, |_| {});
        cc.on_fast_retransmit(11 * MSS, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (5500, 5500));
        cc.on_recovered(2 * MSS, MSS);
        assert_eq!(cc.cwnd(), 5500);
    }

    #[test]
    fn a_loss_after_a_mark_in_its_window_neither_reduces_nor_grows() {
        // RFC 3168 §6.1.2, RFC 8511 §3
        let mut cc = reno(20, |profile| profile.abe = true);
        cc.on_fast_retransmit(20 * MSS, MSS);
        cc.on_ecn_echo(10 * MSS, MSS);
        cc.on_fast_retransmit(16 * MSS, MSS);
        assert_eq!(cc.cwnd(), 8 * MSS);
        cc.on_fast_retransmit(80 * MSS, MSS);
        assert_eq!(cc.cwnd(), 8 * MSS);
    }

    #[test]
    fn a_repeated_timeout_keeps_the_threshold() {
        // RFC 5681 §3.1
        let mut cc = reno(10, |_| {});
        cc.on_timeout(10 * MSS, MSS);
        cc.on_timeout(MSS, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 5 * MSS));
    }

    #[test]
    fn a_spurious_loss_or_timeout_is_undone_once() {
        let mut cc = reno(10, |_| {});
        cc.on_timeout(10 * MSS, MSS);
        cc.on_spurious();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10 * MSS, MAX_WINDOW));
        cc.on_fast_retransmit(10 * MSS, MSS);
        cc.on_ecn_echo(5 * MSS, MSS);
        cc.on_spurious();
        assert_eq!(cc.cwnd(), 2500, "a mark cannot be spurious");
    }

    #[test]
    fn abe_reduces_less_for_a_mark_but_not_for_a_loss() {
        // RFC 8511 §3
        for (abe, kept) in [(false, 5 * MSS), (true, 8 * MSS)] {
            let mut cc = reno(20, |profile| profile.abe = abe);
            cc.on_ecn_echo(20 * MSS, MSS);
            assert_eq!(cc.cwnd(), 10 * MSS, "in slow start");
            cc.on_ecn_echo(10 * MSS, MSS);
            assert_eq!(cc.cwnd(), kept);
            cc.on_fast_retransmit(10 * MSS, MSS);
            assert_eq!(cc.cwnd(), 5 * MSS);
        }
    }

    #[test]
    fn marks_reduce_down_to_one_segment_and_losses_to_two() {
        // RFC 3168 §6.1.2, RFC 5681 (4)
        let mut cc = reno(4, |_| {});
        (0..4).for_each(|_| cc.on_ecn_echo(cc.cwnd(), MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 2 * MSS));
        cc.on_fast_retransmit(MSS, MSS);
        assert_eq!(cc.cwnd(), 2 * MSS);
    }

    #[test]
    fn delay_ends_slow_start_with_hystart_alone() {
        for hystart in [HyStartForm::Off, HyStartForm::PlusPlus] {
            let mut cc = reno(10, |profile| profile.hystart = hystart);
            for round in 0..8 {
                for i in 0..8 {
                    let rtt = Some(aqmlab_units::Duration::from_millis(if round == 0 { 80 } else { 120 }));
                    cc.on_ack(&Ack { rtt, new_round: i == 0, ..ack() });
                }
            }
            assert_eq!(cc.in_slow_start(), hystart == HyStartForm::Off);
        }
    }
}
