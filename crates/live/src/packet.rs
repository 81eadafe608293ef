//! The fields of an IP packet that the router reads and writes. It writes CE marks and bounded windows.

pub(crate) mod addresses;
pub(crate) mod datagram;
pub(crate) mod probe;

use aqmlab_aqm::Ecn;
use aqmlab_sim::{EmulatedNetwork, End};
use aqmlab_units::{Bytes, Time};
use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice, ip_number};

use self::addresses::{BrowserEnd, SOURCE_PORT};
use self::datagram::Stamp;

/// The flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketFlow {
    /// A connection of a browser or a source.
    Browser(BrowserEnd),
    /// Datagrams of a source.
    Datagram(Stamp),
    /// The traffic of programs.
    Program(ProgramFlow),
}

/// The traffic between the two programs by one protocol, and between two ports if it has ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProgramFlow {
    protocol: u8,
    /// The ports on side 0 and on side 1.
    ports: [u16; 2],
}

/// The headers of a packet between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) flow: PacketFlow,
    /// The sending end.
    pub(crate) from: End,
    pub(crate) size: Bytes,
    pub(crate) ecn: Ecn,
    /// The offset of the TCP header, if there is one.
    tcp: Option<usize>,
}

/// Reads the headers of a packet. Returns `None` for incomplete packets, and for packets outside all flows of the run.
pub(crate) fn read(packet: &[u8]) -> Option<Headers> {
    let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let header = ip.slice().len();
    let size = usize::from(ip.total_len());
    if size != packet.len() {
        return None;
    }
    let of_tcp = ip.protocol() == ip_number::TCP && !ip.is_fragmenting_payload();
    let tcp = if of_tcp { Some(TcpHeaderSlice::from_slice(&packet[header..]).ok()?) } else { None };
    let (flow, from) = if let Some(ends) = program_flow(&ip, &packet[header..]) {
        ends
    } else if let Some(stamp) = source_stamp(&ip, &packet[header..]) {
        (PacketFlow::Datagram(stamp), End::Client)
    } else {
        let tcp = tcp.as_ref()?;
        let source = BrowserEnd::from_address(ip.source_addr(), tcp.source_port());
        let destination = BrowserEnd::from_address(ip.destination_addr(), tcp.destination_port());
        match (source, destination) {
            (Some(browser), None) => (PacketFlow::Browser(browser), End::Client),
            (None, Some(browser)) => (PacketFlow::Browser(browser), End::Server),
            _ => return None,
        }
    };
    let ecn = ecn(packet);
    let size = Bytes::new(size as u64);
    // The simulator has no shorter packets than those with an IP and a TCP header.
    let size = size.max(EmulatedNetwork::SHORTEST);
    Some(Headers { flow, from, size, ecn, tcp: tcp.map(|_| header) })
}

/// Returns the sending time of a packet that is a probe.
pub(crate) fn probed_at(packet: &[u8]) -> Option<Time> {
    let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let is_a_probe = [0, 1].map(addresses::probe).map(|end| *end.ip()).contains(&ip.destination_addr());
    let data = packet.get(ip.slice().len() + UDP..)?;
    if is_a_probe { probe::sent_at(data) } else { None }
}

/// Returns the flow and the sending end of a packet between programs. Fragments have no ports and form a flow of their own.
fn program_flow(ip: &Ipv4HeaderSlice<'_>, payload: &[u8]) -> Option<(PacketFlow, End)> {
    let [client, server] = [0, 1].map(addresses::program);
    let from = match (ip.source_addr(), ip.destination_addr()) {
        (source, destination) if (source, destination) == (client, server) => End::Client,
        (source, destination) if (source, destination) == (server, client) => End::Server,
        _ => return None,
    };
    let has_ports = matches!(ip.protocol(), ip_number::TCP | ip_number::UDP);
    let mut ports = [0; 2];
    if has_ports && !ip.is_fragmenting_payload() && payload.len() >= 4 {
        ports = [word(payload, 0), word(payload, 2)];
        if from == End::Server {
            ports.reverse();
        }
    }
    Some((PacketFlow::Program(ProgramFlow { protocol: ip.protocol().0, ports }), from))
}

