//! DCTCP's feedback (RFC 8257 §3.2): each acknowledgement says whether the acknowledged segments were marked.
//!
//! Choice: segments not yet acknowledged when marks begin or end. One acknowledgement can cover them and the
//! segment that changed, and report the state of the latter. Or, as in Linux, they are acknowledged first, with
//! their own state ([`Profile::dctcp_two_acks`]). With one acknowledgement an isolated mark counts for up to two
//! segments.

use crate::core::{Core, Status};
use crate::{Flags, Profile, Segment, Seq};

impl Core {
    /// Report a change of marks at once.
    pub(super) fn echo_changes<O>(&mut self, segment: &Segment<O>, profile: &Profile) {
        self.stop_echo_at_cwr(segment, profile);
        if segment.span() > 0 && segment.flags.contains(Flags::CE) != self.status.any(Status::ECHO) {
            // A segment ahead of a gap is acknowledged at once, so no segment is unacknowledged then.
            let in_order = segment.seq == self.rcv_nxt && !self.status.any(Status::OUT_OF_ORDER);
            if profile.dctcp_two_acks && in_order && self.unacked_segments > 0 {
                self.ecn.pending = u16::try_from(segment.span()).expect("a segment's data fit 16 bits");
                self.status.set(Status::SYN_DUE);
            }
            self.status.flip(Status::ECHO);
            self.status.set(Status::ACK_DUE);
        }
    }

    /// Rewind to the state before the change, for an acknowledgement of the segments before it.
    pub(crate) fn rewind_before_mark_change(&mut self) {
        self.status.flip(Status::ECHO);
        self.rcv_nxt = Seq::new(self.rcv_nxt.get().wrapping_sub(self.ecn.pending.into()));
    }

    /// Return to the state after the change, which must now be acknowledged.
    pub(crate) fn restore_after_mark_change(&mut self) {
        self.status.flip(Status::ECHO);
        self.rcv_nxt += u32::from(std::mem::take(&mut self.ecn.pending));
        self.status.set(Status::ACK_DUE);
    }
}
