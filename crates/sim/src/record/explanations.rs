//! The tables of an explained run.

use super::columns::table;

table! {
/// The time of each completed exchange of the web users, or of the chosen sources, by cause: one row each, in the order of
/// `exchanges`. Times are whole nanoseconds, and the parts add up to the response time.
pub struct ExplanationTable {
    /// The start of the user's wait, since the start of the run.
    pub start_ns: Vec<u64>,
    /// The response time.
    pub response_time_ns: Vec<u64>,
    /// Size of the request.
    pub request_bytes: Vec<u32>,
    /// Size of the response.
    pub response_bytes: Vec<u32>,
    /// 0: a web user; else the number of the source, from 1.
    pub source: Vec<u8>,
    /// The side of the link of who asked.
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
/// The time of each loaded page by cause: one row each, in the order of their ends. Pages of which a resource was given up are
/// left out. Times are whole nanoseconds, and the parts add up to the page load time.
pub struct ExplainedPageTable {
    /// The start of the page, since the start of the run.
    pub start_ns: Vec<u64>,
    /// The page load time.
    pub load_ns: Vec<u64>,
    /// The time until the document and all that blocks rendering were there.
    pub first_render_ns: Vec<u64>,
    /// The user's side of the link.
    pub side: Vec<u8>,
    /// The version of HTTP that the page's own origin speaks.
    pub version: Vec<&'static str>,
    /// Requests.
    pub requests: Vec<u32>,
    /// Bytes of the responses.
    pub bytes: Vec<u64>,
    /// Connections.
    pub connections: Vec<u16>,
    /// Resources on the path: the last resource, the one that refers to it, and so on up to the document.
    pub path_resources: Vec<u16>,
    /// Packets of the page's connections that were dropped.
    pub losses: Vec<u32>,
    /// Packets that arrived marked.
    pub marks: Vec<u32>,
    /// The parts of the page load time under their names, in nanoseconds.
    pub parts: Vec<(&'static str, Vec<u64>)>,
}
}

table! {
/// The resources of the requested pages, in the order of their ends. The parts of a resource add up to the time from `known_ns`
/// to `complete_ns`, and these times of the resources on the path add up to the page load time.
pub struct ResourceTable {
    /// The row of the page.
    pub page: Vec<u64>,
    /// Its number on the page; that of the document is 0.
    pub resource: Vec<u16>,
    /// The resource that refers to it.
    pub parent: Vec<u16>,
    /// Its kind: `HTML`, `CSS`, `script`, `font`, `image` or `other`.
    pub kind: Vec<&'static str>,
    /// The version of HTTP over which it came.
    pub version: Vec<&'static str>,
    /// The number of its connection among those of the page, in the order of their opening.
    pub connection: Vec<u16>,
    /// Its bytes.
    pub bytes: Vec<u32>,
    /// The time at which the browser knew of it, since the start of the page.
    pub known_ns: Vec<u64>,
    /// The time at which its request was written.
    pub requested_ns: Vec<u64>,
    /// The time at which it was complete.
    pub complete_ns: Vec<u64>,
    /// It is on the path: the last resource, the one that refers to it, and so on up to the document.
    pub on_path: Vec<bool>,
    /// The parts of its time under their names, in nanoseconds.
    pub parts: Vec<(&'static str, Vec<u64>)>,
}
}

table! {
/// The events of the requested exchanges or pages, in the order of time.
pub struct TimelineTable {
    /// The row of the exchange or page. `lab.Explanation` calls it `request` or `page`, and has the next column for pages alone.
    pub row: Vec<u64>,
    /// The number of the connection among those of the page; 0 for an exchange.
    pub connection: Vec<u16>,
    /// Since its start.
    pub time_ns: Vec<u64>,
    /// `client`, `server` or `link`.
    pub place: Vec<&'static str>,
    /// The event.
    pub event: Vec<&'static str>,
    /// To what: `SYN`, `SYN/ACK`, `data`, `ACK`, `FIN`, `RST`, `QUIC handshake`, `QUIC packet`, `QUIC ACK`, or nothing.
    pub segment: Vec<&'static str>,
    /// The sender of the packet, or the end that the event concerns: `client` or `server`.
    pub sender: Vec<&'static str>,
    /// Number of its first byte among those of its request or response, for a page of its connection; of an ACK, the bytes that
    /// it acknowledges; of a packet of QUIC its number.
    /// Null for a handshake, for data of an earlier request, and where there is no segment.
    pub offset: Vec<u32>,
    /// Its bytes of data.
    pub bytes: Vec<u32>,
    /// The wait in the link's queue and device, or for a timer.
    pub waited_ns: Vec<u64>,
    /// The sender's congestion window in bytes; null where the event is not the sender's.
    pub cwnd: Vec<u32>,
}
}
