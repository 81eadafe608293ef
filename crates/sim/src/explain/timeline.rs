//! Timelines: the events of requested exchanges and pages.

use aqmlab_tcp::{Flags, HeaderOptions, Segment, Seq};
use aqmlab_units::Duration;

use crate::record::TimelineTable;

/// The timelines to keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimelineRequest {
    /// That of the exchange or page with this row.
    pub row: Option<u64>,
    /// The number of slowest exchanges or pages. They are unknown before the end, so that there are more timelines: of each
    /// that was among the slowest so far.
    pub slowest: usize,
}

/// The end or the place of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Client,
    Server,
    Link,
}

/// An event of a packet or an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Sent,
    SentAgain,
    Arrived,
    ArrivedMarked,
    Dropped(Cause),
    SynTimeout,
    DataTimeout,
    ReorderingOver,
    Probe,
    DelayedAck,
    FastRetransmit,
    Recovered,
    Reduced,
    /// The application has written.
    Wrote,
    Complete,
}

/// Why a queue dropped a packet: the causes that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Early,
    Forced,
    Limit,
    AtDequeue,
    Evicted,
}

/// The purpose of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Syn,
    SynAck,
    Data,
    Ack,
    Fin,
    Rst,
    QuicHandshake,
    QuicPacket,
    QuicAck,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimelineEvent {
    /// Since the wait began.
    pub(super) since_start: Duration,
    /// The number of the connection among those of its page; 0 where a wait has one.
    pub(super) connection: u16,
    pub(super) place: Location,
    pub(super) what: EventKind,
    pub(super) segment: Option<Purpose>,
    /// The segment's, or whom it concerns.
    pub(super) sender: Location,
    pub(super) offset: u32,
    pub(super) bytes: u16,
    pub(super) waited: Duration,
    pub(super) cwnd: u32,
}

impl Location {
    pub(super) fn name(self) -> &'static str {
        match self {
            Location::Client => "client",
            Location::Server => "server",
            Location::Link => "link",
        }
    }
}

impl EventKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            EventKind::Sent => "sent",
            EventKind::SentAgain => "sent again",
            EventKind::Arrived => "arrived",
            EventKind::ArrivedMarked => "arrived marked",
            EventKind::Dropped(Cause::Early) => "dropped early",
            EventKind::Dropped(Cause::Forced) => "dropped, forced",
            EventKind::Dropped(Cause::Limit) => "dropped at the limit",
            EventKind::Dropped(Cause::AtDequeue) => "dropped at dequeue",
            EventKind::Dropped(Cause::Evicted) => "evicted",
            EventKind::SynTimeout => "SYN timeout",
            EventKind::DataTimeout => "data timeout",
            EventKind::ReorderingOver => "reordering timer",
            EventKind::Probe => "tail-loss probe",
            EventKind::DelayedAck => "delayed ACK due",
            EventKind::FastRetransmit => "fast retransmit",
            EventKind::Recovered => "recovery ends",
            EventKind::Reduced => "window reduced for a mark",
            EventKind::Wrote => "written",
            EventKind::Complete => "complete",
        }
    }
}

impl Purpose {
    pub(super) fn of<O: HeaderOptions>(segment: &Segment<O>) -> Purpose {
        let flags = segment.flags;
        match () {
            () if segment.options.is_quic_handshake() => Purpose::QuicHandshake,
            () if segment.options.is_tcp() => Purpose::of_tcp(flags, segment.len),
            () if segment.len > 0 => Purpose::QuicPacket,
            () => Purpose::QuicAck,
        }
    }

    fn of_tcp(flags: Flags, len: u16) -> Purpose {
        match () {
            () if flags.contains(Flags::RST) => Purpose::Rst,
            () if flags.contains(Flags::SYN | Flags::ACK) => Purpose::SynAck,
            () if flags.contains(Flags::SYN) => Purpose::Syn,
            () if len > 0 => Purpose::Data,
            () if flags.contains(Flags::FIN) => Purpose::Fin,
            () => Purpose::Ack,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Purpose::Syn => "SYN",
            Purpose::SynAck => "SYN/ACK",
            Purpose::Data => "data",
            Purpose::Ack => "ACK",
            Purpose::Fin => "FIN",
            Purpose::Rst => "RST",
            Purpose::QuicHandshake => "QUIC handshake",
            Purpose::QuicPacket => "QUIC packet",
            Purpose::QuicAck => "QUIC ACK",
        }
    }
}

/// Returns the offset of a sequence number in a request or response whose first byte is `base`.
pub(super) fn offset(number: Seq, base: Seq) -> u32 {
    number.get().wrapping_sub(base.get())
}

/// Chooses timelines as exchanges and pages complete.
#[derive(Debug)]
pub(super) struct Timelines {
    request: TimelineRequest,
    /// The longest response times so far, the longest first.
    longest: Vec<Duration>,
    /// Waits completed so far.
    rows: u64,
}

impl Timelines {
    pub(super) fn new(request: TimelineRequest) -> Timelines {
        Timelines { request, longest: Vec::new(), rows: 0 }
    }

    /// Need anything be recorded?
    pub(super) fn wanted(&self) -> bool {
        self.request.slowest > 0 || self.request.row.is_some_and(|row| self.rows <= row)
    }

    /// A wait is over: its events go into the table if they are asked for. Returns its row then.
    pub(super) fn completed(
        &mut self,
        took: Duration,
        events: &[TimelineEvent],
        table: &mut TimelineTable,
    ) -> Option<u64> {
        let row = self.rows;
        self.rows += 1;
        let is_wanted = self.request.row == Some(row) || self.insert_if_slowest(took);
        if is_wanted {
            for event in events {
                table.push(row, event);
            }
        }
        is_wanted.then_some(row)
    }

    /// Insert the response time if it is among the slowest so far. Returns true if it is.
    fn insert_if_slowest(&mut self, took: Duration) -> bool {
        let place = self.longest.partition_point(|&longer| took <= longer);
        if place == self.request.slowest {
            return false;
        }
        self.longest.insert(place, took);
        self.longest.truncate(self.request.slowest);
        true
    }
}
