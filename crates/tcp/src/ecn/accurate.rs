//! Accurate ECN's feedback (RFC 9768 §3.2.2): each segment carries the number of marked packets received, modulo
//! 8.
//!
//! Left out of the RFC: the tests for mangled fields and options (§3.2.2.3-3.2.2.4, §3.2.3.2; advice), and
//! acknowledgements of marked pure acknowledgements (§3.2.2.5.1, which need a way to tell them from duplicates).
//! The next segment reports such marks.
//!
//! Simplified where no option counts bytes (§3.2.2.5.2, Appendix A.2): the counter is assumed to wrap at most
//! once between two acknowledgements that arrive, which is exact while fewer than 8 marks lie between them.
//! Receivers acknowledge every second mark at once, so that only the loss of four acknowledgements in a row
//! misleads the sender. The RFC's safer guess would take each jump at the end of a loss recovery for a row of
//! marks.

use super::{AFTER_MARK, COUNTS_INVALID};
use crate::core::{Core, Status};
use crate::{Flags, Segment};

/// Marks per acknowledgement (§3.2.2.5.1, while data are unacknowledged).
const MARKS_PER_ACK: u8 = 2;

/// The receiver's side.
impl Core {
    /// Count every marked packet (§3.2). Acknowledge at once marked data that follow an unmarked packet, and
    /// every second mark (§3.2.2.5.1).
    pub(super) fn count_mark<O>(&mut self, segment: &Segment<O>) {
        let marked = segment.flags.contains(Flags::CE);
        let after_mark = self.ecn.has(AFTER_MARK);
        self.ecn.flags = self.ecn.flags & !AFTER_MARK | u8::from(marked);
        if marked {
            self.ecn.received = (self.ecn.received + 1) & 0b111;
            self.ecn.unsent = self.ecn.unsent.saturating_add(1);
            let unacknowledged = segment.len > 0 || self.unacked_segments > 0;
            if (segment.len > 0 && !after_mark) || (unacknowledged && self.ecn.unsent >= MARKS_PER_ACK) {
                self.status.set(Status::ACK_DUE);
            }
        }
    }

    /// Return the ACE field of a segment. A client's first pure acknowledgement reports the SYN/ACK's codepoint
    /// (§3.2.2.1).
    pub(super) fn report_count(&mut self, len: u16, flags: Flags) -> Flags {
        self.ecn.unsent = 0;
        let handshake = std::mem::take(&mut self.ecn.handshake);
        let is_pure = len == 0 && !flags.contains(Flags::FIN);
        let ace = if handshake != 0 && is_pure { handshake } else { self.ecn.received };
        Flags::with_ace(ace)
    }
}

/// The sender's side.
impl Core {
    /// Return the marks reported since the previous segment, modulo 8.
    pub(super) fn take_new_marks<O>(&mut self, segment: &Segment<O>) -> Option<u8> {
        // A reordered acknowledgement has an older count (§3.2.2.2).
        if segment.ack < self.snd_una {
            return None;
        }
        let count = segment.flags.ace();
        let new_marks = count.wrapping_sub(std::mem::replace(&mut self.ecn.reported, count)) & 0b111;
        (!self.ecn.has(COUNTS_INVALID)).then_some(new_marks)
    }
}
