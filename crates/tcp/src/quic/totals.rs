//! Sums over the streams of a connection, which every packet asks for.

use std::ops::{Add, Sub};

use super::stream::{Fin, Stream};

/// Sums over streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Bytes written and never sent.
    pub(super) unsent: u32,
    /// Streams that the application has not finished.
    pub(super) unfinished: u32,
    /// Streams of which the peer has not acknowledged all.
    pub(super) unacknowledged: u32,
    /// Streams of which the peer has not sent all.
    pub(super) incomplete: u32,
    /// Streams that have a limit to send.
    pub(super) limits_due: u32,
}

impl Totals {
    /// The part of one stream.
    pub(super) fn of(stream: &Stream) -> Totals {
        Totals {
            unsent: stream.send.buffer.unsent(),
            unfinished: (stream.send.fin == Fin::Open).into(),
            unacknowledged: (!stream.send.is_done()).into(),
            incomplete: (!stream.receive.is_done()).into(),
            limits_due: stream.receive.limit_due.into(),
        }
    }
}

impl Add for Totals {
    type Output = Totals;

    fn add(self, other: Totals) -> Totals {
        Totals {
            unsent: self.unsent + other.unsent,
            unfinished: self.unfinished + other.unfinished,
            unacknowledged: self.unacknowledged + other.unacknowledged,
            incomplete: self.incomplete + other.incomplete,
            limits_due: self.limits_due + other.limits_due,
        }
    }
}

impl Sub for Totals {
    type Output = Totals;

    fn sub(self, other: Totals) -> Totals {
        Totals {
            unsent: self.unsent - other.unsent,
            unfinished: self.unfinished - other.unfinished,
            unacknowledged: self.unacknowledged - other.unacknowledged,
            incomplete: self.incomplete - other.incomplete,
            limits_due: self.limits_due - other.limits_due,
        }
    }
}
