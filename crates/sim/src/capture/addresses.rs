//! Addresses of a capture: an IP address for each user and each server machine, a port for each connection.
//!
//! Users of side 0 are 10.0.x.y, its servers 10.127.x.y; users of side 1 are 10.128.x.y, its servers 10.255.x.y.
//! On a side with more than 65,536 users the second number counts on. Each source counts as one more machine on
//! each side, 10.126.0.n or 10.254.0.n, where n is its number from 0, even if its flows have several machines.
//! Servers listen at port 80. Each user's connections have successive ports from 1024 on (RFC 6335 section 6
//! reserves those below), which repeat after 64,512 connections of that user.

use std::collections::HashMap;

use crate::packet::{EndpointId, Owner};
use crate::side::Side;

/// The port of all servers.
const HTTP: u16 = 80;
/// The first port of a user, and the number of ports.
const FIRST_PORT: u32 = 1024;
const PORTS: u32 = 65_536 - FIRST_PORT;
/// The port of hosts that discard the data they receive (RFC 863).
const DISCARD: u16 = 9;
/// First address numbers of a side's sources, beyond all its users, and of its servers.
const FIRST_SOURCE: u32 = 126 << 16;
const FIRST_SERVER: u32 = 127 << 16;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressedEnd {
    pub(super) address: [u8; 4],
    pub(super) port: u16,
    /// The maximum segment size in its SYN.
    pub(super) mss: u16,
}

/// The opener of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConnectionOrigin {
    /// A web user, by number.
    User(u32),
    /// A source, by number.
    Source(u8),
}

impl ConnectionOrigin {
    /// The owner of its traffic.
    pub(crate) fn owner(self) -> Owner {
        match self {
            ConnectionOrigin::User(_) => Owner::USERS,
            ConnectionOrigin::Source(number) => Owner::source(number),
        }
    }
}

/// A connection that has just been opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewConnection {
    /// The client's endpoint.
    pub(crate) client: EndpointId,
    pub(crate) origin: ConnectionOrigin,
    /// The machine of its server; `None` for the source's own machine.
    pub(crate) host: Option<u16>,
    /// The segment sizes of client and server.
    pub(crate) mss: [u16; 2],
}

/// Addresses of the two ends of each connection.
#[derive(Debug)]
pub(super) struct Addresses {
    servers_per_side: u32,
    /// Client and server by the connection's index.
    ends: Vec<[AddressedEnd; 2]>,
    /// Number of connections that each user, and each source on each side, has opened.
    opened: HashMap<(ConnectionOrigin, Side), u32>,
}

impl Addresses {
    pub(super) fn new(servers_per_side: u32) -> Addresses {
        Addresses { servers_per_side, ends: Vec::new(), opened: HashMap::new() }
    }

    pub(super) fn open(&mut self, connection: &NewConnection) {
        let &NewConnection { client, origin, host, mss } = connection;
        let side = client.side();
        let opened = self.opened.entry((origin, side)).or_default();
        let port = port(*opened);
        *opened = opened.wrapping_add(1);
        let number = match origin {
            ConnectionOrigin::User(number) => number / 2,
            ConnectionOrigin::Source(number) => FIRST_SOURCE + u32::from(number),
        };
        let machine = host.map_or(number, |host| FIRST_SERVER + u32::from(host) % self.servers_per_side);
        let browser = AddressedEnd { address: address(side, number), port, mss: mss[0] };
        let server = AddressedEnd { address: address(side.other(), machine), port: HTTP, mss: mss[1] };

        let index = client.connection();
        if self.ends.len() <= index {
            self.ends.resize(index + 1, [browser, server]);
        }
        self.ends[index] = [browser, server];
    }

    /// Return source and destination of a packet to `to`.
    pub(super) fn source_and_destination(&self, to: EndpointId) -> [AddressedEnd; 2] {
        if to.is_datagram() {
            return datagram(to);
        }
        let [browser, server] = self.ends[to.connection()];
        if to.is_server() { [browser, server] } else { [server, browser] }
    }
}

/// Return the ends of a datagram: a source has a port for each of its flows, which go to its machine on the other
/// side.
fn datagram(to: EndpointId) -> [AddressedEnd; 2] {
    let side = to.side();
    let source = u32::try_from(to.source()).expect("sources are numbered in eight bits");
    let machine = |side| address(side, FIRST_SOURCE + source);
    [
        AddressedEnd { address: machine(side), port: port(to.flow()), mss: 0 },
        AddressedEnd { address: machine(side.other()), port: DISCARD, mss: 0 },
    ]
}

/// Return a client's port number `n`, counted from 0.
fn port(n: u32) -> u16 {
    u16::try_from(FIRST_PORT + n % PORTS).expect("a port below 65,536")
}

/// Return address number `n` of a side, which has 2^23 addresses.
fn address(side: Side, n: u32) -> [u8; 4] {
    debug_assert!(n < 1 << 23, "{n} is beyond the addresses of a side");
    let [_, high, middle, low] = n.to_be_bytes();
    [10, side.number() << 7 | high, middle, low]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn open(addresses: &mut Addresses, client: EndpointId, user: u32, host: u16) {
        addresses.open(&NewConnection {
            client,
            origin: ConnectionOrigin::User(user),
            host: Some(host),
            mss: [1460, 536],
        });
    }

    #[test]
    fn the_reply_has_the_ends_of_a_connection_reversed() {
        let mut addresses = Addresses::new(8);
        let client = EndpointId::client(3, Side::numbered(1));
        open(&mut addresses, client, 515, 2);
        let request = addresses.source_and_destination(client.peer());
        let answer = addresses.source_and_destination(client);
        assert_eq!(
            request,
            [
                AddressedEnd { address: [10, 128, 1, 1], port: 1024, mss: 1460 },
                AddressedEnd { address: [10, 127, 0, 2], port: 80, mss: 536 },
            ]
        );
        assert_eq!(answer, [request[1], request[0]]);
    }

    #[test]
    fn ports_repeat_only_after_all_ports_of_a_user() {
        let mut addresses = Addresses::new(8);
        let client = EndpointId::client(0, Side::default());
        let mut seen = HashSet::new();
        for _ in 0..PORTS {
            open(&mut addresses, client, 0, 0);
            let [browser, _] = addresses.source_and_destination(client.peer());
            assert!(
                browser.port >= 1024 && seen.insert((browser.address, browser.port)),
                "{browser:?} comes again"
            );
        }
    }

    #[test]
    fn server_addresses_are_beyond_the_maximum_number_of_users() {
        let mut addresses = Addresses::new(10_000);
        for side in Side::BOTH {
            let user = 9_999_998 + u32::from(side.number());
            open(&mut addresses, EndpointId::client(0, side), user, 0);
            open(
                &mut addresses,
                EndpointId::client(0, side.other()),
                u32::from(side.other().number()),
                9_999,
            );
            let [last_user, _] = addresses.source_and_destination(EndpointId::client(0, side).peer());
            let [_, server] = addresses.source_and_destination(EndpointId::client(0, side.other()).peer());
            assert_eq!(last_user.address[0], server.address[0]);
            assert_eq!(last_user.address[1] & 128, server.address[1] & 128, "of one side");
            assert!(last_user.address < server.address);
        }
    }
}
