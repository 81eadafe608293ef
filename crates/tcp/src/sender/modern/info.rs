//! The state of a modern sender at one moment.

use super::{Modern, Phase};
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::{CongestionState, SenderInfo};

impl<C: CongestionControl> Modern<C> {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
    pub(super) fn state(&self, core: &Core) -> SenderInfo {
        let state = match self.phase {
            Phase::Recovery { .. } => CongestionState::Recovery,
            Phase::Loss { .. } => CongestionState::Loss,
            Phase::Open if self.board.has_gap() => CongestionState::Disorder,
            Phase::Open => CongestionState::Open,
        };
        // A FIN counts as a byte delivered.
        let fin = u64::from(core.snd_end < core.snd_una);
        SenderInfo {
            state,
            in_flight: self.board.pipe(),
            delivered: self.rate.delivered().saturating_sub(fin) as u32,
            lost: Some(self.board.lost_total()),
            marked: core.ecn.counts_marks().then_some(self.marked_total),
            min_rtt: self.rack.measured_min_rtt(),
            receive_window: self.peer_window(core),
        }
    }
}
