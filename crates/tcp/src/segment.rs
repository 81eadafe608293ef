//! Segments that two endpoints exchange.

pub mod options;
mod seq;

use std::ops::{BitAnd, BitOr, BitOrAssign};

pub use options::{HeaderOptions, Options, WindowScale};
pub use seq::Seq;

/// A TCP segment with the ECN bits of its IP packet, and the options `O` of its stack. 16 bytes with the options
/// of 2001: the engine copies a hundred thousand of them per simulated second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment<O = WindowScale> {
    /// Number of the first byte (or of the SYN or FIN).
    pub seq: Seq,
    /// Next byte expected from the other side; meaningful with [`Flags::ACK`].
    pub ack: Seq,
    /// Data bytes.
    pub len: u16,
    /// The receive window: in bytes on a SYN, later shifted right by the negotiated scale.
    pub window: u16,
    /// Control bits and ECN codepoint.
    pub flags: Flags,
    /// Options.
    pub options: O,
}

const _: () = assert!(size_of::<Segment>() == 16);

impl<O> Segment<O> {
    /// Sequence numbers the segment takes up: its data, and one each for SYN and FIN.
    #[inline]
    pub fn span(&self) -> u32 {
        u32::from(self.len)
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }

    /// Return the same segment with other options.
    #[inline]
    pub fn with_options<P>(&self, options: P) -> Segment<P> {
        let &Segment { seq, ack, len, window, flags, options: _ } = self;
        Segment { seq, ack, len, window, flags, options }
    }

    /// True if it is a retransmission by an endpoint that has sent all before `highest`: a SYN, data or a FIN can
    /// be one, a pure acknowledgement cannot.
    #[inline]
    pub fn is_retransmission(&self, highest: Seq) -> bool {
        self.seq < highest && self.span() > 0
    }
}

impl<O: HeaderOptions> Segment<O> {
    /// Return the data bytes that it repeats, if it is a retransmission by an endpoint that has sent all before `highest`.
    #[inline]
    pub fn retransmitted(&self, highest: Seq) -> Option<u32> {
        match self.options.retransmitted() {
            Some(bytes) => (bytes > 0).then_some(bytes),
            None => self.is_retransmission(highest).then(|| u32::from(self.len).min(highest - self.seq)),
        }
    }

    /// Bytes of the TCP header with its options.
    #[inline]
    pub fn header_len(&self) -> u16 {
        20 + self.options.len()
    }
}

/// Control bits of the TCP header and the ECN codepoint of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No flag set.
    pub const NONE: Flags = Flags(0);
    /// Synchronise.
    pub const SYN: Flags = Flags(1);
    /// No more data.
    pub const FIN: Flags = Flags(1 << 1);
    /// Reset.
    pub const RST: Flags = Flags(1 << 2);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(1 << 3);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Flags = Flags(1 << 4);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Flags = Flags(1 << 5);
    /// Accurate ECN's third bit (RFC 9768 §3.1).
    pub const AE: Flags = Flags(1 << 6);
    /// IP: ECN-capable transport, ECT(0).
    pub const ECT: Flags = Flags(1 << 7);
    /// IP: ECN-capable transport that asks for the low-latency service, ECT(1) (RFC 9331 §4.1).
    pub const ECT1: Flags = Flags(1 << 8);
    /// IP: congestion experienced.
    pub const CE: Flags = Flags(1 << 9);
    /// Push: the receiver passes the data on at once (RFC 9293 §3.9.1.2).
    pub const PSH: Flags = Flags(1 << 10);

    /// AE, CWR and ECE as one number, AE first: RFC 9768's ACE field (§3.2.2).
    #[inline]
    pub const fn ace(self) -> u8 {
        ((self.0 >> 4) & 0b111) as u8
    }

    /// Return the flags AE, CWR and ECE of the number `ace`.
    #[inline]
    pub const fn with_ace(ace: u8) -> Flags {
        Flags((ace as u16 & 0b111) << 4)
    }

    /// Return the flags other than `others`.
    #[inline]
    #[must_use]
    pub const fn without(self, others: Flags) -> Flags {
        Flags(self.0 & !others.0)
    }

    /// True if all of `others` are set.
    #[inline]
    pub const fn contains(self, others: Flags) -> bool {
        self.0 & others.0 == others.0
    }

    /// True if any of `others` is set.
    #[inline]
    pub const fn intersects(self, others: Flags) -> bool {
        self.0 & others.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl BitAnd for Flags {
    type Output = Flags;
    #[inline]
    fn bitand(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
}
