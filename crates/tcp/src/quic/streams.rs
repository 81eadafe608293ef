//! The streams of a connection: their order on sending, and flow control of the connection (RFC 9000 §4).

use std::collections::VecDeque;

use super::line::Line;
use super::stream::{Fin, ReceiveStream, SendStream, Stream};
use super::totals::Totals;
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

/// The priority of a stream (RFC 9218 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0 is the most urgent, 7 the least.
    pub urgency: u8,
    /// The bytes after which it lets others of its urgency send, if it takes turns with them (RFC 9218 calls it incremental).
    /// Otherwise it is sent as a whole.
    pub turn: Option<u32>,
}

impl Default for Priority {
    /// That of a request that names none.
    fn default() -> Priority {
        Priority { urgency: 3, turn: None }
    }
}

/// The streams of a connection that are not done.
#[derive(Debug)]
pub(super) struct Streams {
    /// In the order of their numbers. They change by [`Streams::change`], which keeps the next two up to date.
    list: Vec<Stream>,
    totals: Totals,
    /// The streams with something to send that their own limits permit.
    line: Line,
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
            totals: Totals::default(),
            line: Line::default(),
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
        streams.open(Priority { urgency: 0, turn: None });
        streams
    }

    /// Take the peer's first limits. A client with 0-RTT remembers those of the earlier connection (RFC 9000 §7.4.1).
    pub(super) fn take_limits(&mut self, parameters: &Parameters) {
        self.limit = self.limit.max(Seq::new(parameters.max_data));
        self.peer_stream_window = parameters.max_stream_data;
        for place in 0..self.list.len() {
            self.change(place, |stream| {
                stream.send.limit = stream.send.limit.max(Seq::new(parameters.max_stream_data));
            });
        }
    }

    pub(super) fn open(&mut self, priority: Priority) -> StreamId {
        let id = StreamId(STEP * self.opened);
        self.opened += 1;
        let send = SendStream { limit: Seq::new(self.peer_stream_window), ..SendStream::default() };
        let receive = ReceiveStream::new(self.stream_window);
        let stream = Stream { id: id.0, priority, turn: 0, sent_in_turn: 0, send, receive };
        self.totals = self.totals + Totals::of(&stream);
        self.list.push(stream);
        id
    }

    fn place(&self, id: StreamId) -> Option<usize> {
        self.list.binary_search_by_key(&id.0, |stream| stream.id).ok()
    }

    /// Return a stream, unless it is done.
    pub(super) fn get(&self, id: StreamId) -> Option<&Stream> {
        self.place(id).map(|place| &self.list[place])
    }

    /// Change a stream, and with it the totals and the line.
    fn change<T>(&mut self, place: usize, change: impl FnOnce(&mut Stream) -> T) -> T {
        let stream = &mut self.list[place];
        let (totals, rank) = (Totals::of(stream), stream.rank());
        let result = change(stream);
        self.totals = self.totals - totals + Totals::of(stream);
        let new_rank = stream.rank();
        if rank != new_rank {
            if let Some(rank) = rank {
                self.line.leave(rank);
            }
            if let Some(rank) = new_rank {
                self.line.enter(rank);
            }
        }
        result
    }

    /// Change a stream, unless it is done.
    fn change_open(&mut self, id: StreamId, change: impl FnOnce(&mut Stream)) {
        if let Some(place) = self.place(id) {
            self.change(place, change);
        }
    }

    /// Append `bytes` to the data of a stream, which goes to the end of the line.
    pub(super) fn write(&mut self, id: StreamId, bytes: u32) {
        let turn = self.next_turn();
        self.change_open(id, |stream| {
            stream.turn = turn;
            stream.send.buffer.write(bytes);
        });
    }

    /// Take back what was written to the first stream and never sent, and return the bytes.
    pub(super) fn withdraw(&mut self) -> u32 {
        let mut bytes = 0;
        self.change_open(StreamId::FIRST, |stream| bytes = stream.send.buffer.withdraw());
        bytes
    }

    pub(super) fn prioritize(&mut self, id: StreamId, priority: Priority) {
        self.change_open(id, |stream| stream.priority = priority);
    }

    pub(super) fn finish(&mut self, id: StreamId) {
        self.change_open(id, |stream| stream.send.finish());
    }

    /// Wait for `bytes` more on the first stream.
    pub(super) fn await_data(&mut self, bytes: u32) {
        self.change_open(StreamId::FIRST, |stream| {
            stream.receive.low_water = Some(stream.receive.next + bytes);
        });
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    pub(super) fn finish_all(&mut self) {
        for place in 0..self.list.len() {
            self.change(place, |stream| stream.send.finish());
        }
    }

    /// True if the application has finished all streams.
    pub(super) fn is_finished(&self) -> bool {
        self.totals.unfinished == 0
    }

    /// True if all that this end sends has arrived.
    pub(super) fn all_sent(&self) -> bool {
        self.totals.unacknowledged == 0
    }

    /// True if all that the peer sends has arrived.
    pub(super) fn all_received(&self) -> bool {
        self.totals.incomplete == 0
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
            let stream = self.list.remove(place);
            debug_assert_eq!(stream.rank(), None, "a stream that is done has nothing to send");
            self.totals = self.totals - Totals::of(&stream);
        }
    }

    // Sending.

    /// New bytes that the connection's limit permits.
    pub(super) fn credit(&self) -> u32 {
        if self.sent < self.limit { self.limit - self.sent } else { 0 }
    }

    /// The first in line that may send now.
    fn next_stream(&self) -> Option<StreamId> {
        let has_credit = self.credit() > 0;
        let may_send = |&id: &StreamId| has_credit || self.get(id).is_some_and(Stream::needs_no_credit);
        self.line.streams().map(StreamId).find(may_send)
    }

    /// True if a stream has a frame to send.
    pub(super) fn has_sendable(&self) -> bool {
        self.next_stream().is_some()
    }

    /// True if a stream has a limit to send.
    pub(super) fn has_limits_due(&self) -> bool {
        self.limit_due || self.totals.limits_due > 0
    }

    /// Bytes written and never sent.
    pub(super) fn unsent(&self) -> u32 {
        self.totals.unsent
    }

    /// True if flow control holds back all unsent data.
    pub(super) fn is_blocked(&self) -> bool {
        self.unsent() > 0 && !self.has_sendable()
    }

    /// Return the next frame of at most `room` bytes, and true if it repeats data: of the most urgent streams the first in
    /// line. After a turn an incremental one goes to the end of the line (RFC 9218 §10).
    pub(super) fn next_frame(&mut self, room: u16) -> Option<(Frame, bool)> {
        let place = self.place(self.next_stream()?)?;
        let (credit, next_turn) = (self.credit(), self.next_turn());
        let (frame, is_repeated) = self.change(place, |stream| stream.next_frame(room, credit, next_turn))?;
        if let (Frame::Stream { len, .. }, false) = (frame, is_repeated) {
            self.sent += u32::from(len);
        }
        Some((frame, is_repeated))
    }

    /// Check the totals and the line against the streams.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let totals = self.list.iter().map(Totals::of).fold(Totals::default(), std::ops::Add::add);
        assert_eq!(self.totals, totals);
        let mut ranks: Vec<_> = self.list.iter().filter_map(Stream::rank).collect();
        ranks.sort_unstable();
        assert!(self.line.streams().eq(ranks.iter().map(|&(_, _, id)| id)), "{:?} for {ranks:?}", self.line);
    }

    /// Return the next limit to send.
    pub(super) fn next_limit(&mut self) -> Option<Frame> {
        if std::mem::take(&mut self.limit_due) {
            return Some(Frame::MaxData(self.own_limit));
        }
        if self.totals.limits_due == 0 {
            return None;
        }
        let place = self.list.iter().position(|stream| stream.receive.limit_due)?;
        self.change(place, |stream| {
            stream.receive.limit_due = false;
            Some(Frame::MaxStreamData { id: stream.id, limit: stream.receive.limit })
        })
    }

    // Fates of frames.

    /// The frame has arrived. Returns the stream bytes not known before.
    pub(super) fn on_acked(&mut self, frame: Frame) -> u32 {
        let Frame::Stream { id, offset, len, fin } = frame else { return 0 };
        let Some(place) = self.place(StreamId(id)) else { return 0 };
        let new = self.change(place, |Stream { send, .. }| {
            if fin {
                send.fin = Fin::Acknowledged;
            }
            send.buffer.acknowledge(offset, offset + u32::from(len))
        });
        self.retire(place);
        new
    }

    /// The content of the frame has to be sent again (RFC 9000 §13.3).
    pub(super) fn on_lost(&mut self, frame: Frame) {
        match frame {
            Frame::Stream { id, offset, len, fin } => {
                self.change_open(StreamId(id), |Stream { send, .. }| {
                    send.buffer.lose(offset, offset + u32::from(len));
                    if fin && send.fin == Fin::Sent {
                        send.fin = Fin::Due;
                    }
                });
            }
            Frame::MaxData(_) => self.limit_due = true,
            Frame::MaxStreamData { id, .. } => {
                self.change_open(StreamId(id), |stream| stream.receive.limit_due = true);
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
                self.change_open(StreamId(id), |Stream { send, .. }| send.limit = send.limit.max(limit));
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
        let window = self.stream_window;
        let (progress, is_complete, is_awaited) = self.change(place, |Stream { receive, .. }| {
            let was_done = receive.is_done();
            let progress = receive.receive(offset, len, fin);
            receive.update_limit(window);
            let is_complete = id != StreamId::FIRST && receive.is_done() && !was_done;
            let is_awaited = receive.low_water.take_if(|low_water| *low_water <= receive.next).is_some();
            (progress, is_complete, is_awaited)
        });
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
