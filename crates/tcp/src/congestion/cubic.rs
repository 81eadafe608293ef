//! CUBIC: after a reduction the window follows a cubic function of time, flat where the last congestion was.
//!
//! Source: RFC 9438 §4, whose names the state has; slow start with HyStart++ if asked for (§4.10); RFC 8511 (ABE).
//!
//! All windows are in bytes, where the RFC has segments. Increases are scaled by the bytes acknowledged, as §4.3 has it
//! for byte counting, and so are those of §4.4-4.5, which then do not depend on how often the peer acknowledges. The
//! reduction starts from what was allowed in flight (§4.6 lets one use cwnd where it does not grow unused).

use aqmlab_units::{Duration, Time};

use super::slow_start::SlowStart;
use super::smoothed_rtt::SmoothedRtt;
use super::{Ack, CongestionControl, MAX_WINDOW};
use crate::Profile;

/// C in segments per cubic second (RFC 9438 §5.1).
const C: f64 = 0.4;
/// The multiplicative decrease (RFC 9438 §4.6), and for a mark in congestion avoidance with ABE (RFC 8511 §3).
const BETA_CUBIC: f64 = 0.7;
const BETA_ECN: f64 = 0.85;
/// Segments per round trip in the Reno-friendly region (RFC 9438 §4.3).
const ALPHA_CUBIC: f64 = 3.0 * (1.0 - BETA_CUBIC) / (1.0 + BETA_CUBIC);

/// CUBIC's window.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    /// [`Window`] before the last loss or timeout. Apart, for most connections lose nothing.
    undo: Option<Box<Window>>,
    slow_start: SlowStart,
    srtt: SmoothedRtt,
    last_ack: Time,
    /// The last acknowledgement left nothing in flight.
    idle: bool,
    beta_ecn: f64,
    /// The least that marks leave, in segments.
    min_window: f64,
}

/// What a spurious loss or timeout restores (RFC 9438 §4.9). In bytes.
#[derive(Clone, Copy, Debug)]
struct Window {
    cwnd: f64,
    ssthresh: f64,
    /// cwnd when ssthresh was set last.
    cwnd_prior: f64,
    /// Where the last congestion was; `None` after a timeout or a slow start that delay ended.
    w_max: Option<f64>,
    epoch: Option<Stage>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// When it began, later by every span in which the window was not used.
    t_epoch: Time,
    /// Seconds that `W_cubic` takes to `W_max`.
    k: f64,
    w_max: f64,
    /// What Reno's window would be.
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

impl Window {
    /// Congestion avoidance (§4.2-4.5).
    fn grow(&mut self, ack: &Ack, rtt: Duration) {
        let (mss, bytes) = (f64::from(ack.mss), f64::from(ack.bytes));
        let (cwnd, w_max) = (self.cwnd, self.w_max);
        let epoch = self.epoch.get_or_insert_with(|| Stage::begin(ack.now, cwnd, w_max, mss));
        let t = ack.now.saturating_since(epoch.t_epoch);
        // W_est = W_est + alpha_cubic * segments_acked / cwnd, where alpha_cubic = 1 from cwnd_prior on
        let alpha_cubic = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA_CUBIC };
        epoch.w_est += alpha_cubic * mss * bytes / cwnd;
        if epoch.w_cubic(t, mss) < epoch.w_est {
            self.cwnd = cwnd.max(epoch.w_est);
        } else {
            // target = W_cubic(t + RTT), from cwnd to 1.5 * cwnd
            let target = epoch.w_cubic(t + rtt, mss).clamp(cwnd, 1.5 * cwnd);
            // cwnd = cwnd + (target - cwnd) / cwnd for each segment
            self.cwnd += (target - cwnd) * bytes / cwnd;
        }
    }

    /// Multiplicative decrease (§4.6) with fast convergence (§4.7); `least` segments stay.
    fn reduce(&mut self, window: u32, beta: f64, least: f64, mss: u32) {
        let (window, mss) = (f64::from(window), f64::from(mss));
        let falls = self.w_max.is_some_and(|w_max| self.cwnd < w_max);
        self.w_max = Some(if falls { self.cwnd * (1.0 + BETA_CUBIC) / 2.0 } else { self.cwnd });
        self.cwnd_prior = self.cwnd;
        // A mark may have reduced for the same window of data.
        self.cwnd = (window * beta).min(self.cwnd).max(least * mss);
        self.ssthresh = self.cwnd.max(2.0 * mss);
        self.epoch = None;
    }
}

