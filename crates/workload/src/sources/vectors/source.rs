//! A source of connections: those of a generator, numbered, each with a round-trip time and streams of its own.

use aqmlab_units::{Stream, Time};

use super::connection::VectorConnection;
use super::generator::{Cursor, Generator};
use super::vector::{Vector, VectorAction, VectorEvent};
use crate::sources::draws::rtt::MinRtt;

/// A source of connections.
#[derive(Debug)]
pub struct VectorSource {
    generator: Box<dyn Generator>,
    rtts: MinRtt,
    /// The key of the family of streams, one for each connection.
    connections: u64,
    /// Connections so far.
    number: u64,
}

impl Iterator for VectorSource {
    type Item = Vector;

    /// The next connection, in order of start.
    fn next(&mut self) -> Option<Vector> {
        let start = self.generator.next()?;
        let number = self.number;
        self.number += 1;
        let key = Stream::numbered(self.connections, number).next_u64();
        Some(Vector {
            number,
            start: start.at,
            side: start.side,
            min_rtt: start.min_rtt.unwrap_or_else(|| self.rtts.draw(&mut Stream::numbered(key, 0))),
            concurrent: start.concurrent,
            persistent: start.persistent,
            cursor: Cursor { key, state: start.state, next: start.next },
        })
    }
}

impl VectorSource {
    /// `generator` says what there is; `connections` is the key of the family of streams, one for each connection.
    pub(crate) fn new(generator: Box<dyn Generator>, rtts: MinRtt, connections: u64) -> VectorSource {
        VectorSource { generator, rtts, connections, number: 0 }
    }

    /// The state of `vector`, one of this source's, as it is opened at `now`.
    pub fn open(&self, vector: &Vector, now: Time) -> VectorConnection {
        VectorConnection::new(&*self.generator, vector, now)
    }

    /// Something happened to `connection`, one of this source's.
    pub fn on_event(
        &self,
        connection: &mut VectorConnection,
        event: VectorEvent,
        now: Time,
        out: &mut Vec<VectorAction>,
    ) {
        connection.on_event(&*self.generator, event, now, out);
    }

    /// The first `n` units of `vector`, one of this source's.
    #[cfg(test)]
    pub(crate) fn units(&self, vector: &Vector, n: usize) -> Vec<super::adu::Adu> {
        let mut cursor = vector.cursor;
        std::iter::from_fn(|| self.generator.adu(&mut cursor)).take(n).collect()
    }
}
