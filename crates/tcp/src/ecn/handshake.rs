//! How ECN begins: what is agreed on, and marks on the SYN and SYN/ACK.
//!
//! RFC 3168 §6.1.1; Kuzmanovic 2005 and RFC 5562 for marked SYN/ACKs; RFC 9768 §3.1 and §3.2.2.1. A SYN/ACK sent again is
//! without RFC 9768's option (§3.2.3.2.2), which the modern sender sees to; that one sent once more does without ECN is left
//! out.

use aqmlab_units::Time;

use super::Feedback::{Accurate, Classic, Dctcp};
use super::negotiation::{CAME_MARKED, GRANTS_CLASSIC, arrival_code};
use super::policy::AfterMarkedSynAck;
use super::{AWAITS_SYN_ACK, COUNTS_ARE_BROKEN, Feedback, PacketKind, WAITING};
use crate::congestion::{Ack, CongestionControl};
use crate::core::{Core, Limits, Status, count};
use crate::timer::Timer;
use crate::{EcnPolicy, Flags, Profile, Segment, Seq};

/// RFC 9768 §3.2.1: what both counters start from.
const FIRST_COUNT: u8 = 5;

/// What is heard.
impl Core {
    /// A server hears a SYN.
    pub(crate) fn on_syn(&mut self, flags: Flags, profile: &Profile) {
        if profile.ecn == EcnPolicy::Off {
            return;
        }
        self.negotiate_ecn(profile.ecn.negotiation().granted[usize::from(flags.ace())]);
        self.ecn.handshake = arrival_code(flags);
    }

    /// The SYN again. One that no longer asks for ECN ends the sending of ECT (RFC 3168 §6.1.1, RFC 9768 §3.1.5); accurate
    /// feedback goes on and tells of the latest SYN.
    pub(crate) fn on_syn_retransmit(&mut self, flags: Flags) {
        self.ecn.handshake = arrival_code(flags);
        if flags.ace() == 0 {
            self.status.clear(Status::ECT);
            if !self.ecn.is_accurate() {
                self.ecn.feedback = Feedback::None;
            }
        }
    }

    /// A client hears the SYN/ACK. Is the connection open?
    pub(crate) fn on_syn_ack(
        &mut self,
        flags: Flags,
        control: &mut impl CongestionControl,
        mss: u32,
        profile: &Profile,
    ) -> bool {
        let policy = profile.ecn;
        if policy == EcnPolicy::Off {
            return true;
        }
        let grant = flags.ace();
        let feedback = policy.negotiation().taken[usize::from(grant)];
        self.status.clear(Status::ECHO);
        self.negotiate_ecn(feedback);
        // RFC 3168 §6.1.1: no ECT once a SYN has not asked for it. RFC 9768 §3.1.5 lets an accurate client go on.
        if feedback == Classic && self.ecn_fallback_active(profile) {
            self.status.clear(Status::ECT);
        }
        // ECN++, section 3.2.1: the SYN was marked, or nobody can say whether it was.
        let unsure = feedback != Accurate || grant == CAME_MARKED;
        if policy.is_accurate() && policy.permits_ect(PacketKind::Syn) && self.timeouts == 0 && unsure {
            control.on_idle(mss);
        }
        let marked = flags.contains(Flags::CE);
        match feedback {
            Accurate => {
                self.ecn.handshake = arrival_code(flags);
                self.ecn.received += u8::from(marked);
            }
            Classic if marked => {
                self.status.set(Status::ECHO);
                if policy == EcnPolicy::TryOnce {
                    self.ecn.facts |= AWAITS_SYN_ACK;
                    return false;
                }
            }
            _ => {}
        }
        true
    }

    /// A SYN/ACK again, of an open connection: its acknowledgement says how it came (RFC 9768 §3.2.2.1).
    pub(crate) fn on_syn_ack_retransmit(&mut self, flags: Flags) {
        if self.ecn.is_accurate() && flags.contains(Flags::ACK) {
            self.ecn.handshake = arrival_code(flags);
        }
    }

    /// Is this the segment of a server that has gone on, though we waited for another SYN/ACK?
    pub(crate) fn peer_proceeded<O>(&self, segment: &Segment<O>) -> bool {
        self.ecn.has(AWAITS_SYN_ACK) && segment.ack == self.snd_max
    }

    fn negotiate_ecn(&mut self, feedback: Feedback) {
        self.ecn.feedback = feedback;
        (self.ecn.received, self.ecn.reported) = (FIRST_COUNT, FIRST_COUNT);
        match feedback {
            Feedback::None => {}
            // The count is told with each segment.
            Accurate => self.status.set(Status::ECT | Status::ECHO),
            Classic | Dctcp => self.status.set(Status::ECT),
        }
    }
}

/// What is said.
impl Core {
    /// RFC 3168 §6.1.1.1: SYNs sent again do without ECN, if the profile says so; RFC 9768 §3.1.4.1: from the second on.
    fn ecn_fallback_active(&self, profile: &Profile) -> bool {
        profile.ecn_fallback && self.timeouts > u8::from(profile.ecn.is_accurate())
    }

