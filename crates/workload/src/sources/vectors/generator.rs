//! The interface of a generator of connections: the next connection, and the next unit of a connection.

use std::fmt::Debug;

use aqmlab_units::{Duration, Stream, Time};

use super::adu::Adu;
use crate::sources::player::Video;
use crate::sources::transfer::LimitedTransfer;

/// A kind of source.
pub(crate) trait Generator: Debug + Send + Sync {
    /// The next connection, in order of start; those of one instant in any order, but always the same.
    fn next(&mut self) -> Option<Start>;

    /// Returns the next unit of the connection at `cursor`, if there is one, and moves the cursor, on which alone it depends.
    fn adu(&self, cursor: &mut Cursor) -> Option<Adu>;

    /// The video whose players its connections are, instead of following units.
    fn video(&self) -> Option<&Video> {
        None
    }

    /// The transfer that each of its connections carries, if its application limits it, instead of following units.
    fn limited_transfer(&self) -> Option<&LimitedTransfer> {
        None
    }

    /// Its connections never end by themselves, so that one lost is replaced.
    fn is_endless(&self) -> bool {
        false
    }
}

/// A connection to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) at: Time,
    pub(crate) side: u8,
    /// None: drawn by the source.
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) concurrent: bool,
    pub(crate) persistent: bool,
    /// The first position of the connection's cursor.
    pub(crate) next: u32,
    pub(crate) state: u64,
}

impl Start {
    /// A connection of which nothing but time and side is settled.
    pub(crate) fn at(at: Time, side: u8) -> Start {
        Start { at, side, min_rtt: None, concurrent: false, persistent: false, next: 0, state: 0 }
    }
}

/// The position of a connection in the units that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The key of the connection's streams.
    pub(crate) key: u64,
    /// The generator's notes about the connection.
    pub(crate) state: u64,
    /// The number of the next unit.
    pub(crate) next: u32,
}

impl Cursor {
    /// The stream that the next unit is drawn from, and its number. Each unit has a stream of its own: 0 is the
    /// connection's, unit i draws from i + 1.
    pub(crate) fn step(&mut self) -> (u32, Stream) {
        let number = self.next;
        self.next = number.wrapping_add(1);
        (number, Stream::numbered(self.key, u64::from(number) + 1))
    }
}
