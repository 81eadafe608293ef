//! How ECN begins: negotiation, and marks on the SYN and SYN/ACK.
//!
//! RFC 3168 §6.1.1; Kuzmanovic 2005 and RFC 5562 for marked SYN/ACKs; RFC 9768 §3.1 and §3.2.2.1. A SYN/ACK sent again is
//! without RFC 9768's option (§3.2.3.2.2), which `modern` sees to; that one sent once more does without ECN is left out.

use aqmlab_units::Time;

use super::super::{Endpoint, Pending, State, count};
use super::{AWAITS_SYN_ACK, DEAF, Feedback, WAITING};
use crate::congestion::CongestionControl;
use crate::ecn::{AfterMarkedSynAck, Control};
use crate::timer::Timer;
use crate::{EcnPolicy, Flags, Profile, Segment, Seq, Stack};

/// RFC 9768 §3.2.1: what both counters start from.
const FIRST_COUNT: u8 = 5;
/// Its tables 2 and 3: a packet came marked.
const CAME_MARKED: u8 = 0b110;
/// RFC 9768 §3.1.1: the SYN's request; a classic one is without AE.
const ASKS_ACCURATE: u8 = 0b111;
const ASKS_CLASSIC: u8 = 0b011;
const GRANTS_CLASSIC: u8 = 0b001;

/// The IP-ECN field as tables 2 and 3 of RFC 9768 encode it.
fn handshake_code(flags: Flags) -> u8 {
    if flags.contains(Flags::CE) {
        CAME_MARKED
    } else if flags.contains(Flags::ECT) {
        0b100
    } else if flags.contains(Flags::ECT1) {
        0b011
    } else {
        0b010
    }
}

impl<S: Stack> Endpoint<S> {
    /// A server hears a SYN: RFC 3168 §6.1.1, and RFC 9768 §3.1.2-3.1.3 with its table 2.
    pub(in crate::endpoint) fn hear_syn(&mut self, flags: Flags, profile: &Profile) {
        if profile.ecn == EcnPolicy::Off {
            return;
        }
        let asks = flags.ace();
        let asks_classic = asks & ASKS_CLASSIC == ASKS_CLASSIC;
        let feedback = match profile.ecn {
            policy if policy.is_accurate() && asks != ASKS_CLASSIC => {
                if asks == 0 {
                    Feedback::None
                } else {
                    Feedback::Accurate
                }
            }
            _ if !asks_classic => Feedback::None,
            EcnPolicy::Dctcp => Feedback::Dctcp,
            _ => Feedback::Classic,
        };
        self.agree_on_ecn(feedback);
        self.ecn.handshake = handshake_code(flags);
    }

    /// The SYN again. One that no longer asks for ECN ends the sending of ECT (RFC 3168 §6.1.1, RFC 9768 §3.1.5); accurate
    /// feedback goes on and tells of the latest SYN.
    pub(in crate::endpoint) fn hear_syn_again(&mut self, flags: Flags) {
        self.ecn.handshake = handshake_code(flags);
        if flags.ace() == 0 {
            self.pending.clear(Pending::ECT);
            if self.ecn.feedback != Feedback::Accurate {
                self.ecn.feedback = Feedback::None;
            }
        }
    }

    /// A client hears the SYN/ACK. Is the connection open?
    pub(in crate::endpoint) fn hear_syn_ack(&mut self, flags: Flags, profile: &Profile) -> bool {
        if profile.ecn == EcnPolicy::Off {
            return true;
        }
        let grants = flags.ace();
        let feedback = match profile.ecn {
            policy if policy.is_accurate() => match grants {
                0b010 | 0b011 | 0b100 | 0b101 | CAME_MARKED => Feedback::Accurate,
                GRANTS_CLASSIC => Feedback::Classic,
                _ => Feedback::None,
            },
            _ if grants & ASKS_CLASSIC != GRANTS_CLASSIC => Feedback::None,
            EcnPolicy::Dctcp => Feedback::Dctcp,
            _ => Feedback::Classic,
        };
        self.pending.clear(Pending::ECHO);
        self.agree_on_ecn(feedback);
        // RFC 3168 §6.1.1: no ECT once a SYN has not asked for it. RFC 9768 §3.1.5 lets an accurate client go on.
        if feedback == Feedback::Classic && self.asks_no_more(profile) {
            self.pending.clear(Pending::ECT);
        }
        // ECN++, section 3.2.1: the SYN was marked, or nobody can say whether it was.
        let unsure = feedback != Feedback::Accurate || grants == CAME_MARKED;
        if profile.ecn.is_accurate() && profile.ecn.lets(Control::Syn) && self.timeouts == 0 && unsure {
            self.congestion.on_idle(self.mss(profile));
        }
        let marked = flags.contains(Flags::CE);
        match feedback {
            Feedback::Accurate => {
                self.ecn.handshake = handshake_code(flags);
                self.ecn.received += u8::from(marked);
            }
            Feedback::Classic if marked => {
                self.pending.set(Pending::ECHO);
                if profile.ecn == EcnPolicy::TryOnce {
                    self.ecn.facts |= AWAITS_SYN_ACK;
                    return false;
                }
            }
            _ => {}
        }
        true
    }

    /// A SYN/ACK again, of an open connection: its acknowledgement says how it came (RFC 9768 §3.2.2.1).
    pub(in crate::endpoint) fn hear_syn_ack_again(&mut self, flags: Flags) {
        if self.ecn.feedback == Feedback::Accurate && flags.contains(Flags::ACK) {
            self.ecn.handshake = handshake_code(flags);
        }
    }

