//! Explicit congestion notification: feedback and the sender's response.
//!
//! [`EcnPolicy`] says what a stack negotiates and which packets are ECN-capable; `negotiation` and `handshake`
//! negotiate. The feedback has three forms: `classic` (RFC 3168), `dctcp` (RFC 8257) and `accurate` (RFC 9768),
//! whose option counts bytes (`byte_counts`). The sender's response, common to all forms, is here.

mod accurate;
pub(crate) mod byte_counts;
mod classic;
mod dctcp;
mod handshake;
mod negotiation;
pub(crate) mod policy;
pub(crate) mod state;

use crate::congestion::{Ack, CongestionControl, Marks};
use crate::core::{Core, Limits, Status, increment};
use crate::{Flags, Profile, Segment, Seq};

pub use policy::EcnPolicy;
use policy::PacketKind;
use state::{AFTER_MARK, AWAITS_SECOND_SYN_ACK, COUNTS_INVALID, Feedback, HOLDS_DATA};

/// ECN feedback of a segment, apart from the echo in its flags.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnFeedback {
    /// The segment was marked while no mark was echoed, with classic feedback.
    pub(crate) starts_echo: bool,
    /// Marks reported since the previous segment, modulo 8, with accurate feedback.
    pub(crate) new_marks: Option<u8>,
}

/// True if this segment may concern ECN. Counts change, and echoes end, with segments that have no flag set.
#[inline(always)]
pub(crate) fn carries_ecn(flags: Flags, profile: &Profile) -> bool {
    flags.intersects(Flags::ECE | Flags::CWR | Flags::CE) || profile.ecn.counts_marks()
}

/// True if the congestion control responds to the count of marks; then the endpoint must not.
#[inline]
fn control_counts(feedback: Feedback, control: &impl CongestionControl) -> bool {
    control.marks() != Marks::Echoed && matches!(feedback, Feedback::Dctcp | Feedback::Accurate)
}

/// The receiver's side.
impl Core {
    /// Handle the ECN fields of a segment that [may](carries_ecn) be marked or report marks.
    pub(crate) fn on_ecn_segment<O>(&mut self, segment: &Segment<O>, profile: &Profile) -> EcnFeedback {
        let mut feedback = EcnFeedback::default();
        match self.ecn.feedback {
            Feedback::None => {}
            Feedback::Classic => feedback.starts_echo = self.echo_until_cwr(segment, profile),
            Feedback::Dctcp => self.echo_changes(segment, profile),
            Feedback::Accurate => {
                self.count_mark(segment);
                feedback.new_marks = self.take_new_marks(segment);
            }
        }
        feedback
    }

    /// The flags that report marks to the peer, while [`Status::ECHO`].
    #[inline(never)]
    pub(crate) fn echo(&mut self, len: u16, flags: Flags) -> Flags {
        if self.ecn.is_accurate() { self.report_count(len, flags) } else { Flags::ECE }
    }
}

/// The sender's side.
impl Core {
    /// True if a segment with these flags, once handled by [`Core::on_ecn_segment`], reports marks.
    #[inline(never)]
    pub(crate) fn reports_marks(&self, flags: Flags) -> bool {
        match self.ecn.feedback {
            Feedback::None => false,
            Feedback::Classic | Feedback::Dctcp => flags.contains(Flags::ECE),
            Feedback::Accurate => self.ecn.pending > 0,
        }
    }

    /// Return how many of `bytes` newly acknowledged were marked, for a segment that reports marks. Each marked
    /// packet counts as a full segment, unless the feedback counts bytes. Classic feedback does not count.
    #[inline(never)]
    pub(crate) fn take_marked_bytes(&mut self, bytes: u32, mss: u32) -> u32 {
        match self.ecn.feedback {
            Feedback::None | Feedback::Classic => 0,
            // RFC 8257 §3.3: a segment with ECE acknowledges marked bytes only.
            Feedback::Dctcp => bytes,
            Feedback::Accurate => (u32::from(self.ecn.take_marks()) * mss).min(bytes),
        }
    }

    /// RFC 3168 §6.1.2: an echo reduces the window, and must not also let it grow. With counts, unmarked bytes
    /// may.
    #[inline]
    pub(crate) fn may_grow_after_mark(&self, control: &impl CongestionControl, ack: &Ack) -> bool {
        control_counts(self.ecn.feedback, control) || (0 < ack.marked && ack.marked < ack.bytes)
    }

    /// Respond to marks that `ack` reports outside loss recovery: one reduction for each window of data (RFC 3168
    /// §6.1.2).
    #[inline(never)]
    pub(crate) fn respond_to_marks(
        &mut self,
        control: &mut impl CongestionControl,
        ack: Seq,
        limits: Limits,
    ) {
        if self.ecn.recover < ack {
            self.reduce_for_mark(control, limits);
        }
    }

    fn reduce_for_mark(&mut self, control: &mut impl CongestionControl, limits: Limits) {
        if !control_counts(self.ecn.feedback, control) {
            control.on_ecn_echo(limits.window, limits.mss);
        }
        self.note_reduction();
        increment(&mut self.recovery.ecn_reductions);
    }

    /// Record a reduction of the window, for any reason. Echoes of data now in flight do not reduce again (RFC
    /// 3168 §6.1.2). The next new data carry CWR, except with accurate feedback (RFC 9768 §3.1.5).
    pub(crate) fn note_reduction(&mut self) {
        if self.ecn.feedback != Feedback::None {
            self.ecn.recover = self.snd_max;
            if !self.ecn.is_accurate() {
                self.status.set(Status::CWR);
            }
        }
    }

    /// Return the data allowed in flight before a loss that was found at a window of `window`. One reduction per
    /// window (RFC 3168 §6.1.2): a window that a mark has halved counts as it was before.
    pub(crate) fn window_before_loss(&self, control: &impl CongestionControl, window: u32) -> u32 {
        let halved = self.snd_una < self.ecn.recover && !control_counts(self.ecn.feedback, control);
        if halved { 2 * window } else { window }
    }

    /// Return ECT if a packet of this kind is ECN-capable.
    #[inline]
    pub(crate) fn ect_on(
        &self,
        kind: PacketKind,
        control: &impl CongestionControl,
        profile: &Profile,
    ) -> Flags {
        if !(self.status.any(Status::ECT) && profile.ecn.permits_ect(kind)) {
            return Flags::NONE;
        }
        // ECN++, table 1: only counts report marks on pure acknowledgements.
        let is_unreported = kind == PacketKind::PureAck && !self.ecn.is_accurate();
        if is_unreported { Flags::NONE } else { self.ect(control) }
    }

    /// Return the ECN flags of new data: ECT (RFC 3168 §6.1.2), and CWR for the first after a reduction.
    #[inline(always)]
    pub(crate) fn ecn_of_new_data(&mut self, control: &impl CongestionControl) -> Flags {
        if !self.status.any(Status::ECT) {
            return Flags::NONE;
        }
        self.ect(control) | if self.status.take(Status::CWR) { Flags::CWR } else { Flags::NONE }
    }

    /// Return the ECN-capable codepoint. ECT(1) asks for L4S: only a scalable control may use it (RFC 9331 §4.1),
    /// and only with feedback that counts (§4.2).
    #[inline]
    fn ect(&self, control: &impl CongestionControl) -> Flags {
        let l4s = control.marks() == Marks::L4s && control_counts(self.ecn.feedback, control);
        if l4s { Flags::ECT1 } else { Flags::ECT }
    }
}
