//! CUBIC as Linux computes it: in whole segments and milliseconds.
//!
//! Sources: the behaviour of `tcp_cubic.c` in Linux 6.12, and RFC 9438, whose names the state has. The kernel's world holds
//! it to Linux segment by segment: `docs/guide/tcp-conversations.md`.
//!
//! It differs from RFC 9438 ([`CubicRfc9438`](super::CubicRfc9438)) in these respects:
//!
//! * The window grows by one segment every `cnt` acknowledged segments, an integer. Rounding makes it grow faster: by
//!   half in a round trip already if the target is a third above the window.
//! * Before the first reduction it grows by at least 5 % in a round trip.
//! * The Reno-friendly window grows by 8/15 segments in a round trip throughout (`alpha_cubic`, RFC 9438 §4.3).
//! * The target is the curve one smallest round-trip time ahead (`delay_min`), not one smoothed one.
//! * Slow start ends by [`HyStart`](super::hystart::HyStart), also after a timeout.
//! * Only pauses without data in flight stop the curve's time.

use aqmlab_units::{Duration, Time};

use super::hystart::HyStart;
use super::{Ack, CongestionControl, MAX_WINDOW};
use crate::profile::HyStartForm;
use crate::{ControlVariables, Profile};

/// The multiplicative decrease, in 1,024ths: 0.7 (RFC 9438 §4.6).
const BETA: u32 = 717;
/// That for a mark in congestion avoidance with ABE (RFC 8511 §3): 0.85. Linux has no ABE.
const BETA_ECN: u32 = 870;
const BETA_SCALE: u32 = 1024;
/// C = 0.4 segments per cubic second, in the unit of [`CURVE_SHIFT`]: time counts in 1,024ths of a second.
const C: u64 = 410;
const CURVE_SHIFT: u32 = 40;
/// Acknowledged segments for which the Reno-friendly window grows by a segment, in eighths of a window.
const FRIENDLY_EIGHTHS: u32 = 15;
/// The curve's target is computed again after this time if the window has not changed, in milliseconds.
const UPDATE_INTERVAL: u64 = 31;
/// The largest `cnt` before the first reduction: growth by 5 % in a round trip.
const MAX_CNT_AT_FIRST: u32 = 20;
/// The smallest `cnt`: growth by half in a round trip.
const MIN_CNT: u32 = 2;
/// Round-trip samples are ignored so long after congestion avoidance has begun, in milliseconds.
const SETTLING: u64 = 1000;

/// CUBIC's window, in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    cwnd: u32,
    ssthresh: u32,
    mss: u32,
    /// Segments acknowledged towards the next growth.
    cwnd_cnt: u32,
    curve: Curve,
    /// The shortest round-trip time since the start or the last timeout.
    delay_min: Option<Duration>,
    /// HyStart, until it has ended a slow start.
    hystart: Option<HyStart>,
    has_hystart: bool,
    /// Window and threshold before the last loss or timeout.
    undo: Option<(u32, u32)>,
    last_ack: Time,
    /// The last acknowledgement left nothing in flight.
    idle: bool,
    beta_ecn: u32,
    min_window: u32,
}

/// The cubic function of time and the Reno-friendly window.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// The window at the last reduction, after fast convergence; 0 before the first one and after a timeout.
    w_max: u32,
    stage: Option<Stage>,
    /// Acknowledged segments for which the window grows by one.
    cnt: u32,
    /// Window and time of the last computation of `cnt`.
    last_cwnd: u32,
    last_time: u64,
    /// Segments acknowledged towards the next growth of `w_est`.
    ack_cnt: u32,
    /// Estimate of Reno's window.
    w_est: u32,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Its start in milliseconds, moved later by each pause.
    epoch: u64,
    /// The time until the curve is flat, in 1,024ths of a second.
    k: u64,
    /// The window there.
    origin: u32,
}

fn milliseconds(now: Time) -> u64 {
    now.as_nanos() / 1_000_000
}

#[expect(clippy::cast_possible_truncation, reason = "a cube root of 64 bits")]
#[expect(clippy::cast_sign_loss, reason = "of a positive number")]
fn cube_root(value: u64) -> u64 {
    libm::cbrt(value as f64) as u64
}

