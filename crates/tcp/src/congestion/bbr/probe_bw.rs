//! ProbeBW, the steady state: slow down, cruise, refill the pipe, probe for more.

use aqmlab_units::{Duration, Stream, Time};

use super::control::MIN_PIPE_SEGMENTS;
use super::{Bbr, BbrState};

/// The share of `inflight_longterm` that is left to others while cruising.
const HEADROOM: f64 = 0.15;
/// The longest time to the next probe in rounds, so that Reno's flows keep their share.
const RENO_ROUNDS: f64 = 63.0;
/// The time to the next probe in seconds: this, plus a random share of the next.
const PROBE_WAIT: f64 = 2.0;
const PROBE_WAIT_SPREAD: f64 = 1.0;
/// `inflight_longterm` doubles its growth each round, at most this many times.
const MAX_PROBE_UP_ROUNDS: u32 = 30;

/// Meaning of acknowledgements for the probing of bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of ProbeBW's cycle.
#[derive(Debug)]
pub(super) struct Probing {
    pub(super) ack_phase: AckPhase,
    /// Samples are of segments sent while probing.
    pub(super) is_bw_probe_sample: bool,
    bw_probe_up_acked: f64,
    /// Infinite while `inflight_longterm` does not grow.
    pub(super) probe_up_acked_per_inc: f64,
    pub(super) bw_probe_up_rounds: u32,
    pub(super) bw_probe_wait: Duration,
    cycle_stamp: Time,
    pub(super) prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
}

impl Probing {
    pub(super) fn new() -> Probing {
        Probing {
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
        }
    }
}

impl Bbr {
    /// `UpdateProbeBWCyclePhase()`
    pub(super) fn update_probe_bw_cycle_phase(&mut self) {
        if !self.full_pipe.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        let state = self.state;
        match state {
            BbrState::ProbeBwDown | BbrState::ProbeBwCruise if self.is_time_to_probe_bw() => {
                self.start_probe_bw_refill();
            }
            BbrState::ProbeBwDown if self.is_time_to_cruise() => self.start_probe_bw_cruise(),
            BbrState::ProbeBwRefill if self.rounds.round_start => {
                self.probing.is_bw_probe_sample = true;
                self.start_probe_bw_up();
            }
            BbrState::ProbeBwUp if self.is_time_to_go_down() => {
                self.probing.prev_probe_too_high = false;
                self.start_probe_bw_down();
            }
            _ => {}
        }
    }

    /// `StartProbeBW_DOWN()`
    pub(super) fn start_probe_bw_down(&mut self) {
        self.reset_congestion_signals();
        self.probing.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.probing.cycle_stamp = self.now;
        self.probing.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = BbrState::ProbeBwDown;
    }

    /// `StartProbeBW_CRUISE()`
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = BbrState::ProbeBwCruise;
    }

    /// `StartProbeBW_REFILL()`
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.model.reset_short_term();
        self.probing.bw_probe_up_rounds = 0;
        self.probing.bw_probe_up_acked = 0.0;
        self.probing.prev_probe_precautionary = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = BbrState::ProbeBwRefill;
    }

    /// `StartProbeBW_UP()`
    fn start_probe_bw_up(&mut self) {
        self.probing.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(self.rs.delivery_rate);
        self.state = BbrState::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// `PickProbeWait()`: 2 s to 3 s, and zero or one round.
    fn pick_probe_wait(&mut self) {
        let mut random = Stream::numbered(self.now.as_nanos(), self.delivered);
        self.rounds.rounds_since_probe_up = random.below(2);
        self.probing.bw_probe_wait =
            Duration::from_secs_f64(PROBE_WAIT + PROBE_WAIT_SPREAD * random.uniform());
    }

    /// `IsTimeToProbeBW()`, with `IsRenoCoexistenceProbeTime()`
    fn is_time_to_probe_bw(&self) -> bool {
        let elapsed = self.now > self.probing.cycle_stamp + self.probing.bw_probe_wait;
        let reno_rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        elapsed || self.rounds.rounds_since_probe_up as f64 >= reno_rounds
    }

    /// `IsTimeToCruise()`
    fn is_time_to_cruise(&self) -> bool {
        let bdp = self.quantised(self.bandwidth_delay(self.model.max_bw));
        self.in_flight <= self.inflight_with_headroom() && self.in_flight <= bdp
    }

    /// `IsTimeToGoDown()`. As in the draft, it updates the state of the probe.
    fn is_time_to_go_down(&mut self) -> bool {
        let limit = self.model.inflight_longterm;
        // The last probe went too high: stop at the bound (precautionary), and probe beyond it if it holds.
        if self.probing.prev_probe_too_high && self.in_flight >= limit {
            self.probing.prev_probe_precautionary = true;
            return true;
        }
        // inflight_longterm limits the bandwidth here, so a rate that does not grow does not mean a full pipe.
        if self.rounds.is_cwnd_limited() && self.control.cwnd >= limit {
            self.full_pipe.reset(self.rs.delivery_rate);
            return false;
        }
        self.full_pipe.full_bw_now
    }

    /// `InflightWithHeadroom()`
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let limit = self.model.inflight_longterm;
        if limit.is_infinite() {
            return limit;
        }
        (limit - self.mss.max(HEADROOM * limit)).max(MIN_PIPE_SEGMENTS * self.mss)
    }

    /// `RaiseInflightLongtermSlope()`
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = f64::from(1_u32 << self.probing.bw_probe_up_rounds);
        self.probing.bw_probe_up_rounds = (self.probing.bw_probe_up_rounds + 1).min(MAX_PROBE_UP_ROUNDS);
        self.probing.probe_up_acked_per_inc = (self.control.cwnd / growth_this_round).max(self.mss);
    }

    /// `ProbeInflightLongtermUpward()`
    fn probe_inflight_longterm_upward(&mut self) {
        // A flow that does not use the bound in full has not shown that there is room above it.
        if !self.rounds.is_cwnd_limited() || self.control.cwnd < self.model.inflight_longterm {
            return;
        }
        self.probing.bw_probe_up_acked += self.rs.newly_acked;
        let delta = (self.probing.bw_probe_up_acked / self.probing.probe_up_acked_per_inc).floor();
        if delta >= 1.0 {
            self.probing.bw_probe_up_acked -= delta * self.probing.probe_up_acked_per_inc;
            self.model.inflight_longterm += delta * self.mss;
        }
        if self.rounds.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// `AdaptLongTermModel()`: returns true if it decided on a transition.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.probing.ack_phase == AckPhase::ProbeStarting && self.rounds.round_start {
            self.probing.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probing.ack_phase == AckPhase::ProbeStopping && self.rounds.round_start {
            self.probing.is_bw_probe_sample = false;
            self.probing.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                // A cycle without a valid sample must not make the filter forget an older maximum.
                if !self.rs.is_app_limited {
                    self.model.advance_max_bw_filter();
                }
                // Precautionary probing: the bound held, so probe beyond it at once.
                if self.probing.prev_probe_precautionary && !self.probing.prev_probe_too_high {
                    self.start_probe_bw_refill();
                    return true;
                }
            }
        }
        if self.model.inflight_longterm.is_finite() && !self.is_inflight_too_high() {
            self.model.inflight_longterm = self.model.inflight_longterm.max(self.rs.tx_in_flight);
            if self.state == BbrState::ProbeBwUp {
                self.probe_inflight_longterm_upward();
            }
        }
        false
    }
}
