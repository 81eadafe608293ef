//! Packets as the engine moves them, and the numbers of the endpoints they go to.

use aqmlab_aqm::{Ecn, TcpHeader};
use aqmlab_tcp::{Flags, HeaderOptions, Options, Segment, WindowScale};
use aqmlab_units::Bytes;

use crate::side::{Direction, Side};

/// Bytes of IPv4 and TCP header without options.
pub(crate) const HEADERS: u64 = 40;

/// The owner of a packet: 0 for the web users, else the number of a source, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner(u8);

impl Owner {
    pub(crate) const USERS: Owner = Owner(0);

    /// Source `number`, from 0.
    pub(crate) fn source(number: u8) -> Owner {
        Owner(number + 1)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn number(self) -> u8 {
        self.0
    }
}

/// The number of an endpoint: bit 0 tells the server from the client, bit 1 is the side of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndpointId(u32);

impl EndpointId {
    /// The client of connection `slot` of `side`.
    pub(crate) fn client(slot: u32, side: Side) -> EndpointId {
        EndpointId(slot << 2 | u32::from(side.number()) << 1)
    }

    /// The receiver of datagrams of flow `flow` of a source, sent from `side`.
    pub(crate) fn datagram(source: u8, flow: u32, side: Side) -> EndpointId {
        debug_assert!(flow < 1 << 20, "a source has fewer flows of datagrams");
        let receiver = u32::from(side.number()) << 1 | 1;
        EndpointId(1 << 31 | u32::from(source) << 22 | flow << 2 | receiver)
    }

    /// Is it no endpoint of a connection but a receiver of datagrams?
    #[inline]
    pub(crate) fn is_datagram(self) -> bool {
        self.0 >> 31 == 1
    }

    /// Returns the owner of the datagrams that it receives, if it is a receiver of datagrams.
    pub(crate) fn datagram_owner(self) -> Option<Owner> {
        self.is_datagram().then(|| Owner((self.0 >> 22 & 0xff) as u8 + 1))
    }

    /// The number of the flow of datagrams among those of its source.
    pub(crate) fn flow(self) -> u32 {
        self.0 >> 2 & 0xf_ffff
    }

    /// The number of the source whose datagrams it receives.
    pub(crate) fn source(self) -> usize {
        (self.0 >> 22 & 0xff) as usize
    }

    /// The other end.
    #[inline]
    pub(crate) fn peer(self) -> EndpointId {
        EndpointId(self.0 ^ 1)
    }

    #[inline]
    pub(crate) fn is_server(self) -> bool {
        self.0 & 1 == 1
    }

    /// The side the connection's user is on.
    #[inline]
    pub(crate) fn side(self) -> Side {
        Side::numbered((self.0 >> 1 & 1) as u8)
    }

    /// The direction in which this endpoint's packets cross the link.
    #[inline]
    pub(crate) fn direction(self) -> Direction {
        Direction::from_side(Side::numbered(((self.0 ^ self.0 >> 1) & 1) as u8))
    }

    /// The place of the connection among those of its side.
    pub(crate) fn slot(self) -> u32 {
        self.0 >> 2
    }

    /// The connection, counted over both sides.
    #[inline]
    pub(crate) fn connection(self) -> usize {
        (self.0 >> 1) as usize
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn from_number(number: u32) -> EndpointId {
        EndpointId(number)
    }
}

/// The control bits of a segment, as disciplines read them.
const CONTROL_BITS: [(Flags, u16); 8] = [
    (Flags::FIN, TcpHeader::FIN),
    (Flags::SYN, TcpHeader::SYN),
    (Flags::RST, TcpHeader::RST),
    (Flags::PSH, TcpHeader::PSH),
    (Flags::ACK, TcpHeader::ACK),
    (Flags::ECE, TcpHeader::ECE),
    (Flags::CWR, TcpHeader::CWR),
    (Flags::AE, TcpHeader::AE),
];

/// A segment with options `O` on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packet<O = WindowScale> {
    pub(crate) to: EndpointId,
    pub(crate) segment: Segment<O>,
}

impl<O> Packet<O> {
    /// Return the same packet with other options.
    #[inline]
    pub(crate) fn with_options<P>(&self, options: P) -> Packet<P> {
        Packet { to: self.to, segment: self.segment.with_options(options) }
    }
}

impl<O: HeaderOptions> Packet<O> {
    /// Length of the IP packet. Options of a QUIC datagram count what its headers exceed those of TCP by.
    #[inline]
    pub(crate) fn size(&self) -> Bytes {
        Bytes::new(HEADERS + u64::from(self.segment.options.len() + self.segment.len))
    }

