//! What a run writes down: queue and link over time, each exchange if asked for, and how long users waited.

mod columns;
mod explanations;
mod variables;

use aqmlab_tcp::RecoveryCounts;
use aqmlab_units::{Duration, Time};
use aqmlab_workload::Completed;
use hdrhistogram::Histogram;

use crate::link::{LinkCounters, Meter};
use crate::packet::{EndpointId, Owner};
use crate::side::{Direction, Side};

pub use self::columns::{Column, Table, Values};
use self::columns::{table, tables};
pub use self::explanations::{ExplanationTable, TimelineTable};
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
    /// One row per completed exchange of an explained run.
    pub explanations: ExplanationTable,
    /// What happened during the exchanges whose timelines an explained run was asked for.
    pub timelines: TimelineTable,
}
}

/// A direction of a link, as rows name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkDirection {
    /// The number of the link in its chain, from 1; `None` outside a chain.
    pub(crate) link: Option<u8>,
    pub(crate) direction: Direction,
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
    /// The laws' variables under their names, in their own order; in a chain null where the link's law has none of that
    /// name.
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
    /// When the user began to wait, in seconds since the start of the run.
    pub start_s: Vec<f64>,
    /// How long it took, in milliseconds.
    pub response_time_ms: Vec<f64>,
    /// Size of the request.
    pub request_bytes: Vec<u32>,
    /// Size of the response.
    pub response_bytes: Vec<u32>,
    /// 0: a web user; else the number of the source, from 1.
    pub source: Vec<u8>,
    /// The side of the link of who asked.
    pub side: Vec<u8>,
    /// Who asked: the number of the web user, or of the source's flow. It is the same under every scheme with one seed.
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
    /// When, in seconds since the start of the run; what a queue drops on its way out is told at its next arrival.
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
/// The histogram of response times: one row per bin that holds something, by size and then by time.
pub struct ResponseTimesTable {
    /// Responses of at least so many bytes.
    pub size_low_bytes: Vec<u64>,
    /// And fewer than so many.
    pub size_high_bytes: Vec<u64>,
    /// Response times of at least so many milliseconds.
    pub time_low_ms: Vec<f64>,
    /// And fewer than so many.
    pub time_high_ms: Vec<f64>,
    /// Exchanges.
    pub count: Vec<u64>,
}
}

