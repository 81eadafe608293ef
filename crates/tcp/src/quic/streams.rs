//! The streams of a connection: their order on sending, and flow control of the connection (RFC 9000 §4).

use super::stream::{Fin, ReceiveStream, SendStream, Stream};
use super::wire::{Frame, Parameters};
use crate::{Profile, Seq};

/// The number of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub(super) u32);

impl StreamId {
    /// The first stream that a client opens, which carries the data of an application without streams.
    pub const FIRST: StreamId = StreamId(0);
}

/// The urgency of a stream: 0 is the most urgent, 7 the least (RFC 9218 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Urgency(u8);

impl Urgency {
    /// The urgency of a request that names none.
    pub const DEFAULT: Urgency = Urgency(3);

    /// Return the urgency `value`, at most 7.
    pub fn new(value: u8) -> Urgency {
        Urgency(value.min(7))
    }
}

/// All streams of a connection.
#[derive(Debug)]
pub(super) struct Streams {
    list: Vec<Stream>,
    /// The place in the list of the stream that sent last.
    turn: usize,
    opened: u32,
    /// Windows of the connection and of a stream.
    window: u32,
    stream_window: u32,
    /// New bytes sent on all streams, and the peer's limit (`MAX_DATA`).
    sent: Seq,
    limit: Seq,
    /// The peer's limit for new streams.
    peer_stream_window: u32,
    /// Bytes that the application has read on all streams; the sum of the highest offsets; and the limit of that.
    read: Seq,
    claimed: Seq,
    own_limit: Seq,
    pub(super) limit_due: bool,
}

impl Streams {
    pub(super) fn new(profile: &Profile) -> Streams {
        let (window, stream_window) = (profile.receive_window, profile.quic_values().stream_window);
        Streams {
            list: Vec::new(),
            turn: 0,
            opened: 0,
            window,
            stream_window,
            sent: Seq::ZERO,
            limit: Seq::ZERO,
            peer_stream_window: 0,
            read: Seq::ZERO,
            claimed: Seq::ZERO,
            own_limit: Seq::new(window),
            limit_due: false,
        }
    }

    /// Take the peer's first limits. A client with 0-RTT remembers those of the earlier connection (RFC 9000 §7.4.1).
    pub(super) fn take_limits(&mut self, parameters: &Parameters) {
        self.limit = self.limit.max(Seq::new(parameters.max_data));
        self.peer_stream_window = parameters.max_stream_data;
        for stream in &mut self.list {
            stream.send.limit = stream.send.limit.max(Seq::new(parameters.max_stream_data));
        }
    }

    pub(super) fn open(&mut self, urgency: Urgency) -> StreamId {
        // Streams of a client in both directions have numbers divisible by four (RFC 9000 §2.1).
        let id = StreamId(4 * self.opened);
        self.opened += 1;
        self.add(id, urgency);
        id
    }

    fn add(&mut self, id: StreamId, urgency: Urgency) -> &mut Stream {
        let send = SendStream { limit: Seq::new(self.peer_stream_window), ..SendStream::default() };
        let receive = ReceiveStream::new(self.stream_window);
        self.list.push(Stream { id: id.0, urgency: urgency.0, send, receive, is_readable: false });
        self.list.last_mut().expect("it was pushed")
    }

    pub(super) fn get(&self, id: StreamId) -> Option<&Stream> {
        self.list.iter().find(|stream| stream.id == id.0)
    }

    /// Return a stream, which is opened by its first use.
    pub(super) fn entry(&mut self, id: StreamId) -> &mut Stream {
        if let Some(index) = self.list.iter().position(|stream| stream.id == id.0) {
            return &mut self.list[index];
        }
        self.opened = self.opened.max(id.0 / 4 + 1);
        self.add(id, Urgency::DEFAULT)
    }

    pub(super) fn finish_all(&mut self) {
        self.list.iter_mut().for_each(|stream| stream.send.finish());
    }

    /// True if the application has finished all streams.
    pub(super) fn is_finished(&self) -> bool {
        !self.list.is_empty() && self.list.iter().all(|stream| stream.send.fin != Fin::Open)
    }

    /// True if all that this end sends has arrived.
    pub(super) fn all_sent(&self) -> bool {
        !self.list.is_empty() && self.list.iter().all(|stream| stream.send.is_done())
    }

    /// True if all that the peer sends has arrived.
    pub(super) fn all_received(&self) -> bool {
        !self.list.is_empty() && self.list.iter().all(|stream| stream.receive.is_done())
    }

    pub(super) fn has_gap(&self) -> bool {
        self.list.iter().any(|stream| stream.receive.has_gap())
    }

    pub(super) fn poll_readable(&mut self) -> Option<StreamId> {
        let stream = self.list.iter_mut().find(|stream| stream.is_readable)?;
        stream.is_readable = false;
        Some(StreamId(stream.id))
    }

    // Sending.

    /// New bytes that the connection's limit permits.
    pub(super) fn credit(&self) -> u32 {
        if self.sent < self.limit { self.limit - self.sent } else { 0 }
    }

    fn is_sendable(stream: &Stream, credit: u32) -> bool {
        let send = &stream.send;
        let fin = send.fin == Fin::Due && send.buffer.unsent() == 0;
        send.buffer.has_lost() || fin || (credit > 0 && send.permitted() > 0)
    }

