//! What an explained run writes down.

use aqmlab_units::Bytes;

use super::blame::{Blame, Part};
use super::timeline::Moment;
use crate::observer::Row;

/// Where the time of each completed exchange went: one row each, in the order of `exchanges`. Times are whole
/// nanoseconds, and those of the parts add up to the response time.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplanationTable {
    /// When the user began to wait, since the start of the run.
    pub start_ns: Vec<u64>,
    /// How long it took.
    pub response_time_ns: Vec<u64>,
    /// Size of the request.
    pub request_bytes: Vec<u32>,
    /// Size of the response.
    pub response_bytes: Vec<u32>,
    /// The user's side of the link.
    pub side: Vec<u8>,
    /// The first exchange of its connection.
    pub first_on_connection: Vec<bool>,
    /// The parts of the response time under their names, in nanoseconds.
    pub parts: Vec<(&'static str, Vec<u64>)>,
    /// Packets of the connection that were dropped during the exchange.
    pub losses: Vec<u32>,
    /// Packets that arrived marked.
    pub marks: Vec<u32>,
    /// SYNs and SYN/ACKs sent again.
    pub syn_retransmits: Vec<u16>,
    /// Data timeouts, both ends.
    pub timeouts: Vec<u16>,
    /// Fast retransmits, both ends.
    pub fast_retransmits: Vec<u16>,
    /// Window reductions in answer to ECN echoes, both ends.
    pub ecn_reductions: Vec<u16>,
}

/// What happened during the exchanges that were asked for, in the order of time.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineTable {
    /// The row of the exchange.
    pub request: Vec<u64>,
    /// Since its start.
    pub time_ns: Vec<u64>,
    /// `client`, `server` or `link`.
    pub place: Vec<&'static str>,
    /// What happened.
    pub event: Vec<&'static str>,
    /// To what: `SYN`, `SYN/ACK`, `data`, `ACK`, `FIN`, `RST`, or nothing.
    pub segment: Vec<&'static str>,
    /// Who sent it, or whom the event concerns: `client` or `server`.
    pub sender: Vec<&'static str>,
    /// Number of its first byte among those of its request or response; of an ACK, the bytes that it acknowledges.
    pub offset: Vec<u32>,
    /// Its bytes of data.
    pub bytes: Vec<u32>,
    /// How long it waited in the link's queue and device, or for a timer.
    pub waited_ns: Vec<u64>,
    /// The sender's congestion window in bytes.
    pub cwnd: Vec<u32>,
}

impl ExplanationTable {
    /// `disturbed`: packets lost and marked.
    pub(super) fn push(&mut self, row: &Row<'_>, blame: &Blame, [losses, marks]: [u32; 2]) {
        let size = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        let Row { exchange, side, recovery } = row;
        self.start_ns.push(exchange.started.as_nanos());
        self.response_time_ns.push(exchange.response_time.as_nanos());
        self.request_bytes.push(size(exchange.request));
        self.response_bytes.push(size(exchange.response));
        self.side.push(u8::from(*side == 1));
        self.first_on_connection.push(exchange.first);
        if self.parts.is_empty() {
            self.parts = Part::ALL.map(|part| (part.name(), Vec::new())).into();
        }
        for ((_, nanos), part) in self.parts.iter_mut().zip(Part::ALL) {
            nanos.push(blame.part(part).as_nanos());
        }
        self.losses.push(losses);
        self.marks.push(marks);
        self.syn_retransmits.push(recovery.syn_retransmits);
        self.timeouts.push(recovery.timeouts);
        self.fast_retransmits.push(recovery.fast_retransmits);
        self.ecn_reductions.push(recovery.ecn_reductions);
    }
}

impl TimelineTable {
    pub(super) fn push(&mut self, request: u64, moment: &Moment) {
        self.request.push(request);
        self.time_ns.push(moment.since_start.as_nanos());
        self.place.push(moment.place.name());
        self.event.push(moment.what.name());
        self.segment.push(moment.segment.map_or("", |segment| segment.name()));
        self.sender.push(moment.sender.name());
        self.offset.push(moment.offset);
        self.bytes.push(moment.bytes.into());
        self.waited_ns.push(moment.waited.as_nanos());
        self.cwnd.push(moment.cwnd);
    }
}