impl Stage {
    fn begin(now: u64, cwnd: u32, w_max: u32) -> Stage {
        let missing = u64::from(w_max.saturating_sub(cwnd));
        Stage { epoch: now, k: cube_root((1 << CURVE_SHIFT) / C * missing), origin: w_max.max(cwnd) }
    }

    /// `W_cubic(t) = C * (t - K)^3 + W_max`, at `ms` after the start.
    fn target(&self, ms: u64) -> u64 {
        let t = (ms << 10) / 1000;
        let offset = t.abs_diff(self.k).min(1 << 17);
        let delta = (C * offset * offset * offset) >> CURVE_SHIFT;
        let origin = u64::from(self.origin);
        if t < self.k { origin.saturating_sub(delta) } else { origin + delta }
    }
}

impl Curve {
    /// Update `cnt` when `acked` segments are acknowledged at `now`.
    fn update(&mut self, cwnd: u32, acked: u32, now: u64, delay_min: Duration) {
        self.ack_cnt += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= UPDATE_INTERVAL {
            return;
        }
        // The curve is computed once a millisecond at most.
        if self.stage.is_none() || now != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            let stage = *self.stage.get_or_insert_with(|| {
                (self.ack_cnt, self.w_est) = (acked, cwnd);
                Stage::begin(now, cwnd, self.w_max)
            });
            let ahead = delay_min.as_nanos().div_ceil(1_000_000);
            self.follow(stage.target(now.saturating_sub(stage.epoch) + ahead), cwnd);
        }
        self.be_reno_friendly(cwnd);
        self.cnt = self.cnt.max(MIN_CNT);
    }

    fn follow(&mut self, target: u64, cwnd: u32) {
        let target = u32::try_from(target).unwrap_or(u32::MAX);
        // At or above the target the window hardly grows.
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.w_max == 0 {
            self.cnt = self.cnt.min(MAX_CNT_AT_FIRST);
        }
    }

    /// RFC 9438 §4.3: never slower than Reno would be.
    fn be_reno_friendly(&mut self, cwnd: u32) {
        let per_segment = cwnd * FRIENDLY_EIGHTHS / 8;
        while self.ack_cnt > per_segment {
            self.ack_cnt -= per_segment;
            self.w_est += 1;
        }
        if self.w_est > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.w_est - cwnd));
        }
    }
}

impl Cubic {
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// A pause without data in flight does not count for the curve (RFC 9438 §5.8).
    fn skip_pause(&mut self, now: Time) {
        if self.idle
            && let Some(stage) = &mut self.curve.stage
        {
            stage.epoch += milliseconds(now) - milliseconds(self.last_ack);
        }
    }

    fn take_round_trip(&mut self, ack: &Ack, rtt: Duration) {
        let now = milliseconds(ack.now);
        if self.curve.stage.is_some_and(|stage| now.saturating_sub(stage.epoch) < SETTLING) {
            return;
        }
        let delay_min = self.delay_min.map_or(rtt, |least| least.min(rtt));
        self.delay_min = Some(delay_min);
        if self.in_slow_start()
            && let Some(hystart) = &mut self.hystart
            && hystart.ends_slow_start(ack, rtt, delay_min, self.cwnd)
        {
            self.hystart = None;
            self.ssthresh = self.cwnd;
        }
    }

