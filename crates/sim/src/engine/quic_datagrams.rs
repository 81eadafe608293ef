//! QUIC datagrams in the network: each is kept here under a number, and its packet carries the number.
//!
//! A datagram has 250 bytes and the options of a TCP segment 48, and a packet is copied a dozen times on its way. With numbers
//! the packets of both transports are those of TCP, and so are the links that they cross.

use aqmlab_tcp::quic::Datagram;
use aqmlab_tcp::{AnyHeader, AnyTransport, CongestionControl, HeaderOptions, Options};
use aqmlab_units::Time;

use super::observer::{Observer, Transmission};
use crate::packet::Packet;
use crate::slab::Slab;

/// The datagrams in the network.
#[derive(Debug, Default)]
pub(crate) struct QuicDatagrams(Slab<Entry>);

/// A datagram, and the number of packets that carry it: the network may copy packets.
#[derive(Clone, Copy, Debug)]
struct Entry {
    datagram: Datagram,
    packets: u16,
}

impl QuicDatagrams {
    /// Keep a datagram.
    fn put(&mut self, datagram: Datagram) -> Options {
        let number = self.0.put(Entry { datagram, packets: 1 });
        Options::of_datagram(u32::try_from(number).expect("fewer than 2^32 packets"), datagram.len())
    }

    /// Return a datagram whose packet leaves the network.
    #[inline(never)]
    fn take(&mut self, number: u32) -> Datagram {
        let entry = self.0.get_mut(number as usize);
        entry.packets -= 1;
        let Entry { datagram, packets } = *entry;
        if packets == 0 {
            self.0.take(number as usize);
        }
        datagram
    }
}

impl<C: CongestionControl> Observer<AnyTransport<C>> for QuicDatagrams {
    type PacketTag = Options;

    #[inline]
    fn sent(
        &mut self,
        packet: Packet<AnyHeader>,
        _transmission: &Transmission<'_, AnyTransport<C>>,
    ) -> Packet<Options> {
        let options = match packet.segment.options {
            AnyHeader::Tcp(options) => options,
            AnyHeader::Quic(datagram) => self.put(datagram),
        };
        packet.with_options(options)
    }

    /// The packet is put together for each transport by itself: one of TCP then leaves the room for a datagram untouched, where
    /// else all of it would be copied.
    #[inline(always)]
    fn arrived(&mut self, packet: Packet<Options>, _now: Time) -> Packet<AnyHeader> {
        let options = packet.segment.options;
        match options.datagram() {
            None => packet.with_options(AnyHeader::Tcp(options)),
            Some(number) => packet.with_options(AnyHeader::Quic(self.take(number))),
        }
    }

    fn discarded(&mut self, packet: &Packet<Options>) {
        if let Some(number) = packet.segment.options.datagram() {
            self.take(number);
        }
    }

    fn copied(&mut self, packet: &Packet<Options>) {
        if let Some(number) = packet.segment.options.datagram() {
            self.0.get_mut(number as usize).packets += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_tcp::congestion::Any;
    use aqmlab_tcp::quic::Connection;
    use aqmlab_tcp::{Profile, Segment};

    use super::*;
    use crate::packet::EndpointId;

    /// A packet with the options.
    fn packet<O>(options: O) -> Packet<O> {
        Packet { to: EndpointId::default(), segment: Segment::<Options>::default().with_options(options) }
    }

    #[test]
    fn a_datagram_is_kept_until_its_last_packet_has_left() {
        let (profile, now) = (Profile::quic(), Time::ZERO);
        let mut client: Connection<Any> = Connection::connect(&profile, now);
        let (datagram, _) = client.poll_transmit(now, &profile).expect("a client has a first flight");
        let mut datagrams = QuicDatagrams::default();
        let [first, second] = [datagram; 2].map(|datagram| packet(datagrams.put(datagram)));
        assert_eq!(first.size(), packet(AnyHeader::Quic(datagram)).size());
        assert!(first.tcp_header().is_none());
        Observer::<AnyTransport<Any>>::copied(&mut datagrams, &first);
        Observer::<AnyTransport<Any>>::discarded(&mut datagrams, &second);
        for _ in 0..2 {
            let arrived = Observer::<AnyTransport<Any>>::arrived(&mut datagrams, first, now);
            assert_eq!(arrived.segment.options, AnyHeader::Quic(datagram));
        }
        // Both numbers are free again.
        for _ in 0..2 {
            datagrams.put(datagram);
        }
        assert_eq!(datagrams.0.most(), 2);
        let segment = Observer::<AnyTransport<Any>>::arrived(&mut datagrams, packet(Options::default()), now);
        assert_eq!(segment.segment.options, AnyHeader::Tcp(Options::default()));
    }
}
