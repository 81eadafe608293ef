//! BBR, version 3: a model of the path (bandwidth, round-trip time, volume without loss) sets rate and window.
//!
//! Source: draft-ietf-ccwg-bbr (working copy of August 2026, after -06), whose names state and functions have.
//! Each part has a file: the [`model`] of the path, the [`round`]s and samples that feed it, [`startup`] with
//! Drain, [`probe_bw`], [`probe_rtt`], [`loss`], and [`control`], which sets rate and window. The endpoint gives
//! rate samples, paces, and does not slow down for recovery.
//!
//! Differs from the draft:
//! * Losses are handled once an acknowledgement, with the sample of the acknowledged segment, not of each lost
//!   one. "Discontiguous ranges" (§ Startup) are acknowledgements that found losses.
//! * Bursts have at most one segment, so the offload budget is below the smallest window and left out.
//! * The draft asks only that a mark be treated as congestion. An echo, which comes once a window, is treated
//!   like a loss where only one loss a window can be seen (the draft's rule for connections without SACK).
//! * The endpoint detects a restart from idle. The first acknowledgement after it ends ProbeRTT if that is due.
//! * Randomness (the time of the next probe) is a [`Stream`](aqmlab_units::Stream) numbered by the time and the
//!   bytes delivered, so that flows do not synchronise and one seed gives one result.

mod control;
mod loss;
mod max_filter;
mod model;
mod probe_bw;
mod probe_rtt;
mod round;
mod startup;

use aqmlab_units::{BitRate, Time};

use self::control::Control;
use self::loss::Losses;
use self::model::Model;
use self::probe_bw::Probing;
use self::probe_rtt::PathDelay;
use self::round::{RoundCounter, Sample};
use self::startup::FullPipe;
use super::{Ack, CongestionControl};
use crate::{ControlVariables, Profile};

/// BBR's state machine and its model of the path. Volumes are bytes, rates bytes per second.
#[derive(Debug)]
pub struct Bbr {
    state: BbrState,
    now: Time,
    /// `C.delivered`, the bytes delivered so far.
    delivered: u64,
    /// `C.inflight`.
    in_flight: f64,
    mss: f64,
    initial_cwnd: f64,
    rs: Sample,
    rounds: RoundCounter,
    model: Model,
    delay: PathDelay,
    full_pipe: FullPipe,
    probing: Probing,
    losses: Losses,
    control: Control,
}

/// The phase of a flow in its cycle of probing and draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BbrState {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl BbrState {
    /// `pacing_gain` (table in "Summary of Control Behavior"): 4 ln 2 doubles the rate each round.
    fn pacing_gain(self) -> f64 {
        match self {
            BbrState::Startup => 2.77,
            BbrState::Drain => 0.5,
            BbrState::ProbeBwDown => 0.9,
            BbrState::ProbeBwCruise | BbrState::ProbeBwRefill | BbrState::ProbeRtt => 1.0,
            BbrState::ProbeBwUp => 1.25,
        }
    }

    /// `cwnd_gain` (the same table).
    fn cwnd_gain(self) -> f64 {
        match self {
            BbrState::ProbeBwUp => 2.25,
            BbrState::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    /// The draft's name.
    fn name(self) -> &'static str {
        match self {
            BbrState::Startup => "Startup",
            BbrState::Drain => "Drain",
            BbrState::ProbeBwDown => "ProbeBW_DOWN",
            BbrState::ProbeBwCruise => "ProbeBW_CRUISE",
            BbrState::ProbeBwRefill => "ProbeBW_REFILL",
            BbrState::ProbeBwUp => "ProbeBW_UP",
            BbrState::ProbeRtt => "ProbeRTT",
        }
    }

    /// `IsInAProbeBWState()`
    fn is_probe_bw(self) -> bool {
        matches!(
            self,
            BbrState::ProbeBwDown | BbrState::ProbeBwCruise | BbrState::ProbeBwRefill | BbrState::ProbeBwUp
        )
    }

    /// `IsProbingBW()`
    fn is_accelerating(self) -> bool {
        matches!(self, BbrState::Startup | BbrState::ProbeBwRefill | BbrState::ProbeBwUp)
    }
}

impl Bbr {
    /// `UpdateModelAndState()`
    fn update_model_and_state(&mut self) {
        self.update_latest_delivery_signals();
        self.update_congestion_signals();
        self.update_ack_aggregation();
        self.check_full_bw_reached();
        self.check_startup_done();
        self.check_drain_done();
        self.update_probe_bw_cycle_phase();
        self.update_min_rtt();
        self.check_probe_rtt();
        self.advance_latest_delivery_signals();
        self.bound_bw_for_model();
    }

    /// `UpdateControlParameters()`
    fn update_control_parameters(&mut self) {
        self.set_pacing_rate();
        self.set_cwnd();
    }
}

impl CongestionControl for Bbr {
    fn new(profile: &Profile) -> Bbr {
        let initial_cwnd = f64::from(profile.initial_window_bytes());
        Bbr {
            state: BbrState::Startup,
            now: Time::ZERO,
            delivered: 0,
            in_flight: 0.0,
            mss: f64::from(profile.mss),
            initial_cwnd,
            rs: Sample::default(),
            rounds: RoundCounter::default(),
            model: Model::new(),
            delay: PathDelay::default(),
            full_pipe: FullPipe::default(),
            probing: Probing::new(),
            losses: Losses::new(),
            control: Control::new(initial_cwnd),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 MSS to MAX_WINDOW")]
    fn cwnd(&self) -> u32 {
        self.control.cwnd as u32
    }

    /// Recovery does not slow BBR down, its model does: the threshold is the window.
    fn ssthresh(&self) -> u32 {
        self.cwnd()
    }

    fn needs_rate_samples(&self) -> bool {
        true
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    fn pacing_rate(&self) -> Option<BitRate> {
        BitRate::from_bits_per_sec((8.0 * self.control.pacing_rate).max(1.0) as u64)
    }

    fn variables(&self) -> ControlVariables {
        let bound = |bytes: f64| Some(bytes).filter(|bytes| bytes.is_finite());
        ControlVariables {
            phase: self.state.name(),
            max_bw: Some(self.model.max_bw),
            bw: Some(self.model.bw),
            inflight_longterm: bound(self.model.inflight_longterm),
            inflight_shortterm: bound(self.model.inflight_shortterm),
            ..ControlVariables::default()
        }
    }

    /// `UpdateOnACK()`
    fn on_delivery(&mut self, ack: &Ack) {
        self.take_sample(ack);
        if ack.lost > 0 {
            self.handle_losses();
        }
        self.update_model_and_state();
        self.update_control_parameters();
    }

    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_fast_retransmit(&mut self, _window: u32, _mss: u32) {
        self.enter_fast_recovery();
    }

    fn on_recovered(&mut self, _flight: u32, _mss: u32) {
        self.leave_recovery();
    }

    fn on_timeout(&mut self, _window: u32, mss: u32) {
        self.enter_rto(mss);
    }

    fn on_spurious(&mut self) {
        self.handle_spurious_loss_detection();
    }

    fn on_ecn_echo(&mut self, _window: u32, _mss: u32) {
        self.handle_echo();
    }

    fn on_idle(&mut self, _initial_window: u32) {
        self.handle_restart_from_idle();
    }
}

#[cfg(test)]
mod tests;
