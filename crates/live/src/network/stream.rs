//! Connected sockets that remember whether they are ready, so that none is asked for what it does not have.
//!
//! Events are edge-triggered: after a read that did not fill the buffer, and after a write that found too little room, the next
//! event says when to try again. A system call costs little on a machine, but much in a guest: there, the kernel reads most
//! of what a program awaits, and wakes it for the rest.

use std::io;
use std::sync::Arc;

use aqmlab_units::Bytes;
use mio::event::Event;
use socket2::Socket;

use crate::network::engine_device::EngineDevice;
use crate::network::sockets::{self, ReadOutcome};

/// The last of the awaited bytes, which the program reads itself: it is woken for each of their segments. For fewer segments the further
/// system call, by which a guest's kernel reads the others, saves none.
const LAST: Bytes = Bytes::new(1 << 14);

/// A socket of TCP with its readiness.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) socket: Socket,
    /// The kernel in virtual time, if the socket is one of its.
    engine: Option<Arc<EngineDevice>>,
    is_readable: bool,
    is_writable: bool,
    /// The peer has closed or the connection has failed: each read has an answer.
    is_closing: bool,
}

impl Stream {
    /// Returns the stream of a socket whose readiness is unknown.
    pub(crate) fn new(socket: Socket, engine: Option<&Arc<EngineDevice>>) -> Stream {
        Stream { socket, engine: engine.cloned(), is_readable: true, is_writable: true, is_closing: false }
    }

    /// Updates the readiness. An event of an earlier socket in the same slot does no harm.
    pub(crate) fn update(&mut self, event: &Event) {
        self.is_closing |= event.is_read_closed() || event.is_write_closed() || event.is_error();
        self.is_readable |= event.is_readable() || self.is_closing;
        self.is_writable |= event.is_writable() || self.is_closing;
    }

    /// Reads the bytes that have arrived, up to the length of `scratch`, or to the `awaited` ones that a guest's kernel reads.
    pub(crate) fn read(&mut self, scratch: &mut [u8], awaited: Bytes) -> io::Result<ReadOutcome> {
        if !self.is_readable {
            return Ok(ReadOutcome::Nothing);
        }
        let counted = self.count(awaited)?;
        let outcome = sockets::read(&self.socket, scratch)?;
        self.is_readable = match outcome {
            ReadOutcome::Bytes(bytes) => bytes.get() == scratch.len() as u64 || self.is_closing,
            ReadOutcome::Nothing => false,
            ReadOutcome::End => true,
        };
        Ok(match outcome {
            ReadOutcome::Bytes(bytes) => ReadOutcome::Bytes(counted + bytes),
            _ if counted > Bytes::ZERO => ReadOutcome::Bytes(counted),
            outcome => outcome,
        })
    }

    /// Returns the bytes that a guest's kernel has read since the last call, and lets it read on: all of the `awaited` ones but the last.
    pub(crate) fn count(&self, awaited: Bytes) -> io::Result<Bytes> {
        match &self.engine {
            Some(engine) if awaited > LAST => {
                engine.discard(&self.socket, (awaited - LAST).get()).map(Bytes::new)
            }
            _ => Ok(Bytes::ZERO),
        }
    }

    /// Writes as many of `left` bytes as the socket has room for, and returns the rest.
    pub(crate) fn write(&mut self, left: u64) -> io::Result<u64> {
        if !self.is_writable || left == 0 {
            return Ok(left);
        }
        let left = sockets::write(&self.socket, left)?;
        self.is_writable = left == 0;
        Ok(left)
    }
}
