//! Explicit congestion notification at an endpoint: feedback and the answer to it; `handshake`: how it begins.
//!
//! RFC 3168; ECN-capable SYN/ACKs after Kuzmanovic 2005 and RFC 5562; DCTCP's echo (RFC 8257); Accurate ECN (RFC 9768).
//! Which packets are ECN-capable is the [`EcnPolicy`](crate::EcnPolicy)'s to say.
//!
//! RFC 9768's TCP option (§3.2.3) is a modern endpoint's; its byte counters are in `accecn`. Left out of the RFC: the tests
//! for mangled fields and options (§3.2.2.3-3.2.2.4, §3.2.3.2; advice), and acknowledgements of marked pure acknowledgements
//! (§3.2.2.5.1, which need a way to tell them from duplicates); such marks are told with the next segment. Simplified where
//! no option tells (§3.2.2.5.2, Appendix A.2): the counter is taken to have wrapped at most once between two
//! acknowledgements that arrive, which is exact while fewer than 8 marks lie between them.
//! Receivers acknowledge every second mark at once, so it takes four acknowledgements lost in a row to deceive
//! the sender; the RFC's safer guess would take each jump at the end of a loss recovery for a row of marks.

mod handshake;

use super::{Endpoint, Extension, Pending, count};
use crate::congestion::{Ack, CongestionControl, Marks};
use crate::ecn::Control;
use crate::{Flags, Profile, Segment, Seq, Stack};

/// What the ends have agreed on: how a receiver tells the sender of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Feedback {
    #[default]
    None,
    /// RFC 3168 §6.1.3: echo a mark until the sender says CWR.
    Classic,
    /// RFC 8257 §3.2: echo while marks arrive.
    Dctcp,
    /// RFC 9768: count them.
    Accurate,
}

/// What an endpoint remembers of ECN. In its colder half: what each segment needs is in [`Pending`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ecn {
    /// Highest byte sent when the window was last reduced.
    pub(super) recover: Seq,
    /// Marks that the peer has told of with no data acknowledged since.
    unreported: u16,
    feedback: Feedback,
    /// RFC 9768's `r.cep`, modulo 8: packets that arrived marked.
    received: u8,
    /// Its `s.cep`, modulo 8: packets that the peer says arrived marked.
    told: u8,
    /// Marks that arrived since a segment was last sent.
    unsent: u8,
    /// How the peer's SYN or SYN/ACK came, as RFC 9768 encodes it; a client's 0 once it has said so.
    handshake: u8,
    facts: u8,
}

/// The packet before came marked.
const AFTER_MARK: u8 = 1;
/// A client told the server that the SYN/ACK was marked, and waits for another.
const AWAITS_SYN_ACK: u8 = 1 << 1;
/// Holds back data for a round trip.
const WAITING: u8 = 1 << 2;
/// The peer's feedback means nothing.
const DEAF: u8 = 1 << 3;

/// Marks per acknowledgement (RFC 9768 §3.2.2.5.1, while data are unacknowledged).
const MARKS_PER_ACK: u8 = 2;

impl<S: Stack> Endpoint<S> {
    /// May this segment concern ECN? Counts change, and echoes end, with segments that show no flag.
    #[inline(always)]
    pub(super) fn concerns_ecn(flags: Flags, profile: &Profile) -> bool {
        flags.intersects(Flags::ECE | Flags::CWR | Flags::CE) || profile.ecn.counts_marks()
    }

