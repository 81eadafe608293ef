//! Datagrams, their packets and frames, and the sizes that they have on the wire.
//!
//! A datagram has at most one packet of each packet number space, and its frames are in one list. It is copied on its
//! path, so that lists have a fixed length: at most 6 frames other than an acknowledgement, and 16 ranges in that (quic-go and
//! ngtcp2 send up to 32).

use crate::Seq;
use crate::options::HeaderOptions;

/// Packet number spaces (RFC 9000 §12.3), in the order of their packets in a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Space {
    #[default]
    Initial,
    Handshake,
    Data,
}

impl Space {
    pub(super) const ALL: [Space; 3] = [Space::Initial, Space::Handshake, Space::Data];

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// Bytes of the UDP header.
const UDP_HEADER: u16 = 8;
/// Bytes of the TCP header without options, which a packet's size includes.
const TCP_HEADER: u16 = 20;
/// Bytes of a connection ID: 8, as Chrome's, quinn's and aioquic's servers choose.
const CONNECTION_ID: u16 = 8;
/// Bytes of the packet number. RFC 9000 §17.1 allows 1 to 4; two cover 16,384 packets in flight.
const PACKET_NUMBER: u16 = 2;
/// Bytes of the tag of AEAD (RFC 9001 §5.3).
const AEAD_TAG: u16 = 16;
/// Bytes of a long header (RFC 9000 §17.2) with its length field: flags, version, two connection IDs with lengths.
const LONG_HEADER: u16 = 1 + 4 + 2 * (1 + CONNECTION_ID) + 2;
/// Bytes of a short header (RFC 9000 §17.3.1).
const SHORT_HEADER: u16 = 1 + CONNECTION_ID;

/// Bytes that datagrams with Initial packets have at least (RFC 9000 §14.1), and handshake datagrams at most.
pub(crate) const HANDSHAKE_DATAGRAM: u16 = 1_200;

/// Bytes of a packet around its frames. `is_long` if it precedes the 1-RTT keys of its sender.
pub(super) fn packet_overhead(space: Space, is_long: bool) -> u16 {
    let header = match space {
        // The length of an empty token.
        Space::Initial => LONG_HEADER + 1,
        Space::Handshake => LONG_HEADER,
        Space::Data if is_long => LONG_HEADER,
        Space::Data => SHORT_HEADER,
    };
    header + PACKET_NUMBER + AEAD_TAG
}

/// Bytes of an integer (RFC 9000 §16).
pub(super) fn varint(value: u32) -> u16 {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

/// Frames (RFC 9000 §19) other than the acknowledgement of 1-RTT packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Frame {
    #[default]
    Ping,
    /// TLS data; `is_last` if they end the sender's flight in this space.
    Crypto {
        offset: u16,
        len: u16,
        is_last: bool,
    },
    /// Acknowledgement in a handshake space: the largest number, and the 32 up to it as bits, the lowest bit for the largest.
    HandshakeAck {
        largest: u32,
        bits: u32,
    },
    /// Data of a stream.
    Stream {
        id: u32,
        offset: Seq,
        len: u16,
        fin: bool,
    },
    MaxData(Seq),
    MaxStreamData {
        id: u32,
        limit: Seq,
    },
    HandshakeDone,
}

impl Frame {
    /// Bytes without data of CRYPTO and STREAM frames.
    pub(super) fn overhead(&self) -> u16 {
        match *self {
            Frame::Ping | Frame::HandshakeDone => 1,
            Frame::Crypto { offset, .. } => 1 + varint(offset.into()) + 2,
            Frame::HandshakeAck { largest, bits } => 1 + varint(largest) + 3 + 2 * gaps(bits),
            Frame::Stream { id, offset, .. } => {
                let offset = if offset == Seq::ZERO { 0 } else { varint(offset.get()) };
                1 + varint(id) + offset + 2
            }
            Frame::MaxData(limit) => 1 + varint(limit.get()),
            Frame::MaxStreamData { id, limit } => 1 + varint(id) + varint(limit.get()),
        }
    }

    pub(super) fn size(&self) -> u16 {
        self.overhead()
            + match *self {
                Frame::Crypto { len, .. } | Frame::Stream { len, .. } => len,
                _ => 0,
            }
    }