impl Cubic {
    fn in_slow_start(&self) -> bool {
        self.window.cwnd < self.window.ssthresh
    }

    /// §4.2, §5.8: t does not run while the window is not used, nor while nothing is in flight.
    fn stop_the_clock_while_unused(&mut self, ack: &Ack) {
        if let Some(epoch) = &mut self.window.epoch
            && (self.idle || !ack.window_limited)
        {
            epoch.t_epoch += ack.now.saturating_since(self.last_ack);
        }
        self.last_ack = ack.now;
        self.idle = ack.in_flight == 0;
    }

    /// Slow start ends without a loss, so `W_max` is where it ends (§4.10).
    fn leave_slow_start(&mut self) {
        self.slow_start.on_congestion();
        let cwnd = self.window.cwnd;
        self.window = Window { ssthresh: cwnd, cwnd_prior: cwnd, w_max: None, epoch: None, ..self.window };
    }
}

impl CongestionControl for Cubic {
    fn new(profile: &Profile) -> Cubic {
        let cwnd = f64::from(profile.initial_window_bytes());
        let ssthresh = f64::from(MAX_WINDOW);
        Cubic {
            window: Window { cwnd, ssthresh, cwnd_prior: cwnd, w_max: None, epoch: None },
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

    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.srtt.sample(rtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.stop_the_clock_while_unused(ack);
        if self.in_slow_start() {
            match self.slow_start.growth(ack) {
                Some(growth) => self.window.cwnd += f64::from(growth),
                None => self.leave_slow_start(),
            }
        } else if ack.window_limited {
            self.window.grow(ack, self.srtt.get().unwrap_or(Duration::ZERO));
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

    /// §4.8: as Reno, but the threshold by `beta_cubic`. It stays when what was sent again expires again (RFC 5681 §3.1),
    /// which is when nothing has let the window grow since.
    fn on_timeout(&mut self, window: u32, mss: u32) {
        if self.window.cwnd > f64::from(mss) {
            self.undo = Some(Box::new(self.window));
            self.window.reduce(window, BETA_CUBIC, 2.0, mss);
        }
        self.slow_start.on_timeout();
        self.window = Window { cwnd: f64::from(mss), w_max: None, epoch: None, ..self.window };
    }

    /// §4.9.2: only while the window is lower than it was.
    fn on_spurious(&mut self) {
        if let Some(undo) = self.undo.take()
            && self.window.cwnd < self.window.cwnd_prior
        {
            self.window = *undo;
        }
    }

    /// §4.6: down to one segment, or what the stack wants. ABE is for congestion avoidance (RFC 8511 §3).
    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        let beta = if self.in_slow_start() { BETA_CUBIC } else { self.beta_ecn };
        self.undo = None;
        self.slow_start.on_congestion();
        self.window.reduce(window, beta, self.min_window, mss);
    }

    /// RFC 5681 §4.1; the next stage of congestion avoidance begins anew.
    fn on_idle(&mut self, initial_window: u32) {
        self.window.cwnd = self.window.cwnd.min(f64::from(initial_window));
        self.window.epoch = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;
    const RTT_MS: u64 = 100;

    fn cubic(segments: u8, change: impl FnOnce(&mut Profile)) -> Cubic {
        let mut profile = Profile {
            mss: 1000,
            initial_window: segments,
            ecn: crate::EcnPolicy::Rfc3168,
            ..Profile::freebsd_4_5()
        };
        change(&mut profile);
        Cubic::new(&profile)
    }

    fn acked(now_ms: u64) -> Ack {
        Ack {
            now: Time::ZERO + Duration::from_millis(now_ms),
            bytes: MSS,
            mss: MSS,
            in_flight: MSS,
            rtt: Some(Duration::from_millis(RTT_MS)),
            window_limited: true,
            ..Ack::default()
        }
    }

    /// A loss at `segments`, and congestion avoidance from 0 s on.
    fn after_loss_at(segments: u8) -> Cubic {
        let mut cc = cubic(segments, |_| {});
        cc.on_fast_retransmit(u32::from(segments) * MSS, MSS);
        cc.on_recovered(cc.cwnd(), MSS);
        cc
    }

    /// Round trips of a full window each, until `until_ms`.
    fn grow(cc: &mut Cubic, from_ms: u64, until_ms: u64) {
        for now in (from_ms..until_ms).step_by(100) {
            for _ in 0..cc.cwnd() / MSS {
                cc.on_delivery(&acked(now));
                cc.on_ack(&acked(now));
            }
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths() {
        // RFC 9438 §4.6
        let cc = after_loss_at(200);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (140 * MSS, 140 * MSS));
    }

    #[test]
    fn the_window_is_back_at_w_max_after_k_seconds() {
        // RFC 9438 §4.2: K = cbrt(200 * 0.3 / 0.4) = 5.31 s. It is flat there, so half a segment is close enough.
        let mut cc = after_loss_at(200);
        grow(&mut cc, 0, 5_400);
        assert!((f64::from(cc.cwnd()) / f64::from(MSS) - 200.0).abs() < 0.5, "{}", cc.cwnd());
    }

    #[test]
    fn the_window_aims_at_where_the_curve_is_a_round_trip_later() {
        // RFC 9438 §4.2: an acknowledgement 1 s after the epoch began, and W_cubic(1.1 s).
        let mut cc = after_loss_at(200);
        cc.on_delivery(&acked(0));
        cc.on_ack(&acked(0));
        let before = cc.window.cwnd;
        cc.on_ack(&acked(1000));
        let target = 1000.0 * (0.4 * (1.1 - libm::cbrt(60.0 / 0.4)).powi(3) + 200.0);
        let expected = before + (target - before) * 1000.0 / before;
        assert!((cc.window.cwnd - expected).abs() < 1.0, "{} and {expected}", cc.window.cwnd);
    }

    #[test]
    fn growth_is_concave_before_w_max_and_convex_after_it() {
        // RFC 9438 §4.4-4.5
        let mut cc = after_loss_at(200);
        let mut growth = Vec::new();
        for second in 0..11 {
            let before = cc.cwnd();
            grow(&mut cc, second * 1000, (second + 1) * 1000);
            growth.push(cc.cwnd() - before);
        }
        assert!(growth[..5].is_sorted_by(|a, b| a > b), "{growth:?}");
        assert!(growth[5..].is_sorted_by(|a, b| a < b), "{growth:?}");
    }

    #[test]
    fn a_small_window_grows_like_renos_average() {
        // RFC 9438 §4.3: 0.53 segments a round trip to where the loss was, and one from there.
        let mut cc = after_loss_at(10);
        let mut rounds = 0;
        while cc.cwnd() < 10 * MSS {
            grow(&mut cc, rounds * 100, (rounds + 1) * 100);
            rounds += 1;
        }
        assert!((5..=7).contains(&rounds), "{rounds} rounds");
        let start = cc.cwnd();
        grow(&mut cc, rounds * 100, rounds * 100 + 300);
        let grown = f64::from(cc.cwnd() - start) / f64::from(MSS);
        assert!((2.4..=3.1).contains(&grown), "{grown} segments in three rounds");
    }

    #[test]
    fn a_fall_of_the_saturation_point_lowers_w_max_further() {
        // RFC 9438 §4.7
        let mut cc = after_loss_at(100);
        assert_eq!(cc.window.w_max, Some(100_000.0));
        cc.on_fast_retransmit(70 * MSS, MSS);
        assert_eq!(cc.window.w_max, Some(70_000.0 * 0.85));
    }

    #[test]
    fn a_loss_in_a_window_that_a_mark_has_reduced_gives_nothing_back() {
        // RFC 3168 §6.1.2
        let mut cc = cubic(100, |_| {});
        cc.on_ecn_echo(100 * MSS, MSS);
        cc.on_fast_retransmit(140 * MSS, MSS);
        assert_eq!(cc.cwnd(), 70 * MSS);
    }

    #[test]
    fn after_a_timeout_w_max_is_where_congestion_avoidance_begins() {
        // RFC 9438 §4.8
        let mut cc = cubic(100, |_| {});
        cc.on_timeout(100 * MSS, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 70 * MSS));
        cc.on_timeout(MSS, MSS);
        assert_eq!(cc.ssthresh(), 70 * MSS, "a repeated timeout keeps it");
        (0..69).for_each(|_| cc.on_ack(&acked(0)));
        cc.on_ack(&acked(100));
        let epoch = cc.window.epoch.expect("congestion avoidance has begun");
        assert_eq!((epoch.k, epoch.w_max), (0.0, 70_000.0));
    }

    #[test]
    fn the_window_never_grows_by_more_than_half_in_a_round_trip() {
        // RFC 9438 §4.2: the target is at most 1.5 cwnd, however long ago the epoch began.
        let mut cc = after_loss_at(100);
        cc.on_ack(&acked(0));
        let start = cc.cwnd();
        (0..start / MSS).for_each(|_| cc.on_ack(&acked(60_000)));
        assert!(cc.cwnd() <= start + start / 2 + start / 4, "{}", cc.cwnd());
    }

    #[test]
    fn time_without_use_of_the_window_does_not_count() {
        // RFC 9438 §5.8
        let steady = {
            let mut cc = after_loss_at(200);
            grow(&mut cc, 0, 2_000);
            grow(&mut cc, 2_000, 3_000);
            cc.cwnd()
        };
        let mut limited = after_loss_at(200);
        grow(&mut limited, 0, 2_000);
        (2_000..60_000)
            .step_by(100)
            .for_each(|now| limited.on_ack(&Ack { window_limited: false, ..acked(now) }));
        grow(&mut limited, 60_000, 61_000);
        let mut idle = after_loss_at(200);
        grow(&mut idle, 0, 1_900);
        (0..idle.cwnd() / MSS).for_each(|_| idle.on_ack(&Ack { in_flight: 0, ..acked(1_900) }));
        grow(&mut idle, 60_000, 61_000);
        for other in [limited.cwnd(), idle.cwnd()] {
            assert!(steady.abs_diff(other) < 2 * MSS, "{steady} and {other}");
        }
    }

    #[test]
    fn a_spurious_loss_restores_the_window_unless_it_has_outgrown_it() {
        // RFC 9438 §4.9.2
        let mut cc = after_loss_at(20);
        cc.on_spurious();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (20 * MSS, MAX_WINDOW));
        let mut cc = after_loss_at(20);
        grow(&mut cc, 0, 6_000);
        let grown = cc.cwnd();
        assert!(grown > 20 * MSS);
        cc.on_spurious();
        assert_eq!(cc.cwnd(), grown);
    }

    #[test]
    fn a_mark_leaves_seven_tenths_or_with_abe_17_twentieths_down_to_one_segment() {
        // RFC 9438 §4.6, RFC 8511 §3
        for (abe, kept) in [(false, 49_000), (true, 59_500)] {
            let mut cc = cubic(100, |profile| profile.abe = abe);
            cc.on_ecn_echo(100 * MSS, MSS);
            assert_eq!(cc.cwnd(), 70 * MSS, "in slow start");
            cc.on_ecn_echo(70 * MSS, MSS);
            assert_eq!(cc.cwnd(), kept);
            (0..40).for_each(|_| cc.on_ecn_echo(cc.cwnd(), MSS));
            assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 2 * MSS));
        }
    }

    #[test]
    fn delay_ends_slow_start_without_a_reduction() {
        // RFC 9438 §4.10
        let mut cc = cubic(10, |profile| profile.hystart = true);
        for round in 0..8 {
            for i in 0..8 {
                let rtt = Some(Duration::from_millis(if round == 0 { 80 } else { 120 }));
                cc.on_ack(&Ack { rtt, new_round: i == 0, ..acked(round * 100) });
            }
        }
        assert!(!cc.in_slow_start() && cc.cwnd() > 18 * MSS, "{}", cc.cwnd());
    }
}
