//! The label of a flow: what its headers say beyond its number.

/// The parts of a flow's headers by which some disciplines classify its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLabel {
    /// The differentiated services code point (RFC 2474), from 0 to 63.
    pub dscp: u8,
    /// The host that sends its packets.
    pub source: HostAddress,
    /// The host that receives them.
    pub destination: HostAddress,
}

/// The address of a host, before and behind a translation of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// The address on the link.
    pub outer: u32,
    /// The host's own address; behind a NAT, hosts with one outer address have inner ones of their own.
    pub inner: u32,
}

impl HostAddress {
    /// The address of a host that is not behind a NAT.
    pub fn public(address: u32) -> HostAddress {
        HostAddress { outer: address, inner: address }
    }
}
