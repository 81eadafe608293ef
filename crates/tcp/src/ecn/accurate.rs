//! Accurate ECN's feedback (RFC 9768 §3.2.2): each segment counts the packets that arrived marked, modulo 8.
//!
//! Left out of the RFC: the tests for mangled fields and options (§3.2.2.3-3.2.2.4, §3.2.3.2; advice), and acknowledgements
//! of marked pure acknowledgements (§3.2.2.5.1, which need a way to tell them from duplicates); such marks are told with the
//! next segment. Simplified where no option tells (§3.2.2.5.2, Appendix A.2): the counter is taken to have wrapped at most
//! once between two acknowledgements that arrive, which is exact while fewer than 8 marks lie between them. Receivers
//! acknowledge every second mark at once, so it takes four acknowledgements lost in a row to deceive the sender; the RFC's
//! safer guess would take each jump at the end of a loss recovery for a row of marks.

use super::{AFTER_MARK, COUNTS_ARE_BROKEN};
use crate::core::{Core, Status};
use crate::{Flags, Segment};

/// Marks per acknowledgement (§3.2.2.5.1, while data are unacknowledged).
const MARKS_PER_ACK: u8 = 2;

/// As a receiver.
impl Core {
    /// §3.2 and §3.2.2.5.1: count every marked packet; acknowledge data at once that came marked after a packet that did
    /// not, and every second mark.
    pub(super) fn count_mark<O>(&mut self, segment: &Segment<O>) {
        let marked = segment.flags.contains(Flags::CE);
        let after_mark = self.ecn.has(AFTER_MARK);
        self.ecn.facts = self.ecn.facts & !AFTER_MARK | u8::from(marked);
        if marked {
            self.ecn.received = (self.ecn.received + 1) & 0b111;
            self.ecn.unsent = self.ecn.unsent.saturating_add(1);
            let unacknowledged = segment.len > 0 || self.unacked_segments > 0;
            if (segment.len > 0 && !after_mark) || (unacknowledged && self.ecn.unsent >= MARKS_PER_ACK) {
                self.status.set(Status::ACK_DUE);
            }
        }
    }

    /// The field of a segment that leaves. §3.2.2.1: a client's first pure acknowledgement says how the SYN/ACK came.
    pub(super) fn report_count(&mut self, len: u16, flags: Flags) -> Flags {
        self.ecn.unsent = 0;
        let handshake = std::mem::take(&mut self.ecn.handshake);
        let is_pure = len == 0 && !flags.contains(Flags::FIN);
        let ace = if handshake != 0 && is_pure { handshake } else { self.ecn.received };
        Flags::with_ace(ace)
    }
}

/// As a sender.
impl Core {
    /// How many more marks a segment tells of than the one before, modulo 8. §3.2.2.2: an acknowledgement that another has
    /// overtaken says nothing.
    pub(super) fn more_marks<O>(&mut self, segment: &Segment<O>) -> Option<u8> {
        if segment.ack < self.snd_una {
            return None;
        }
        let count = segment.flags.ace();
        let more = count.wrapping_sub(std::mem::replace(&mut self.ecn.reported, count)) & 0b111;
        (!self.ecn.has(COUNTS_ARE_BROKEN)).then_some(more)
    }
}
