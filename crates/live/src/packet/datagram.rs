//! The stamp at the beginning of a source's datagram.

use aqmlab_units::{Bytes, Time};

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;

/// The owner of a datagram, and its sending time by the common clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) source: u8,
    /// The side that sends it.
    pub(crate) side: u8,
    /// The flow among those of the source.
    pub(crate) flow: u32,
    pub(crate) sent_at: Time,
}

impl Stamp {
    const LENGTH: usize = 14;

    /// The shortest IP packet that has room for it.
    pub(crate) const SHORTEST: Bytes = Bytes::new((HEADERS + Stamp::LENGTH) as u64);

    /// Returns the payload that gives an IP packet of `size` bytes.
    pub(crate) fn data(self, size: Bytes) -> Vec<u8> {
        let length = usize::try_from(size.get()).expect("a packet's length") - HEADERS;
        let mut data = [&[self.source, self.side][..], &self.flow.to_be_bytes()].concat();
        data.extend(self.sent_at.as_nanos().to_be_bytes());
        data.resize(length, 0);
        data
    }

    /// That of a datagram with such data, if it is a source's.
    pub(crate) fn of(data: &[u8]) -> Option<Stamp> {
        let (&[source, side], data) = data.split_first_chunk()?;
        let (flow, data) = data.split_first_chunk()?;
        let (sent_at, _) = data.split_first_chunk()?;
        let (flow, sent_at) = (u32::from_be_bytes(*flow), Time::from_nanos(u64::from_be_bytes(*sent_at)));
        (side < 2).then_some(Stamp { source, side, flow, sent_at })
    }

    /// The IP packet that had such data.
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
        fn what_a_datagram_says_of_itself_is_read(
            (source, side, flow, nanos) in (any::<u8>(), 0..2u8, any::<u32>(), any::<u64>()), size in 42..1500u64,
        ) {
            let stamp = Stamp { source, side, flow, sent_at: Time::from_nanos(nanos) };
            let data = stamp.data(Bytes::new(size));
            prop_assert_eq!(Stamp::of(&data), Some(stamp));
            prop_assert_eq!(Stamp::size(data.len()), Bytes::new(size));
        }
    }

    #[test]
    fn the_shortest_packet_has_room_for_it_and_no_shorter_one() {
        let stamp = Stamp { source: 1, side: 0, flow: 2, sent_at: Time::ZERO };
        let mut data = stamp.data(Stamp::SHORTEST);
        assert_eq!(Stamp::of(&data), Some(stamp));
        data.pop();
        assert_eq!(Stamp::of(&data), None);
    }
}
