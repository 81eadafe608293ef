//! DCTCP's feedback (RFC 8257 §3.2): each acknowledgement says whether what it acknowledges came marked.
//!
//! Choice: what was held back when marks begin or end. One acknowledgement covers it with the segment that changed, and says
//! of both what is true of the latter; or, as Linux has it, it is acknowledged before as it came
//! ([`Profile::dctcp_two_acks`]). With one acknowledgement an isolated mark counts for up to two segments.

use crate::core::{Core, Status};
use crate::{Flags, Profile, Segment, Seq};

impl Core {
    /// A change is told at once.
    pub(super) fn echo_changes<O>(&mut self, segment: &Segment<O>, profile: &Profile) {
        self.stop_echo_at_cwr(segment, profile);
        if segment.span() > 0 && segment.flags.contains(Flags::CE) != self.status.any(Status::ECHO) {
            // What comes ahead of a gap finds nothing held back.
            let in_order = segment.seq == self.rcv_nxt && !self.status.any(Status::OUT_OF_ORDER);
            if profile.dctcp_two_acks && in_order && self.unacked_segments > 0 {
                self.ecn.pending = u16::try_from(segment.span()).expect("a segment's data fit 16 bits");
                self.status.set(Status::SYN_DUE);
            }
            self.status.flip(Status::ECHO);
            self.status.set(Status::ACK_DUE);
        }
    }

    /// What leaves now acknowledges what was held back, as it came.
    pub(crate) fn return_to_before_change(&mut self) {
        self.status.flip(Status::ECHO);
        self.rcv_nxt = Seq::new(self.rcv_nxt.get().wrapping_sub(self.ecn.pending.into()));
    }

    /// The change itself is due to be acknowledged.
    pub(crate) fn go_on_after_change(&mut self) {
        self.status.flip(Status::ECHO);
        self.rcv_nxt += u32::from(std::mem::take(&mut self.ecn.pending));
        self.status.set(Status::ACK_DUE);
    }
}
