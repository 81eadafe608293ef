//! CUBIC as in RFC 9438: after a reduction the window follows a cubic function of time, flat at the window of the last
//! congestion.
//!
//! Source: RFC 9438 §4, whose names the state has; slow start with optional HyStart++ (§4.10); RFC 8511 (ABE).
//!
//! All windows are in bytes; the RFC counts segments. Increases are scaled by the bytes acknowledged: §4.3 does
//! so for byte counting, and here §4.4-4.5 do too, so that growth does not depend on how often the peer
//! acknowledges. The reduction starts from the data that were allowed in flight (§4.6 permits cwnd if it does not
//! grow unused).

use aqmlab_units::{Duration, Time};

use super::slow_start::SlowStart;
use super::smoothed_rtt::SmoothedRtt;
use super::{Ack, CongestionControl, MAX_WINDOW};
use crate::{ControlVariables, Profile};

/// C in segments per cubic second (RFC 9438 §5.1).
const C: f64 = 0.4;
/// The multiplicative decrease (RFC 9438 §4.6), and that for a mark in congestion avoidance with ABE (RFC 8511
/// §3).
const BETA_CUBIC: f64 = 0.7;
const BETA_ECN: f64 = 0.85;
/// Segments per round trip in the Reno-friendly region (RFC 9438 §4.3).
const ALPHA_CUBIC: f64 = 3.0 * (1.0 - BETA_CUBIC) / (1.0 + BETA_CUBIC);

/// CUBIC's window.
#[derive(Clone, Debug)]
pub struct CubicRfc9438 {
    window: CubicWindow,
    /// [`CubicWindow`] before the last loss or timeout. Boxed, because most connections lose nothing.
    undo: Option<Box<CubicWindow>>,
    slow_start: SlowStart,
    srtt: SmoothedRtt,
    last_ack: Time,
    /// The last acknowledgement left nothing in flight.
    idle: bool,
    beta_ecn: f64,
    /// The smallest window after a mark, in segments.
    min_window: f64,
}

/// State that a spurious loss or timeout restores (RFC 9438 §4.9). In bytes.
#[derive(Clone, Copy, Debug)]
struct CubicWindow {
    cwnd: f64,
    ssthresh: f64,
    /// cwnd when ssthresh was last set.
    cwnd_prior: f64,
    /// The window at the last congestion; `None` after a timeout or a slow start that delay ended.
    w_max: Option<f64>,
    epoch: Option<Stage>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Start of the stage, moved later by each period in which the window was not used.
    t_epoch: Time,
    /// Seconds until `W_cubic` reaches `W_max`.
    k: f64,
    w_max: f64,
    /// Estimate of Reno's window.
    w_est: f64,
}

impl Stage {
    /// `K = cbrt((W_max - cwnd_epoch) / C)`; without a `W_max`, and above it, `K = 0` and `W_max = cwnd_epoch` (§4.8,
    /// §4.10).
    fn begin(now: Time, cwnd: f64, w_max: Option<f64>, mss: f64) -> Stage {
        let w_max = w_max.unwrap_or(cwnd).max(cwnd);
        Stage { t_epoch: now, k: libm::cbrt((w_max - cwnd) / (C * mss)), w_max, w_est: cwnd }
    }

    /// `W_cubic(t) = C * (t - K)^3 + W_max`
    fn w_cubic(&self, t: Duration, mss: f64) -> f64 {
        let t = t.as_secs_f64() - self.k;
        C * mss * t * t * t + self.w_max
    }
}

impl CubicWindow {
    /// Congestion avoidance (§4.2-4.5).
    fn grow(&mut self, ack: &Ack, rtt: Duration) {
        let (mss, bytes) = (f64::from(ack.mss), f64::from(ack.bytes));
        let (cwnd, w_max) = (self.cwnd, self.w_max);
        let epoch = self.epoch.get_or_insert_with(|| Stage::begin(ack.now, cwnd, w_max, mss));
        let t = ack.now.saturating_since(epoch.t_epoch);
        // W_est = W_est + alpha_cubic * segments_acked / cwnd
        let alpha_cubic = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA_CUBIC };
        epoch.w_est += alpha_cubic * mss * bytes / cwnd;
        // Reno-friendly region (§4.3): never slower than Reno would be.
        if epoch.w_cubic(t, mss) < epoch.w_est {
            self.cwnd = cwnd.max(epoch.w_est);
        } else {
            // target = W_cubic(t + RTT), from cwnd to 1.5 * cwnd
            let target = epoch.w_cubic(t + rtt, mss).clamp(cwnd, 1.5 * cwnd);
            // cwnd = cwnd + (target - cwnd) / cwnd for each segment
            self.cwnd += (target - cwnd) * bytes / cwnd;
        }
    }

    /// Multiplicative decrease (§4.6) with fast convergence (§4.7), to `least` segments at the lowest.
    fn reduce(&mut self, window: u32, beta: f64, least: f64, mss: u32) {
        let (window, mss) = (f64::from(window), f64::from(mss));
        // Fast convergence: a window that congestion reduces earlier than last time leaves room to new flows.
        let is_falling = self.w_max.is_some_and(|w_max| self.cwnd < w_max);
        self.w_max = Some(if is_falling { self.cwnd * (1.0 + BETA_CUBIC) / 2.0 } else { self.cwnd });
        self.cwnd_prior = self.cwnd;
        // A mark may have reduced the window for the same window of data.
        self.cwnd = (window * beta).min(self.cwnd).max(least * mss);
        self.ssthresh = self.cwnd.max(2.0 * mss);
        self.epoch = None;
    }
}

