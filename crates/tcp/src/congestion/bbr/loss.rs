//! Losses and marks: their effect on the model, and its restoration if they were spurious.

use super::{Bbr, BbrState};

/// The share of lost bytes in a round trip that is tolerated while probing.
const LOSS_THRESH: f64 = 0.02;
/// Factor by which a bound falls in a round at most, as CUBIC's window does.
pub(super) const BETA: f64 = 0.7;

/// Losses of this round, and the state before them.
#[derive(Debug)]
pub(super) struct Losses {
    pub(super) is_loss_in_round: bool,
    /// Acknowledgements of this round that found something lost.
    pub(super) loss_events_in_round: u32,
    pub(super) recovery: Recovery,
    pub(super) undo: Undo,
}

/// The endpoint's loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    None,
    Fast { since_round: u64 },
    Timeout,
}

/// State that a spurious loss restores.
#[derive(Debug)]
pub(super) struct Undo {
    /// The state that losses ended, if any.
    pub(super) state: Option<BbrState>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Losses {
    pub(super) fn new() -> Losses {
        Losses {
            is_loss_in_round: false,
            loss_events_in_round: 0,
            recovery: Recovery::None,
            undo: Undo { state: None, bw_shortterm: 0.0, inflight_shortterm: 0.0, inflight_longterm: 0.0 },
        }
    }
}

impl Bbr {
    /// `HandleLostPacket()`, for all losses that one acknowledgement found.
    pub(super) fn handle_losses(&mut self) {
        self.note_loss();
        self.losses.loss_events_in_round += 1;
        // Segments sent before the probe do not test its volume.
        if self.probing.is_bw_probe_sample && self.is_inflight_too_high() {
            self.handle_inflight_too_high();
        }
    }

    /// Handle an echoed mark like a loss where only one a window can be seen: too much whenever BBR probes.
    pub(super) fn handle_echo(&mut self) {
        self.note_loss();
        self.exit_startup_for_congestion();
        if self.probing.is_bw_probe_sample {
            self.handle_inflight_too_high();
        }
    }

    /// `NoteLoss()`
    fn note_loss(&mut self) {
        // A spurious loss must restore the state from before the first loss of the round.
        if !self.losses.is_loss_in_round {
            self.model.loss_round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.losses.is_loss_in_round = true;
    }

    /// `IsInflightTooHigh()`
    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.rs.lost > self.rs.tx_in_flight * LOSS_THRESH
    }

    /// `HandleInflightTooHigh()`
    fn handle_inflight_too_high(&mut self) {
        self.probing.prev_probe_too_high = true;
        self.probing.is_bw_probe_sample = false;
        // An application-limited flow did not use the volume that it would lower.
        if !self.rs.is_app_limited {
            self.model.inflight_longterm = self.rs.tx_in_flight.max(self.target_inflight() * BETA);
        }
        if self.state == BbrState::ProbeBwUp {
            self.losses.undo.state = Some(BbrState::ProbeBwUp);
            self.start_probe_bw_down();
        }
    }

    /// `SaveStateUponLoss()`
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.losses.undo = Undo {
            state: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    /// `OnEnterFastRecovery()`. The state saved at the first loss of the round stays, to be restored.
    pub(super) fn enter_fast_recovery(&mut self) {
        self.save_cwnd();
        self.losses.recovery = Recovery::Fast { since_round: self.rounds.round_count };
    }

    /// `OnEnterRTO()`: allow one segment.
    pub(super) fn enter_rto(&mut self, mss: u32) {
        self.save_state_upon_loss();
        self.losses.recovery = Recovery::Timeout;
        self.control.cwnd = f64::from(mss);
    }

    pub(super) fn leave_recovery(&mut self) {
        self.losses.recovery = Recovery::None;
        self.restore_cwnd();
        self.bound_cwnd_for_probe_rtt();
        self.bound_cwnd_for_model();
    }

    /// `HandleSpuriousLossDetection()`
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.restore_cwnd();
        self.losses.is_loss_in_round = false;
        // Losses may have hidden growth: look for a full pipe again.
        self.full_pipe.reset(0.0);
        let (model, undo) = (&mut self.model, &mut self.losses.undo);
        model.bw_shortterm = model.bw_shortterm.max(undo.bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(undo.inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(undo.inflight_longterm);
        match undo.state.take() {
            Some(BbrState::Startup) if self.state != BbrState::Startup => {
                // A full pipe was inferred from losses that were none.
                self.full_pipe.full_bw_reached = false;
                if self.state != BbrState::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(BbrState::ProbeBwUp) if !matches!(self.state, BbrState::ProbeBwUp | BbrState::ProbeRtt) => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}
