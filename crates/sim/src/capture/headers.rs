//! IPv4 and TCP headers of a segment, or UDP headers of a datagram, with the checksums that it would have on a real link.
//!
//! Sources: RFC 791 section 3.1, RFC 9293 section 3.1, RFC 3168 section 5 and 6.1 (ECN), RFC 9768 section 3.1
//! (AE). Data are zeros, which change a checksum only by their length. All packets have identification 0, which
//! RFC 6864 section 4.1 permits for packets that must not be fragmented.

use aqmlab_aqm::Ecn;
use aqmlab_tcp::options::AccEcnOrder;
use aqmlab_tcp::{Flags, HeaderOptions, Options, WindowScale};
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};

use super::addresses::AddressedEnd;
use crate::packet::Packet;

/// The maximum length of the headers: 20 bytes of IP, 60 of TCP.
pub(super) const MOST_BYTES: u32 = 80;

/// Our choice; no packet crosses more than one router.
const TIME_TO_LIVE: u8 = 64;

/// The data of every packet.
static DATA: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// The TCP options of a segment in wire format.
pub(crate) trait OnTheWire: HeaderOptions {
    /// The name under which the headers of a real host's packet are stored: [`super::Capture::show`].
    fn foreign_name(&self) -> Option<u32> {
        None
    }

    /// Append the options, except a SYN's maximum segment size; the caller pads at the end.
    fn write(&self, out: &mut Vec<u8>);
}

impl OnTheWire for WindowScale {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.shift().into_iter().flat_map(scale));
    }
}

/// The option of window scaling (RFC 7323 section 2.2).
fn scale(shift: u8) -> [u8; 3] {
    [WINDOW_SCALE, 3, shift]
}

/// Kinds of options, as IANA numbers them, and the one for padding.
const NO_OPERATION: u8 = 1;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACC_ECN_0: u8 = 172;
const ACC_ECN_1: u8 = 174;

/// RFC 2018 sections 2 and 3, RFC 7323 sections 2.2 and 3.2, RFC 9768 section 3.2.3. Aligned as in RFC 7323
/// appendix A, except on a SYN.
impl OnTheWire for Options {
    fn write(&self, out: &mut Vec<u8>) {
        let align = |out: &mut Vec<u8>| {
            if self.syn().is_none() {
                out.extend([NO_OPERATION; 2]);
            }
        };
        if let Some(syn) = self.syn() {
            if syn.sack_permitted {
                out.extend([SACK_PERMITTED, 2]);
            }
            if let Some(shift) = syn.window_scale {
                out.extend(scale(shift));
            }
        }
        if let Some(timestamps) = self.timestamps() {
            align(out);
            out.extend([TIMESTAMPS, 10]);
            out.extend(timestamps.value.to_be_bytes());
            out.extend(timestamps.echo.to_be_bytes());
        }
        if self.has_sack() {
            align(out);
            let length = 2 + 8 * self.sack().count();
            out.extend([SACK, u8::try_from(length).expect("there are at most four blocks")]);
            for (from, to) in self.sack() {
                out.extend(from.get().to_be_bytes());
                out.extend(to.get().to_be_bytes());
            }
        }
        if let Some(accecn) = self.accecn() {
            let kind = match accecn.order {
                AccEcnOrder::Ect0First => ACC_ECN_0,
                AccEcnOrder::Ect1First => ACC_ECN_1,
            };
            out.extend([kind, if accecn.shortened { 8 } else { 11 }]);
            for field in accecn.fields() {
                // Counters of 24 bits.
                out.extend(&field.to_be_bytes()[1..]);
            }
        }
    }
}

/// Return the headers of a packet from `source` to `destination`. A SYN carries its end's maximum segment size
/// (RFC 9293 section 3.7.1).
pub(super) fn headers<O: OnTheWire>(packet: &Packet<O>, [source, destination]: [AddressedEnd; 2]) -> Vec<u8> {
    if packet.to.is_datagram() {
        return datagram_headers(packet, [source, destination]);
    }
    let segment = &packet.segment;
    let has = |flag| segment.flags.contains(flag);
    let mut tcp = TcpHeader::new(source.port, destination.port, segment.seq.get(), segment.window);
    tcp.acknowledgment_number = if has(Flags::ACK) { segment.ack.get() } else { 0 };
    (tcp.syn, tcp.fin, tcp.rst, tcp.ack) =
        (has(Flags::SYN), has(Flags::FIN), has(Flags::RST), has(Flags::ACK));
    tcp.psh = has(Flags::PSH);
    (tcp.ece, tcp.cwr, tcp.ns) = (has(Flags::ECE), has(Flags::CWR), has(Flags::AE));

    let mut options = Vec::new();
    if tcp.syn {
        options.extend([2, 4]);
        options.extend(source.mss.to_be_bytes());
    }
    segment.options.write(&mut options);
    tcp.set_options_raw(&options).expect("a stack's options fit its header");

    let data = &DATA[..usize::from(segment.len)];
    let length = tcp.header_len_u16() + segment.len;
    let mut ip = Ipv4Header::new(length, TIME_TO_LIVE, IpNumber::TCP, source.address, destination.address)
        .expect("a packet is no longer than the link's MTU");
    ip.ecn = match packet.ecn() {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Ect0 => IpEcn::Ect0,
        Ecn::Ect1 => IpEcn::Ect1,
        Ecn::Ce => IpEcn::CongestionExperienced,
    };
    ip.header_checksum = ip.calc_header_checksum();
    tcp.checksum = tcp.calc_checksum_ipv4(&ip, data).expect("a packet is no longer than the link's MTU");
    [&ip.to_bytes()[..], &tcp.to_bytes()[..]].concat()
}

