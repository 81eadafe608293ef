//! Datagrams as sources send them, and the receivers of those without congestion control.

mod paced;
mod receivers;
mod ticks;

use std::fmt::Debug;

use aqmlab_units::{BitRate, Bytes, Time};

pub(crate) use self::paced::{PacedFlows, Pattern};
pub(crate) use self::receivers::Audience;
pub use self::receivers::Receivers;
pub(crate) use self::ticks::{Interval, PacketSize, Peer, TwoWayFlows};

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The time of sending.
    pub at: Time,
    /// The number of its flow in the source, from 0.
    pub flow: u32,
    /// The side of the link that sends it.
    pub side: u8,
    /// Its size, IP header included.
    pub size: Bytes,
    /// A label that tells it from others of its flow and side, where its source needs one; else 0.
    pub tag: u16,
}

impl Datagram {
    /// The bit in the tag of a report, which carries no media.
    pub const REPORT: u16 = 1 << 15;

    /// True for a report, such as RTCP.
    pub fn is_report(&self) -> bool {
        self.tag & Datagram::REPORT != 0
    }
}

/// A source of datagrams: all of its packets in order of time.
#[derive(Debug)]
pub struct DatagramSource(Box<dyn Packets>);

impl DatagramSource {
    pub(crate) fn new(packets: impl Packets + 'static) -> DatagramSource {
        DatagramSource(Box::new(packets))
    }
}

impl Iterator for DatagramSource {
    type Item = Datagram;

    fn next(&mut self) -> Option<Datagram> {
        self.0.next()
    }
}

/// Packets in order of time.
pub(crate) trait Packets: Iterator<Item = Datagram> + Debug + Send + Sync {}

impl<T: Iterator<Item = Datagram> + Debug + Send + Sync> Packets for T {}

/// The flows of a source of datagrams, and bounds of their packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramFlows {
    /// Number of flows.
    pub flows: u32,
    /// True for each side that sends.
    pub sides: [bool; 2],
    /// The smallest packet, IP header included.
    pub smallest: Bytes,
    /// The largest packet, IP header included.
    pub largest: Bytes,
    /// The highest rate at which a flow sends in one direction, in bits of IP packets per second.
    pub rate: BitRate,
}
