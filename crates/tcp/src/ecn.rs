//! Explicit congestion notification: feedback and the answer to it.
//!
//! [`EcnPolicy`] says what a stack offers and which packets are ECN-capable; `negotiation` and `handshake` are how it
//! begins. The feedback has three forms: `classic` (RFC 3168), `dctcp` (RFC 8257) and `accurate` (RFC 9768), whose option
//! counts bytes (`byte_counts`). Whatever the form, a sender's answer is here.

mod accurate;
pub(crate) mod byte_counts;
mod classic;
mod dctcp;
mod handshake;
mod negotiation;
pub(crate) mod policy;
pub(crate) mod state;

use crate::congestion::{Ack, CongestionControl, Marks};
use crate::core::{Core, Limits, Status, count};
use crate::{Flags, Profile, Segment, Seq};

pub use policy::EcnPolicy;
use policy::PacketKind;
use state::{AFTER_MARK, AWAITS_SYN_ACK, COUNTS_ARE_BROKEN, Feedback, WAITING};

/// What a segment says of marks beside the echo in its flags.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnFeedback {
    /// It came marked while no mark was echoed, with classic feedback.
    pub(crate) begins: bool,
    /// With accurate feedback, how many more marks it tells of than the one before, modulo 8.
    pub(crate) more: Option<u8>,
}

/// May this segment concern ECN? Counts change, and echoes end, with segments that show no flag.
#[inline(always)]
pub(crate) fn carries_ecn(flags: Flags, profile: &Profile) -> bool {
    flags.intersects(Flags::ECE | Flags::CWR | Flags::CE) || profile.ecn.counts_marks()
}

/// Does the congestion control answer marks itself, from their count? Then nobody else does.
#[inline]
fn control_counts(feedback: Feedback, control: &impl CongestionControl) -> bool {
    control.marks() != Marks::Echoed && matches!(feedback, Feedback::Dctcp | Feedback::Accurate)
}

/// As a receiver.
impl Core {
    /// A segment has arrived that [may](carries_ecn) be marked or tell of marks.
    pub(crate) fn on_ecn_segment<O>(&mut self, segment: &Segment<O>, profile: &Profile) -> EcnFeedback {
        let mut feedback = EcnFeedback::default();
        match self.ecn.feedback {
            Feedback::None => {}
            Feedback::Classic => feedback.begins = self.echo_until_cwr(segment, profile),
            Feedback::Dctcp => self.echo_changes(segment, profile),
            Feedback::Accurate => {
                self.count_mark(segment);
                feedback.more = self.more_marks(segment);
            }
        }
        feedback
    }

    /// What a segment tells the peer of marks, while [`Status::ECHO`].
    #[inline(never)]
    pub(crate) fn echo(&mut self, len: u16, flags: Flags) -> Flags {
        if self.ecn.is_accurate() { self.report_count(len, flags) } else { Flags::ECE }
    }
}

/// As a sender.
impl Core {
    /// Does a segment with these flags that [may](carries_ecn), once it is heard, tell of marks?
    #[inline(never)]
    pub(crate) fn reports_marks(&self, flags: Flags) -> bool {
        match self.ecn.feedback {
            Feedback::None => false,
            Feedback::Classic | Feedback::Dctcp => flags.contains(Flags::ECE),
            Feedback::Accurate => self.ecn.pending > 0,
        }
    }

    /// Of `bytes` newly acknowledged, by a segment that tells of marks, those that came marked. A marked packet counts as a
    /// full segment where nothing says how long it was; classic feedback does not count.
    #[inline(never)]
    pub(crate) fn take_marked_bytes(&mut self, bytes: u32, mss: u32) -> u32 {
        match self.ecn.feedback {
            Feedback::None | Feedback::Classic => 0,
            // RFC 8257 §3.3.
            Feedback::Dctcp => bytes,
            Feedback::Accurate => (u32::from(self.ecn.take_marks()) * mss).min(bytes),
        }
    }

    /// RFC 3168 §6.1.2: an echo is answered by the reduction, not by growth too. Counts say what came unmarked.
    #[inline]
    pub(crate) fn may_grow_after_mark(&self, control: &impl CongestionControl, ack: &Ack) -> bool {
        control_counts(self.ecn.feedback, control) || (0 < ack.marked && ack.marked < ack.bytes)
    }

    /// The acknowledgement `ack`, outside loss recovery, tells of marks: RFC 3168 §6.1.2, one reduction for each window of
    /// data.
    #[inline(never)]
    pub(crate) fn answer_marks(&mut self, control: &mut impl CongestionControl, ack: Seq, limits: Limits) {
        if self.ecn.recover < ack {
            self.answer_mark(control, limits);
        }
    }

    fn answer_mark(&mut self, control: &mut impl CongestionControl, limits: Limits) {
        if !control_counts(self.ecn.feedback, control) {
            control.on_ecn_echo(limits.window, limits.mss);
        }
        self.note_reduction();
        count(&mut self.recovery.ecn_reductions);
    }

    /// RFC 3168 §6.1.2: the window was reduced, whatever for. Echoes of what is now in flight ask for no more, and
    /// the next new data say CWR, but not with accurate feedback (RFC 9768 §3.1.5).
    pub(crate) fn note_reduction(&mut self) {
        if self.ecn.feedback != Feedback::None {
            self.ecn.recover = self.snd_max;
            if !self.ecn.is_accurate() {
                self.status.set(Status::CWR);
            }
        }
    }

    /// What was allowed in flight when a loss is found that finds `window`. RFC 3168 §6.1.2: one reduction per window. What
    /// a mark has halved counts as it was before.
    pub(crate) fn window_before_loss(&self, control: &impl CongestionControl, window: u32) -> u32 {
        let halved = self.snd_una < self.ecn.recover && !control_counts(self.ecn.feedback, control);
        if halved { 2 * window } else { window }
    }

    /// ECT for a packet of this kind, if it is to have it.
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
        // ECN++, table 1: marks on them are told of by counts alone.
        let untold = kind == PacketKind::PureAck && !self.ecn.is_accurate();
        if untold { Flags::NONE } else { self.ect(control) }
    }

    /// New data are ECN-capable (RFC 3168 §6.1.2), and the first after a reduction say so.
    #[inline(always)]
    pub(crate) fn ecn_of_new_data(&mut self, control: &impl CongestionControl) -> Flags {
        if !self.status.any(Status::ECT) {
            return Flags::NONE;
        }
        self.ect(control) | if self.status.take(Status::CWR) { Flags::CWR } else { Flags::NONE }
    }

    /// The codepoint that says ECN-capable. ECT(1) asks for L4S: for a scalable control (RFC 9331 §4.1) that has feedback
    /// to go by (§4.2).
    #[inline]
    fn ect(&self, control: &impl CongestionControl) -> Flags {
        let l4s = control.marks() == Marks::L4s && control_counts(self.ecn.feedback, control);
        if l4s { Flags::ECT1 } else { Flags::ECT }
    }
}