/// Set CE in the headers of a real host's packet, which was marked after they were stored.
pub(super) fn mark(headers: &mut [u8]) {
    if let Ok((mut ip, _)) = Ipv4Header::from_slice(headers) {
        ip.ecn = IpEcn::CongestionExperienced;
        ip.header_checksum = ip.calc_header_checksum();
        headers[..ip.header_len()].copy_from_slice(&ip.to_bytes());
    }
}

/// Return the headers of a datagram. It is counted with the headers of a segment; the difference to UDP's counts
/// as data.
fn datagram_headers<O: HeaderOptions>(
    packet: &Packet<O>,
    [source, destination]: [AddressedEnd; 2],
) -> Vec<u8> {
    let length = u16::try_from(packet.size().get()).expect("a packet is no longer than the link's MTU");
    let data = &DATA[..usize::from(length) - Ipv4Header::MIN_LEN - UdpHeader::LEN];
    let payload = length - Ipv4Header::MIN_LEN_U16;
    let mut ip = Ipv4Header::new(payload, TIME_TO_LIVE, IpNumber::UDP, source.address, destination.address)
        .expect("a packet is no longer than the link's MTU");
    ip.header_checksum = ip.calc_header_checksum();
    let udp = UdpHeader::with_ipv4_checksum(source.port, destination.port, &ip, data)
        .expect("a packet is no longer than the link's MTU");
    [&ip.to_bytes()[..], &udp.to_bytes()[..]].concat()
}

#[cfg(test)]
mod tests {
    use aqmlab_tcp::options::{AccEcn, SynOptions, Timestamps};
    use aqmlab_tcp::{Segment, Seq};
    use proptest::prelude::*;

    use super::*;
    use crate::packet::EndpointId;

    /// The Internet checksum of RFC 1071, section 1, literally: 0 for bytes that contain their own.
    fn checksum(bytes: &[u8]) -> u16 {
        let words =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
        let mut sum: u32 = words.sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !u16::try_from(sum).unwrap()
    }

    /// The checksum over pseudo-header, header and data of RFC 9293, section 3.1.
    fn tcp_checksum(headers: &[u8], data: u16) -> u16 {
        let length = u16::try_from(headers.len() - 20).unwrap() + data;
        let pseudo = [&headers[12..20], &[0, 6], &length.to_be_bytes()].concat();
        checksum(&[&pseudo, &headers[20..], &vec![0; usize::from(data)]].concat())
    }

    const ENDS: [AddressedEnd; 2] = [
        AddressedEnd { address: [10, 0, 1, 2], port: 1024, mss: 1460 },
        AddressedEnd { address: [10, 255, 0, 3], port: 80, mss: 536 },
    ];

    fn of(segment: Segment) -> Vec<u8> {
        headers(&Packet { to: EndpointId::client(0, crate::side::Side::default()), segment }, ENDS)
    }

    fn any_flags() -> impl Strategy<Value = Flags> {
        let all = [
            Flags::SYN,
            Flags::FIN,
            Flags::RST,
            Flags::ACK,
            Flags::PSH,
            Flags::ECE,
            Flags::CWR,
            Flags::AE,
            Flags::ECT,
            Flags::ECT1,
            Flags::CE,
        ];
        prop::collection::vec(prop::sample::select(all.to_vec()), 0..6)
            .prop_map(|flags| flags.into_iter().fold(Flags::NONE, |all, flag| all | flag))
    }

    proptest! {
        #[test]
        fn checksums_and_lengths_are_right_for_any_segment(
            seq: u32, ack: u32, len in 0..9_000_u16, window: u16, flags in any_flags() ,
        ) {
            let (seq, ack) = (Seq::new(seq), Seq::new(ack));
            let segment = Segment { seq, ack, len, window, flags, options: WindowScale::default() };
            let bytes = of(segment);
            prop_assert_eq!(checksum(&bytes[..20]), 0);
            prop_assert_eq!(tcp_checksum(&bytes, len), 0);
            let total = u16::from_be_bytes([bytes[2], bytes[3]]);
            prop_assert_eq!(usize::from(total), bytes.len() + usize::from(len));
            prop_assert_eq!(usize::from(bytes[32] >> 4) * 4, bytes.len() - 20);
        }
    }

