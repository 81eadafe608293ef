//! What an endpoint remembers of ECN.

use crate::Seq;

/// What the ends have agreed on: how a receiver tells the sender of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Feedback {
    #[default]
    None,
    /// RFC 3168 §6.1.3: echo a mark until the sender says CWR.
    Classic,
    /// RFC 8257 §3.2: echo while marks arrive.
    Dctcp,
    /// RFC 9768: count them.
    Accurate,
}

/// What an endpoint remembers of ECN. In the colder half of the core: what each segment needs is in [`Status`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    /// Highest byte sent when the window was last reduced.
    pub(crate) recover: Seq,
    /// With accurate feedback, marks that the peer has told of with no data acknowledged since. With DCTCP's, the sequence
    /// numbers of the segment with which marks last began or ended. In one place, for want of room.
    pub(super) pending: u16,
    pub(super) feedback: Feedback,
    /// RFC 9768's `r.cep`, modulo 8: packets that arrived marked.
    pub(super) received: u8,
    /// Its `s.cep`, modulo 8: packets that the peer says arrived marked.
    pub(super) reported: u8,
    /// Marks that arrived since a segment was last sent.
    pub(super) unsent: u8,
    /// How the peer's SYN or SYN/ACK came, as RFC 9768 encodes it; a client's 0 once it has said so.
    pub(super) handshake: u8,
    pub(super) facts: u8,
}

/// The packet before came marked.
pub(super) const AFTER_MARK: u8 = 1;
/// A client told the server that the SYN/ACK was marked, and waits for another.
pub(super) const AWAITS_SYN_ACK: u8 = 1 << 1;
/// Holds back data for a round trip.
pub(super) const WAITING: u8 = 1 << 2;
/// The peer's counts mean nothing.
pub(super) const COUNTS_ARE_BROKEN: u8 = 1 << 3;

impl EcnState {
    pub(super) fn has(self, fact: u8) -> bool {
        self.facts & fact != 0
    }

    /// The peer tells of `marks` more.
    pub(crate) fn note_marks(&mut self, marks: u8) {
        self.pending = self.pending.saturating_add(marks.into());
    }

    /// The marks noted since last asked.
    pub(crate) fn take_marks(&mut self) -> u16 {
        std::mem::take(&mut self.pending)
    }

    /// Are marked packets counted at both ends?
    pub(crate) fn is_accurate(self) -> bool {
        self.feedback == Feedback::Accurate
    }
}
