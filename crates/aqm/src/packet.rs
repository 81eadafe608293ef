//! What a law may know of a packet.

use aqmlab_units::Bytes;

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// `00`: the sender does not speak ECN; congestion is signalled by dropping.
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
    /// May this packet be marked instead of dropped?
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A packet as a law sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length of the IP packet, headers included, and what the queue counts of its frame ([`LinkContext::header`]).
    ///
    /// [`LinkContext::header`]: crate::LinkContext::header
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Which flow it belongs to: the same number for each packet of one direction of one connection.
    pub flow: u32,
}
