//! One run in one row.

mod window;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::link::LinkCounters;
use crate::record::ResponseTimes;
use crate::spec::Spec;

pub use self::window::HopSummary;
pub(crate) use self::window::{LinkWindow, Window};

/// What a run came to, over the measured window and both directions unless said otherwise.
///
/// In a chain of links loss, marks and packets are of all its queues together, so that a packet counts at each queue that
/// it comes to; throughput and utilisation are means of its links, and the queue's length is that of any of its queues.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Packets dropped, in per cent of those that arrived at the queues.
    pub loss_percent: f64,
    /// Packets marked, in per cent of those that arrived.
    pub mark_percent: f64,
    /// Exchanges completed by web users of both sides; in an experiment without users, by its sources.
    pub completed_requests: u64,
    /// Exchanges given up.
    pub aborted_requests: u64,
    /// IP Mbit/s sent, mean of the two directions.
    pub throughput_mbps: f64,
    /// What was sent, frames' overhead included, in parts of what the link can send at its rate of the time; mean of the
    /// two directions.
    pub utilisation: f64,
    /// Mean of the sampled queue lengths in packets.
    pub queue_packets_mean: f64,
    /// Their 99th percentile.
    pub queue_packets_p99: u64,
    /// Mean IP packet in bytes among those sent.
    pub packet_bytes_mean: f64,
    /// How long they took.
    pub response_time_ms: ResponseTimeMs,
    /// Share of the exchanges completed within half a second.
    pub fraction_within_500ms: f64,
    /// Packets that arrived at the queues in the whole run, warm-up included.
    pub bottleneck_packets: u64,
    /// The two directions over the whole run; in a chain those of its first link, then of the next.
    pub links: Vec<LinkSummary>,
    /// The links of a chain one by one, in both directions; empty outside a chain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<HopSummary>,
    /// The web users' packets, where there is other traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<PacketSummary>,
    /// Traffic beside the web users, source by source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceSummary>,
}

/// What became of a source's traffic in the measured window.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceSummary {
    /// What it is called.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Mbit/s of data delivered in order, both directions together; of datagrams, Mbit/s of IP packets delivered.
    pub goodput_mbps: f64,
    /// Exchanges completed.
    pub completed: u64,
    /// Exchanges given up.
    pub aborted: u64,
    /// How long they took, if any was completed.
    pub response_time_ms: Option<ResponseTimeMs>,
    /// How long the longest took, in milliseconds.
    pub response_time_ms_max: Option<f64>,
    /// Packets of its connections, acknowledgements among them; or datagrams.
    #[serde(flatten)]
    pub packets: PacketSummary,
    /// Datagrams, if it sends them.
    pub datagrams: Option<DatagramSummary>,
}

/// What became of packets in the measured window, both directions together.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketSummary {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that a queue has dropped.
    pub packets_lost: u64,
    /// Packets lost, in per cent of those sent.
    pub loss_percent: f64,
}

impl PacketSummary {
    pub(crate) fn new(sent: u64, lost: u64) -> PacketSummary {
        let loss_percent = 100.0 * ratio(lost as f64, sent as f64);
        PacketSummary { packets_sent: sent, packets_lost: lost, loss_percent }
    }
}

/// What became of datagrams sent in the measured window.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatagramSummary {
    /// Packets sent.
    pub sent: u64,
    /// Packets lost, in per cent of those sent.
    pub loss_percent: f64,
    /// Mean one-way delay in milliseconds.
    pub delay_ms_mean: f64,
    /// Its 99th percentile.
    pub delay_ms_p99: f64,
    /// The longest.
    pub delay_ms_max: f64,
    /// Its standard deviation.
    pub delay_ms_sd: f64,
}

/// Percentiles and mean of the response times in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseTimeMs {
    /// The 10th percentile.
    pub p10: f64,
    /// The 25th percentile.
    pub p25: f64,
    /// The 50th percentile, the median.
    pub p50: f64,
    /// The 75th percentile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The mean.
    pub mean: f64,
}

/// Where the packets of one direction went: `arrived = sent + held +` those dropped, for whatever reason.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkSummary {
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped on arrival as a signal to a sender without ECN.
    pub dropped_early: u64,
    /// Packets dropped on arrival because the law would have dropped any.
    pub dropped_forced: u64,
    /// Packets dropped on arrival because the queue was full.
    pub dropped_by_limit: u64,
    /// Packets dropped by the law when they were to leave.
    pub dropped_at_dequeue: u64,
    /// Packets pushed out by another one's arrival.
    pub evicted: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets still queued, in the device or being sent.
    pub held: u64,
}

impl LinkSummary {
    fn new(total: &LinkCounters) -> LinkSummary {
        LinkSummary {
            arrived: total.queue.offered,
            sent: total.sent,
            dropped_early: total.queue.dropped_early,
            dropped_forced: total.queue.dropped_forced,
            dropped_by_limit: total.queue.dropped_by_limit,
            dropped_at_dequeue: total.queue.dropped_at_dequeue,
            evicted: total.queue.evicted,
            marked: total.queue.marked,
            held: total.held,
        }
    }

    /// Packets dropped, for whatever reason.
    pub fn dropped(&self) -> u64 {
        let on_arrival = self.dropped_early + self.dropped_forced + self.dropped_by_limit;
        on_arrival + self.dropped_at_dequeue + self.evicted
    }
}

