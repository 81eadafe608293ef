//! Additive increase, multiplicative decrease as in RFC 5681, for controls that choose both amounts.
//!
//! Sources: RFC 5681 §3.1-3.2 and §4.1, RFC 3168 §6.1.2, RFC 4015 §3 (undo of a spurious reduction). [`Reno`]
//! itself counts whole bytes.
//!
//! [`Reno`]: super::Reno

use super::slow_start::SlowStart;
use super::{Ack, MAX_WINDOW};
use crate::Profile;
use crate::profile::HyStartForm;

/// A window in bytes, with the fractions that small increases and reductions need.
#[derive(Clone, Copy, Debug)]
pub(super) struct AimdWindow {
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
    /// The smallest window after a mark, in segments.
    min_window: u8,
    /// Window and threshold before the last loss or timeout.
    undo: Option<(f64, f64)>,
}

impl AimdWindow {
    pub(super) fn new(profile: &Profile) -> AimdWindow {
        AimdWindow {
            cwnd: f64::from(profile.initial_window_bytes()),
            ssthresh: f64::from(MAX_WINDOW),
            slow_start: SlowStart::new(HyStartForm::Off),
            min_window: profile.min_window,
            undo: None,
        }
    }

    /// Put the window into congestion avoidance with `bytes` bytes.
    #[cfg(test)]
    pub(super) fn avoiding(self, bytes: u32) -> AimdWindow {
        AimdWindow { cwnd: f64::from(bytes), ssthresh: f64::from(bytes), ..self }
    }

    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub(super) fn grow(&mut self, bytes: f64) {
        self.cwnd = (self.cwnd + bytes).min(f64::from(MAX_WINDOW));
    }

    /// Grow by the slow start of `ack`.
    pub(super) fn grow_in_slow_start(&mut self, ack: &Ack) {
        let growth = self.slow_start.growth(ack).unwrap_or(0);
        self.grow(f64::from(growth));
    }

    /// Reduce to `reduced` bytes for a mark. The window may fall to one segment (RFC 3168 §6.1.2), the threshold
    /// to 2 MSS (RFC 5681 (4)).
    pub(super) fn on_mark(&mut self, reduced: f64, mss: u32) {
        self.slow_start.on_congestion();
        self.undo = None;
        self.cwnd = reduced.max(f64::from(u32::from(self.min_window) * mss));
        self.ssthresh = self.cwnd.max(f64::from(2 * mss));
    }

    /// Reduce to `reduced` bytes for a loss.
    pub(super) fn on_loss(&mut self, reduced: f64, mss: u32) {
        self.lower_threshold(reduced, mss);
        self.slow_start.on_congestion();
        self.cwnd = self.ssthresh;
    }

    pub(super) fn on_recovered(&mut self) {
        self.cwnd = self.ssthresh;
    }

    /// Reduce to one segment (RFC 5681 §3.1).
    pub(super) fn on_timeout(&mut self, reduced: f64, mss: u32) {
        // If a retransmission expires again, cwnd is still one segment, and the threshold stays (RFC 5681 §3.1).
        if self.cwnd > f64::from(mss) {
            self.lower_threshold(reduced, mss);
        }
        self.slow_start.on_timeout();
        self.cwnd = f64::from(mss);
    }

    fn lower_threshold(&mut self, reduced: f64, mss: u32) {
        self.undo = Some((self.cwnd, self.ssthresh));
        // A mark may have reduced for the same window of data.
        self.ssthresh = reduced.min(self.cwnd).max(f64::from(2 * mss));
    }

    pub(super) fn on_spurious(&mut self) {
        if let Some((cwnd, ssthresh)) = self.undo.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// RFC 5681 §4.1: restart from min(initial window, cwnd).
    pub(super) fn on_idle(&mut self, initial_window: u32) {
        self.cwnd = self.cwnd.min(f64::from(initial_window));
    }
}

/// Return the whole bytes of a window.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "windows are from 0 to 2^30")]
pub(super) fn whole(bytes: f64) -> u32 {
    bytes as u32
}
