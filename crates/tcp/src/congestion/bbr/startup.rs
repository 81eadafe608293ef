//! Startup doubles the rate each round until the pipe is full; Drain empties the queue that this made.

use super::loss::Recovery;
use super::{Bbr, BbrState};

/// Three rounds whose delivery rate grows by less than a quarter mean a full pipe.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_COUNT: u32 = 3;
/// Acknowledgements with losses in a round that end Startup (`BBRStartupFullLossCnt`).
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
/// Rounds after which Drain ends at the latest.
const DRAIN_ROUNDS: u64 = 3;

/// Detection of a full pipe: more rate brings no more bandwidth.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// Detected at least once on this connection.
    pub(super) full_bw_reached: bool,
    /// Detected since the estimator was last reset.
    pub(super) full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,
    drain_start_round: u64,
}

impl FullPipe {
    /// `ResetFullBW()`, then measure growth from `full_bw`.
    pub(super) fn reset(&mut self, full_bw: f64) {
        self.full_bw = full_bw;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }
}

impl Bbr {
    /// `CheckFullBWReached()`
    pub(super) fn check_full_bw_reached(&mut self) {
        let (pipe, rs) = (&mut self.full_pipe, &self.rs);
        // An application-limited round could not have shown growth.
        if pipe.full_bw_now || !self.rounds.round_start || rs.is_app_limited {
            return;
        }
        if rs.delivery_rate >= pipe.full_bw * FULL_BW_GROWTH {
            return pipe.reset(rs.delivery_rate);
        }
        pipe.full_bw_count += 1;
        pipe.full_bw_now = pipe.full_bw_count >= FULL_BW_COUNT;
        pipe.full_bw_reached |= pipe.full_bw_now;
    }

    /// `CheckStartupDone()`
    pub(super) fn check_startup_done(&mut self) {
        self.check_startup_high_loss();
        if self.state == BbrState::Startup && self.full_pipe.full_bw_reached {
            self.enter_drain();
        }
    }

    /// `CheckStartupHighLoss()`: a full round in fast recovery, with too many losses, found in enough
    /// acknowledgements.
    fn check_startup_high_loss(&mut self) {
        // Losses are judged once a round, over all of it.
        if !self.model.loss_round_start {
            return;
        }
        let found = std::mem::take(&mut self.losses.loss_events_in_round);
        let recovering_for_a_round = match self.losses.recovery {
            Recovery::Fast { since_round } => self.rounds.round_count > since_round,
            Recovery::None | Recovery::Timeout => false,
        };
        if recovering_for_a_round && found >= STARTUP_FULL_LOSS_COUNT && self.is_inflight_too_high() {
            self.exit_startup_for_congestion();
        }
    }

    /// End Startup, and bound the volume by what the path delivered.
    pub(super) fn exit_startup_for_congestion(&mut self) {
        if self.state == BbrState::Startup {
            self.losses.undo.state = Some(BbrState::Startup);
            self.full_pipe.full_bw_reached = true;
            // inflight_longterm = max(bdp, inflight_latest)
            self.model.inflight_longterm = self.bdp_multiple(1.0).max(self.model.inflight_latest);
        }
    }

    pub(super) fn enter_startup(&mut self) {
        self.state = BbrState::Startup;
    }

    fn enter_drain(&mut self) {
        self.state = BbrState::Drain;
        self.full_pipe.drain_start_round = self.rounds.round_count;
    }

    /// `CheckDrainDone()`
    pub(super) fn check_drain_done(&mut self) {
        let late = self.rounds.round_count > self.full_pipe.drain_start_round + DRAIN_ROUNDS;
        if self.state == BbrState::Drain && (self.in_flight <= self.inflight(1.0) || late) {
            self.start_probe_bw_down();
        }
    }
}
