//! Connections of real hosts, as their owners identify them.

use aqmlab_units::Duration;

use crate::packet::EndpointId;
use crate::side::Side;
use crate::spec::Spec;

/// The network's identifier of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route(pub(super) EndpointId);

/// A connection of a user.
#[derive(Clone, Copy, Debug)]
pub struct UserConnection {
    /// The number of the user: even ones are on side 0, odd ones on side 1.
    pub user: u32,
    /// The number of the connection among its user's.
    pub number: u64,
    /// The round-trip time that its path adds.
    pub min_rtt: Duration,
}

impl UserConnection {
    pub(in crate::engine) fn client_side(&self) -> Side {
        Side::numbered((self.user & 1) as u8)
    }

    /// The machine that serves it in `spec`, counted from 0 on the side of the servers.
    pub fn machine(&self, spec: &Spec) -> u32 {
        let index = (u64::from(self.user) + self.number) % u64::from(spec.hosts.servers_per_side);
        u32::try_from(index).expect("the spec bounds the number of machines")
    }
}

/// A connection of a source.
#[derive(Clone, Copy, Debug)]
pub struct SourceConnection {
    /// The number of the source, from 0.
    pub source: u8,
    /// The side of its client.
    pub side: u8,
    /// The round-trip time that its path adds.
    pub min_rtt: Duration,
}

/// A flow of a source, which has connections.
#[derive(Clone, Copy, Debug)]
pub struct SourceFlow {
    /// The number of the source, from 0.
    pub source: u8,
    /// Its number among the flows of the source.
    pub number: u64,
    /// The side of its clients.
    pub side: u8,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The browser's.
    Client,
    /// The server's.
    Server,
}
