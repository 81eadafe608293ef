//! The tables of a run: queue and link over time, each exchange on request, and the users' response times.

mod columns;
mod explanations;
mod flows;
mod response_times;
mod variables;

use aqmlab_tcp::RecoveryCounts;
use aqmlab_units::Time;
use aqmlab_workload::Completed;

use crate::link::{LinkCounters, Meter};
use crate::packet::{EndpointId, Owner};
use crate::side::{Direction, Side};

pub use self::columns::{Column, Table, Values};
use self::columns::{table, tables};
pub use self::explanations::{ExplainedPageTable, ExplanationTable, ResourceTable, TimelineTable};
pub(crate) use self::flows::FlowRow;
pub use self::flows::FlowTable;
pub(crate) use self::response_times::ResponseTimes;
pub use self::response_times::ResponseTimesTable;
pub use self::variables::Variables;

tables! {
/// Rows of the time series since they were last taken, column by column.
pub struct Tables {
    /// Both queues, sampled regularly.
    pub queue: QueueTable,
    /// Both directions of the link, summed over regular intervals.
    pub link: LinkTable,
    /// One row per completed exchange, when asked for.
    pub exchanges: ExchangeTable,
    /// One row per packet dropped, when asked for.
    pub losses: LossTable,
    /// Chosen connections, sampled regularly, when asked for.
    pub flows: FlowTable,
    /// One row per completed exchange of an explained run.
    pub explanations: ExplanationTable,
    /// One row per loaded page of an explained run.
    pub explained_pages: ExplainedPageTable,
    /// The resources of the pages whose timelines were requested.
    pub resources: ResourceTable,
    /// The events of the exchanges and pages whose timelines were requested.
    pub timelines: TimelineTable,
}
}

/// A direction of a link, as rows name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkDirection {
    /// The number of the link in its chain, from 1; `None` outside a chain.
    pub(crate) link: Option<u8>,
    pub(crate) direction: Direction,
    /// The queues of its table may have different laws.
    pub(crate) several_laws: bool,
}

/// A completed exchange, and what recovery cost both ends.
pub(crate) struct ExchangeRow<'a> {
    pub(crate) exchange: &'a Completed,
    pub(crate) side: Side,
    /// The number of the user, or of the source's flow.
    pub(crate) user: u64,
    pub(crate) recovery: RecoveryCounts,
}

table! {
/// The queues at regular instants: one row per instant, link and direction.
pub struct QueueTable {
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// The number of the link in its chain, from 1; a column of chains alone.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<u8>"))]
    pub link: Option<Vec<u8>>,
    /// Direction of the link: 0 carries what users of side 0 send.
    pub direction: Vec<u8>,
    /// Packets waiting.
    pub packets: Vec<u32>,
    /// IP bytes waiting.
    pub bytes: Vec<u64>,
    /// The laws' variables under their names, in their own order; null where the law has none of that name, in a chain and
    /// where the directions have different laws.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(String, Vec<f64>)>"))]
    pub variables: Variables,
}
}

table! {
/// The links over regular intervals: one row per interval, link and direction.
pub struct LinkTable {
    /// End of the interval in seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// The number of the link in its chain, from 1; a column of chains alone.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<u8>"))]
    pub link: Option<Vec<u8>>,
    /// Direction of the link.
    pub direction: Vec<u8>,
    /// Packets that arrived at the queue.
    pub arrived: Vec<u64>,
    /// Packets sent.
    pub packets: Vec<u64>,
    /// IP bytes sent.
    pub bytes: Vec<u64>,
    /// Packets dropped by law or limit.
    pub drops: Vec<u64>,
    /// Packets marked.
    pub marks: Vec<u64>,
}
}

table! {
/// One row per completed exchange.
pub struct ExchangeTable {
    /// The start of the user's wait, in seconds since the start of the run.
    pub start_s: Vec<f64>,
    /// The response time, in milliseconds.
    pub response_time_ms: Vec<f64>,
    /// Size of the request.
    pub request_bytes: Vec<u32>,
    /// Size of the response.
    pub response_bytes: Vec<u32>,
    /// 0: a web user; else the number of the source, from 1.
    pub source: Vec<u8>,
    /// The side of the link of who asked.
    pub side: Vec<u8>,
    /// The number of the web user, or of the source's flow. It is the same under every scheme with one seed.
    pub user: Vec<u64>,
    /// The number of its connection among the user's, the same under every scheme with one seed; 0 of a source's flow.
    pub connection: Vec<u64>,
    /// The first exchange of its connection.
    pub first_on_connection: Vec<bool>,
    /// On a persistent connection.
    pub persistent: Vec<bool>,
    /// The page itself, not an object embedded in it; never a source's.
    pub top_level: Vec<bool>,
    /// SYNs and SYN/ACKs sent again during the exchange.
    pub syn_retransmits: Vec<u16>,
    /// Data timeouts during the exchange, both ends.
    pub timeouts: Vec<u16>,
    /// Fast retransmits during the exchange, both ends.
    pub fast_retransmits: Vec<u16>,
    /// Window reductions in answer to ECN echoes, both ends.
    pub ecn_reductions: Vec<u16>,
}
}