    /// What arrived marked, and what the peer says arrived marked. An acknowledgement that may deliver something is
    /// answered with its delivery.
    #[inline(never)]
    pub(super) fn handle_ecn(&mut self, segment: &Segment<S::Options>, profile: &Profile) {
        let flags = segment.flags;
        match self.ecn.feedback {
            Feedback::None => {}
            Feedback::Classic => {
                self.stop_echo_at_cwr(segment, profile);
                if flags.contains(Flags::CE) && !self.pending.any(Pending::ECHO) {
                    self.pending.set(Pending::ECHO);
                    self.extension.acknowledge_at_once(profile.quick_acks_after_mark);
                }
            }
            Feedback::Dctcp => {
                self.stop_echo_at_cwr(segment, profile);
                // RFC 8257 §3.2: a change is told at once; what was held back is told with it.
                if segment.span() > 0 && flags.contains(Flags::CE) != self.pending.any(Pending::ECHO) {
                    self.pending.flip(Pending::ECHO);
                    self.pending.set(Pending::ACK);
                }
            }
            Feedback::Accurate => {
                self.count_mark(segment);
                // RFC 9768 §3.2.2.2: an acknowledgement that another has overtaken says nothing.
                if self.snd_una <= segment.ack {
                    let marks = flags.ace().wrapping_sub(self.ecn.told) & 0b111;
                    self.ecn.told = flags.ace();
                    if self.ecn.facts & DEAF == 0 {
                        // Eight more look like none.
                        let told = S::Extension::note_marks(self, segment, marks, profile);
                        let marks = u16::from(marks.max(u8::from(told)));
                        self.ecn.unreported = self.ecn.unreported.saturating_add(marks);
                    }
                }
            }
        }
        let delivers = self.snd_una < segment.ack || self.extension.delivers_selectively();
        if !delivers {
            self.answer_marks(segment, profile);
        }
    }

    /// RFC 3168 §6.1.3, and RFC 8257 §3.2: CWR is heard before CE. It comes of a sender that may have room for one segment
    /// alone, which some receivers heed.
    fn stop_echo_at_cwr(&mut self, segment: &Segment<S::Options>, profile: &Profile) {
        if segment.flags.contains(Flags::CWR) {
            self.pending.clear(Pending::ECHO);
            if segment.len > 0 && profile.quick_acks_after_mark > 0 {
                self.pending.set(Pending::ACK);
            }
        }
    }

    /// RFC 9768 §3.2 and §3.2.2.5.1: count every marked packet; acknowledge data at once that came marked after a packet
    /// that did not, and every second mark.
    fn count_mark(&mut self, segment: &Segment<S::Options>) {
        let marked = segment.flags.contains(Flags::CE);
        let after_mark = self.ecn.facts & AFTER_MARK != 0;
        self.ecn.facts = self.ecn.facts & !AFTER_MARK | u8::from(marked);
        if marked {
            self.ecn.received = (self.ecn.received + 1) & 0b111;
            self.ecn.unsent = self.ecn.unsent.saturating_add(1);
            let unacknowledged = segment.len > 0 || self.unacked_segments > 0;
            if (segment.len > 0 && !after_mark) || (unacknowledged && self.ecn.unsent >= MARKS_PER_ACK) {
                self.pending.set(Pending::ACK);
            }
        }
    }

    /// Does a segment with these flags that [may](Self::concerns_ecn), [handled](Self::handle_ecn), tell of marks?
    #[inline(never)]
    pub(super) fn tells_of_marks(&self, flags: Flags) -> bool {
        match self.ecn.feedback {
            Feedback::None => false,
            Feedback::Classic | Feedback::Dctcp => flags.contains(Flags::ECE),
            Feedback::Accurate => self.ecn.unreported > 0,
        }
    }

    /// Are marked packets counted at both ends?
    pub(super) fn has_accurate_ecn(&self) -> bool {
        self.ecn.feedback == Feedback::Accurate
    }

    /// Does the congestion control answer marks itself, from their count? Then nobody else does.
    #[inline]
    pub(super) fn control_counts(&self) -> bool {
        self.congestion.marks() != Marks::Echoed
            && matches!(self.ecn.feedback, Feedback::Dctcp | Feedback::Accurate)
    }

    /// Of `bytes` newly acknowledged, by a segment that tells of marks, those that came marked. Where no option says how
    /// long a marked packet was it counts as a full segment; classic feedback does not count.
    #[inline(never)]
    pub(super) fn take_marked(&mut self, bytes: u32, profile: &Profile) -> u32 {
        match self.ecn.feedback {
            Feedback::None | Feedback::Classic => 0,
            // RFC 8257 §3.3.
            Feedback::Dctcp => bytes,
            Feedback::Accurate => {
                let marks = std::mem::take(&mut self.ecn.unreported);
                S::Extension::take_marked_bytes(self, marks, bytes, profile)
            }
        }
    }

