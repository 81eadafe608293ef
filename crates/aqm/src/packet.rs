//! The properties of a packet that a law may use.

use aqmlab_units::Bytes;

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// `00`: the sender does not use ECN; a drop signals congestion.
    #[default]
    NotEct,
    /// `10`: ECN-capable transport.
    Ect0,
    /// `01`: ECN-capable transport; since RFC 8311 the mark of L4S senders.
    Ect1,
    /// `11`: congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns whether this packet may be marked instead of dropped.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A packet as a law sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length of the IP packet, headers included, plus the frame header that the queue counts
    /// ([`LinkContext::header`]).
    ///
    /// [`LinkContext::header`]: crate::LinkContext::header
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The flow's number: the same for each packet of one direction of one connection.
    pub flow: u32,
}
