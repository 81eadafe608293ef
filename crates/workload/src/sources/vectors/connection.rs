//! A connection that follows its vector: what both ends do next, as the network and the clock report.

use aqmlab_units::{Bytes, Duration, Time};

use super::adu::End;
use super::generator::{Cursor, Generator};
use super::vector::{Vector, VectorAction, VectorEvent};
use crate::Completed;

/// The state of a connection, both ends together.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the connection")]
pub struct VectorConnection {
    cursor: Cursor,
    /// The unit to come; its fields stand apart because that saves the room of a word.
    next_by: Option<End>,
    next_pause: Duration,
    next_size: Bytes,
    /// Bytes written for the acceptor that have not come yet, and for the initiator.
    to_acceptor: Bytes,
    to_initiator: Bytes,
    /// Of these, the first ones: those of the answer to the exchange in progress.
    answer_left: Bytes,
    started: Time,
    /// Of the exchange in progress: what has been written of it.
    request: Bytes,
    response: Bytes,
    phase: VectorPhase,
    /// An exchange is in progress.
    exchange: bool,
    first: bool,
    persistent: bool,
    /// Neither end waits for the other.
    concurrent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VectorPhase {
    /// The handshake is under way.
    Opening,
    /// The pause before the next unit is running.
    Pausing,
    /// Bytes are on their way; those who send next have not got them all.
    Waiting,
    /// The connection was lost; its replacement is opened after the pause that is running.
    Lost,
    /// Nothing more will happen.
    Over,
}

impl VectorConnection {
    /// The state of `vector` of `generator` when it is opened at `now`.
    pub(crate) fn new(generator: &dyn Generator, vector: &Vector, now: Time) -> VectorConnection {
        let mut connection = VectorConnection {
            cursor: vector.cursor,
            next_by: None,
            next_pause: Duration::ZERO,
            next_size: Bytes::ZERO,
            to_acceptor: Bytes::ZERO,
            to_initiator: Bytes::ZERO,
            answer_left: Bytes::ZERO,
            started: now,
            request: Bytes::ZERO,
            response: Bytes::ZERO,
            phase: VectorPhase::Opening,
            exchange: false,
            first: true,
            persistent: vector.persistent,
            concurrent: vector.concurrent,
        };
        connection.look_ahead(generator);
        connection.connect(now);
        connection
    }

    /// Bytes that have to come to the initiator before there is something to do: what to set a socket's receive
    /// low-water mark to.
    pub(crate) fn awaits_at_initiator(&self) -> Bytes {
        if self.answer_left > Bytes::ZERO { self.answer_left } else { self.to_initiator }
    }

    /// The same for the acceptor.
    pub(crate) fn awaits_at_acceptor(&self) -> Bytes {
        self.to_acceptor
    }

    /// Neither end will do anything more.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == VectorPhase::Over
    }

    /// `connect()` is called.
    fn connect(&mut self, now: Time) {
        self.phase = VectorPhase::Opening;
        self.started = now;
        self.first = true;
        // The end of the first request begins to wait with the handshake.
        self.begin(!self.concurrent && self.next_by == Some(End::Initiator));
    }

    fn begin(&mut self, exchange: bool) {
        self.exchange = exchange;
        (self.request, self.response, self.answer_left) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    }

    fn look_ahead(&mut self, generator: &dyn Generator) {
        match generator.adu(&mut self.cursor) {
            Some(adu) => {
                self.next_by = Some(adu.by);
                (self.next_pause, self.next_size) = (adu.pause, adu.size);
            }
            None => self.next_by = None,
        }
    }

    /// Something happened.
    pub(crate) fn on_event(
        &mut self,
        generator: &dyn Generator,
        event: VectorEvent,
        now: Time,
        out: &mut Vec<VectorAction>,
    ) {
        match event {
            VectorEvent::Opened => {
                debug_assert!(self.phase == VectorPhase::Opening, "a connection opens once");
                self.pause(generator, now, out);
            }
            VectorEvent::Woken if self.phase == VectorPhase::Lost => {
                self.connect(now);
                out.push(VectorAction::Open);
            }
            VectorEvent::Woken => self.send(generator, now, out),
            VectorEvent::Delivered(n) => {
                self.to_acceptor = self.to_acceptor - n;
                if self.to_acceptor == Bytes::ZERO {
                    if self.exchange && self.response == Bytes::ZERO && self.falls_silent() {
                        self.complete(now, out);
                    }
                    self.arrived(End::Acceptor, generator, now, out);
                }
            }
            VectorEvent::Received(n) => {
                self.to_initiator = self.to_initiator - n;
                if self.answer_left > Bytes::ZERO {
                    self.answer_left = Bytes::new(self.answer_left.get().saturating_sub(n.get()));
                    if self.answer_left == Bytes::ZERO {
                        self.complete(now, out);
                    }
                }
                if self.to_initiator == Bytes::ZERO {
                    self.arrived(End::Initiator, generator, now, out);
                }
            }
            VectorEvent::Closed => self.lose(generator, now, out),
        }
    }

