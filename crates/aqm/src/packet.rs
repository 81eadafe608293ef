//! A packet, as a law knows it.

use aqmlab_units::Bytes;

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// `00`: the sender does not use ECN; a signal is a drop.
    #[default]
    NotEct,
    /// `10`: ECN-capable transport.
    Ect0,
    /// `01`: ECN-capable transport; since RFC 8311 the identifier of L4S senders.
    Ect1,
    /// `11`: congestion experienced.
    Ce,
}

impl Ecn {
    /// True if this packet may be marked instead of dropped.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A packet as a law sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length of the IP packet including headers, plus the part of its frame that the queue counts
    /// ([`LinkContext::header`]).
    ///
    /// [`LinkContext::header`]: crate::LinkContext::header
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The number of its flow, which all packets of one direction of one connection share.
    pub flow: u32,
}
