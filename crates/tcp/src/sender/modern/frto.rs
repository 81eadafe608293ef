//! F-RTO (RFC 5682): detection of spurious timeouts by the two acknowledgements that follow.
//!
//! At first only the first segment is retransmitted. If its acknowledgement does not cover everything, up to two
//! new segments leave instead of retransmissions. If the next acknowledgement covers data that were sent once,
//! before the timeout, they were late and not lost, and the timeout is undone. §2.1 without SACK, §3.1 with it.
//!
//! With timestamps the Eifel algorithm (RFC 3522) decides at the first acknowledgement, either way. F-RTO
//! continues only if Eifel cannot decide.
//!
//! Differs from the RFC:
//! * §2.1 step 1: without SACK too, it does not start during fast recovery (as in §3.1), so that only the timeout
//!   is undone.
//! * §3.1 step 3b: data that were ever retransmitted prove nothing, since a loss probe may have arrived.
//! * Step 3a: the window is not set to three segments. Without SACK too, the segment that a duplicate reports has
//!   left the network, so that the next retransmission replaces it.

use super::acknowledge::AckInfo;
use super::recovery::SpuriousRetransmission;
use super::{Modern, Phase};
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::options::Options;
use crate::{Profile, Segment, Seq};

/// State of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frto {
    /// Inactive: conventional recovery.
    Idle,
    /// Step 2 waits for the acknowledgement of the retransmitted segment, which ends at `end`.
    Retransmitted { end: Seq },
    /// Step 3 waits for the next acknowledgement; up to `new_segments` more may be sent.
    Probing { recovery_point: Seq, new_segments: u8 },
}

/// New segments that step 2b sends at most.
const NEW_SEGMENTS: u8 = 2;

impl Frto {
    /// The number of new segments that may leave, without retransmissions; `None` if F-RTO does not restrict.
    pub(super) fn new_data_quota(self) -> Option<u8> {
        match self {
            Frto::Idle => None,
            Frto::Retransmitted { .. } => Some(0),
            Frto::Probing { new_segments, .. } => Some(new_segments),
        }
    }

    /// Record that a new segment leaves.
    pub(super) fn on_new_segment(&mut self) {
        if let Frto::Probing { new_segments, .. } = self {
            *new_segments = new_segments.saturating_sub(1);
        }
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Step 1: return the state for a timeout whose first segment is about to be retransmitted. A further timeout
    /// before any acknowledgement repeats the step; in any other recovery the algorithm does not start.
    pub(super) fn begin_frto(&self, profile: &Profile) -> Frto {
        let may_begin = self.phase.is_open() || matches!(self.phase.frto(), Frto::Retransmitted { .. });
        if profile.frto && may_begin && !self.board.is_empty() {
            Frto::Retransmitted { end: self.board.record(0).end }
        } else {
            Frto::Idle
        }
    }

    /// Steps 2 and 3, once `snd_una` includes `segment`: advance the state machine, and return evidence of a spurious
    /// timeout.
    pub(super) fn advance_frto(
        &mut self,
        core: &Core,
        segment: &Segment<Options>,
        info: &AckInfo,
    ) -> Option<SpuriousRetransmission> {
        let Phase::Loss { frto, .. } = self.phase else { return None };
        let sack = self.negotiated.sack;
        let next = match frto {
            Frto::Idle => return None,
            Frto::Retransmitted { end } if info.is_new_ack => {
                // An acknowledgement of all data ends the recovery in any case.
                let can_send = self.new_data(core).is_some_and(|(len, _)| self.peer_permits(core, len));
                if end <= core.snd_una && can_send {
                    Frto::Probing { recovery_point: core.snd_max, new_segments: NEW_SEGMENTS }
                } else {
                    Frto::Idle
                }
            }
            // §2.1 step 2a. With SACK the algorithm keeps waiting.
            Frto::Retransmitted { .. } if info.is_duplicate_ack && !sack => Frto::Idle,
            Frto::Retransmitted { .. } => frto,
            Frto::Probing { recovery_point, .. } => {
                // A report of data sent after the timeout proves nothing about those sent before it.
                let covers_new_data = sack
                    && (recovery_point < core.snd_una
                        || segment.options.sack().any(|(_, to)| recovery_point < to));
                if !covers_new_data && info.acks_unretransmitted() {
                    return Some(SpuriousRetransmission);
                }
                let is_informative = info.is_new_ack || info.has_new_sack || segment.span() == 0;
                if is_informative { Frto::Idle } else { frto }
            }
        };
        self.phase.set_frto(next);
        None
    }
}
