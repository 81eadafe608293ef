//! Probes carry their sending time from a side to the router, which does not forward them.

use aqmlab_units::Time;

/// Returns the payload of a probe with the sending time `at`.
pub(crate) fn data(at: Time) -> [u8; 8] {
    at.as_nanos().to_be_bytes()
}

/// Returns the sending time of a probe with this payload.
pub(crate) fn sent_at(data: &[u8]) -> Option<Time> {
    Some(Time::from_nanos(u64::from_be_bytes(data.try_into().ok()?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use etherparse::{Ipv4Header, UdpHeader, ip_number};
    use proptest::prelude::*;

    use super::*;
    use crate::packet::{self, addresses};

    /// Returns a probe of `side` as an IP packet.
    pub(crate) fn packet(side: usize, at: Time) -> Vec<u8> {
        let [from, to] = [side, 1 - side].map(addresses::probe);
        let udp =
            UdpHeader { source_port: from.port(), destination_port: to.port(), length: 16, checksum: 0 };
        let ip = Ipv4Header::new(udp.length, 64, ip_number::UDP, from.ip().octets(), to.ip().octets());
        [&ip.expect("a short packet").to_bytes()[..], &udp.to_bytes(), &data(at)].concat()
    }

    proptest! {
        #[test]
        fn a_probe_has_its_sending_time_and_is_of_no_flow(nanos in any::<u64>(), side in 0..2usize) {
            let at = Time::from_nanos(nanos);
            prop_assert_eq!(packet::probed_at(&packet(side, at)), Some(at));
            prop_assert_eq!(packet::read(&packet(side, at)), None);
        }
    }
}
