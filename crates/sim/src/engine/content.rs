//! Content of connections, and identifiers of the applications that decide it.

use aqmlab_workload::Connection;

use crate::side::Side;

/// Content of a connection.
#[derive(Debug)]
pub(super) enum Content {
    /// A web user's exchanges.
    Exchanges(UserId, Connection),
    /// The resources of a page that a web user loads: the connection in a slot of the user's browser.
    Page(UserId, u16),
    /// The units of a source's connection.
    Units(FlowId),
    /// None any more: the connection only has to end.
    Nothing,
}

/// An application that continues after a pause.
#[derive(Clone, Copy, Debug)]
pub(super) enum ApplicationId {
    /// A web user after a think time.
    User(UserId),
    /// A source's connection.
    Flow(FlowId),
}

/// The number of a web user. Even ones are on side 0, odd ones on side 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserId(pub(super) u32);

impl UserId {
    pub(crate) fn side(self) -> Side {
        Side::numbered((self.0 & 1) as u8)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The identifier of a source's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowId {
    pub(super) slot: u32,
    /// Distinguishes it from an earlier flow in its slot, for which an event may still be due.
    pub(super) serial: u32,
}