impl Summary {
    /// What links and users came to; what the users' packets and the sources did is added.
    pub(crate) fn new(spec: &Spec, window: &Window, times: &ResponseTimes) -> Summary {
        let links = || window.links.iter().flatten();
        let arrived = Window::sum(links(), |link| link.queue.offered);
        let dropped = Window::sum(links(), |link| link.queue.dropped());
        let marked = Window::sum(links(), |link| link.queue.marked);
        let sent = Window::sum(links(), |link| link.sent);
        let sent_bytes = Window::sum(links(), |link| link.sent_bytes.get());
        let pairs = || spec.links().zip(&window.links);
        let mean_of_directions = |total: f64| total / 2.0 / window.links.len() as f64;
        let mut queue_packets = Histogram::new(3).expect("three significant digits are allowed");
        for link in links() {
            queue_packets += &link.queue_packets;
        }
        let all = times.all();
        Summary {
            loss_percent: 100.0 * ratio(dropped, arrived),
            mark_percent: 100.0 * ratio(marked, arrived),
            completed_requests: window.completed,
            aborted_requests: window.aborted,
            throughput_mbps: mean_of_directions(
                pairs().map(|(_, directions)| window.throughput_mbps(directions)).sum(),
            ),
            utilisation: mean_of_directions(
                pairs().map(|((link, _), directions)| window.utilisation(&link, directions)).sum(),
            ),
            queue_packets_mean: queue_packets.mean(),
            queue_packets_p99: queue_packets.value_at_quantile(0.99),
            packet_bytes_mean: ratio(sent_bytes, sent),
            response_time_ms: ResponseTimeMs::new(&all, times),
            fraction_within_500ms: ratio(times.within_500ms() as f64, all.len() as f64),
            bottleneck_packets: links().map(|link| link.after.queue.offered).sum(),
            links: links().map(|link| LinkSummary::new(&link.after)).collect(),
            chain: if spec.chain.is_empty() { Vec::new() } else { window.hops(spec) },
            users: None,
            sources: Vec::new(),
        }
    }
}

impl ResponseTimeMs {
    pub(crate) fn new(all: &Histogram<u64>, times: &ResponseTimes) -> ResponseTimeMs {
        let at = |quantile| all.median_equivalent(all.value_at_quantile(quantile)) as f64 * 1e-3;
        ResponseTimeMs {
            p10: at(0.10),
            p25: at(0.25),
            p50: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            mean: ratio(times.sum().as_millis_f64(), all.len() as f64),
        }
    }
}

/// Zero when there is nothing to divide by.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use aqmlab_aqm::Counters;
    use aqmlab_units::{Bytes, Time};

    use super::*;

    fn summary(links: &[(LinkCounters, LinkCounters); 2], seconds: f64) -> Summary {
        let spec = r#"{"queue": {"droptail": {}}, "users": {"per_side": 1}, "link": {"rate": "1 Mbit/s"}}"#;
        let spec = Spec::from_json(spec).expect("a sound spec");
        let links = links.map(|(before, after)| LinkWindow {
            before,
            after,
            queue_packets: Histogram::new(3).expect("three significant digits are allowed"),
        });
        let (start, end) = (Time::ZERO, Time::from_secs_f64(seconds));
        let window = Window { links: vec![links], start, end, completed: 0, aborted: 0 };
        Summary::new(&spec, &window, &ResponseTimes::new())
    }

    fn counters(
        offered: u64,
        dropped_early: u64,
        dropped_by_limit: u64,
        marked: u64,
        sent: u64,
    ) -> LinkCounters {
        let queued = offered - dropped_early - dropped_by_limit;
        let queue =
            Counters { offered, queued, dropped_early, dropped_by_limit, marked, ..Counters::default() };
        LinkCounters { queue, sent, sent_bytes: Bytes::new(462 * sent), held: queued - sent }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "ratios of small whole numbers")]
    fn shares_are_those_of_both_directions_in_the_window_alone() {
        let (before, after) = (counters(100, 10, 5, 0, 80), counters(1_100, 30, 10, 40, 1_050));
        let summary = summary(&[(before, after), (before, before)], 10.0);
        // 1,000 packets arrived in the window, all in one direction: 25 were dropped, 40 marked, 970 sent.
        assert_eq!((summary.loss_percent, summary.mark_percent), (2.5, 4.0));
        assert_eq!(summary.packet_bytes_mean, 462.0);
        // 970 frames of 500 bytes in 10 s at 1 Mbit/s, halved by the idle direction.
        assert!((summary.utilisation - 970.0 * 500.0 * 8.0 / 10e6 / 2.0).abs() < 1e-12);
        assert!((summary.throughput_mbps - 970.0 * 462.0 * 8.0 / 10e6 / 2.0).abs() < 1e-12);
        assert_eq!(summary.bottleneck_packets, 1_200);
        assert_eq!(summary.links[0].held, 10);
    }

    #[test]
    fn a_window_in_which_nothing_happened_has_numbers_all_the_same() {
        let summary = summary(&Default::default(), 0.0);
        // JSON writes what is not a number as null.
        let json = serde_json::to_string(&summary).expect("a summary has a JSON form");
        assert!(!json.contains("null"), "{json}");
    }
}
