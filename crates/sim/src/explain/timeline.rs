//! What happens during an exchange, moment by moment, kept for those that were asked for.

use aqmlab_tcp::{Flags, Segment, Seq};
use aqmlab_units::Duration;

use super::tables::TimelineTable;

/// Which timelines to keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// That of the exchange with this row.
    pub request: Option<u64>,
    /// Those of so many slowest exchanges. Since nobody knows before the end which they are, there are more: of each
    /// exchange that was among the slowest so far.
    pub slowest: usize,
}

/// Who, or where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Client,
    Server,
    Link,
}

/// What happens to a packet or at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
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

/// What a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Syn,
    SynAck,
    Data,
    Ack,
    Fin,
    Rst,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Since the exchange began.
    pub(super) since_start: Duration,
    pub(super) place: Place,
    pub(super) what: What,
    pub(super) segment: Option<Purpose>,
    /// The segment's, or whom it concerns.
    pub(super) sender: Place,
    pub(super) offset: u32,
    pub(super) bytes: u16,
    pub(super) waited: Duration,
    pub(super) cwnd: u32,
}

impl Place {
    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Client => "client",
            Place::Server => "server",
            Place::Link => "link",
        }
    }
}

impl What {
    pub(super) fn name(self) -> &'static str {
        match self {
            What::Sent => "sent",
            What::SentAgain => "sent again",
            What::Arrived => "arrived",
            What::ArrivedMarked => "arrived marked",
            What::Dropped(Cause::Early) => "dropped early",
            What::Dropped(Cause::Forced) => "dropped, forced",
            What::Dropped(Cause::Limit) => "dropped at the limit",
            What::Dropped(Cause::AtDequeue) => "dropped at dequeue",
            What::Dropped(Cause::Evicted) => "pushed out",
            What::SynTimeout => "SYN timeout",
            What::DataTimeout => "data timeout",
            What::ReorderingOver => "reordering timer",
            What::Probe => "tail-loss probe",
            What::DelayedAck => "delayed ACK due",
            What::FastRetransmit => "fast retransmit",
            What::Recovered => "recovery ends",
            What::Reduced => "window reduced for a mark",
            What::Wrote => "written",
            What::Complete => "complete",
        }
    }
}

impl Purpose {
    pub(super) fn of<O>(segment: &Segment<O>) -> Purpose {
        let flags = segment.flags;
        match () {
            () if flags.contains(Flags::RST) => Purpose::Rst,
            () if flags.contains(Flags::SYN | Flags::ACK) => Purpose::SynAck,
            () if flags.contains(Flags::SYN) => Purpose::Syn,
            () if segment.len > 0 => Purpose::Data,
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
        }
    }
}

/// Where in a request or response a number of its sender's stands, when its first byte is `base`.
pub(super) fn offset(number: Seq, base: Seq) -> u32 {
    number.get().wrapping_sub(base.get())
}

/// Chooses timelines as exchanges complete.
#[derive(Debug)]
pub(super) struct Timelines {
    wish: Wish,
    /// The longest response times so far, the longest first.
    longest: Vec<Duration>,
    /// Exchanges completed so far.
    rows: u64,
}

impl Timelines {
    pub(super) fn new(wish: Wish) -> Timelines {
        Timelines { wish, longest: Vec::new(), rows: 0 }
    }

    /// Need anything be recorded?
    pub(super) fn wanted(&self) -> bool {
        self.wish.slowest > 0 || self.wish.request.is_some_and(|row| self.rows <= row)
    }

    /// An exchange is complete: its moments go into the table if they are asked for.
    pub(super) fn completed(&mut self, took: Duration, moments: &[Moment], table: &mut TimelineTable) {
        if self.wish.request == Some(self.rows) || self.is_among_slowest(took) {
            for moment in moments {
                table.push(self.rows, moment);
            }
        }
        self.rows += 1;
    }

    fn is_among_slowest(&mut self, took: Duration) -> bool {
        let place = self.longest.partition_point(|&longer| took <= longer);
        if place == self.wish.slowest {
            return false;
        }
        self.longest.insert(place, took);
        self.longest.truncate(self.wish.slowest);
        true
    }
}
