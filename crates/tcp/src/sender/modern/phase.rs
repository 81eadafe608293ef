//! What is done about losses, and what others see of it.

use super::{Frto, Modern};
use crate::Seq;
use crate::core::{Core, Status};
use crate::recovery::Prr;

/// What is done about losses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Nothing: none is known.
    Open,
    /// Fast recovery.
    Recovery {
        prr: Prr,
        /// A segment has been sent again out of turn (RFC 6675's rescue retransmission).
        rescued: bool,
    },
    /// A timeout has expired and not all that was in flight then is acknowledged.
    Loss {
        /// Where it found `snd_una`.
        at: Seq,
        /// Send the first segment again whatever the window.
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

/// What was sent again first since [`Phase::Open`]: what the Eifel algorithm goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstRetransmission {
    /// Nothing yet.
    Awaited,
    /// The oldest segment, for the first time, with this timestamp.
    SentAt(u32),
    /// It has been judged, or there is nothing to judge by.
    Settled,
}

impl<C> Modern<C> {
    /// From here on `phase` says what is done about losses. The core knows of it what the endpoint is asked.
    pub(super) fn enter(&mut self, core: &mut Core, phase: Phase) {
        self.phase = phase;
        core.status.put(Status::IN_RECOVERY, self.phase.is_recovery());
        self.note_repairs(core);
    }

    /// There may be something to send again, or no longer.
    pub(super) fn note_repairs(&self, core: &mut Core) {
        core.status.put(Status::RETRANSMIT_DUE, !self.phase.is_open() || self.probe.is_due);
    }
}
