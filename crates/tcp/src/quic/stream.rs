//! One stream: its data in both directions (RFC 9000 §2-4).

use super::line::Rank;
use super::send_buffer::SendBuffer;
use super::streams::Priority;
use super::wire::Frame;
use crate::Seq;
use crate::intervals::Intervals;

/// The FIN of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fin {
    /// The application may write more.
    #[default]
    Open,
    /// It is to be sent with the last data.
    Due,
    Sent,
    Acknowledged,
}

/// The data that this end sends.
#[derive(Debug, Default)]
pub(super) struct SendStream {
    pub(super) buffer: SendBuffer,
    pub(super) fin: Fin,
    /// The peer's limit (`MAX_STREAM_DATA`).
    pub(super) limit: Seq,
}

impl SendStream {
    pub(super) fn finish(&mut self) {
        if self.fin == Fin::Open {
            self.fin = Fin::Due;
        }
    }

    /// True if all data and the FIN have arrived.
    pub(super) fn is_done(&self) -> bool {
        self.fin == Fin::Acknowledged && self.buffer.is_acknowledged()
    }

    /// New bytes that the stream's limit permits.
    pub(super) fn permitted(&self) -> u32 {
        let end = self.buffer.end.min(self.limit);
        if self.buffer.next < end { end - self.buffer.next } else { 0 }
    }
}

/// The data that the peer sends.
#[derive(Debug, Default)]
pub(super) struct ReceiveStream {
    /// The next byte expected.
    pub(super) next: Seq,
    /// Received beyond it.
    reassembly: Intervals,
    /// One past the highest byte received.
    highest: Seq,
    /// One past the last byte.
    pub(super) final_size: Option<Seq>,
    /// The limit that the peer has (`MAX_STREAM_DATA`).
    pub(super) limit: Seq,
    /// A higher limit is to be sent.
    pub(super) limit_due: bool,
    /// The application waits for this byte.
    pub(super) low_water: Option<Seq>,
}

/// Effect of received data on a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Growth of the highest offset, which counts for flow control.
    pub(super) claimed: u32,
    /// Bytes that the application can read now.
    pub(super) in_order: u32,
}

impl ReceiveStream {
    pub(super) fn new(window: u32) -> ReceiveStream {
        ReceiveStream { limit: Seq::new(window), ..ReceiveStream::default() }
    }

    /// Take a frame. Data may repeat, overlap and come in any order.
    pub(super) fn receive(&mut self, offset: Seq, len: u16, fin: bool) -> Progress {
        let end = offset + u32::from(len);
        debug_assert!(end <= self.limit, "the peer exceeds the stream's limit");
        if fin {
            self.final_size = Some(end);
        }
        let claimed = if self.highest < end { end - self.highest } else { 0 };
        self.highest = self.highest.max(end);
        let before = self.next;
        if self.next < end {
            self.next = self.reassembly.receive(self.next, offset, end);
        }
        Progress { claimed, in_order: self.next - before }
    }

    pub(super) fn has_gap(&self) -> bool {
        !self.reassembly.is_empty()
    }

    /// True if all data have arrived.
    pub(super) fn is_done(&self) -> bool {
        self.final_size == Some(self.next)
    }

    /// Raise the limit when less than half of `window` is left. The application reads at once.
    pub(super) fn update_limit(&mut self, window: u32) {
        if self.final_size.is_none() && self.limit - self.next < window / 2 {
            self.limit = self.next + window;
            self.limit_due = true;
        }
    }
}

/// A stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) priority: Priority,
    /// Its place in the line of streams of the same urgency, and the bytes sent in this turn.
    pub(super) turn: u64,
    pub(super) sent_in_turn: u32,
    pub(super) send: SendStream,
    pub(super) receive: ReceiveStream,
}

impl Stream {
    /// True if all data of both ends have arrived.
    pub(super) fn is_done(&self) -> bool {
        self.send.is_done() && self.receive.is_done()
    }

    /// True if it has something to send that the connection's limit does not count: lost data, or a FIN alone.
    pub(super) fn needs_no_credit(&self) -> bool {
        let send = &self.send;
        send.buffer.has_lost() || (send.fin == Fin::Due && send.buffer.unsent() == 0)
    }

    /// Its place in the line, if it has something to send that its own limit permits.
    pub(super) fn rank(&self) -> Option<Rank> {
        let is_ready = self.needs_no_credit() || self.send.permitted() > 0;
        is_ready.then_some((self.priority.urgency, self.turn, self.id))
    }

    /// Take a frame of at most `room` bytes, of which `credit` may be new data; and true if it repeats data. After a turn the
    /// stream has `next_turn`.
    pub(super) fn next_frame(&mut self, room: u16, credit: u32, next_turn: u64) -> Option<(Frame, bool)> {
        let Stream { id, ref mut send, .. } = *self;
        let header = Frame::Stream { id, offset: send.buffer.end, len: 0, fin: false };
        let most = room.checked_sub(header.overhead()).filter(|&most| most > 0)?;
        let limit = (send.buffer.next + credit).min(send.limit);
        let (offset, len, is_repeated) = send.buffer.take(most, limit).unwrap_or((send.buffer.end, 0, false));
        let fin = send.fin == Fin::Due && offset + u32::from(len) == send.buffer.end;
        if fin {
            send.fin = Fin::Sent;
        }
        self.sent_in_turn += u32::from(len);
        if self.priority.turn.is_some_and(|turn| turn <= self.sent_in_turn) {
            (self.turn, self.sent_in_turn) = (next_turn, 0);
        }
        Some((Frame::Stream { id, offset, len, fin }, is_repeated))
    }
}