    /// The ECN bits of a SYN or SYN/ACK.
    pub(crate) fn handshake_flags(&self, control: &impl CongestionControl, profile: &Profile) -> Flags {
        let policy = profile.ecn;
        if policy == EcnPolicy::Off {
            return Flags::NONE;
        }
        let (says, kind, negotiated) = if self.answers() {
            let grant = match self.ecn.feedback {
                Feedback::None => 0,
                Classic | Dctcp => GRANTS_CLASSIC,
                Accurate => self.ecn.handshake,
            };
            (grant, PacketKind::SynAck, self.status.any(Status::ECT))
        } else {
            let request = if self.ecn_fallback_active(profile) { 0 } else { policy.negotiation().request };
            (request, PacketKind::Syn, true)
        };
        let again = self.snd_max != Seq::ZERO;
        let capable =
            says != 0 && negotiated && policy.permits_ect(kind) && (!again || policy.permits_ect_again());
        let ect = if capable { self.ect(control) } else { Flags::NONE };
        Flags::with_ace(says) | ect
    }
}

/// Marks on the SYN/ACK, at the server.
impl Core {
    /// The SYN/ACK is acknowledged. Is the connection open?
    pub(crate) fn on_syn_ack_acked<O>(
        &mut self,
        segment: &Segment<O>,
        control: &mut impl CongestionControl,
        limits: Limits,
        now: Time,
        profile: &Profile,
    ) -> bool {
        let marked = self.take_syn_ack_feedback(segment);
        if marked && self.should_resend_syn_ack(segment, profile) {
            self.reduce_to_one_segment(control, limits.mss);
            self.status.set(Status::SYN_DUE);
            self.arm_retransmit_timer(now, profile);
            return false;
        }
        let sent = self.since;
        self.establish(segment.ack, now, profile);
        // 4.4BSD counts the acknowledgement of the SYN/ACK as one of data: one segment more, unless the SYN/ACK had to be
        // repeated or came marked.
        if marked {
            self.answer_marked_syn_ack(control, limits, (sent, now), profile);
        } else if profile.handshake_ack_opens_window && self.recovery.syn_retransmits == 0 {
            control.on_ack(&Ack { now, bytes: limits.mss, mss: limits.mss, ..Ack::default() });
        }
        true
    }

    /// Take the client's feedback on the SYN/ACK (RFC 9768, table 4; data may arrive first). Returns true if the SYN/ACK
    /// was marked.
    fn take_syn_ack_feedback<O>(&mut self, segment: &Segment<O>) -> bool {
        let ace = segment.flags.ace();
        self.ecn.handshake = 0;
        match self.ecn.feedback {
            Feedback::None | Dctcp => false,
            Classic => segment.flags.contains(Flags::ECE),
            Accurate if segment.span() > 0 => {
                self.ecn.reported = ace;
                ace != FIRST_COUNT
            }
            Accurate => {
                if ace == 0 {
                    self.ecn.facts |= COUNTS_ARE_BROKEN;
                    self.status.clear(Status::ECT);
                }
                let marked = ace == CAME_MARKED;
                self.ecn.reported = FIRST_COUNT + u8::from(marked);
                marked
            }
        }
    }

    /// RFC 5562 §3.2: is the report of a marked SYN/ACK answered by one that is not ECN-capable? Once; a client that sends
    /// data does not wait for it.
    fn should_resend_syn_ack<O>(&self, segment: &Segment<O>, profile: &Profile) -> bool {
        profile.ecn.after_marked_syn_ack() == Some(AfterMarkedSynAck::Resend)
            && self.recovery.syn_retransmits == 0
            && segment.span() == 0
    }

    /// The connection is open, and its SYN/ACK, sent at `sent`, came marked.
    fn answer_marked_syn_ack(
        &mut self,
        control: &mut impl CongestionControl,
        limits: Limits,
        (sent, now): (Time, Time),
        profile: &Profile,
    ) {
        match profile.ecn.after_marked_syn_ack() {
            Some(AfterMarkedSynAck::Halve) => self.answer_mark(control, limits),
            Some(AfterMarkedSynAck::OneSegment) => self.reduce_to_one_segment(control, limits.mss),
            Some(AfterMarkedSynAck::OneSegmentAfterOneRtt) => {
                self.reduce_to_one_segment(control, limits.mss);
                if sent < now {
                    self.ecn.facts |= WAITING;
                    self.retransmit_timer = Timer::at(now + (now - sent));
                }
            }
            // Its second SYN/ACK was not due: the first was sent again before, or the client has gone on.
            Some(AfterMarkedSynAck::Resend) if self.recovery.ecn_reductions == 0 => {
                self.reduce_to_one_segment(control, limits.mss);
            }
            Some(AfterMarkedSynAck::Resend) | None => {}
        }
    }

    fn reduce_to_one_segment(&mut self, control: &mut impl CongestionControl, mss: u32) {
        control.on_idle(mss);
        self.note_reduction();
        count(&mut self.recovery.ecn_reductions);
    }

    /// Are data held back for a round trip after a marked SYN/ACK?
    #[inline]
    pub(crate) fn is_waiting_after_mark(&self, profile: &Profile) -> bool {
        profile.ecn == EcnPolicy::PlusWait && self.ecn.has(WAITING)
    }

    /// That round trip is over.
    pub(crate) fn end_wait(&mut self) {
        self.ecn.facts &= !WAITING;
        self.retransmit_timer = Timer::OFF;
    }
}
