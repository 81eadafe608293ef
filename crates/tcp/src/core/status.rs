//! Flags of a connection, one bit each, so that they fit beside its numbers.

/// Pending actions and conditions, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Status(u16);

impl Status {
    /// Send an acknowledgement now.
    pub(crate) const ACK_DUE: u16 = 1;
    /// A retransmission may be due: for a classic sender the oldest unacknowledged segment, for a modern one a
    /// segment that its scoreboard or loss probe selects.
    pub(crate) const RETRANSMIT_DUE: u16 = 1 << 1;
    /// A SYN or SYN/ACK is due. On an open connection: the acknowledgement that DCTCP's receiver sends before a
    /// change of marks.
    pub(crate) const SYN_DUE: u16 = 1 << 2;
    /// A reset is due.
    pub(crate) const RST_DUE: u16 = 1 << 3;
    /// The application has closed: a FIN follows the data.
    pub(crate) const CLOSED: u16 = 1 << 4;
    /// Any of these means that there may be a segment to send.
    pub(crate) const TO_SEND: u16 =
        Self::ACK_DUE | Self::RETRANSMIT_DUE | Self::SYN_DUE | Self::RST_DUE | Self::CLOSED;
    pub(crate) const EVENT_OPENED: u16 = 1 << 5;
    pub(crate) const EVENT_RECEIVED: u16 = 1 << 6;
    pub(crate) const EVENT_PEER_CLOSED: u16 = 1 << 7;
    pub(crate) const EVENT_ABORTED: u16 = 1 << 8;
    pub(crate) const EVENTS: u16 =
        Self::EVENT_OPENED | Self::EVENT_RECEIVED | Self::EVENT_PEER_CLOSED | Self::EVENT_ABORTED;
    /// Fast recovery is under way.
    pub(crate) const IN_RECOVERY: u16 = 1 << 9;
    /// Both ends use ECN: new data are ECN-capable.
    pub(crate) const ECT: u16 = 1 << 10;
    /// Segments carry ECN feedback.
    pub(crate) const ECHO: u16 = 1 << 11;
    /// The window was reduced: the next new data carry CWR.
    pub(crate) const CWR: u16 = 1 << 12;
    /// The application waits for `rcv_low_water`.
    pub(crate) const READ_PENDING: u16 = 1 << 13;
    /// A segment is being timed.
    pub(crate) const TIMING: u16 = 1 << 14;
    /// Data arrived ahead of a gap.
    pub(crate) const OUT_OF_ORDER: u16 = 1 << 15;

    #[inline]
    pub(crate) fn any(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    /// The lowest of `bits` that is set, or 0.
    #[inline]
    pub(crate) fn first(self, bits: u16) -> u16 {
        let masked = self.0 & bits;
        masked & masked.wrapping_neg()
    }

    #[inline]
    pub(crate) fn set(&mut self, bits: u16) {
        self.0 |= bits;
    }

    #[inline]
    pub(crate) fn clear(&mut self, bits: u16) {
        self.0 &= !bits;
    }

    #[inline]
    pub(crate) fn put(&mut self, bits: u16, on: bool) {
        if on { self.set(bits) } else { self.clear(bits) }
    }

    #[inline]
    pub(crate) fn flip(&mut self, bits: u16) {
        self.0 ^= bits;
    }

    /// Clear `bits`. Returns true if any was set.
    #[inline]
    pub(crate) fn take(&mut self, bits: u16) -> bool {
        let was_set = self.any(bits);
        self.clear(bits);
        was_set
    }
}