    /// True if the peer acknowledges it (RFC 9000 §13.2).
    pub(super) fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Frame::HandshakeAck { .. })
    }
}

/// Number of gaps between the set bits.
fn gaps(bits: u32) -> u16 {
    let starts = (bits & !(bits << 1)).count_ones();
    u16::try_from(starts.saturating_sub(1)).unwrap_or(0)
}

/// Most ranges of an acknowledgement after the first.
pub(super) const MOST_RANGES: usize = 15;

/// Acknowledgement of 1-RTT packets (RFC 9000 §19.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AckFrame {
    pub(super) largest: u32,
    /// Microseconds that the acknowledgement of the largest was delayed.
    pub(super) delay: u32,
    /// Packets up to the largest that were received without a gap, the largest excluded.
    first: u32,
    /// Below it: packets missing, and packets received, by range.
    ranges: [(u16, u16); MOST_RANGES],
    count: u8,
    /// Packets received with ECT(0), ECT(1) and CE.
    pub(super) ecn: Option<[u32; 3]>,
}

impl AckFrame {
    /// Return the acknowledgement of `received`, ranges from the lowest.
    pub(super) fn new(received: &[(Seq, Seq)], delay: u32, ecn: Option<[u32; 3]>) -> Option<AckFrame> {
        let &(start, end) = received.last()?;
        let largest = end.get() - 1;
        let mut frame = AckFrame {
            largest,
            delay,
            first: largest - start.get(),
            ranges: [(0, 0); MOST_RANGES],
            count: 0,
            ecn,
        };
        let lower = received.windows(2).rev().take(MOST_RANGES);
        for (slot, pair) in frame.ranges.iter_mut().zip(lower) {
            let (gap, len) = (pair[1].0 - pair[0].1, pair[0].1 - pair[0].0);
            // A longer gap or run cannot be written: the acknowledgement ends before it.
            let Ok(gap) = u16::try_from(gap) else { break };
            *slot = (gap, u16::try_from(len).unwrap_or(u16::MAX));
            frame.count += 1;
            if len > u16::MAX.into() {
                break;
            }
        }
        Some(frame)
    }

    /// The acknowledged ranges, from the highest.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        let first = (self.largest - self.first, self.largest + 1);
        let lower = self.ranges.iter().take(usize::from(self.count));
        std::iter::once(first).chain(lower.scan(first.0, |start, &(gap, len)| {
            let end = *start - u32::from(gap);
            *start = end - u32::from(len);
            Some((*start, end))
        }))
    }

    pub(super) fn size(&self) -> u16 {
        let ranges = self.ranges.iter().take(usize::from(self.count));
        let ranges: u16 = ranges.map(|&(gap, len)| varint(gap.into()) + varint(len.into())).sum();
        let ecn: u16 = self.ecn.map_or(0, |counts| counts.into_iter().map(varint).sum());
        // The delay in units of 8 µs (RFC 9000 §18.2, ack_delay_exponent).
        1 + varint(self.largest) + varint(self.delay / 8) + 1 + varint(self.first) + ranges + ecn
    }
}

/// Transport parameters (RFC 9000 §18.2) and the handshake that a client asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) max_data: u32,
    pub(super) max_stream_data: u32,
    /// Microseconds.
    pub(super) max_ack_delay: u32,
    pub(super) is_resumed: bool,
}

/// Most frames of a datagram other than the acknowledgement of 1-RTT packets.
pub(super) const MOST_FRAMES: usize = 6;

/// A number that no packet has.
const NO_PACKET: u32 = u32::MAX;

/// A UDP datagram of a QUIC connection: what the receiver reads of it, and its sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagram {
    /// The packet number in each space.
    numbers: [u32; 3],
    frames: [(Space, Frame); MOST_FRAMES],
    count: u8,
    pub(super) ack: Option<AckFrame>,
    /// In a datagram of the handshake: what the TLS messages say.
    pub(super) parameters: Parameters,
    /// Its 1-RTT packet is a 0-RTT packet.
    pub(super) is_zero_rtt: bool,
    /// Bytes of the UDP payload.
    pub(super) payload: u16,
    /// Bytes of stream data.
    pub(super) data: u16,
    /// Those of them that were sent before.
    pub(super) repeated: u16,
}

