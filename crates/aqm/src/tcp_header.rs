//! The TCP header of a packet, for disciplines that filter acknowledgements.

/// The parts of a TCP header (RFC 9293 section 3.1) that tell whether a later acknowledgement replaces an earlier one.
///
/// ```
/// use aqmlab_aqm::TcpHeader;
///
/// let sack = [(2896, 4344)].into_iter().collect();
/// let acknowledgement = TcpHeader { ack: 1448, flags: TcpHeader::ACK, sack, ..TcpHeader::default() };
/// assert_eq!(acknowledgement.sack.blocks(), [(2896, 4344)]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// The acknowledgement number.
    pub ack: u32,
    /// Its control bits, with the values that they have in the header: [`TcpHeader::ACK`] and others.
    pub flags: u16,
    /// True if data follow.
    pub has_data: bool,
    /// True if it has other options than timestamps and selective acknowledgements, such as a SYN's or Accurate ECN's.
    pub has_other_options: bool,
    /// The value and the echo of the timestamps option (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgements (RFC 2018).
    pub sack: SackBlocks,
}

impl TcpHeader {
    /// No more data.
    pub const FIN: u16 = 1;
    /// Synchronise.
    pub const SYN: u16 = 1 << 1;
    /// Reset.
    pub const RST: u16 = 1 << 2;
    /// Push.
    pub const PSH: u16 = 1 << 3;
    /// The acknowledgement number is valid.
    pub const ACK: u16 = 1 << 4;
    /// ECN echo (RFC 3168).
    pub const ECE: u16 = 1 << 6;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u16 = 1 << 7;
    /// Accurate ECN's third bit (RFC 9768).
    pub const AE: u16 = 1 << 8;
}

/// Selective acknowledgements: at most four ranges, each from its first number to the one after its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    ranges: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// The ranges, in the order of the header.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.ranges[..usize::from(self.count)]
    }
}

impl FromIterator<(u32, u32)> for SackBlocks {
    /// A header has room for four; further ones are left out.
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(blocks: I) -> SackBlocks {
        let mut sack = SackBlocks::default();
        for (place, block) in sack.ranges.iter_mut().zip(blocks) {
            *place = block;
            sack.count += 1;
        }
        sack
    }
}