    /// The ECN field of its IP header.
    #[inline]
    pub(crate) fn ecn(&self) -> Ecn {
        let flags = self.segment.flags;
        if flags.contains(Flags::CE) {
            Ecn::Ce
        } else if flags.contains(Flags::ECT) {
            Ecn::Ect0
        } else if flags.contains(Flags::ECT1) {
            Ecn::Ect1
        } else {
            Ecn::NotEct
        }
    }

    /// The TCP header as a queue discipline reads it, unless the packet is a datagram.
    pub(crate) fn tcp_header(&self) -> Option<TcpHeader> {
        if self.to.is_datagram() || !self.segment.options.is_tcp() {
            return None;
        }
        let Segment { ack, len, flags, ref options, .. } = self.segment;
        let bits = CONTROL_BITS.iter().filter(|(flag, _)| flags.contains(*flag));
        let options = options.modern();
        let blocks = options.into_iter().flat_map(Options::sack);
        Some(TcpHeader {
            ack: ack.get(),
            flags: bits.map(|(_, bit)| bit).sum(),
            has_data: len > 0,
            has_other_options: options
                .is_some_and(|options| options.syn().is_some() || options.accecn().is_some()),
            timestamps: options.and_then(Options::timestamps).map(|stamps| (stamps.value, stamps.echo)),
            sack: blocks.map(|(from, to)| (from.get(), to.get())).collect(),
        })
    }

    /// The packet as a queue discipline sees it that counts `header` bytes of its frame.
    #[inline]
    pub(crate) fn seen_by_law(&self, header: Bytes) -> aqmlab_aqm::Packet {
        aqmlab_aqm::Packet { size: self.size() + header, ecn: self.ecn(), flow: self.to.number() }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_tcp::Seq;
    use aqmlab_tcp::options::{AccEcn, AccEcnOrder, Timestamps};

    use super::*;

    #[test]
    fn a_law_sees_the_codepoint_that_the_segment_carries() {
        let seen = |flags| {
            let segment: Segment = Segment { flags, ..Segment::default() };
            Packet { segment, ..Packet::default() }.ecn()
        };
        assert_eq!(seen(Flags::ACK), Ecn::NotEct);
        assert_eq!(seen(Flags::ACK | Flags::ECT), Ecn::Ect0);
        assert_eq!(seen(Flags::ACK | Flags::ECT1), Ecn::Ect1);
        for capable in [Flags::ECT, Flags::ECT1] {
            assert_eq!(seen(capable | Flags::CE), Ecn::Ce);
        }
    }

    #[test]
    fn a_discipline_reads_every_part_of_the_header() {
        const COUNTS: AccEcn =
            AccEcn { order: AccEcnOrder::Ect0First, ect0: 1, ce: 0, ect1: 0, shortened: false };
        let stamps = Timestamps { value: 7, echo: 9 };
        let options = Options::default()
            .with_timestamps(stamps)
            .with_sack_block(Seq::new(10), Seq::new(20))
            .with_sack_block(Seq::new(30), Seq::new(40));
        let flags = Flags::ACK | Flags::ECE | Flags::CWR | Flags::AE | Flags::ECT;
        let segment = Segment { ack: Seq::new(5), flags, options, ..Segment::default() };
        let packet = Packet { segment, ..Packet::default() };
        let header = packet.tcp_header().unwrap();
        let bits = TcpHeader::ACK | TcpHeader::ECE | TcpHeader::CWR | TcpHeader::AE;
        assert_eq!((header.ack, header.flags, header.has_data), (5, bits, false));
        assert_eq!(header.timestamps, Some((7, 9)));
        assert_eq!(header.sack.blocks(), [(10, 20), (30, 40)]);
        assert!(!header.has_other_options);
        let accurate = Options::default().with_accecn(COUNTS);
        let other = Packet { segment: Segment { len: 1, options: accurate, ..segment }, ..packet };
        let header = other.tcp_header().unwrap();
        assert!(header.has_data && header.has_other_options && header.sack.blocks().is_empty());
        let datagram = EndpointId::datagram(0, 0, Side::default());
        assert_eq!(Packet { to: datagram, ..packet }.tcp_header(), None);
    }

    #[test]
    fn clients_send_along_their_side_and_servers_against_it() {
        for side in Side::BOTH {
            let client = EndpointId::client(7, side);
            assert_eq!(
                (client.direction(), client.peer().direction()),
                (Direction::from_side(side), Direction::from_side(side.other()))
            );
            assert_eq!(client.connection(), client.peer().connection());
            assert_eq!(client.side(), client.peer().side());
            assert!(!client.is_server() && client.peer().is_server());
        }
    }
}
