//! Application data units: what an end of a connection sends in one piece.

use aqmlab_units::{Bytes, Duration};

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that calls `connect()`.
    Initiator,
    /// The one that accepts.
    Acceptor,
}

/// An application data unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adu {
    /// The end that sends it.
    pub by: End,
    /// The pause before it: from the arrival of all that the other end has sent, or from the own write of the unit
    /// before; for the first unit, from the handshake. In a concurrent vector, from the unit before of either end.
    pub pause: Duration,
    /// Its size; zero closes the connection, and nothing follows.
    pub size: Bytes,
}

impl Adu {
    pub(crate) fn request(pause: Duration, size: Bytes) -> Adu {
        Adu { by: End::Initiator, pause, size }
    }

    pub(crate) fn response(pause: Duration, size: Bytes) -> Adu {
        Adu { by: End::Acceptor, pause, size }
    }
}

/// Returns the end that sends unit `number` when the ends take turns and the initiator begins.
pub(crate) fn turn(number: u32) -> End {
    if number.is_multiple_of(2) { End::Initiator } else { End::Acceptor }
}
