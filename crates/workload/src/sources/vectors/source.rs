//! A source of connections: those of a generator, numbered, each with a round-trip time and streams of its own.

use aqmlab_units::{Bytes, Stream, Time};

use super::connection::VectorConnection;
use super::generator::{Cursor, Generator};
use super::vector::{Vector, VectorAction, VectorEvent};
use crate::sources::draws::rtt::MinRtt;
use crate::sources::player::Player;
use crate::sources::quality::Watched;
use crate::sources::transfer::Transfer;

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
    pub fn open(&self, vector: &Vector, now: Time) -> ConnectionState {
        if self.generator.video().is_some() {
            ConnectionState::Player(Box::new(Player::new(now)))
        } else if let Some(transfer) = self.generator.limited_transfer() {
            ConnectionState::Transfer(Box::new(Transfer::new(transfer)))
        } else {
            ConnectionState::Vector(VectorConnection::new(&*self.generator, vector, now))
        }
    }

    /// Something happened to `connection`, one of this source's.
    pub fn on_event(
        &self,
        connection: &mut ConnectionState,
        event: VectorEvent,
        now: Time,
        out: &mut Vec<VectorAction>,
    ) {
        match connection {
            ConnectionState::Vector(connection) => connection.on_event(&*self.generator, event, now, out),
            ConnectionState::Player(player) => {
                player.on_event(self.generator.video().expect("players have a video"), event, now, out);
            }
            ConnectionState::Transfer(state) => {
                let transfer = self.generator.limited_transfer().expect("such a source has one");
                state.on_event(transfer, event, now, out);
            }
        }
    }

    /// The first `n` units of `vector`, one of this source's.
    #[cfg(test)]
    pub(crate) fn units(&self, vector: &Vector, n: usize) -> Vec<super::adu::Adu> {
        let mut cursor = vector.cursor;
        std::iter::from_fn(|| self.generator.adu(&mut cursor)).take(n).collect()
    }
}

/// The state of a source's connection, both ends together.
#[derive(Clone, Debug)]
pub enum ConnectionState {
    /// It follows its vector.
    Vector(VectorConnection),
    /// A player decides.
    Player(Box<Player>),
    /// An application limits an endless transfer.
    Transfer(Box<Transfer>),
}

impl ConnectionState {
    /// Bytes that have to come to the initiator before there is something to do: what to set a socket's receive
    /// low-water mark to.
    pub fn awaits_at_initiator(&self) -> Bytes {
        match self {
            ConnectionState::Vector(connection) => connection.awaits_at_initiator(),
            ConnectionState::Player(player) => player.awaits_at_initiator(),
            ConnectionState::Transfer(transfer) => transfer.awaits_at_initiator(),
        }
    }

    /// The same for the acceptor.
    pub fn awaits_at_acceptor(&self) -> Bytes {
        match self {
            ConnectionState::Vector(connection) => connection.awaits_at_acceptor(),
            ConnectionState::Player(player) => player.awaits_at_acceptor(),
            ConnectionState::Transfer(transfer) => transfer.awaits_at_acceptor(),
        }
    }

    /// Neither end will do anything more.
    pub fn is_over(&self) -> bool {
        match self {
            ConnectionState::Vector(connection) => connection.is_over(),
            ConnectionState::Player(player) => player.is_over(),
            ConnectionState::Transfer(_) => false,
        }
    }

    /// Return what its viewer has seen by `now` and has not been reported, if it is a player.
    pub fn unreported(&self, now: Time) -> Option<Watched> {
        match self {
            ConnectionState::Vector(_) | ConnectionState::Transfer(_) => None,
            ConnectionState::Player(player) => Some(player.unreported(now)),
        }
    }
}
