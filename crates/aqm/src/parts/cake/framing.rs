//! The length of a packet on the link behind a shaper: overhead, minimum, cells.
//!
//! Source: tc-cake(8), "Overhead compensation"; ITU-T I.363.5 for ATM's cells.

use aqmlab_units::Bytes;

use super::options::{Atm, LinkLayer};

/// Bytes of an ATM cell's payload, and of the whole cell.
const CELL: (u64, u64) = (48, 53);

/// Bytes of data after which PTM inserts one.
const PTM_BLOCK: u64 = 64;

/// Bytes of a tag of IEEE 802.1Q.
const VLAN_TAG: i64 = 4;

impl LinkLayer {
    /// The overhead, the minimum and the cells of this layer.
    pub(crate) fn preset(self) -> (i32, u64, Atm) {
        match self {
            LinkLayer::Raw | LinkLayer::Ip => (0, 0, Atm::Noatm),
            LinkLayer::Conservative => (48, 0, Atm::Atm),
            LinkLayer::IpoaVcmux => (8, 0, Atm::Atm),
            LinkLayer::IpoaLlcsnap => (16, 0, Atm::Atm),
            LinkLayer::BridgedVcmux => (24, 0, Atm::Atm),
            LinkLayer::BridgedLlcsnap | LinkLayer::PppoeVcmux => (32, 0, Atm::Atm),
            LinkLayer::PppoaVcmux => (10, 0, Atm::Atm),
            LinkLayer::PppoaLlc => (14, 0, Atm::Atm),
            LinkLayer::PppoeLlcsnap => (40, 0, Atm::Atm),
            LinkLayer::PppoePtm => (30, 0, Atm::Ptm),
            LinkLayer::BridgedPtm => (22, 0, Atm::Ptm),
            LinkLayer::Docsis => (18, 64, Atm::Noatm),
            LinkLayer::Ethernet => (38, 84, Atm::Noatm),
        }
    }
}

/// The compensation of overhead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    /// Bytes that are added to the counted length; negative where the queue counts a header that the link lacks.
    overhead: i64,
    mpu: i64,
    atm: Atm,
}

impl Framing {
    /// `header` is the part of a packet's counted size that is not of its IP packet.
    pub(crate) fn new(
        layer: LinkLayer,
        (overhead, mpu, atm): (i32, Bytes, Atm),
        vlan_tags: u32,
        header: Bytes,
    ) -> Framing {
        let header = i64::try_from(header.get()).expect("a header is short");
        let added = i64::from(overhead) + VLAN_TAG * i64::from(vlan_tags);
        let overhead = if layer == LinkLayer::Raw { added } else { added - header };
        Framing { overhead, mpu: mpu.get().cast_signed(), atm }
    }

    /// The length of a packet whose size the queue counts as `size`.
    #[inline]
    pub(crate) fn length(&self, size: Bytes) -> u64 {
        let length = (size.get().cast_signed() + self.overhead).max(self.mpu).cast_unsigned();
        match self.atm {
            Atm::Noatm => length,
            Atm::Atm => length.div_ceil(CELL.0) * CELL.1,
            Atm::Ptm => length + length.div_ceil(PTM_BLOCK),
        }
    }
}
