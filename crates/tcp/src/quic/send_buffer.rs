//! Data to send, by offset: new, lost, acknowledged.

use crate::Seq;
use crate::intervals::Intervals;

/// The data that one end writes, of a stream or of TLS.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    /// All below is acknowledged.
    una: Seq,
    /// The next byte never sent.
    pub(super) next: Seq,
    /// One past the last byte written.
    pub(super) end: Seq,
    /// Acknowledged above `una`.
    acked: Intervals,
    /// To send again.
    lost: Intervals,
}

impl SendBuffer {
    pub(super) fn write(&mut self, bytes: u32) {
        self.end += bytes;
    }

    pub(super) fn withdraw(&mut self) -> u32 {
        let bytes = self.unsent();
        self.end = self.next;
        bytes
    }

    pub(super) fn unsent(&self) -> u32 {
        self.end - self.next
    }

    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.una == self.end
    }

    /// Take up to `most` bytes to send: their offset and number, and true if they were sent before. New bytes end at
    /// `limit`.
    pub(super) fn take(&mut self, most: u16, limit: Seq) -> Option<(Seq, u16, bool)> {
        let in_16_bits = |bytes: u32| u16::try_from(bytes).expect("at most a frame");
        if let Some((from, to)) = self.lost.take_front(most.into()) {
            return Some((from, in_16_bits(to - from), true));
        }
        let end = self.end.min(limit);
        if end <= self.next {
            return None;
        }
        let from = self.next;
        self.next = (from + u32::from(most)).min(end);
        Some((from, in_16_bits(self.next - from), false))
    }

    /// `from..to` has arrived. Returns the bytes not known before.
    pub(super) fn acknowledge(&mut self, from: Seq, to: Seq) -> u32 {
        self.lost.remove(from, to);
        let from = from.max(self.una);
        if to <= from {
            return 0;
        }
        let new = to - from - self.acked.covered(from, to);
        self.una = self.acked.receive(self.una, from, to);
        new
    }

    /// Send `from..to` again, except what has arrived.
    pub(super) fn lose(&mut self, from: Seq, to: Seq) {
        let from = from.max(self.una);
        if from < to {
            self.lost.insert(from, to);
            for &(start, end) in self.acked.ranges() {
                self.lost.remove(start, end);
            }
        }
    }
}