table! {
/// What can be read off the links at one moment, whether it is measured or not: one row per link and direction.
pub struct GlanceTable {
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

/// How long users waited, by response size: a histogram for each power of two of bytes, whose bins are at most
/// 1/128 of their time wide, so that a bin's middle is within 0.4 % of every time in it.
#[derive(Debug)]
pub(crate) struct ResponseTimes {
    by_size: Vec<Histogram<u64>>,
    sum: Duration,
    longest: Duration,
    within_500ms: u64,
}

impl ResponseTimes {
    pub(crate) fn new() -> ResponseTimes {
        ResponseTimes { by_size: Vec::new(), sum: Duration::ZERO, longest: Duration::ZERO, within_500ms: 0 }
    }

    /// Those of several, as one.
    pub(crate) fn together<'a>(all: impl Iterator<Item = &'a ResponseTimes>) -> ResponseTimes {
        let mut together = ResponseTimes::new();
        for times in all {
            for (octave, histogram) in times.by_size.iter().enumerate() {
                together.of_octave(octave).add(histogram).expect("the histogram resizes itself");
            }
            together.sum = together.sum + times.sum;
            together.longest = together.longest.max(times.longest);
            together.within_500ms += times.within_500ms;
        }
        together
    }

    /// The histogram for responses of from 2^`octave` bytes to twice that.
    fn of_octave(&mut self, octave: usize) -> &mut Histogram<u64> {
        while self.by_size.len() <= octave {
            self.by_size.push(Histogram::new(2).expect("two significant digits are allowed"));
        }
        &mut self.by_size[octave]
    }

    pub(crate) fn record(&mut self, exchange: &Completed) {
        let octave = exchange.response.get().max(1).ilog2() as usize;
        let micros = exchange.response_time.as_micros();
        self.of_octave(octave).record(micros.max(1)).expect("the histogram resizes itself");
        self.sum = self.sum + exchange.response_time;
        self.longest = self.longest.max(exchange.response_time);
        self.within_500ms += u64::from(micros <= 500_000);
    }

    /// All sizes together.
    pub(crate) fn all(&self) -> Histogram<u64> {
        let mut all = Histogram::new(2).expect("two significant digits are allowed");
        for histogram in &self.by_size {
            all.add(histogram).expect("the histogram resizes itself");
        }
        all
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    pub(crate) fn sum(&self) -> Duration {
        self.sum
    }

    pub(crate) fn within_500ms(&self) -> u64 {
        self.within_500ms
    }

    pub(crate) fn table(&self) -> ResponseTimesTable {
        let mut table = ResponseTimesTable::default();
        for (octave, histogram) in self.by_size.iter().enumerate() {
            for bin in histogram.iter_recorded() {
                table.size_low_bytes.push(1 << octave);
                table.size_high_bytes.push(1 << (octave + 1));
                let value = bin.value_iterated_to();
                table.time_low_ms.push(histogram.lowest_equivalent(value) as f64 * 1e-3);
                table.time_high_ms.push(histogram.next_non_equivalent(value) as f64 * 1e-3);
                table.count.push(bin.count_at_value());
            }
        }
        table
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
        self.variables.push(row, place.link.is_some(), |out| link.probe(out));
    }
}

impl LinkTable {
    /// What happened between two readings of the counters.
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

impl GlanceTable {
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

#[cfg(test)]
mod tests {
    use aqmlab_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn completed(response: u64, micros: u64) -> Completed {
        Completed {
            request: Bytes::new(300),
            response: Bytes::new(response),
            started: Time::ZERO,
            response_time: Duration::from_micros(micros),
            first: true,
            persistent: false,
            connection: 0,
            top_level: true,
        }
    }

    /// Sizes and times of every order of magnitude.
    fn exchanges() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let any_magnitude = |digits: u32| (0..digits, 1..1_000u64).prop_map(|(n, lead)| lead * 10u64.pow(n));
        prop::collection::vec((any_magnitude(7), any_magnitude(8)), 1..200)
    }

    proptest! {
        #[test]
        fn each_exchange_lies_in_one_bin_whose_middle_is_within_four_tenths_of_a_percent(exchanges in exchanges()) {
            let mut times = ResponseTimes::new();
            for &(size, micros) in &exchanges {
                times.record(&completed(size, micros));
            }
            let bins = times.table();
            for (bin, &count) in bins.count.iter().enumerate() {
                let (size_low, size_high) = (bins.size_low_bytes[bin], bins.size_high_bytes[bin]);
                let (low, high) = (bins.time_low_ms[bin], bins.time_high_ms[bin]);
                let inside = |&&(size, micros): &&(u64, u64)| {
                    (size_low..size_high).contains(&size) && (low..high).contains(&(micros as f64 * 1e-3))
                };
                prop_assert_eq!(exchanges.iter().filter(inside).count() as u64, count);
                // Times are whole microseconds: the last one in the bin is one before its end.
                let half_width = (high - 1e-3 - low) / 2.0;
                prop_assert!(half_width <= 0.004 * low + 1e-9, "{low} to {high} ms");
            }
            prop_assert_eq!(bins.count.iter().sum::<u64>(), exchanges.len() as u64);
            let places: Vec<(u64, f64)> = bins.size_low_bytes.iter().copied().zip(bins.time_low_ms).collect();
            prop_assert!(places.is_sorted_by(|a, b| a < b));
            let sum: u64 = exchanges.iter().map(|(_, micros)| micros).sum();
            prop_assert_eq!(times.sum(), Duration::from_micros(sum));
        }

        #[test]
        fn the_exchanges_of_several_together_are_as_if_one_had_made_them(
            exchanges in exchanges(), whose in prop::collection::vec(0..3usize, 200),
        ) {
            let (mut one, mut several) = (ResponseTimes::new(), [(); 3].map(|()| ResponseTimes::new()));
            for (&(size, micros), whose) in exchanges.iter().zip(whose) {
                one.record(&completed(size, micros));
                several[whose].record(&completed(size, micros));
            }
            let together = ResponseTimes::together(several.iter());
            let bins = |times: &ResponseTimes| format!("{:?}", times.table());
            prop_assert_eq!(bins(&together), bins(&one));
            let sums = |times: &ResponseTimes| (times.sum(), times.longest(), times.within_500ms());
            prop_assert_eq!(sums(&together), sums(&one));
        }
    }

    #[test]
    fn half_a_second_is_within_half_a_second() {
        let mut times = ResponseTimes::new();
        for micros in [499_999, 500_000, 500_001] {
            times.record(&completed(1_000, micros));
        }
        assert_eq!(times.within_500ms(), 2);
    }
}