    /// RFC 3168 §6.1.2: an echo is answered by the reduction, not by growth too. Counts say what came unmarked.
    #[inline]
    pub(super) fn grows_despite_marks(&self, ack: &Ack) -> bool {
        self.control_counts() || (0 < ack.marked && ack.marked < ack.bytes)
    }

    /// The marks that an acknowledgement tells of which delivers nothing.
    pub(super) fn answer_marks(&mut self, segment: &Segment<S::Options>, profile: &Profile) {
        if Self::concerns_ecn(segment.flags, profile) && self.tells_of_marks(segment.flags) {
            self.answer_echo(segment.ack, profile);
        }
    }

    /// The acknowledgement `ack` tells of marks: RFC 3168 §6.1.2, one reduction for each window of data.
    #[inline(never)]
    pub(super) fn answer_echo(&mut self, ack: Seq, profile: &Profile) {
        if self.ecn.recover < ack && !self.pending.any(Pending::IN_RECOVERY) {
            self.answer_mark(profile);
        }
    }

    fn answer_mark(&mut self, profile: &Profile) {
        if !self.control_counts() {
            self.congestion.on_ecn_echo(self.send_window(), self.mss(profile));
        }
        self.note_reduction();
        count(&mut self.recovery.ecn_reductions);
    }

    /// RFC 3168 §6.1.2: the window was reduced, whatever for. Echoes of what is now in flight ask for no more, and
    /// the next new data say CWR, but not with accurate feedback (RFC 9768 §3.1.5).
    pub(super) fn note_reduction(&mut self) {
        if self.ecn.feedback != Feedback::None {
            self.ecn.recover = self.snd_max;
            if self.ecn.feedback != Feedback::Accurate {
                self.pending.set(Pending::CWR);
            }
        }
    }

    /// What a segment tells the peer of marks, while [`Pending::ECHO`].
    #[inline(never)]
    pub(super) fn echo(&mut self, len: u16, extra: Flags) -> Flags {
        if self.ecn.feedback != Feedback::Accurate {
            return Flags::ECE;
        }
        self.ecn.unsent = 0;
        // RFC 9768 §3.2.2.1: a client's first pure acknowledgement says how the SYN/ACK came.
        let handshake = std::mem::take(&mut self.ecn.handshake);
        let is_pure = len == 0 && !extra.contains(Flags::FIN);
        let ace = if handshake != 0 && is_pure { handshake } else { self.ecn.received };
        Flags::with_ace(ace)
    }

    /// ECT for a packet of this sort, if it is to have it.
    #[inline]
    pub(super) fn ect_on(&self, sort: Control, profile: &Profile) -> Flags {
        if !(self.pending.any(Pending::ECT) && profile.ecn.lets(sort)) {
            return Flags::NONE;
        }
        // ECN++, table 1: marks on them are told of by counts alone.
        let untold = sort == Control::PureAck && self.ecn.feedback != Feedback::Accurate;
        if untold { Flags::NONE } else { self.ect() }
    }

    /// New data are ECN-capable (RFC 3168 §6.1.2), and the first after a reduction say so.
    #[inline(always)]
    pub(super) fn ecn_of_new_data(&mut self) -> Flags {
        if !self.pending.any(Pending::ECT) {
            return Flags::NONE;
        }
        self.ect() | if self.pending.take(Pending::CWR) { Flags::CWR } else { Flags::NONE }
    }

    /// The codepoint that says ECN-capable. ECT(1) asks for L4S: for a scalable control (RFC 9331 §4.1) that has feedback
    /// to go by (§4.2).
    #[inline]
    pub(super) fn ect(&self) -> Flags {
        let l4s = self.congestion.marks() == Marks::L4s && self.control_counts();
        if l4s { Flags::ECT1 } else { Flags::ECT }
    }
}