impl CubicRfc9438 {
    fn in_slow_start(&self) -> bool {
        self.window.cwnd < self.window.ssthresh
    }

    /// §4.2, §5.8: t stops while the window is not used, and while nothing is in flight.
    fn freeze_epoch_when_app_limited(&mut self, ack: &Ack) {
        if let Some(epoch) = &mut self.window.epoch
            && (self.idle || !ack.window_limited)
        {
            epoch.t_epoch += ack.now.saturating_since(self.last_ack);
        }
        self.last_ack = ack.now;
        self.idle = ack.in_flight == 0;
    }

    /// End slow start without a loss: `W_max` is the window at its end (§4.10).
    fn leave_slow_start(&mut self) {
        self.slow_start.on_congestion();
        let cwnd = self.window.cwnd;
        self.window =
            CubicWindow { ssthresh: cwnd, cwnd_prior: cwnd, w_max: None, epoch: None, ..self.window };
    }
}

impl CongestionControl for CubicRfc9438 {
    fn new(profile: &Profile) -> CubicRfc9438 {
        let cwnd = f64::from(profile.initial_window_bytes());
        let ssthresh = f64::from(MAX_WINDOW);
        CubicRfc9438 {
            window: CubicWindow { cwnd, ssthresh, cwnd_prior: cwnd, w_max: None, epoch: None },
            undo: None,
            slow_start: SlowStart::new(profile.hystart),
            srtt: SmoothedRtt::default(),
            last_ack: Time::ZERO,
            idle: true,
            beta_ecn: if profile.abe { BETA_ECN } else { BETA_CUBIC },
            min_window: f64::from(profile.min_window),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 MSS to MAX_WINDOW")]
    fn cwnd(&self) -> u32 {
        self.window.cwnd as u32
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 2 MSS to MAX_WINDOW")]
    fn ssthresh(&self) -> u32 {
        self.window.ssthresh as u32
    }

    fn has_abe(&self) -> bool {
        true
    }

    fn variables(&self) -> ControlVariables {
        ControlVariables {
            w_max: self.window.w_max,
            k: self.window.epoch.map(|stage| stage.k),
            w_est: self.window.epoch.map(|stage| stage.w_est),
            ..ControlVariables::default()
        }
    }

    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.srtt.sample(rtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.freeze_epoch_when_app_limited(ack);
        if self.in_slow_start() {
            match self.slow_start.growth(ack) {
                Some(growth) => self.window.cwnd += f64::from(growth),
                None => self.leave_slow_start(),
            }
        } else if ack.window_limited {
            let rtt = self.srtt.get().unwrap_or(Duration::ZERO);
            self.window.grow(ack, rtt);
        }
        self.window.cwnd = self.window.cwnd.min(f64::from(MAX_WINDOW));
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.undo = Some(Box::new(self.window));
        self.slow_start.on_congestion();
        self.window.reduce(window, BETA_CUBIC, 2.0, mss);
    }

    fn on_recovered(&mut self, _flight: u32, _mss: u32) {
        self.window.cwnd = self.window.ssthresh;
    }

    /// §4.8: as Reno, but with `beta_cubic` for the threshold.
    fn on_timeout(&mut self, window: u32, mss: u32) {
        // If a retransmission expires again, cwnd is still one segment, and the threshold stays (RFC 5681 §3.1).
        if self.window.cwnd > f64::from(mss) {
            self.undo = Some(Box::new(self.window));
            self.window.reduce(window, BETA_CUBIC, 2.0, mss);
        }
        self.slow_start.on_timeout();
        self.window = CubicWindow { cwnd: f64::from(mss), w_max: None, epoch: None, ..self.window };
    }

    /// §4.9.2: restore the window, unless it has outgrown the saved one.
    fn on_spurious(&mut self) {
        if let Some(undo) = self.undo.take()
            && self.window.cwnd < self.window.cwnd_prior
        {
            self.window = *undo;
        }
    }

    /// §4.6: reduce to one segment at the lowest, or to the stack's own bound.
    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        // ABE is for congestion avoidance only (RFC 8511 §3).
        let beta = if self.in_slow_start() { BETA_CUBIC } else { self.beta_ecn };
        self.undo = None;
        self.slow_start.on_congestion();
        self.window.reduce(window, beta, self.min_window, mss);
    }

    /// RFC 5681 §4.1; congestion avoidance starts a new stage.
    fn on_idle(&mut self, initial_window: u32) {
        self.window.cwnd = self.window.cwnd.min(f64::from(initial_window));
        self.window.epoch = None;
    }
}

#[cfg(test)]
mod tests;