/// The length of a UDP header, in bytes.
const UDP: usize = 8;

/// Returns the stamp in a datagram, if the datagram is from a source.
fn source_stamp(ip: &Ipv4HeaderSlice<'_>, payload: &[u8]) -> Option<Stamp> {
    let whole = ip.protocol() == ip_number::UDP && !ip.is_fragmenting_payload() && payload.len() >= UDP;
    let is_a_sources = whole
        && word(payload, 2) == SOURCE_PORT
        && BrowserEnd::from_address(ip.source_addr(), word(payload, 0)).is_some();
    if is_a_sources { Stamp::parse(&payload[UDP..]) } else { None }
}

/// Returns the ECN field of a packet.
pub(crate) fn ecn(packet: &[u8]) -> Ecn {
    match packet[1] & 0b11 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Sets CE in a packet whose headers have been read.
pub(crate) fn set_ce(packet: &mut [u8]) {
    let first = word(packet, 0);
    replace(packet, 0, first | 0b11, CHECKSUM);
}

/// Bounds the advertised window of a segment by `most` bytes, for windows without scaling. `headers` has the packet's headers.
pub(crate) fn bound_window(packet: &mut [u8], headers: &Headers, most: u16) {
    if let Some(tcp) = headers.tcp
        && word(packet, tcp + WINDOW) > most
    {
        replace(packet, tcp + WINDOW, most, tcp + TCP_CHECKSUM);
    }
}

fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// Writes a word, and updates the checksum that covers it (RFC 1624, equation 3).
fn replace(packet: &mut [u8], at: usize, value: u16, checksum: usize) {
    // HC' = ~(~HC + ~m + m')
    let sum = u32::from(!word(packet, checksum)) + u32::from(!word(packet, at)) + u32::from(value);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    let sum = !u16::try_from(folded).expect("folded to 16 bits");
    packet[at..at + 2].copy_from_slice(&value.to_be_bytes());
    packet[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The offsets of the checksum in the IPv4 header (RFC 791 section 3.1), and of window and checksum in TCP's (RFC 9293 section 3.1).
const CHECKSUM: usize = 10;
const WINDOW: usize = 14;
const TCP_CHECKSUM: usize = 16;

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4Header, TcpHeader};
    use proptest::prelude::*;

    use super::*;
    use crate::packet::addresses;

    /// Returns a segment as a kernel writes it, with the ECN field `ecn`.
    fn segment(browser: BrowserEnd, from: End, ecn: u8, data: usize) -> Vec<u8> {
        let ends = [browser.address(), addresses::server(1 - (browser.user & 1) as usize, 3)];
        let [source, destination] = if from == End::Client { ends } else { [ends[1], ends[0]] };
        let tcp = TcpHeader::new(source.port(), destination.port(), 1, 1000);
        let length = u16::try_from(TcpHeader::MIN_LEN + data).expect("a packet's length");
        let (from, to) = (source.ip().octets(), destination.ip().octets());
        let ip = Ipv4Header::new(length, 64, ip_number::TCP, from, to).expect("a short packet");
        let mut packet = [&ip.to_bytes()[..], &tcp.to_bytes()[..], &vec![0; data]].concat();
        packet[1] = ecn;
        let header = Ipv4HeaderSlice::from_slice(&packet).expect("a header").to_header();
        packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
        packet
    }

    fn ends() -> impl Strategy<Value = (BrowserEnd, End)> {
        let browser = (0..100_000u32, 0..60_000u64).prop_map(|(user, count)| BrowserEnd::new(user, count));
        (browser, prop::sample::select(vec![End::Client, End::Server]))
    }

    proptest! {
        #[test]
        fn the_headers_of_a_packet_are_read((browser, from) in ends(), ecn in 0..4u8, data in 0..1460usize) {
            let packet = segment(browser, from, ecn, data);
            let codepoints = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
            let size = Bytes::new(40 + data as u64);
            let (flow, ecn) = (PacketFlow::Browser(browser), codepoints[usize::from(ecn)]);
            let headers = Headers { flow, from, size, ecn, tcp: Some(20) };
            prop_assert_eq!(read(&packet), Some(headers));
        }

        #[test]
        fn a_marked_packet_has_the_checksum_of_its_header((browser, from) in ends(), ecn in 0..4u8, data in 0..1460usize) {
            let mut packet = segment(browser, from, ecn, data);
            let unmarked = packet.clone();
            set_ce(&mut packet);
            let header = Ipv4HeaderSlice::from_slice(&packet).expect("a header").to_header();
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
            prop_assert_eq!(read(&packet).map(|headers| headers.ecn), Some(Ecn::Ce));
            prop_assert_eq!(&packet[CHECKSUM + 2..], &unmarked[CHECKSUM + 2..]);
        }

        #[test]
        fn a_bounded_window_has_the_checksum_of_its_segment(
            (browser, from) in ends(), offered in any::<u16>(), most in any::<u16>(), data in 0..100usize,
        ) {
            let mut packet = segment(browser, from, 0, data);
            packet[20 + WINDOW..20 + WINDOW + 2].copy_from_slice(&offered.to_be_bytes());
            let checksum_of = |packet: &[u8]| {
                let ip = Ipv4HeaderSlice::from_slice(packet).expect("a header");
                let tcp = TcpHeaderSlice::from_slice(&packet[20..]).expect("a header");
                tcp.calc_checksum_ipv4(&ip, &packet[40..]).expect("a short segment")
            };
            let checksum = checksum_of(&packet);
            packet[20 + TCP_CHECKSUM..20 + TCP_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
            let headers = read(&packet).expect("a whole segment");
            bound_window(&mut packet, &headers, most);
            prop_assert_eq!(word(&packet, 20 + WINDOW), offered.min(most));
            prop_assert_eq!(word(&packet, 20 + TCP_CHECKSUM), checksum_of(&packet));
        }

        #[test]
        fn a_packet_between_programs_is_of_one_flow_in_both_directions(
            protocol in any::<u8>(), ports in any::<[u16; 2]>(), data in 20..100usize,
        ) {
            let packet = |from: usize, ports: [u16; 2]| {
                let ends = [from, 1 - from].map(|side| addresses::program(side).octets());
                let length = u16::try_from(data).expect("a packet's length");
                let ip = Ipv4Header::new(length, 64, protocol.into(), ends[0], ends[1]).expect("a short packet");
                let mut payload = vec![0x50; data];
                payload[..2].copy_from_slice(&ports[0].to_be_bytes());
                payload[2..4].copy_from_slice(&ports[1].to_be_bytes());
                [&ip.to_bytes()[..], &payload].concat()
            };
            let forward = read(&packet(0, ports)).expect("a whole packet");
            let reverse = read(&packet(1, [ports[1], ports[0]])).expect("a whole packet");
            prop_assert_eq!((forward.from, reverse.from), (End::Client, End::Server));
            prop_assert_eq!(forward.flow, reverse.flow);
            let has_ports = [6, 17].contains(&protocol);
            let other = read(&packet(0, [ports[0], ports[1] ^ 1])).expect("a whole packet");
            prop_assert_eq!(forward.flow != other.flow, has_ports);
        }

        #[test]
        fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes);
            probed_at(&bytes);
        }

        #[test]
        fn a_packet_cut_short_or_changed_is_read_or_refused(
            (browser, from) in ends(), cut in 0..100usize, at in 0..60usize, byte in any::<u8>(),
        ) {
            let mut packet = segment(browser, from, 0, 60);
            packet.truncate(cut);
            if let Some(place) = packet.get_mut(at) {
                *place = byte;
            }
            if let Some(headers) = read(&packet) {
                prop_assert_eq!(headers.size.get(), packet.len().max(40) as u64);
                set_ce(&mut packet);
                bound_window(&mut packet, &headers, 0);
            }
        }
    }
}
