//! What connections carry, and the names of those who decide it.

use aqmlab_workload::Connection;

use crate::side::Side;

/// What a connection carries.
#[derive(Debug)]
pub(super) enum Content {
    /// A web user's exchanges.
    Exchanges(UserId, Connection),
    /// The units of a source's connection.
    Units(FlowId),
    /// Nothing any more: it only has to end.
    Nothing,
}

/// Who wakes after a pause.
#[derive(Clone, Copy, Debug)]
pub(super) enum ApplicationId {
    /// A web user who has thought enough.
    User(UserId),
    /// A source's connection.
    Flow(FlowId),
}

/// The number of a web user. Even ones are on side 0, odd ones on side 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UserId(pub(super) u32);

impl UserId {
    pub(super) fn side(self) -> Side {
        Side::numbered((self.0 & 1) as u8)
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The name of a connection of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowId {
    pub(super) slot: u32,
    /// Tells it from an earlier flow in its slot, which may still have a report due.
    pub(super) serial: u32,
}
