//! Packets of real hosts: their description at the sender, their representation in the network, and their
//! outcome.

use aqmlab_aqm::Ecn;
use aqmlab_tcp::{Flags, WindowScale};
use aqmlab_units::{Bytes, Time};

use crate::capture::OnTheWire;
use crate::explain::Tagged;
use crate::link::Numbered;
use crate::packet::{HEADERS, Packet};

/// A packet that leaves its sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The caller's number of it.
    pub number: u32,
    /// Length of the IP packet: at least [`EmulatedNetwork::SHORTEST`](super::EmulatedNetwork::SHORTEST).
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
}

impl Sent {
    /// Its length beyond two headers.
    pub(super) fn data(&self) -> u16 {
        let data = self.size.get().saturating_sub(HEADERS);
        u16::try_from(data).expect("an IP packet's length has 16 bits")
    }
}

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is at its receiver.
    Delivered {
        /// The caller's number of it.
        number: u32,
        /// Time of its arrival.
        at: Time,
        /// The side of its receiver: 0 or 1.
        side: usize,
        /// True if it is marked CE.
        ce: bool,
    },
    /// A queue has dropped it.
    Lost {
        /// The caller's number of it.
        number: u32,
    },
}

/// The number of a packet, in place of its options; the caller has the packet itself.
pub(crate) type PacketTag = Tagged<WindowScale>;

impl Numbered for Packet<PacketTag> {
    fn number(&self) -> u32 {
        self.segment.options.number()
    }

    fn is_marked(&self) -> bool {
        self.segment.flags.contains(Flags::CE)
    }
}

impl OnTheWire for PacketTag {
    fn foreign_name(&self) -> Option<u32> {
        Some(self.number())
    }

    fn write(&self, _out: &mut Vec<u8>) {
        unreachable!("headers of a real host's packet are stored, not written")
    }
}
