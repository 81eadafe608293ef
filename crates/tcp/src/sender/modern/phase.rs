//! State of loss recovery, and the part of it that the core exposes.

use super::{Frto, Modern};
use crate::Seq;
use crate::core::{Core, Status};
use crate::recovery::Prr;

/// State of loss recovery.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// No loss is known.
    Open,
    /// Fast recovery.
    Recovery {
        prr: Prr,
        /// RFC 6675's rescue retransmission has been sent.
        rescue_sent: bool,
    },
    /// A timeout has expired, and some data in flight then are unacknowledged.
    Loss {
        /// `snd_una` at the timeout.
        start: Seq,
        /// Retransmit the first segment even if the window is full.
        retransmit_first: bool,
        frto: Frto,
    },
}

impl Phase {
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Phase::Open)
    }

    pub(super) fn is_recovery(&self) -> bool {
        matches!(self, Phase::Recovery { .. })
    }

    pub(super) fn is_loss(&self) -> bool {
        matches!(self, Phase::Loss { .. })
    }

    pub(super) fn frto(&self) -> Frto {
        if let Phase::Loss { frto, .. } = self { *frto } else { Frto::Idle }
    }

    pub(super) fn set_frto(&mut self, to: Frto) {
        if let Phase::Loss { frto, .. } = self {
            *frto = to;
        }
    }
}

/// The first retransmission since [`Phase::Open`], which the Eifel algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstRetransmission {
    /// None yet.
    Awaited,
    /// The oldest segment was retransmitted for the first time, with this timestamp.
    SentAt(u32),
    /// It has been judged, or cannot be.
    Settled,
}

impl<C> Modern<C> {
    /// Enter `phase`, and update the core's flags.
    pub(super) fn enter_phase(&mut self, core: &mut Core, phase: Phase) {
        self.phase = phase;
        core.status.put(Status::IN_RECOVERY, self.phase.is_recovery());
        self.update_retransmit_due(core);
    }

    /// Update the flag that retransmissions may be due.
    pub(super) fn update_retransmit_due(&self, core: &mut Core) {
        core.status.put(Status::RETRANSMIT_DUE, !self.phase.is_open() || self.probe.is_due);
    }
}