    /// True if a stream has a frame to send.
    pub(super) fn has_sendable(&self) -> bool {
        let credit = self.credit();
        self.list.iter().any(|stream| Streams::is_sendable(stream, credit))
    }

    /// True if a stream has a limit to send.
    pub(super) fn has_limits_due(&self) -> bool {
        self.limit_due || self.list.iter().any(|stream| stream.receive.limit_due)
    }

    /// Bytes written and never sent.
    pub(super) fn unsent(&self) -> u32 {
        self.list.iter().map(|stream| stream.send.buffer.unsent()).sum()
    }

    /// True if flow control holds back all unsent data.
    pub(super) fn is_blocked(&self) -> bool {
        self.unsent() > 0 && !self.has_sendable()
    }

    /// Return the next frame of at most `room` bytes, and true if it repeats data: from the most urgent streams, which
    /// take turns.
    pub(super) fn next_frame(&mut self, room: u16) -> Option<(Frame, bool)> {
        let credit = self.credit();
        let sendable = |stream: &Stream| Streams::is_sendable(stream, credit);
        let urgency =
            self.list.iter().filter(|stream| sendable(stream)).map(|stream| stream.urgency).min()?;
        let count = self.list.len();
        let order = (1..=count).map(|step| (self.turn + step) % count);
        let index = order
            .into_iter()
            .find(|&index| self.list[index].urgency == urgency && sendable(&self.list[index]))?;
        let stream = &mut self.list[index];
        let header = Frame::Stream { id: stream.id, offset: stream.send.buffer.end, len: 0, fin: false };
        let most = room.checked_sub(header.overhead()).filter(|&most| most > 0)?;
        let send = &mut stream.send;
        let limit = (send.buffer.next + credit).min(send.limit);
        let (offset, len, repeated) = send.buffer.take(most, limit).unwrap_or((send.buffer.end, 0, false));
        let fin = matches!(send.fin, Fin::Due) && offset + u32::from(len) == send.buffer.end;
        if fin {
            send.fin = Fin::Sent;
        }
        if !repeated {
            self.sent += u32::from(len);
        }
        self.turn = index;
        Some((Frame::Stream { id: stream.id, offset, len, fin }, repeated))
    }

    /// Return the next limit to send.
    pub(super) fn next_limit(&mut self) -> Option<Frame> {
        if std::mem::take(&mut self.limit_due) {
            return Some(Frame::MaxData(self.own_limit));
        }
        let stream = self.list.iter_mut().find(|stream| stream.receive.limit_due)?;
        stream.receive.limit_due = false;
        Some(Frame::MaxStreamData { id: stream.id, limit: stream.receive.limit })
    }

    // Fates of frames.

    /// The frame has arrived. Returns the stream bytes not known before.
    pub(super) fn on_acked(&mut self, frame: Frame) -> u32 {
        let Frame::Stream { id, offset, len, fin } = frame else { return 0 };
        let send = &mut self.entry(StreamId(id)).send;
        if fin {
            send.fin = Fin::Acknowledged;
        }
        send.buffer.acknowledge(offset, offset + u32::from(len))
    }

    /// The content of the frame has to be sent again (RFC 9000 §13.3).
    pub(super) fn on_lost(&mut self, frame: Frame) {
        match frame {
            Frame::Stream { id, offset, len, fin } => {
                let send = &mut self.entry(StreamId(id)).send;
                send.buffer.lose(offset, offset + u32::from(len));
                if fin && send.fin == Fin::Sent {
                    send.fin = Fin::Due;
                }
            }
            Frame::MaxData(_) => self.limit_due = true,
            Frame::MaxStreamData { id, .. } => self.entry(StreamId(id)).receive.limit_due = true,
            _ => {}
        }
    }

    // Receiving.

    /// Handle data or a limit of the peer. Returns true if the first stream's application has what it waits for.
    pub(super) fn on_frame(&mut self, frame: Frame) -> bool {
        match frame {
            Frame::Stream { id, offset, len, fin } => return self.on_data(StreamId(id), offset, len, fin),
            Frame::MaxData(limit) => self.limit = self.limit.max(limit),
            Frame::MaxStreamData { id, limit } => {
                let send = &mut self.entry(StreamId(id)).send;
                send.limit = send.limit.max(limit);
            }
            _ => {}
        }
        false
    }

    fn on_data(&mut self, id: StreamId, offset: Seq, len: u16, fin: bool) -> bool {
        let window = self.stream_window;
        let stream = self.entry(id);
        let receive = &mut stream.receive;
        let progress = receive.receive(offset, len, fin);
        receive.update_limit(window);
        let is_done = receive.is_done();
        let is_awaited = receive.low_water.is_some_and(|low_water| low_water <= receive.next);
        if is_awaited {
            receive.low_water = None;
        }
        stream.is_readable |= progress.in_order > 0 || is_done;
        self.claimed += progress.claimed;
        self.read += progress.in_order;
        debug_assert!(self.claimed <= self.own_limit, "the peer exceeds the connection's limit");
        if self.own_limit - self.read < self.window / 2 {
            self.own_limit = self.read + self.window;
            self.limit_due = true;
        }
        is_awaited
    }
}
