//! The server's part of the handshake: the SYN received, and the response to a mark on the SYN/ACK.

use aqmlab_units::Time;

use super::FIRST_COUNT;
use crate::congestion::{Ack, CongestionControl};
use crate::core::{Core, Limits, Status, increment};
use crate::ecn::Feedback::{self, Accurate, Classic, Dctcp};
use crate::ecn::negotiation::{ARRIVED_MARKED, arrival_code};
use crate::ecn::policy::AfterMarkedSynAck;
use crate::ecn::{COUNTS_INVALID, HOLDS_DATA};
use crate::timer::Timer;
use crate::{EcnPolicy, Flags, Profile, Segment};

impl Core {
    /// Handle the client's SYN.
    pub(crate) fn on_syn(&mut self, flags: Flags, profile: &Profile) {
        if profile.ecn == EcnPolicy::Off {
            return;
        }
        self.negotiate_ecn(profile.ecn.negotiation().server_grants[usize::from(flags.ace())]);
        self.ecn.handshake = arrival_code(flags);
    }

    /// Handle a retransmitted SYN. If it no longer requests ECN, this end stops sending ECT (RFC 3168 §6.1.1, RFC
    /// 9768 §3.1.5). Accurate feedback continues, and reports the latest SYN's codepoint.
    pub(crate) fn on_syn_retransmit(&mut self, flags: Flags) {
        self.ecn.handshake = arrival_code(flags);
        if flags.ace() == 0 {
            self.status.clear(Status::ECT);
            if !self.ecn.is_accurate() {
                self.ecn.feedback = Feedback::None;
            }
        }
    }

    /// Handle the acknowledgement of the SYN/ACK. Returns true if the connection is open.
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
        let sent = self.interval_start;
        self.establish(segment.ack, now, profile);
        // 4.4BSD treats the acknowledgement of the SYN/ACK like one of data: it opens the window by a segment,
        // unless the SYN/ACK was retransmitted or marked.
        if marked {
            self.respond_to_marked_syn_ack(control, limits, (sent, now), profile);
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
                // ACE 0 is no valid count here: the path has cleared the field (§3.2.2.4), so ECN is not usable.
                if ace == 0 {
                    self.ecn.flags |= COUNTS_INVALID;
                    self.status.clear(Status::ECT);
                }
                let marked = ace == ARRIVED_MARKED;
                self.ecn.reported = FIRST_COUNT + u8::from(marked);
                marked
            }
        }
    }

    /// True if the server responds to the report of a marked SYN/ACK with one that is not ECN-capable (RFC 5562
    /// §3.2). It does so once, and not to a client that sends data, which does not wait for it.
    fn should_resend_syn_ack<O>(&self, segment: &Segment<O>, profile: &Profile) -> bool {
        profile.ecn.after_marked_syn_ack() == Some(AfterMarkedSynAck::Resend)
            && self.recovery.syn_retransmits == 0
            && segment.span() == 0
    }

    /// Respond to the mark on the SYN/ACK, sent at `sent`, of a connection that is open now.
    fn respond_to_marked_syn_ack(
        &mut self,
        control: &mut impl CongestionControl,
        limits: Limits,
        (sent, now): (Time, Time),
        profile: &Profile,
    ) {
        match profile.ecn.after_marked_syn_ack() {
            Some(AfterMarkedSynAck::Halve) => self.reduce_for_mark(control, limits),
            Some(AfterMarkedSynAck::OneSegment) => self.reduce_to_one_segment(control, limits.mss),
            Some(AfterMarkedSynAck::OneSegmentAfterOneRtt) => {
                self.reduce_to_one_segment(control, limits.mss);
                if sent < now {
                    self.ecn.flags |= HOLDS_DATA;
                    self.retransmit_timer = Timer::at(now + (now - sent));
                }
            }
            // The second SYN/ACK was not due: the first had been retransmitted, or the client had sent data.
            Some(AfterMarkedSynAck::Resend) if self.recovery.ecn_reductions == 0 => {
                self.reduce_to_one_segment(control, limits.mss);
            }
            Some(AfterMarkedSynAck::Resend) | None => {}
        }
    }

    fn reduce_to_one_segment(&mut self, control: &mut impl CongestionControl, mss: u32) {
        control.on_idle(mss);
        self.note_reduction();
        increment(&mut self.recovery.ecn_reductions);
    }

    /// True while data are held back for a round trip after a marked SYN/ACK.
    #[inline]
    pub(crate) fn is_waiting_after_mark(&self, profile: &Profile) -> bool {
        profile.ecn == EcnPolicy::PlusWait && self.ecn.has(HOLDS_DATA)
    }

    /// End that round trip.
    pub(crate) fn end_wait(&mut self) {
        self.ecn.flags &= !HOLDS_DATA;
        self.retransmit_timer = Timer::OFF;
    }
}
