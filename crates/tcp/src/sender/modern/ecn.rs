//! Marks that the peer reports, by packets and by bytes.

use super::Modern;
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::ecn::carries_ecn;
use crate::options::Options;
use crate::{Profile, Segment, Seq};

impl<C: CongestionControl> Modern<C> {
    /// Handle the ECN fields of a segment. If it delivers data, the response to its marks follows with the
    /// delivery.
    #[inline(never)]
    pub(super) fn on_ecn_segment(&mut self, core: &mut Core, segment: &Segment<Options>, profile: &Profile) {
        let feedback = core.on_ecn_segment(segment, profile);
        if feedback.starts_echo && profile.quick_acks_after_mark > 0 {
            self.receiver.quick_acks.enforce(profile.quick_acks_after_mark);
        }
        if let Some(marks) = feedback.new_marks {
            self.note_marks(core, segment, marks, profile);
        }
        if self.is_classic {
            self.classic.respond_to_undelivered_marks(core, segment, profile);
        }
    }

    /// Record that the count of marked packets has grown by `marks`. The option, if present, reports their bytes;
    /// without it each counts as a full segment.
    fn note_marks(&mut self, core: &mut Core, segment: &Segment<Options>, marks: u8, profile: &Profile) {
        let option = segment.options.accecn().filter(|_| profile.accecn_option);
        let reported = option.is_some_and(|option| self.marked_bytes.on_option(option.ce));
        if option.is_none() {
            self.marked_bytes.assume(u32::from(marks) * self.segment_size());
        }
        // The count of packets wraps at 8, so the option may report marks when it has not changed.
        core.ecn.note_marks(marks.max(u8::from(reported)));
    }

    /// Take the marked ones of the `delivered` bytes.
    pub(super) fn take_marked_bytes(&mut self, core: &mut Core, delivered: u32) -> u32 {
        let marked = if core.ecn.is_accurate() {
            core.ecn.take_marks();
            self.marked_bytes.take(delivered)
        } else {
            core.take_marked_bytes(delivered, self.segment_size())
        };
        self.marked_total += u64::from(marked);
        marked
    }

    /// Respond to marks that an acknowledgement reports which delivers no data.
    #[inline]
    pub(super) fn respond_to_marks(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        profile: &Profile,
    ) {
        if carries_ecn(segment.flags, profile) && core.reports_marks(segment.flags) {
            self.respond_to_echo(core, segment.ack);
        }
    }

    /// Respond to marks that `ack` reports.
    pub(super) fn respond_to_echo(&mut self, core: &mut Core, ack: Seq) {
        // RFC 3168 §6.1.2: fast recovery has already reduced the window for this window of data.
        if !self.phase.is_recovery() {
            let limits = self.limits(core);
            core.respond_to_marks(&mut self.classic.congestion, ack, limits);
        }
    }
}
