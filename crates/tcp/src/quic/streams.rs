//! The streams of a connection: their order on sending, and flow control of the connection (RFC 9000 §4).

use std::collections::VecDeque;

use super::stream::{Fin, ReceiveStream, SendStream, Stream};
use super::wire::{Frame, Parameters};
use crate::{Profile, Seq};

/// The number of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(super) u32);

impl StreamId {
    /// The first stream, which is open as long as the connection. It carries the data of an application without streams,
    /// and the settings of HTTP/3.
    pub const FIRST: StreamId = StreamId(0);

    /// Return the stream that is the `number`-th one opened by [`super::Connection::open_stream`], from 0.
    pub fn opened(number: u16) -> StreamId {
        StreamId(STEP * (1 + u32::from(number)))
    }

    /// Return its number among those opened, from 0; `None` for the first stream.
    pub fn number(self) -> Option<u16> {
        u16::try_from((self.0 / STEP).checked_sub(1)?).ok()
    }
}

/// Streams of a client in both directions have numbers divisible by this (RFC 9000 §2.1).
const STEP: u32 = 4;

/// Bytes that an incremental stream sends in a turn: a frame of HTTP/2 of the most common largest size (RFC 9113 §4.2), so
/// that responses share a connection as over HTTP/2. Servers also take turns of a packet.
const TURN: u32 = 16_384;

/// The priority of a stream (RFC 9218 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0 is the most urgent, 7 the least.
    pub urgency: u8,
    /// It takes turns with others of its urgency. Otherwise it is sent as a whole.
    pub incremental: bool,
}

impl Default for Priority {
    /// That of a request that names none.
    fn default() -> Priority {
        Priority { urgency: 3, incremental: false }
    }
}

