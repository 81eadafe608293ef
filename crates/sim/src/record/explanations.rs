//! The tables of an explained run.

use super::columns::table;

table! {
/// The time of each completed exchange by cause: one row each, in the order of `exchanges`. Times are whole nanoseconds,
/// and the parts add up to the response time.
pub struct ExplanationTable {
    /// The start of the user's wait, since the start of the run.
    pub start_ns: Vec<u64>,
    /// The response time.
    pub response_time_ns: Vec<u64>,
    /// Size of the request.
    pub request_bytes: Vec<u32>,
    /// Size of the response.
    pub response_bytes: Vec<u32>,
    /// The user's side of the link.
    pub side: Vec<u8>,
    /// The first exchange of its connection.
    pub first_on_connection: Vec<bool>,
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
    /// The parts of the response time under their names, in nanoseconds.
    pub parts: Vec<(&'static str, Vec<u64>)>,
}
}

table! {
/// The events of the requested exchanges, in the order of time.
pub struct TimelineTable {
    /// The row of the exchange.
    pub request: Vec<u64>,
    /// Since its start.
    pub time_ns: Vec<u64>,
    /// `client`, `server` or `link`.
    pub place: Vec<&'static str>,
    /// The event.
    pub event: Vec<&'static str>,
    /// To what: `SYN`, `SYN/ACK`, `data`, `ACK`, `FIN`, `RST`, or nothing.
    pub segment: Vec<&'static str>,
    /// The sender of the packet, or the end that the event concerns: `client` or `server`.
    pub sender: Vec<&'static str>,
    /// Number of its first byte among those of its request or response; of an ACK, the bytes that it acknowledges.
    /// Null for a handshake and where there is no segment.
    pub offset: Vec<u32>,
    /// Its bytes of data.
    pub bytes: Vec<u32>,
    /// The wait in the link's queue and device, or for a timer.
    pub waited_ns: Vec<u64>,
    /// The sender's congestion window in bytes; null where the event is not the sender's.
    pub cwnd: Vec<u32>,
}
}
