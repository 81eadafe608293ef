//! Connection vectors: what the two ends of a TCP connection send each other, and when.
//!
//! The idea and the terms are those of tmix (Weigle, Adurthi, Hernández-Campos, Jeffay and Smith, "Tmix: a tool for
//! generating realistic TCP application workloads in ns-2", CCR 2006): an application is seen as the *application data
//! units* (ADUs) that its ends send one after another, with the pauses between them. An end that answers pauses after
//! the last byte of the other's unit has come; an end that sends twice in a row pauses after its own write.
//!
//! An *exchange* is a request, all that the initiator sends in a row, and the unit that answers it. Its response time
//! is that of a user: from `connect()` for the first exchange of a connection, from the write of the last part of the
//! request for later ones, to the last byte of the answer. Units that the acceptor sends without being asked belong to
//! no exchange. A request that nothing follows is an upload: it is complete when it has come whole. A *concurrent* vector,
//! whose ends do not wait for each other, has no exchanges at all.
//!
//! Differs from tmix: the initiator closes, whichever end fell silent last, and only when all bytes have come.

use aqmlab_units::{Bytes, Duration, Time};

use crate::Completed;
use crate::sources::quality::Watched;
use crate::sources::vectors::End;
use crate::sources::vectors::generator::Cursor;

/// A connection to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Its number among those of its source, from 0 in the order of starting.
    pub number: u64,
    /// The time of `connect()`.
    pub start: Time,
    /// The side of the link that its initiator is on, 0 or 1.
    pub side: u8,
    /// The delay that its path adds, queueing not included.
    pub min_rtt: Duration,
    /// Its ends send by their own clocks, and none waits for the other. Such a connection has no exchanges.
    pub concurrent: bool,
    /// It may carry more than one exchange.
    pub persistent: bool,
    /// The position of its first unit.
    pub(crate) cursor: Cursor,
}

/// An event of the network or the clock on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorEvent {
    /// It is established.
    Opened,
    /// More bytes have arrived at the acceptor. One report of all or many of parts give the same actions.
    Delivered(Bytes),
    /// More bytes have arrived at the initiator; the same holds.
    Received(Bytes),
    /// The time of [`VectorAction::Sleep`] is over.
    Woken,
    /// It broke.
    Closed,
}

/// An action of the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorAction {
    /// The initiator sends bytes.
    Write(Bytes),
    /// The acceptor sends bytes.
    Answer(Bytes),
    /// An end keeps the data that TCP has not taken yet.
    Withdraw(End),
    /// Report [`VectorEvent::Woken`] after this time. There is never more than one such report due.
    Sleep(Duration),
    /// An exchange is complete.
    Completed(Completed),
    /// The exchange in progress ended without its answer.
    Aborted,
    /// A player reports what its viewer has seen.
    Watched(Watched),
    /// The initiator closes: all has been sent and has come. No event may follow.
    Close,
    /// The lost connection is replaced: open another for the same state, with the same round-trip time.
    Open,
}