    /// Is this the segment of a server that has gone on, though we waited for another SYN/ACK?
    pub(in crate::endpoint) fn server_went_on(&self, segment: &Segment<S::Options>) -> bool {
        self.ecn.facts & AWAITS_SYN_ACK != 0 && segment.ack == self.snd_max
    }

    fn agree_on_ecn(&mut self, feedback: Feedback) {
        self.ecn.feedback = feedback;
        (self.ecn.received, self.ecn.told) = (FIRST_COUNT, FIRST_COUNT);
        match feedback {
            Feedback::None => {}
            // The count is told with each segment.
            Feedback::Accurate => self.pending.set(Pending::ECT | Pending::ECHO),
            _ => self.pending.set(Pending::ECT),
        }
    }

    /// RFC 3168 §6.1.1.1: SYNs sent again do without ECN, if the profile says so; RFC 9768 §3.1.4.1: from the second on.
    fn asks_no_more(&self, profile: &Profile) -> bool {
        profile.ecn_fallback && self.timeouts > u8::from(profile.ecn.is_accurate())
    }

    /// The ECN bits of a SYN or SYN/ACK.
    pub(in crate::endpoint) fn handshake_flags(&self, profile: &Profile) -> Flags {
        if profile.ecn == EcnPolicy::Off {
            return Flags::NONE;
        }
        let (says, sort) = if self.state == State::SynSent {
            let asks = match profile.ecn {
                _ if self.asks_no_more(profile) => 0,
                policy if policy.is_accurate() => ASKS_ACCURATE,
                _ => ASKS_CLASSIC,
            };
            (asks, Control::Syn)
        } else {
            let grants = match self.ecn.feedback {
                Feedback::None => 0,
                Feedback::Classic | Feedback::Dctcp => GRANTS_CLASSIC,
                Feedback::Accurate => self.ecn.handshake,
            };
            (grants, Control::SynAck)
        };
        let again = self.snd_max != Seq::ZERO;
        let agreed = self.state == State::SynSent || self.pending.any(Pending::ECT);
        let capable = says != 0 && agreed && profile.ecn.lets(sort) && (!again || profile.ecn.insists());
        let ect = if capable { self.ect() } else { Flags::NONE };
        Flags::with_ace(says) | ect
    }

    /// A server's SYN/ACK is acknowledged: is it told that this came marked? Table 4 of RFC 9768; data may come first.
    pub(in crate::endpoint) fn hears_of_marked_syn_ack(&mut self, segment: &Segment<S::Options>) -> bool {
        let ace = segment.flags.ace();
        self.ecn.handshake = 0;
        match self.ecn.feedback {
            Feedback::None | Feedback::Dctcp => false,
            Feedback::Classic => segment.flags.contains(Flags::ECE),
            Feedback::Accurate if segment.span() > 0 => {
                self.ecn.told = ace;
                ace != FIRST_COUNT
            }
            Feedback::Accurate => {
                if ace == 0 {
                    self.ecn.facts |= DEAF;
                    self.pending.clear(Pending::ECT);
                }
                let marked = ace == CAME_MARKED;
                self.ecn.told = FIRST_COUNT + u8::from(marked);
                marked
            }
        }
    }

    /// RFC 5562 §3.2: answer the report of a marked SYN/ACK by one that is not ECN-capable, once. A client that sends
    /// data does not wait for it.
    pub(in crate::endpoint) fn tries_syn_ack_once_more(
        &mut self,
        segment: &Segment<S::Options>,
        now: Time,
        profile: &Profile,
    ) -> bool {
        let resends = profile.ecn.after_marked_syn_ack() == Some(AfterMarkedSynAck::Resend)
            && self.recovery.syn_retransmits == 0
            && segment.span() == 0;
        if resends {
            self.reduce_to_one_segment(profile);
            self.pending.set(Pending::SYN);
            self.arm_retransmit_timer(now, profile);
        }
        resends
    }

    /// The connection is open, and its SYN/ACK, sent at `sent`, came marked.
    pub(in crate::endpoint) fn answer_marked_syn_ack(&mut self, sent: Time, now: Time, profile: &Profile) {
        match profile.ecn.after_marked_syn_ack() {
            Some(AfterMarkedSynAck::Halve) => self.answer_mark(profile),
            Some(AfterMarkedSynAck::OneSegment) => self.reduce_to_one_segment(profile),
            Some(AfterMarkedSynAck::OneSegmentAfterOneRtt) => {
                self.reduce_to_one_segment(profile);
                if sent < now {
                    self.ecn.facts |= WAITING;
                    self.retransmit_timer = Timer::at(now + (now - sent));
                }
            }
            // Its second SYN/ACK was not due: the first was sent again before, or the client has gone on.
            Some(AfterMarkedSynAck::Resend) if self.recovery.ecn_reductions == 0 => {
                self.reduce_to_one_segment(profile);
            }
            Some(AfterMarkedSynAck::Resend) | None => {}
        }
    }

    fn reduce_to_one_segment(&mut self, profile: &Profile) {
        self.congestion.on_idle(self.mss(profile));
        self.note_reduction();
        count(&mut self.recovery.ecn_reductions);
    }

    /// Are data held back for a round trip after a marked SYN/ACK?
    #[inline]
    pub(in crate::endpoint) fn holds_back(&self, profile: &Profile) -> bool {
        profile.ecn == EcnPolicy::PlusWait && self.ecn.facts & WAITING != 0
    }

    /// That round trip is over.
    pub(in crate::endpoint) fn end_wait(&mut self) {
        self.ecn.facts &= !WAITING;
        self.retransmit_timer = Timer::OFF;
    }
}
