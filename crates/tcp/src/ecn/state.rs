//! ECN state of an endpoint.

use crate::Seq;

/// The negotiated form of feedback from receiver to sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Feedback {
    #[default]
    None,
    /// RFC 3168 §6.1.3: echo a mark until the sender sends CWR.
    Classic,
    /// RFC 8257 §3.2: echo while marks arrive.
    Dctcp,
    /// RFC 9768: count marks.
    Accurate,
}

/// ECN state of an endpoint, in the colder half of the core. Flags that each segment needs are in [`Status`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    /// Highest byte sent when the window was last reduced.
    pub(crate) recover: Seq,
    /// With accurate feedback: marks that the peer has reported with no data acknowledged since. With DCTCP's:
    /// the sequence numbers of the segment at which marks last began or ended. One field for both saves room.
    pub(super) pending: u16,
    pub(super) feedback: Feedback,
    /// RFC 9768's `r.cep`, modulo 8: packets that arrived marked.
    pub(super) received: u8,
    /// Its `s.cep`, modulo 8: packets that the peer reports as marked.
    pub(super) reported: u8,
    /// Marks received since a segment was last sent.
    pub(super) unsent: u8,
    /// Code of the peer's SYN or SYN/ACK (RFC 9768, tables 2 and 3); 0 once a client has reported it.
    pub(super) handshake: u8,
    pub(super) flags: u8,
}

/// The previous packet was marked.
pub(super) const AFTER_MARK: u8 = 1;
/// The client has reported a mark on the SYN/ACK and waits for another one.
pub(super) const AWAITS_SECOND_SYN_ACK: u8 = 1 << 1;
/// Data are held back for a round trip.
pub(super) const HOLDS_DATA: u8 = 1 << 2;
/// The peer's counts are invalid.
pub(super) const COUNTS_INVALID: u8 = 1 << 3;

impl EcnState {
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Record `marks` more that the peer reports.
    pub(crate) fn note_marks(&mut self, marks: u8) {
        self.pending = self.pending.saturating_add(marks.into());
    }

    /// Take the marks recorded since the last call.
    pub(crate) fn take_marks(&mut self) -> u16 {
        std::mem::take(&mut self.pending)
    }

    /// True if the feedback counts marks.
    pub(crate) fn counts_marks(self) -> bool {
        matches!(self.feedback, Feedback::Dctcp | Feedback::Accurate)
    }

    /// True if both ends use accurate feedback.
    pub(crate) fn is_accurate(self) -> bool {
        self.feedback == Feedback::Accurate
    }
}