impl Default for Datagram {
    fn default() -> Datagram {
        Datagram {
            numbers: [NO_PACKET; 3],
            frames: [(Space::Initial, Frame::Ping); MOST_FRAMES],
            count: 0,
            ack: None,
            parameters: Parameters::default(),
            is_zero_rtt: false,
            payload: 0,
            data: 0,
            repeated: 0,
        }
    }
}

impl Datagram {
    /// The number of its packet in `space`.
    pub(super) fn number(&self, space: Space) -> Option<u32> {
        Some(self.numbers[space.index()]).filter(|&number| number != NO_PACKET)
    }

    pub(super) fn set_number(&mut self, space: Space, number: u32) {
        self.numbers[space.index()] = number;
    }

    /// The frames of its packet in `space`, without the acknowledgement of 1-RTT packets.
    pub(super) fn frames(&self, space: Space) -> impl Iterator<Item = Frame> {
        let frames = self.frames.iter().take(usize::from(self.count));
        frames.filter(move |&&(of, _)| of == space).map(|&(_, frame)| frame)
    }

    pub(super) fn has_room(&self) -> bool {
        usize::from(self.count) < MOST_FRAMES
    }

    pub(super) fn push(&mut self, space: Space, frame: Frame) {
        self.frames[usize::from(self.count)] = (space, frame);
        self.count += 1;
        if let Frame::Stream { len, .. } = frame {
            self.data += len;
        }
    }

    /// Bytes of stream data.
    pub fn data(&self) -> u16 {
        self.data
    }

    /// Bytes of the UDP payload.
    pub fn payload(&self) -> u16 {
        self.payload
    }
}

impl HeaderOptions for Datagram {
    /// Bytes of all headers and frames that exceed a TCP header of 20 bytes.
    fn len(&self) -> u16 {
        UDP_HEADER + self.payload - self.data - TCP_HEADER
    }

    fn is_tcp(&self) -> bool {
        false
    }

    fn is_quic_handshake(&self) -> bool {
        self.data == 0 && [Space::Initial, Space::Handshake].iter().any(|&space| self.number(space).is_some())
    }

    fn quic_packet_number(&self) -> Option<u32> {
        Space::ALL.iter().find_map(|&space| self.number(space))
    }

    fn retransmitted(&self) -> Option<u32> {
        Some(self.repeated.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::intervals::Intervals;

    #[test]
    fn sizes_are_those_of_the_standard() {
        // RFC 9000 §16: the lengths at the ends of each range.
        assert_eq!([0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30].map(varint), [1, 1, 2, 2, 4, 4, 8]);
        // RFC 9001 A.2: an unprotected Initial header of 22 bytes with a connection ID and a number of four bytes.
        assert_eq!(
            packet_overhead(Space::Initial, true) - AEAD_TAG,
            22 + CONNECTION_ID - 4 + PACKET_NUMBER - 2 + 2
        );
        let data = Frame::Stream { id: 4, offset: Seq::new(70), len: 1000, fin: false };
        assert_eq!(data.size(), 1 + 1 + 2 + 2 + 1000);
        assert_eq!(gaps(0b1011_0111), 2);
    }

    proptest! {
        /// An acknowledgement covers nothing that was not received, and all in the newest ranges.
        #[test]
        fn acknowledged_ranges_are_those_received(numbers in prop::collection::btree_set(0u32..200, 1..80)) {
            let mut received = Intervals::default();
            for &number in &numbers {
                received.insert(Seq::new(number), Seq::new(number + 1));
            }
            let frame = AckFrame::new(received.ranges(), 0, None).expect("packets were received");
            let acked: Vec<u32> = frame.ranges().flat_map(|(from, to)| from..to).collect();
            prop_assert!(acked.iter().all(|number| numbers.contains(number)));
            let newest = received.ranges().iter().rev().take(1 + MOST_RANGES);
            let expected: u32 = newest.map(|&(from, to)| to - from).sum();
            prop_assert_eq!(acked.len(), expected as usize);
        }
    }
}