    /// Nothing will be sent any more, but for a FIN.
    fn falls_silent(&self) -> bool {
        self.next_by.is_none() || self.next_size == Bytes::ZERO
    }

    /// All that was sent to `end` has come.
    fn arrived(&mut self, end: End, generator: &dyn Generator, now: Time, out: &mut Vec<VectorAction>) {
        if self.phase != VectorPhase::Waiting {
            return;
        }
        match self.next_by {
            Some(by) if by == end => self.pause(generator, now, out),
            Some(_) => {}
            None => self.finish(out),
        }
    }

    /// The pause before the next unit begins.
    fn pause(&mut self, generator: &dyn Generator, now: Time, out: &mut Vec<VectorAction>) {
        if self.next_by.is_some() && self.next_pause > Duration::ZERO {
            self.phase = VectorPhase::Pausing;
            out.push(VectorAction::Sleep(self.next_pause));
        } else {
            self.send(generator, now, out);
        }
    }

    /// The pause is over: send the next unit, and those that follow it without waiting for anything to come.
    fn send(&mut self, generator: &dyn Generator, now: Time, out: &mut Vec<VectorAction>) {
        self.phase = VectorPhase::Waiting;
        loop {
            match self.next_by {
                Some(by) if self.next_size > Bytes::ZERO => {
                    self.write(by, now, out);
                    self.look_ahead(generator);
                    let waits = self.next_by != Some(by) && !self.concurrent;
                    if waits || self.next_by.is_none() {
                        return;
                    }
                    if self.next_pause > Duration::ZERO {
                        self.phase = VectorPhase::Pausing;
                        out.push(VectorAction::Sleep(self.next_pause));
                        return;
                    }
                }
                _ => {
                    self.next_by = None;
                    return self.finish(out);
                }
            }
        }
    }

    fn write(&mut self, by: End, now: Time, out: &mut Vec<VectorAction>) {
        let size = self.next_size;
        match by {
            End::Initiator => {
                if !self.exchange && !self.concurrent {
                    self.begin(true);
                }
                if !self.first || self.request > Bytes::ZERO {
                    self.started = now;
                }
                self.request += size;
                self.to_acceptor += size;
                out.push(VectorAction::Write(size));
            }
            End::Acceptor => {
                self.to_initiator += size;
                if self.exchange && self.response == Bytes::ZERO {
                    self.response = size;
                    self.answer_left = size;
                }
                // A greeting of the acceptor's takes the handshake away from the first exchange.
                self.first &= self.exchange;
                out.push(VectorAction::Answer(size));
            }
        }
    }

    fn complete(&mut self, now: Time, out: &mut Vec<VectorAction>) {
        out.push(VectorAction::Completed(Completed {
            request: self.request,
            response: self.response,
            started: self.started,
            response_time: now - self.started,
            first: self.first,
            persistent: self.persistent,
            // A flow has one connection, and sources know of no pages.
            connection: 0,
            top_level: false,
        }));
        self.exchange = false;
        self.first = false;
    }

    /// Both ends have fallen silent.
    fn finish(&mut self, out: &mut Vec<VectorAction>) {
        if self.to_acceptor == Bytes::ZERO && self.to_initiator == Bytes::ZERO {
            self.phase = VectorPhase::Over;
            out.push(VectorAction::Close);
        }
    }

    /// Handles a broken connection. An endless one is replaced: lost data stay lost, and the initiator continues with its
    /// next request, after the pause before that.
    fn lose(&mut self, generator: &dyn Generator, now: Time, out: &mut Vec<VectorAction>) {
        if std::mem::take(&mut self.exchange) {
            out.push(VectorAction::Aborted);
        }
        (self.to_acceptor, self.to_initiator) = (Bytes::ZERO, Bytes::ZERO);
        if !generator.is_endless() {
            self.phase = VectorPhase::Over;
            return;
        }
        if self.phase == VectorPhase::Opening {
            // The request was not written. Its pause is over, so the next attempt begins at once.
            self.connect(now);
            out.push(VectorAction::Open);
            return;
        }
        while self.next_by == Some(End::Acceptor) {
            self.look_ahead(generator);
        }
        let pause = std::mem::replace(&mut self.next_pause, Duration::ZERO);
        if self.phase == VectorPhase::Pausing {
            // The report that is due serves.
            self.phase = VectorPhase::Lost;
        } else if pause > Duration::ZERO {
            self.phase = VectorPhase::Lost;
            out.push(VectorAction::Sleep(pause));
        } else {
            self.connect(now);
            out.push(VectorAction::Open);
        }
    }
}

#[cfg(test)]
mod tests;
