//! The stamp at the beginning of a source's datagram.

use aqmlab_units::{Bytes, Time};

/// The length of the headers of IPv4 and UDP, in bytes.
const HEADERS: usize = 28;

/// The flow of a datagram, and its sending time by the clock of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) source: u8,
    /// The sending side.
    pub(crate) side: u8,
    /// The number of the flow in its source.
    pub(crate) flow: u32,
    pub(crate) sent_at: Time,
}

impl Stamp {
    const LENGTH: usize = 14;

    /// The shortest IP packet that has room for a stamp.
    pub(crate) const SHORTEST: Bytes = Bytes::new((HEADERS + Stamp::LENGTH) as u64);

    /// Returns the stamp as payload of an IP packet of `size` bytes.
    pub(crate) fn data(self, size: Bytes) -> Vec<u8> {
        let length = usize::try_from(size.get()).expect("a packet's length") - HEADERS;
        let mut data = [&[self.source, self.side][..], &self.flow.to_be_bytes()].concat();
        data.extend(self.sent_at.as_nanos().to_be_bytes());
        data.resize(length, 0);
        data
    }

    /// Returns the stamp in the payload `data`, if there is one.
    pub(crate) fn parse(data: &[u8]) -> Option<Stamp> {
        let (&[source, side], data) = data.split_first_chunk()?;
        let (flow, data) = data.split_first_chunk()?;
        let (sent_at, _) = data.split_first_chunk()?;
        let (flow, sent_at) = (u32::from_be_bytes(*flow), Time::from_nanos(u64::from_be_bytes(*sent_at)));
        (side < 2).then_some(Stamp { source, side, flow, sent_at })
    }

    /// Returns the size of the IP packet with a payload of `data` bytes.
    pub(crate) fn size(data: usize) -> Bytes {
        Bytes::new((HEADERS + data) as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_stamp_of_a_datagram_is_read(
            (source, side, flow, nanos) in (any::<u8>(), 0..2u8, any::<u32>(), any::<u64>()), size in 42..1500u64,
        ) {
            let stamp = Stamp { source, side, flow, sent_at: Time::from_nanos(nanos) };
            let data = stamp.data(Bytes::new(size));
            prop_assert_eq!(Stamp::parse(&data), Some(stamp));
            prop_assert_eq!(Stamp::size(data.len()), Bytes::new(size));
        }
    }

    #[test]
    fn a_stamp_fits_in_the_shortest_packet_and_in_none_shorter() {
        let stamp = Stamp { source: 1, side: 0, flow: 2, sent_at: Time::ZERO };
        let mut data = stamp.data(Stamp::SHORTEST);
        assert_eq!(Stamp::parse(&data), Some(stamp));
        data.pop();
        assert_eq!(Stamp::parse(&data), None);
    }
}