    /// Grow by `acked` segments below the threshold. Returns those that are left above it.
    fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    fn avoid_congestion(&mut self, acked: u32) {
        let cnt = self.curve.cnt;
        if self.cwnd_cnt >= cnt {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        self.cwnd += self.cwnd_cnt / cnt;
        self.cwnd_cnt %= cnt;
    }

    /// Set the threshold, and the curve's origin with fast convergence (RFC 9438 §4.6-4.7).
    fn reduce(&mut self, beta: u32) {
        self.curve.stage = None;
        let is_falling = self.cwnd < self.curve.w_max;
        self.curve.w_max =
            if is_falling { self.cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { self.cwnd };
        self.ssthresh = (self.cwnd * beta / BETA_SCALE).max(2);
    }

    /// A mark has reduced the window for the same window of data (RFC 3168 §6.1.2).
    fn has_reduced(&self, window: u32) -> bool {
        window > self.cwnd()
    }

    fn new_hystart(has_hystart: bool) -> Option<HyStart> {
        has_hystart.then(HyStart::default)
    }
}

impl CongestionControl for Cubic {
    fn new(profile: &Profile) -> Cubic {
        let has_hystart = profile.hystart == HyStartForm::Linux;
        Cubic {
            cwnd: profile.initial_window.into(),
            ssthresh: u32::MAX,
            mss: profile.mss.into(),
            cwnd_cnt: 0,
            curve: Curve::default(),
            delay_min: None,
            hystart: Cubic::new_hystart(has_hystart),
            has_hystart,
            undo: None,
            last_ack: Time::ZERO,
            idle: true,
            beta_ecn: if profile.abe { BETA_ECN } else { BETA },
            min_window: profile.min_window.into(),
        }
    }

    fn cwnd(&self) -> u32 {
        self.cwnd * self.mss
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh.saturating_mul(self.mss).min(MAX_WINDOW)
    }

    fn has_abe(&self) -> bool {
        true
    }

    fn variables(&self) -> ControlVariables {
        let bytes = |segments: u32| f64::from(segments) * f64::from(self.mss);
        let Curve { w_max, stage, w_est, .. } = self.curve;
        ControlVariables {
            w_max: (w_max > 0).then(|| bytes(w_max)),
            k: stage.map(|stage| stage.k as f64 / 1024.0),
            w_est: stage.map(|_| bytes(w_est)),
            ..ControlVariables::default()
        }
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.mss = ack.mss;
        self.skip_pause(ack.now);
        if let Some(rtt) = ack.rtt {
            self.take_round_trip(ack, rtt);
        }
        (self.last_ack, self.idle) = (ack.now, ack.in_flight == 0);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        let mut acked = ack.bytes.div_ceil(ack.mss);
        if self.in_slow_start() {
            acked = self.slow_start(acked);
        }
        if acked > 0 {
            let delay_min = self.delay_min.unwrap_or(Duration::ZERO);
            self.curve.update(self.cwnd, acked, milliseconds(ack.now), delay_min);
            self.avoid_congestion(acked);
        }
        self.cwnd = self.cwnd.min(MAX_WINDOW / self.mss);
    }

    fn on_fast_retransmit(&mut self, window: u32, _mss: u32) {
        self.undo = Some((self.cwnd, self.ssthresh));
        if !self.has_reduced(window) {
            self.reduce(BETA);
            self.cwnd = self.cwnd.min(self.ssthresh);
        }
    }

    fn on_recovered(&mut self, _flight: u32, _mss: u32) {
        self.cwnd = self.ssthresh.min(self.cwnd);
    }

    /// RFC 9438 §4.8; all else starts afresh, HyStart included.
    fn on_timeout(&mut self, window: u32, _mss: u32) {
        // If a retransmission expires again, cwnd is still one segment, and the threshold stays (RFC 5681 §3.1).
        if self.cwnd > 1 {
            self.undo = Some((self.cwnd, self.ssthresh));
            if !self.has_reduced(window) {
                self.reduce(BETA);
            }
        }
        (self.cwnd, self.cwnd_cnt) = (1, 0);
        self.curve = Curve::default();
        self.delay_min = None;
        self.hystart = Cubic::new_hystart(self.has_hystart);
    }

    fn on_spurious(&mut self) {
        if let Some((cwnd, ssthresh)) = self.undo.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// RFC 3168 §6.1.2: reduce as for a loss, to the stack's own bound at the lowest.
    fn on_ecn_echo(&mut self, _window: u32, _mss: u32) {
        // ABE is for congestion avoidance only (RFC 8511 §3).
        let beta = if self.in_slow_start() { BETA } else { self.beta_ecn };
        self.undo = None;
        let window = (self.cwnd * beta / BETA_SCALE).max(self.min_window);
        self.reduce(beta);
        self.cwnd = self.cwnd.min(window);
    }

    /// RFC 5681 §4.1; the threshold remembers three quarters of the window, as in Linux.
    fn on_idle(&mut self, initial_window: u32) {
        self.ssthresh = self.ssthresh.max(self.cwnd * 3 / 4);
        self.cwnd = self.cwnd.min((initial_window / self.mss).max(1));
    }
}

#[cfg(test)]
mod tests;
