//! The addresses of hosts: each user and each server's machine has its own, all in 10.0.0.0/8, a half for each side. A source
//! has many, like as many further users.
//!
//! A user's connections have ports one after another, so that none is used again while the kernel remembers it.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Hosts of a half, and the first of them that is a user.
const HOSTS: u32 = 1 << 23;
const USERS: u32 = 1 << 14;

/// The first hosts of a half that are sources', and how many each has.
const SOURCES: u32 = 1 << 22;
const PER_SOURCE: u32 = 1 << 14;

/// The host of a half that programs have, beyond the most machines of servers that a spec allows.
const PROGRAM: u32 = 12_289;

/// The host of a half that sends probes to the router, and the port of both ends, on which no socket listens.
const PROBE: u32 = 12_290;
const PROBE_PORT: u16 = 1;

/// The port of servers.
pub(crate) const SERVER_PORT: u16 = 80;

/// The port of the other ends of sources' connections and datagrams.
pub(crate) const SOURCE_PORT: u16 = 81;

/// The first port of browsers, and how many they use.
const FIRST_PORT: u16 = 1024;
const PORTS: u16 = 60_000;

/// The most users of a side.
pub(crate) const MOST_USERS: u32 = SOURCES - USERS;

/// Bits of a side's part of the addresses.
pub(crate) const PREFIX: u8 = 9;

/// A side's part of the addresses.
pub(crate) fn network(side: usize) -> Ipv4Addr {
    address(side, 0)
}

/// Machine `number` of the servers on `side`, from 0.
pub(crate) fn server(side: usize, number: u32) -> SocketAddrV4 {
    SocketAddrV4::new(address(side, 1 + number), SERVER_PORT)
}

/// The other end of what sources send to `side`.
pub(crate) fn source_peer(side: usize) -> SocketAddrV4 {
    SocketAddrV4::new(address(side, 1), SOURCE_PORT)
}

/// The address of programs on `side`.
pub(crate) fn program(side: usize) -> Ipv4Addr {
    address(side, PROGRAM)
}

/// Returns the origin of the probes of `side`, and for the other side their nominal destination.
pub(crate) fn probe(side: usize) -> SocketAddrV4 {
    SocketAddrV4::new(address(side, PROBE), PROBE_PORT)
}

fn address(side: usize, host: u32) -> Ipv4Addr {
    let half = if side == 0 { 0 } else { HOSTS };
    Ipv4Addr::from_bits(10 << 24 | half | host)
}

/// A browser's end of a connection: the user, whose side is its number's last bit, and the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BrowserEnd {
    pub(crate) user: u32,
    pub(crate) port: u16,
}

impl BrowserEnd {
    /// That of the user's connection number `count`, from 0.
    pub(crate) fn new(user: u32, count: u64) -> BrowserEnd {
        let place = u16::try_from(count % u64::from(PORTS)).expect("fewer than 2^16 ports");
        BrowserEnd { user, port: FIRST_PORT + place }
    }

    /// That of connection, or flow of datagrams, number `count` of source `source`, opened from `side`.
    pub(crate) fn of_source(source: u8, side: u8, count: u64) -> BrowserEnd {
        let among = u32::try_from(count % u64::from(PER_SOURCE)).expect("a small number");
        let host = SOURCES + u32::from(source) * PER_SOURCE + among;
        BrowserEnd::new((host - USERS) << 1 | u32::from(side), count / u64::from(PER_SOURCE))
    }

    pub(crate) fn address(self) -> SocketAddrV4 {
        let side = (self.user & 1) as usize;
        SocketAddrV4::new(address(side, USERS + (self.user >> 1)), self.port)
    }

    /// Returns the owner of this address, if it is a browser.
    pub(crate) fn at(address: Ipv4Addr, port: u16) -> Option<BrowserEnd> {
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
            prop_assert_eq!(BrowserEnd::at(*address.ip(), address.port()), Some(end));
            let half = network((user & 1) as usize).to_bits() >> 23;
            prop_assert_eq!(address.ip().to_bits() >> 23, half);
        }

        #[test]
        fn a_source_is_nobody_else(source in 0..255u8, side in 0..2u8, count in 0..1_000_000u64) {
            let end = BrowserEnd::of_source(source, side, count);
            let address = end.address();
            prop_assert_eq!(BrowserEnd::at(*address.ip(), address.port()), Some(end));
            prop_assert_eq!(end.user & 1, u32::from(side));
            prop_assert!(end.user >= 2 * MOST_USERS);
            prop_assert_ne!(end, BrowserEnd::of_source(source, side, count + 1));
            prop_assert_ne!(end, BrowserEnd::of_source((source + 1) % 255, side, count));
        }

        #[test]
        fn no_server_is_taken_for_a_browser(side in 0..2usize, number in 0..10_000u32) {
            let server = server(side, number);
            prop_assert_eq!(BrowserEnd::at(*server.ip(), server.port()), None);
            prop_assert_eq!(BrowserEnd::at(program(side), server.port()), None);
            prop_assert_ne!(*server.ip(), program(side));
            prop_assert_eq!(BrowserEnd::at(*probe(side).ip(), server.port()), None);
            prop_assert!(![*server.ip(), program(side)].contains(probe(side).ip()));
        }
    }
}