table! {
/// One row per packet that a queue dropped.
pub struct LossTable {
    /// The time in seconds since the start of the run; a drop at dequeue is recorded at the queue's next arrival.
    pub time_s: Vec<f64>,
    /// Direction of the link.
    pub direction: Vec<u8>,
    /// 0: a web user's; else the number of the source, from 1.
    pub source: Vec<u8>,
    /// The connection, or the flow of datagrams, among all of its direction; a connection that is over leaves its number
    /// to another.
    pub flow: Vec<u32>,
}
}

table! {
/// The state of the links at one moment, also outside the measured window: one row per link and direction.
pub struct GaugeTable {
    /// The number of the link in its chain, from 1; a column of chains alone.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<u8>"))]
    pub link: Option<Vec<u8>>,
    /// Direction of the link.
    pub direction: Vec<u8>,
    /// Packets waiting.
    pub waiting: Vec<u32>,
    /// Packets that have arrived at the queue since the start of the run, as all that follows.
    pub arrived: Vec<u64>,
    /// IP bytes sent.
    pub bytes: Vec<u64>,
    /// Packets dropped by law or limit.
    pub drops: Vec<u64>,
    /// Packets marked.
    pub marks: Vec<u64>,
}
}

impl QueueTable {
    pub(crate) fn push(&mut self, now: Time, place: LinkDirection, link: &dyn Meter) {
        let state = link.state();
        let row = self.time_s.len();
        self.time_s.push(now.as_secs_f64());
        if let Some(link) = place.link {
            self.link.get_or_insert_default().push(link);
        }
        self.direction.push(place.direction.number());
        self.packets.push(state.packets);
        self.bytes.push(state.bytes.get());
        self.variables.push(row, place.several_laws, |out| link.probe(out));
    }
}

impl LinkTable {
    /// Adds the differences of two readings of the counters.
    pub(crate) fn push(
        &mut self,
        now: Time,
        place: LinkDirection,
        before: &LinkCounters,
        after: &LinkCounters,
    ) {
        self.time_s.push(now.as_secs_f64());
        if let Some(link) = place.link {
            self.link.get_or_insert_default().push(link);
        }
        self.direction.push(place.direction.number());
        self.arrived.push(after.queue.offered - before.queue.offered);
        self.packets.push(after.sent - before.sent);
        self.bytes.push((after.sent_bytes - before.sent_bytes).get());
        self.drops.push(after.queue.dropped() - before.queue.dropped());
        self.marks.push(after.queue.marked - before.queue.marked);
    }
}

impl GaugeTable {
    pub(crate) fn push(&mut self, place: LinkDirection, link: &dyn Meter) {
        let LinkCounters { queue, sent_bytes, .. } = link.counters();
        if let Some(link) = place.link {
            self.link.get_or_insert_default().push(link);
        }
        self.direction.push(place.direction.number());
        self.waiting.push(link.state().packets);
        self.arrived.push(queue.offered);
        self.bytes.push(sent_bytes.get());
        self.drops.push(queue.dropped());
        self.marks.push(queue.marked);
    }
}

impl LossTable {
    pub(crate) fn push(&mut self, now: Time, to: EndpointId, owner: Owner) {
        self.time_s.push(now.as_secs_f64());
        self.direction.push(to.peer().direction().number());
        self.source.push(owner.number());
        self.flow.push(to.number() >> 1);
    }
}

impl ExchangeTable {
    pub(crate) fn push(&mut self, row: &ExchangeRow<'_>, owner: Owner) {
        let ExchangeRow { exchange, side, user, recovery } = row;
        let size = |bytes: aqmlab_units::Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        self.start_s.push(exchange.started.as_secs_f64());
        self.response_time_ms.push(exchange.response_time.as_millis_f64());
        self.request_bytes.push(size(exchange.request));
        self.response_bytes.push(size(exchange.response));
        self.source.push(owner.number());
        self.side.push(side.number());
        self.user.push(*user);
        self.connection.push(exchange.connection);
        self.first_on_connection.push(exchange.first);
        self.persistent.push(exchange.persistent);
        self.top_level.push(exchange.top_level);
        self.syn_retransmits.push(recovery.syn_retransmits);
        self.timeouts.push(recovery.timeouts);
        self.fast_retransmits.push(recovery.fast_retransmits);
        self.ecn_reductions.push(recovery.ecn_reductions);
    }
}
