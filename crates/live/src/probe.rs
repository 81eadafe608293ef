//! Probes: datagrams by which a side tells the router when it sent them, and which go no farther. How long after that the router
//! reads one is how late it reads what else the side sends.

use std::io::Write;

use aqmlab_units::{Duration, Time};
use socket2::Socket;

use crate::addresses;
use crate::clock::Clock;
use crate::failed::{Failed, Trying};
use crate::sockets;

/// From one to the next: a hundred a second are little beside the packets of a run, and a minute of them is enough for a
/// 99.9th percentile.
const EVERY: Duration = Duration::from_millis(10);

/// Who sends those of a side.
#[derive(Debug)]
pub(crate) struct Prober {
    socket: Socket,
    /// When the next is due.
    pub(crate) next: Time,
}

impl Prober {
    /// That of `side`, on a thread in its namespace.
    pub(crate) fn new(side: usize) -> Result<Prober, Failed> {
        let socket = sockets::sender(addresses::probe(side), addresses::probe(1 - side));
        Ok(Prober { socket: socket.trying(|| "a socket for probes".to_owned())?, next: Time::ZERO })
    }

    /// Send the one that is due by `now`, if one is.
    pub(crate) fn send(&mut self, now: Time, clock: &Clock) {
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        // One for which there is no room is lost with what the interface counts as lost.
        self.socket.write_all(&data(clock.now())).ok();
    }
}

/// What a probe that is sent at `at` carries.
fn data(at: Time) -> [u8; 8] {
    at.as_nanos().to_be_bytes()
}

/// When a probe with such data was sent.
pub(crate) fn sent_at(data: &[u8]) -> Option<Time> {
    Some(Time::from_nanos(u64::from_be_bytes(data.try_into().ok()?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use etherparse::{Ipv4Header, UdpHeader, ip_number};
    use proptest::prelude::*;

    use super::*;
    use crate::packet;

    /// The IP packet of a probe of `side`.
    pub(crate) fn packet(side: usize, at: Time) -> Vec<u8> {
        let [from, to] = [side, 1 - side].map(addresses::probe);
        let udp =
            UdpHeader { source_port: from.port(), destination_port: to.port(), length: 16, checksum: 0 };
        let ip = Ipv4Header::new(udp.length, 64, ip_number::UDP, from.ip().octets(), to.ip().octets());
        [&ip.expect("a short packet").to_bytes()[..], &udp.to_bytes(), &data(at)].concat()
    }

    proptest! {
        #[test]
        fn a_probe_says_when_it_was_sent_and_is_nobody_elses(nanos in any::<u64>(), side in 0..2usize) {
            let at = Time::from_nanos(nanos);
            prop_assert_eq!(packet::probe(&packet(side, at)), Some(at));
            prop_assert_eq!(packet::read(&packet(side, at)), None);
        }
    }
}
