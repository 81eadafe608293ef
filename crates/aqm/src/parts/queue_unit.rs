//! Packet mode and byte mode: the two ways to measure a queue.
//!
//! Source: Le, Aikat, Jeffay and Smith (2004), section 2. In byte mode the queue is measured in bytes, and the
//! probability for a packet is scaled by its size over the mean size, which favours small packets (SYN, ACK,
//! FIN). Here a law's numbers keep their unit, packets, in both modes: bytes are divided by the mean packet.

use aqmlab_units::Bytes;

use crate::parameter::choices;
use crate::{Packet, QueueState};

choices! {
    /// The unit in which a law measures its queue.
    pub enum Mode {
        /// Packets, each counting one at any size.
        Packet = "packet",
        /// Bytes over the mean packet; a packet's probability is scaled by its size over the mean packet.
        Byte = "byte",
    }
}

/// Measures queues and packets in packets, according to the mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueUnit {
    mode: Mode,
    /// Bytes that count as one packet.
    mean_packet: f64,
}

impl QueueUnit {
    pub(crate) fn new(mode: Mode, mean_packet: Bytes) -> QueueUnit {
        QueueUnit { mode, mean_packet: mean_packet.as_f64() }
    }

    /// The length of the queue, in packets or in mean packets.
    #[inline]
    pub(crate) fn queue(&self, queue: QueueState) -> f64 {
        match self.mode {
            Mode::Packet => f64::from(queue.packets),
            Mode::Byte => queue.bytes.as_f64() / self.mean_packet,
        }
    }

    /// The count of one packet: 1, or its size over the mean packet.
    #[inline]
    pub(crate) fn packet(&self, pkt: &Packet) -> f64 {
        match self.mode {
            Mode::Packet => 1.0,
            Mode::Byte => pkt.size.as_f64() / self.mean_packet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    #[test]
    #[expect(
        clippy::float_cmp,
        reason = "the claim is exact: a value slightly below one would make a certain outcome random"
    )]
    fn a_packet_of_the_mean_size_counts_exactly_one() {
        for size in (1..=65_535).map(Bytes::new) {
            let measure = QueueUnit::new(Mode::Byte, size);
            assert_eq!(measure.packet(&Packet { size, ecn: Ecn::NotEct, flow: 0 }), 1.0);
            assert_eq!(measure.queue(QueueState { packets: 3, bytes: size }), 1.0);
        }
    }
}
