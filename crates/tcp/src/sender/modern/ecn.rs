//! Marks that the peer tells of, by the packet and by the byte.

use super::Modern;
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::ecn::carries_ecn;
use crate::options::Options;
use crate::{Profile, Segment, Seq};

impl<C: CongestionControl> Modern<C> {
    /// A segment has arrived that may be marked, or tell of marks on what was sent. Those that an acknowledgement tells of
    /// which delivers something are answered with its delivery.
    #[inline(never)]
    pub(super) fn on_ecn_segment(&mut self, core: &mut Core, segment: &Segment<Options>, profile: &Profile) {
        let feedback = core.on_ecn_segment(segment, profile);
        if feedback.begins {
            self.receiver.grant_quick_acks(profile.quick_acks_after_mark);
        }
        if let Some(more) = feedback.more {
            self.note_marks(core, segment, more, profile);
        }
        if self.is_classic {
            self.classic.answer_undelivered_marks(core, segment, profile);
        }
    }

    /// The count of marked packets has grown by `more`. The option, where there is one, says how many bytes they had; without
    /// it each counts as a full segment.
    fn note_marks(&mut self, core: &mut Core, segment: &Segment<Options>, more: u8, profile: &Profile) {
        let option = segment.options.accecn().filter(|_| profile.accecn_option);
        let reported = option.is_some_and(|option| self.marked_bytes.on_option(option.ce));
        if option.is_none() {
            self.marked_bytes.assume(u32::from(more) * self.segment_size());
        }
        // Eight more look like none.
        core.ecn.note_marks(more.max(u8::from(reported)));
    }

    /// Of the `delivered` bytes those that came marked.
    pub(super) fn take_marked_bytes(&mut self, core: &mut Core, delivered: u32) -> u32 {
        if !core.ecn.is_accurate() {
            return core.take_marked_bytes(delivered, self.segment_size());
        }
        core.ecn.take_marks();
        self.marked_bytes.take(delivered)
    }

    /// The marks that an acknowledgement tells of which delivers nothing.
    #[inline]
    pub(super) fn answer_marks(&mut self, core: &mut Core, segment: &Segment<Options>, profile: &Profile) {
        if carries_ecn(segment.flags, profile) && core.reports_marks(segment.flags) {
            self.answer_echo(core, segment.ack);
        }
    }

    /// The acknowledgement `ack` tells of marks.
    pub(super) fn answer_echo(&mut self, core: &mut Core, ack: Seq) {
        if !self.phase.is_recovery() {
            let limits = self.limits(core);
            core.answer_marks(&mut self.classic.congestion, ack, limits);
        }
    }
}
