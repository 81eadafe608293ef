//! The addresses of hosts: each user and each server machine has one. Each side has one half of 10.0.0.0/8. A source has many
//! addresses, as if it were many users.
//!
//! The connections of a user take ports in sequence, so that a port is not used again while the kernel remembers it.

use std::net::{Ipv4Addr, SocketAddrV4};

/// The number of hosts of a half, and its first user.
const HOSTS: u32 = 1 << 23;
const USERS: u32 = 1 << 14;

/// The first host of sources in a half, and the number of hosts of each source.
const SOURCES: u32 = 1 << 22;
const PER_SOURCE: u32 = 1 << 14;

/// The host of programs in a half, beyond all server machines that a spec allows.
const PROGRAM: u32 = 12_289;

/// The host of probes in a half, and the port of both ends of a probe, at which no socket listens.
const PROBE: u32 = 12_290;
const PROBE_PORT: u16 = 1;

/// The port of servers.
pub(crate) const SERVER_PORT: u16 = 80;

/// The destination port of sources' connections and datagrams.
pub(crate) const SOURCE_PORT: u16 = 81;

/// The destination port of sources' connections whose congestion control negotiates ECN by itself: Linux grants it if the
/// listening socket has the control.
pub(crate) const OWN_ECN_PORT: u16 = 82;

/// The first port of browsers, and the number of their ports.
const FIRST_PORT: u16 = 1024;
const PORTS: u16 = 60_000;

/// The largest number of users of a side.
pub(crate) const MOST_USERS: u32 = SOURCES - USERS;

/// The prefix length of a side's network.
pub(crate) const PREFIX: u8 = 9;

/// The prefix length of a single host.
pub(crate) const HOST: u8 = 32;

/// Returns the network of a side.
pub(crate) fn network(side: usize) -> Ipv4Addr {
    address(side, 0)
}

/// Returns the address of server machine `number` on `side`, from 0.
pub(crate) fn server(side: usize, number: u32) -> SocketAddrV4 {
    SocketAddrV4::new(address(side, 1 + number), SERVER_PORT)
}

/// Returns the destination of sources that send to `side` at this port.
pub(crate) fn source_peer(side: usize, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address(side, 1), port)
}

/// Returns the address of programs on `side`.
pub(crate) fn program(side: usize) -> Ipv4Addr {
    address(side, PROGRAM)
}

/// Returns the source address of the probes of `side`. The probes of the other side have it as their nominal destination.
pub(crate) fn probe(side: usize) -> SocketAddrV4 {
    SocketAddrV4::new(address(side, PROBE), PROBE_PORT)
}

fn address(side: usize, host: u32) -> Ipv4Addr {
    let half = if side == 0 { 0 } else { HOSTS };
    Ipv4Addr::from_bits(10 << 24 | half | host)
}

/// A browser's end of a connection: the user and the port. The last bit of the user's number is the side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BrowserEnd {
    pub(crate) user: u32,
    pub(crate) port: u16,
}

impl BrowserEnd {
    /// Returns the end of the user's connection number `count`, from 0.
    pub(crate) fn new(user: u32, count: u64) -> BrowserEnd {
        let place = u16::try_from(count % u64::from(PORTS)).expect("fewer than 2^16 ports");
        BrowserEnd { user, port: FIRST_PORT + place }
    }

    /// Returns the end on `side` of a source's connection, or flow of datagrams, number `count`.
    pub(crate) fn for_source(source: u8, side: u8, count: u64) -> BrowserEnd {
        let host_index = u32::try_from(count % u64::from(PER_SOURCE)).expect("a small number");
        let host = SOURCES + u32::from(source) * PER_SOURCE + host_index;
        BrowserEnd::new((host - USERS) << 1 | u32::from(side), count / u64::from(PER_SOURCE))
    }

    pub(crate) fn address(self) -> SocketAddrV4 {
        let side = (self.user & 1) as usize;
        SocketAddrV4::new(address(side, USERS + (self.user >> 1)), self.port)
    }

    /// Returns the end with this address, if it belongs to a browser or a source.
    pub(crate) fn from_address(address: Ipv4Addr, port: u16) -> Option<BrowserEnd> {
        let bits = address.to_bits();
        let (side, host) = (bits >> 23 & 1, bits & (HOSTS - 1));
        (bits >> 24 == 10 && host >= USERS).then(|| BrowserEnd { user: (host - USERS) << 1 | side, port })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_browser_is_found_by_its_address(user in 0..2 * MOST_USERS, count in any::<u64>()) {
            let end = BrowserEnd::new(user, count);
            let address = end.address();
            prop_assert_eq!(BrowserEnd::from_address(*address.ip(), address.port()), Some(end));
            let half = network((user & 1) as usize).to_bits() >> 23;
            prop_assert_eq!(address.ip().to_bits() >> 23, half);
        }

        #[test]
        fn the_addresses_of_sources_are_unique(source in 0..255u8, side in 0..2u8, count in 0..1_000_000u64) {
            let end = BrowserEnd::for_source(source, side, count);
            let address = end.address();
            prop_assert_eq!(BrowserEnd::from_address(*address.ip(), address.port()), Some(end));
            prop_assert_eq!(end.user & 1, u32::from(side));
            prop_assert!(end.user >= 2 * MOST_USERS);
            prop_assert_ne!(end, BrowserEnd::for_source(source, side, count + 1));
            prop_assert_ne!(end, BrowserEnd::for_source((source + 1) % 255, side, count));
        }

        #[test]
        fn no_server_is_taken_for_a_browser(side in 0..2usize, number in 0..10_000u32) {
            let server = server(side, number);
            prop_assert_eq!(BrowserEnd::from_address(*server.ip(), server.port()), None);
            prop_assert_eq!(BrowserEnd::from_address(program(side), server.port()), None);
            prop_assert_ne!(*server.ip(), program(side));
            prop_assert_eq!(BrowserEnd::from_address(*probe(side).ip(), server.port()), None);
            prop_assert!(![*server.ip(), program(side)].contains(probe(side).ip()));
        }
    }
}
