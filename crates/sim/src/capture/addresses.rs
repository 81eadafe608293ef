//! Who is at the two ends of a connection: an address for each user and each server machine, a port for each connection.
//!
//! Ours: users of side 0 are 10.0.x.y, its servers 10.127.x.y; users of side 1 are 10.128.x.y, its servers 10.255.x.y.
//! Where a side has more than 65,536 users the count goes on in the second number. A source of traffic beside the users
//! counts as one more machine on each side, 10.126.0.n or 10.254.0.n, n its number from 0, whatever machines its flows have.
//! Servers listen at port 80. Each user's
//! connections have successive ports from 1024 on (RFC 6335 section 6: those below are the system's), which come again
//! after 64,512 connections of that user.

use std::collections::HashMap;

use crate::packet::{EndpointId, Owner};
use crate::side::Side;

/// The port of all servers.
const HTTP: u16 = 80;
/// The first port of a user, and how many there are.
const FIRST_PORT: u32 = 1024;
const PORTS: u32 = 65_536 - FIRST_PORT;
/// The port of those who throw away what they get (RFC 863).
const DISCARD: u16 = 9;
/// Where the sources of a side begin, beyond all its users, and where its servers do.
const FIRST_SOURCE: u32 = 126 << 16;
const FIRST_SERVER: u32 = 127 << 16;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressedEnd {
    pub(super) address: [u8; 4],
    pub(super) port: u16,
    /// The greatest segment that its SYN says it takes.
    pub(super) mss: u16,
}

/// Who opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConnectionOrigin {
    /// A web user, by number.
    User(u32),
    /// A source, by number.
    Source(u8),
}

impl ConnectionOrigin {
    /// Whose its traffic is.
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
    /// The place it takes.
    pub(crate) client: EndpointId,
    pub(crate) origin: ConnectionOrigin,
    /// The machine of its server, unless that is the source's own.
    pub(crate) host: Option<u16>,
    /// The segment sizes of client and server.
    pub(crate) mss: [u16; 2],
}

/// What belongs to the two ends of each place for a connection.
#[derive(Debug)]
pub(super) struct Addresses {
    servers_per_side: u32,
    /// Client and server by the number of the connection's place.
    ends: Vec<[AddressedEnd; 2]>,
    /// How many connections each user, and each source on each side, has opened.
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

        let place = client.connection();
        if self.ends.len() <= place {
            self.ends.resize(place + 1, [browser, server]);
        }
        self.ends[place] = [browser, server];
    }

    /// Source and destination of a packet to `to`.
    pub(super) fn of_packet_to(&self, to: EndpointId) -> [AddressedEnd; 2] {
        if to.is_datagram() {
            return datagram(to);
        }
        let [browser, server] = self.ends[to.connection()];
        if to.is_server() { [browser, server] } else { [server, browser] }
    }
}

/// A source of datagrams has a port for each of its flows; they go to its machine on the other side.
fn datagram(to: EndpointId) -> [AddressedEnd; 2] {
    let side = to.side();
    let source = u32::try_from(to.source()).expect("sources are numbered in eight bits");
    let at = |side| address(side, FIRST_SOURCE + source);
    [
        AddressedEnd { address: at(side), port: port(to.flow()), mss: 0 },
        AddressedEnd { address: at(side.other()), port: DISCARD, mss: 0 },
    ]
}

/// A client's port number `n`.
fn port(n: u32) -> u16 {
    u16::try_from(FIRST_PORT + n % PORTS).expect("a port below 65,536")
}

/// Address number `n` of a side, which has 2^23.
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
    fn the_two_directions_of_a_connection_have_its_ends_the_other_way_round() {
        let mut addresses = Addresses::new(8);
        let client = EndpointId::client(3, Side::numbered(1));
        open(&mut addresses, client, 515, 2);
        let request = addresses.of_packet_to(client.peer());
        let answer = addresses.of_packet_to(client);
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
    fn connections_in_one_place_have_ports_of_their_own_until_the_users_ports_are_used_up() {
        let mut addresses = Addresses::new(8);
        let client = EndpointId::client(0, Side::default());
        let mut seen = HashSet::new();
        for _ in 0..PORTS {
            open(&mut addresses, client, 0, 0);
            let [browser, _] = addresses.of_packet_to(client.peer());
            assert!(
                browser.port >= 1024 && seen.insert((browser.address, browser.port)),
                "{browser:?} comes again"
            );
        }
    }

    #[test]
    fn the_servers_of_a_side_are_beyond_the_most_users_that_a_spec_allows() {
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
            let [last_user, _] = addresses.of_packet_to(EndpointId::client(0, side).peer());
            let [_, server] = addresses.of_packet_to(EndpointId::client(0, side.other()).peer());
            assert_eq!(last_user.address[0], server.address[0]);
            assert_eq!(last_user.address[1] & 128, server.address[1] & 128, "of one side");
            assert!(last_user.address < server.address);
        }
    }
}