/// The streams of a connection that are not done.
#[derive(Debug)]
pub(super) struct Streams {
    /// In the order of their numbers.
    list: Vec<Stream>,
    /// Streams so far.
    opened: u32,
    /// Places given out in the line of streams.
    turns: u64,
    /// Streams whose data have all arrived, and which the application has not polled.
    complete: VecDeque<StreamId>,
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
        let mut streams = Streams {
            list: Vec::new(),
            opened: 0,
            turns: 0,
            complete: VecDeque::new(),
            window,
            stream_window,
            sent: Seq::ZERO,
            limit: Seq::ZERO,
            peer_stream_window: 0,
            read: Seq::ZERO,
            claimed: Seq::ZERO,
            own_limit: Seq::new(window),
            limit_due: false,
        };
        streams.open(Priority { urgency: 0, incremental: false });
        streams
    }

    /// Take the peer's first limits. A client with 0-RTT remembers those of the earlier connection (RFC 9000 §7.4.1).
    pub(super) fn take_limits(&mut self, parameters: &Parameters) {
        self.limit = self.limit.max(Seq::new(parameters.max_data));
        self.peer_stream_window = parameters.max_stream_data;
        for stream in &mut self.list {
            stream.send.limit = stream.send.limit.max(Seq::new(parameters.max_stream_data));
        }
    }

    pub(super) fn open(&mut self, priority: Priority) -> StreamId {
        let id = StreamId(STEP * self.opened);
        self.opened += 1;
        let send = SendStream { limit: Seq::new(self.peer_stream_window), ..SendStream::default() };
        let receive = ReceiveStream::new(self.stream_window);
        self.list.push(Stream { id: id.0, priority, turn: 0, sent_in_turn: 0, send, receive });
        id
    }

    fn place(&self, id: StreamId) -> Option<usize> {
        self.list.binary_search_by_key(&id.0, |stream| stream.id).ok()
    }

    /// Return a stream, unless it is done.
    pub(super) fn get(&self, id: StreamId) -> Option<&Stream> {
        self.place(id).map(|place| &self.list[place])
    }

    /// Return a stream that is not done.
    pub(super) fn get_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.place(id).map(|place| &mut self.list[place])
    }

    /// The first stream.
    pub(super) fn first(&mut self) -> &mut Stream {
        self.get_mut(StreamId::FIRST).expect("it is never retired")
    }

    /// Append `bytes` to the data of a stream, which goes to the end of the line.
    pub(super) fn write(&mut self, id: StreamId, bytes: u32) {
        let turn = self.next_turn();
        if let Some(stream) = self.get_mut(id) {
            stream.turn = turn;
            stream.send.buffer.write(bytes);
        }
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    pub(super) fn finish_all(&mut self) {
        self.list.iter_mut().for_each(|stream| stream.send.finish());
    }

    /// True if the application has finished all streams.
    pub(super) fn is_finished(&self) -> bool {
        self.list.iter().all(|stream| stream.send.fin != Fin::Open)
    }

    /// True if all that this end sends has arrived.
    pub(super) fn all_sent(&self) -> bool {
        self.list.iter().all(|stream| stream.send.is_done())
    }

    /// True if all that the peer sends has arrived.
    pub(super) fn all_received(&self) -> bool {
        self.list.iter().all(|stream| stream.receive.is_done())
    }

    /// True if another stream than the first is not done.
    pub(super) fn has_open(&self) -> bool {
        self.list.len() > 1
    }

    pub(super) fn has_gap(&self) -> bool {
        self.list.iter().any(|stream| stream.receive.has_gap())
    }

    pub(super) fn poll_complete(&mut self) -> Option<StreamId> {
        self.complete.pop_front()
    }

    /// Forget a stream that is done, except the first.
    fn retire(&mut self, place: usize) {
        if self.list[place].id != StreamId::FIRST.0 && self.list[place].is_done() {
            self.list.remove(place);
        }
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

    /// Return the next frame of at most `room` bytes, and true if it repeats data: of the most urgent streams the first in
    /// line. After a turn an incremental one goes to the end of the line (RFC 9218 §10).
    pub(super) fn next_frame(&mut self, room: u16) -> Option<(Frame, bool)> {
        let credit = self.credit();
        let sendable = (0..self.list.len()).filter(|&place| Streams::is_sendable(&self.list[place], credit));
        let place =
            sendable.min_by_key(|&place| (self.list[place].priority.urgency, self.list[place].turn))?;
        let turn = self.next_turn();
        let stream = &mut self.list[place];
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
        stream.sent_in_turn += u32::from(len);
        if stream.priority.incremental && stream.sent_in_turn >= TURN {
            (stream.turn, stream.sent_in_turn) = (turn, 0);
        }
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
        let Some(place) = self.place(StreamId(id)) else { return 0 };
        let send = &mut self.list[place].send;
        if fin {
            send.fin = Fin::Acknowledged;
        }
        let new = send.buffer.acknowledge(offset, offset + u32::from(len));
        self.retire(place);
        new
    }

    /// The content of the frame has to be sent again (RFC 9000 §13.3).
    pub(super) fn on_lost(&mut self, frame: Frame) {
        match frame {
            Frame::Stream { id, offset, len, fin } => {
                let Some(stream) = self.get_mut(StreamId(id)) else { return };
                stream.send.buffer.lose(offset, offset + u32::from(len));
                if fin && stream.send.fin == Fin::Sent {
                    stream.send.fin = Fin::Due;
                }
            }
            Frame::MaxData(_) => self.limit_due = true,
            Frame::MaxStreamData { id, .. } => {
                if let Some(stream) = self.get_mut(StreamId(id)) {
                    stream.receive.limit_due = true;
                }
            }
            _ => {}
        }
    }

    // Receiving.

    /// Handle data or a limit of the peer. Returns true if the application has what it waits for: data of the first stream,
    /// or all data of another.
    pub(super) fn on_frame(&mut self, frame: Frame) -> bool {
        match frame {
            Frame::Stream { id, offset, len, fin } => return self.on_data(StreamId(id), offset, len, fin),
            Frame::MaxData(limit) => self.limit = self.limit.max(limit),
            Frame::MaxStreamData { id, limit } => {
                if let Some(stream) = self.get_mut(StreamId(id)) {
                    stream.send.limit = stream.send.limit.max(limit);
                }
            }
            _ => {}
        }
        false
    }

    fn on_data(&mut self, id: StreamId, offset: Seq, len: u16, fin: bool) -> bool {
        // The first frame of a stream opens it, and those below it (RFC 9000 §2.1).
        while self.opened <= id.0 / STEP {
            self.open(Priority::default());
        }
        let Some(place) = self.place(id) else { return false };
        let receive = &mut self.list[place].receive;
        let was_done = receive.is_done();
        let progress = receive.receive(offset, len, fin);
        receive.update_limit(self.stream_window);
        let is_complete = id != StreamId::FIRST && receive.is_done() && !was_done;
        let is_awaited = receive.low_water.take_if(|low_water| *low_water <= receive.next).is_some();
        if is_complete {
            self.complete.push_back(id);
            self.retire(place);
        }
        self.claimed += progress.claimed;
        self.read += progress.in_order;
        debug_assert!(self.claimed <= self.own_limit, "the peer exceeds the connection's limit");
        if self.own_limit - self.read < self.window / 2 {
            self.own_limit = self.read + self.window;
            self.limit_due = true;
        }
        is_awaited || is_complete
    }
}