    #[test]
    fn a_datagram_has_udp_headers_and_data_up_to_its_length() {
        let segment: Segment = Segment { seq: Seq::new(7), ack: Seq::new(9), len: 160, ..Segment::default() };
        let bytes =
            headers(&Packet { to: EndpointId::datagram(1, 2, crate::side::Side::default()), segment }, ENDS);
        assert_eq!(bytes.len(), 28);
        assert_eq!(checksum(&bytes[..20]), 0);
        assert_eq!((bytes[9], u16::from_be_bytes([bytes[2], bytes[3]])), (17, 200));
        assert_eq!(&bytes[20..26], &[4, 0, 0, 80, 0, 180]);
        let data = vec![0; 172];
        let pseudo = [&bytes[12..20], &[0, 17, 0, 180]].concat();
        assert_eq!(checksum(&[&pseudo, &bytes[20..], &data].concat()), 0);
    }

    #[test]
    fn every_field_is_in_its_place_in_the_rfcs() {
        let segment = Segment {
            seq: Seq::new(0x0102_0304),
            ack: Seq::new(0x0506_0708),
            len: 100,
            window: 0x1122,
            flags: Flags::ACK | Flags::ECE | Flags::ECT,
            options: WindowScale::default(),
        };
        let bytes = of(segment);
        assert_eq!(bytes.len(), 40);
        assert_eq!(bytes[..10], [0x45, 0b10, 0, 140, 0, 0, 0x40, 0, 64, 6]);
        assert_eq!(bytes[12..24], [10, 0, 1, 2, 10, 255, 0, 3, 4, 0, 0, 80]);
        assert_eq!(bytes[24..36], [1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0b0101_0000, 0x11, 0x22]);
        let answer = of(Segment { flags: Flags::ACK | Flags::CWR | Flags::FIN, ..segment });
        assert_eq!(answer[33], 0b1001_0001);
        let without_ack = of(Segment { flags: Flags::AE | Flags::CE, ..segment });
        assert_eq!(without_ack[1], 0b11);
        assert_eq!(without_ack[28..34], [0, 0, 0, 0, 0x51, 0]);
    }

    #[test]
    fn ecn_counters_have_24_bits_in_the_order_of_their_kind() {
        let full = AccEcn {
            order: AccEcnOrder::Ect0First,
            ect0: 0x01_0203,
            ce: 0x04_0506,
            ect1: 1,
            shortened: false,
        };
        let short = AccEcn { order: AccEcnOrder::Ect1First, shortened: true, ..full };
        let syn = SynOptions { mss: 1460, sack_permitted: true, window_scale: Some(7) };
        let bare = Options::default();
        let stamped = bare.with_timestamps(Timestamps { value: 1, echo: 2 });
        let selective = (0..2)
            .fold(stamped, |options, k| options.with_sack_block(Seq::new(100 * k), Seq::new(100 * k + 50)));
        let cases: [(Options, &[u8]); 4] = [
            (bare.with_accecn(full), &[172, 11, 1, 2, 3, 4, 5, 6, 0, 0, 1]),
            (stamped.with_accecn(full), &[172, 11, 1, 2, 3, 4, 5, 6, 0, 0, 1]),
            (selective.with_accecn(short), &[174, 8, 0, 0, 1, 4, 5, 6]),
            (stamped.with_accecn(full).with_syn(syn), &[172, 11, 1, 2, 3, 4, 5, 6, 0, 0, 1]),
        ];
        for (options, written) in cases {
            let flags = if options.syn().is_some() { Flags::SYN | Flags::ACK } else { Flags::ACK };
            let segment = Segment { flags, options, ..Segment::default() };
            let counted = usize::from(segment.header_len());
            let bytes =
                headers(&Packet { to: EndpointId::client(0, crate::side::Side::default()), segment }, ENDS);
            assert_eq!(bytes.len(), 20 + counted, "{options:?}");
            assert!(bytes.windows(written.len()).any(|part| part == written), "{options:?}: {bytes:?}");
            assert_eq!((checksum(&bytes[..20]), tcp_checksum(&bytes, 0)), (0, 0));
        }
    }

    #[test]
    fn a_syn_carries_maximum_segment_size_and_window_scale() {
        let segment = Segment { flags: Flags::SYN | Flags::ECT, ..Segment::<WindowScale>::default() };
        let bytes = of(segment);
        assert_eq!(bytes[1], 0b10);
        assert_eq!(bytes[40..], [2, 4, 0x05, 0xB4]);
        let scaling = of(Segment { options: WindowScale::from_offer(Some(7)), ..segment });
        assert_eq!(scaling[40..], [2, 4, 0x05, 0xB4, 3, 3, 7, 0]);
    }
}
