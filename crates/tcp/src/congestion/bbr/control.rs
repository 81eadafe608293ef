//! Control of the pacing rate and the congestion window by the model.

use super::loss::Recovery;
use super::{Bbr, BbrState};
use crate::congestion::MAX_WINDOW;

/// The smallest window: two segments in each direction for a peer that acknowledges every other one
/// (`MinPipeCwnd`).
pub(super) const MIN_PIPE_SEGMENTS: f64 = 4.0;
/// 1 % below the bandwidth, so that queues drain (`PacingMarginPercent`).
const PACING_MARGIN: f64 = 0.99;
/// The round-trip time that is assumed before the first sample, in seconds.
const NOMINAL_RTT: f64 = 0.001;

/// Window and rate.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) cwnd: f64,
    /// The window before recovery or ProbeRTT.
    prior_cwnd: f64,
    pub(super) pacing_rate: f64,
    has_seen_rtt: bool,
}

impl Control {
    pub(super) fn new(initial_cwnd: f64) -> Control {
        let pacing_rate = initial_pacing_rate(initial_cwnd, NOMINAL_RTT);
        Control { cwnd: initial_cwnd, prior_cwnd: 0.0, pacing_rate, has_seen_rtt: false }
    }
}

/// `InitPacingRate()`: `StartupPacingGain * InitialCwnd / srtt`
fn initial_pacing_rate(initial_cwnd: f64, srtt: f64) -> f64 {
    BbrState::Startup.pacing_gain() * initial_cwnd / srtt
}

impl Bbr {
    /// `SetPacingRate()`
    pub(super) fn set_pacing_rate(&mut self) {
        if let Some(rtt) = self.rs.rtt
            && !self.control.has_seen_rtt
        {
            self.control.has_seen_rtt = true;
            self.control.pacing_rate = initial_pacing_rate(self.initial_cwnd, rtt.as_secs_f64().max(1e-9));
        }
        self.set_pacing_rate_with_gain(self.state.pacing_gain());
    }

    /// `SetPacingRateWithGain()`
    fn set_pacing_rate_with_gain(&mut self, pacing_gain: f64) {
        let rate = pacing_gain * self.model.bw * PACING_MARGIN;
        // Before the pipe is full, samples are too low: the rate may only rise. Without a sample it stays as it
        // is.
        if rate > 0.0 && (self.full_pipe.full_bw_reached || rate > self.control.pacing_rate) {
            self.control.pacing_rate = rate;
        }
    }

    /// `HandleRestartFromIdle()`: pace at the bandwidth, without gain.
    pub(super) fn handle_restart_from_idle(&mut self) {
        self.delay.idle_restart = true;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        }
    }

    /// The bandwidth-delay product at `bw`, in bytes.
    pub(super) fn bandwidth_delay(&self, bw: f64) -> f64 {
        self.delay.min_rtt.map_or(self.initial_cwnd, |min_rtt| bw * min_rtt.as_secs_f64())
    }

    /// BDPMultiple(gain); the initial window while there is no round-trip time yet.
    pub(super) fn bdp_multiple(&self, gain: f64) -> f64 {
        let bdp = self.bandwidth_delay(self.model.bw);
        if self.delay.min_rtt.is_some() { gain * bdp } else { bdp }
    }

    /// `QuantizationBudget(inflight_cap)`
    pub(super) fn quantised(&self, inflight_cap: f64) -> f64 {
        let probing = if self.state == BbrState::ProbeBwUp { 2.0 * self.mss } else { 0.0 };
        inflight_cap.max(MIN_PIPE_SEGMENTS * self.mss) + probing
    }

    /// `Inflight(gain)`
    pub(super) fn inflight(&self, gain: f64) -> f64 {
        self.quantised(self.bdp_multiple(gain))
    }

    /// `TargetInflight()`
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp_multiple(1.0).min(self.control.cwnd)
    }

    /// `SetCwnd()`
    pub(super) fn set_cwnd(&mut self) {
        let max_inflight = self.quantised(self.bdp_multiple(self.state.cwnd_gain()) + self.model.extra_acked);
        let grown = self.control.cwnd + self.rs.newly_acked;
        if self.full_pipe.full_bw_reached {
            self.control.cwnd = grown.min(max_inflight);
        } else if self.control.cwnd < max_inflight || (self.delivered as f64) < self.initial_cwnd {
            // Before the pipe is full, the estimate is too low to shrink the window to it.
            self.control.cwnd = grown;
        }
        self.control.cwnd = self.control.cwnd.clamp(MIN_PIPE_SEGMENTS * self.mss, f64::from(MAX_WINDOW));
        self.bound_cwnd_for_probe_rtt();
        self.bound_cwnd_for_model();
    }

    /// `ProbeRTTCwnd()`
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(BbrState::ProbeRtt.cwnd_gain()).max(MIN_PIPE_SEGMENTS * self.mss)
    }

    /// `BoundCwndForProbeRTT()`
    pub(super) fn bound_cwnd_for_probe_rtt(&mut self) {
        if self.state == BbrState::ProbeRtt {
            self.control.cwnd = self.control.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// `BoundCwndForModel()`
    pub(super) fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            BbrState::ProbeBwDown | BbrState::ProbeBwRefill | BbrState::ProbeBwUp => {
                self.model.inflight_longterm
            }
            // Headroom leaves buffer to flows that start (draft, § ProbeBW_CRUISE).
            BbrState::ProbeRtt | BbrState::ProbeBwCruise => self.inflight_with_headroom(),
            BbrState::Startup | BbrState::Drain => f64::INFINITY,
        };
        let cap = cap.min(self.model.inflight_shortterm).max(MIN_PIPE_SEGMENTS * self.mss);
        self.control.cwnd = self.control.cwnd.min(cap);
    }

    /// `SaveCwnd()`: remember the latest window that neither recovery nor ProbeRTT limits.
    pub(super) fn save_cwnd(&mut self) {
        let held_down = self.losses.recovery != Recovery::None || self.state == BbrState::ProbeRtt;
        let prior = if held_down { self.control.prior_cwnd } else { 0.0 };
        self.control.prior_cwnd = prior.max(self.control.cwnd);
    }

    /// `RestoreCwnd()`
    pub(super) fn restore_cwnd(&mut self) {
        self.control.cwnd = self.control.cwnd.max(self.control.prior_cwnd);
    }
}
