//! One run in one row.

mod limited;
mod times;
mod window;

use aqmlab_workload::pages::PageQuality;
use aqmlab_workload::sources::{CallQuality, GameQuality, VideoCallQuality, VideoQuality};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::link::{DelayHistogram, LinkCounters};
use crate::packet::Owner;
use crate::quantiles::ratio;
use crate::record::ResponseTimes;
use crate::spec::{Impairments, Spec};

pub use self::limited::LimitedByPercent;
pub(crate) use self::times::bins_ms;
pub use self::times::{QueueDelayMs, ResponseTimeMs};
pub use self::window::{ClassSummary, DirectionSummary};
pub(crate) use self::window::{LinkWindow, Window, per};

/// The results of a run, over the measured window and both directions unless stated otherwise. A share, a mean or a
/// percentile of nothing is `None`.
///
/// In a chain of links loss, marks and packets are of all its queues together, so that a packet counts at each queue on its
/// path; throughput and utilisation are means of its links; the queue's length is that of any of its queues, and the
/// queueing delay that at any of them.
// A number with a `label` is shown: in the tables of comparisons, in frames, and by its name wherever a number can be
// named. Its `unit` stands beside it. It has `digits` after the point, or `significant` ones, 3 unless declared. Of one
// that says so, `lower` or `higher` values are `better`. A `brief` one is also in the tables of sweeps and has a chart in
// reports. A part declares for all its numbers, whose names begin with its label unless that is `implied`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Packets dropped, in per cent of those that arrived at the queues.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "loss", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub loss_percent: Option<f64>,
    /// Packets marked, in per cent of those that arrived.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "marks", "unit" = "%", "digits" = 2, "brief" = true)))]
    pub mark_percent: Option<f64>,
    /// Packets that policers dropped before the queues, in per cent of those that arrived at a policer.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "policed", "unit" = "%", "digits" = 2, "better" = "lower")))]
    pub policed_percent: Option<f64>,
    /// Packets lost on the wires of links, in per cent of those that links with such losses sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "wire loss", "unit" = "%", "digits" = 2, "better" = "lower")))]
    pub wire_loss_percent: Option<f64>,
    /// Packets that arrived twice, in per cent of those that links with `duplicate` sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "duplicated", "unit" = "%", "digits" = 2)))]
    pub duplicated_percent: Option<f64>,
    /// Packets that others may have overtaken, in per cent of those that links with `reorder` sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "reordered", "unit" = "%", "digits" = 2)))]
    pub reordered_percent: Option<f64>,
    /// Packets whose ECN field the path changed, in per cent of those that links with such an `ecn` sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "ECN changed", "unit" = "%", "digits" = 2)))]
    pub ecn_changed_percent: Option<f64>,
    /// Segments that hosts sent again, in per cent of the packets that arrived: data, SYNs and FINs, lost or not.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "retransmitted", "unit" = "%", "digits" = 2, "better" = "lower")))]
    pub retransmit_percent: Option<f64>,
    /// Exchanges completed by web users of both sides; in an experiment without users, by its sources.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "completed", "unit" = "requests", "digits" = 0, "better" = "higher", "brief" = true)))]
    pub completed_requests: u64,
    /// Exchanges given up.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "aborted", "unit" = "requests", "digits" = 0, "better" = "lower")))]
    pub aborted_requests: u64,
    /// IP Mbit/s sent, mean of the two directions.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "throughput", "unit" = "Mbit/s", "significant" = 4, "better" = "higher", "brief" = true)))]
    pub throughput_mbps: f64,
    /// The bits sent, frames' overhead included, divided by those that the link can send at its current rate; mean of the two
    /// directions.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "utilisation", "unit" = "of 1", "digits" = 3, "better" = "higher")))]
    pub utilisation: f64,
    /// Mean of the sampled queue lengths in packets.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "queue", "unit" = "packets", "better" = "lower")))]
    pub queue_packets_mean: Option<f64>,
    /// Their 99th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "queue p99", "unit" = "packets", "digits" = 0, "better" = "lower")))]
    pub queue_packets_p99: Option<u64>,
    /// The queueing delay of the packets sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "delay", "unit" = "ms", "better" = "lower")))]
    pub queue_delay_ms: QueueDelayMs,
    /// Mean IP packet in bytes among those sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "packet", "unit" = "B", "digits" = 0)))]
    pub packet_bytes_mean: Option<f64>,
    /// The response times of the exchanges.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "response", "implied" = true, "unit" = "ms", "better" = "lower")))]
    pub response_time_ms: ResponseTimeMs,
    /// Share of the exchanges completed within half a second.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "within 500 ms", "unit" = "of 1", "digits" = 3, "better" = "higher")))]
    pub fraction_within_500ms: Option<f64>,
    /// Packets that arrived at the queues in the whole run, warm-up included.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "arrivals", "unit" = "packets", "digits" = 0)))]
    pub bottleneck_packets: u64,
    /// The classes that the queues treat apart, where they do.
    pub classes: Vec<ClassSummary>,
    /// The two directions of the link; in a chain those of its first link, then of the next.
    pub directions: Vec<DirectionSummary>,
    /// The same directions' packets over the whole run, warm-up included.
    pub counters: Vec<PacketCounts>,
    /// The web users' packets, where there is other traffic.
    pub users: Option<PacketSummary>,
    /// The limits of the web users' connections.
    pub users_limited_by_percent: LimitedByPercent,
    /// The pages of web users who load pages of today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageQuality>,
    /// Traffic beside the web users, source by source.
    pub sources: Vec<SourceSummary>,
}

/// The results of a source's traffic in the measured window.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceSummary {
    /// The name of the source.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Mbit/s of data delivered in order, both directions together; of datagrams, Mbit/s of IP packets delivered.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "goodput", "unit" = "Mbit/s", "significant" = 4, "better" = "higher", "brief" = true)))]
    pub goodput_mbps: f64,
    /// Exchanges completed.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "completed", "unit" = "requests", "digits" = 0, "better" = "higher", "brief" = true)))]
    pub completed: u64,
    /// Exchanges given up.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "aborted", "unit" = "requests", "digits" = 0, "better" = "lower")))]
    pub aborted: u64,
    /// Their response times.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "response", "implied" = true, "unit" = "ms", "better" = "lower")))]
    pub response_time_ms: ResponseTimeMs,
    /// The longest response time, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "max", "unit" = "ms", "better" = "lower")))]
    pub response_time_ms_max: Option<f64>,
    /// Packets of its connections, acknowledgements among them; or datagrams.
    #[serde(flatten)]
    pub packets: PacketSummary,
    /// Datagrams, if it sends them.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "", "better" = "lower")))]
    pub datagrams: Option<DatagramSummary>,
    /// Calls, if it makes them.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "")))]
    pub calls: Option<CallQuality>,
    /// Video calls, if it makes them.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "")))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video_calls: Option<VideoCallQuality>,
    /// Games, if its players play them.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "")))]
    pub games: Option<GameQuality>,
    /// Adaptive videos, if it has them.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "")))]
    pub videos: Option<VideoQuality>,
    /// The limits of its connections.
    pub limited_by_percent: LimitedByPercent,
}

/// The results of packets in the measured window, both directions together.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketSummary {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that a queue or a policer has dropped, or that were lost on the wire.
    pub packets_lost: u64,
    /// Packets lost, in per cent of those sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "loss", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub loss_percent: Option<f64>,
    /// Their queueing delay; in a chain, at any of its queues.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "delay", "unit" = "ms", "better" = "lower")))]
    pub queue_delay_ms: QueueDelayMs,
    /// The queueing delays in direction 0 and in direction 1.
    pub queue_delay_ms_each_way: [QueueDelayMs; 2],
}

impl PacketSummary {
    pub(crate) fn new(sent: u64, lost: u64, window: &Window, owner: Owner) -> PacketSummary {
        let waits =
            |direction: usize| window.links.iter().filter_map(move |link| link[direction].delays.of(owner));
        PacketSummary {
            packets_sent: sent,
            packets_lost: lost,
            loss_percent: percent(lost as f64, sent as f64),
            queue_delay_ms: QueueDelayMs::new(&DelayHistogram::together(waits(0).chain(waits(1)))),
            queue_delay_ms_each_way: [0, 1]
                .map(|direction| QueueDelayMs::new(&DelayHistogram::together(waits(direction)))),
        }
    }
}

/// The results of datagrams sent in the measured window; delays are of those that have arrived.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatagramSummary {
    /// Packets sent.
    pub sent: u64,
    /// Packets lost, in per cent of those sent.
    pub loss_percent: Option<f64>,
    /// Mean one-way delay in milliseconds.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "one-way", "unit" = "ms", "brief" = true)))]
    pub delay_ms_mean: Option<f64>,
    /// Its 50th percentile, the median.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "one-way p50", "unit" = "ms")))]
    pub delay_ms_p50: Option<f64>,
    /// Its 99th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "one-way p99", "unit" = "ms", "brief" = true)))]
    pub delay_ms_p99: Option<f64>,
    /// Its 99.9th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "one-way p99.9", "unit" = "ms", "brief" = true)))]
    pub delay_ms_p999: Option<f64>,
    /// The longest.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "one-way max", "unit" = "ms")))]
    pub delay_ms_max: Option<f64>,
    /// Its standard deviation, the jitter.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "jitter", "unit" = "ms", "brief" = true)))]
    pub delay_ms_sd: Option<f64>,
}

/// The packets of one direction of a link by their fate: `arrived = sent + held +` those dropped for any reason.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketCounts {
    /// The number of the link in its chain, from 1; 1 outside a chain.
    pub link: usize,
    /// 0 carries what users of side 0 send.
    pub direction: usize,
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

impl PacketCounts {
    fn new(link: usize, direction: usize, total: &LinkCounters) -> PacketCounts {
        PacketCounts {
            link,
            direction,
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

    /// Returns the packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        let on_arrival = self.dropped_early + self.dropped_forced + self.dropped_by_limit;
        on_arrival + self.dropped_at_dequeue + self.evicted
    }
}

impl Summary {
    /// Returns the results of links and users; those of the users' packets and the sources are added later.
    pub(crate) fn new(spec: &Spec, window: &Window, times: &ResponseTimes) -> Summary {
        let links = || window.links.iter().flatten();
        let arrived = Window::sum(links(), |link| link.queue.offered);
        let dropped = Window::sum(links(), |link| link.queue.dropped());
        let marked = Window::sum(links(), |link| link.queue.marked);
        let sent = Window::sum(links(), |link| link.sent);
        let sent_bytes = Window::sum(links(), |link| link.sent_bytes.get());
        let pairs = || spec.links.hops().iter().zip(&window.links);
        let mean_of_directions = |total: f64| total / 2.0 / window.links.len() as f64;
        let mut queue_packets = Histogram::new(3).expect("three significant digits are allowed");
        for link in links() {
            queue_packets += &link.queue_packets;
        }
        let waits: Vec<DelayHistogram> = links().map(|link| link.delays.all()).collect();
        let counters = (1..).zip(&window.links).flat_map(|(link, directions)| {
            (0..).zip(directions).map(move |(direction, it)| PacketCounts::new(link, direction, &it.after))
        });
        Summary {
            loss_percent: percent(dropped, arrived),
            mark_percent: percent(marked, arrived),
            policed_percent: window.policed_percent(spec),
            wire_loss_percent: window.wire_percent(spec, Impairments::is_lossy, |wire| wire.lost),
            duplicated_percent: window.wire_percent(spec, |its| its.duplicate > 0.0, |wire| wire.duplicated),
            reordered_percent: window.wire_percent(spec, |its| its.reorder.is_some(), |wire| wire.reordered),
            ecn_changed_percent: window.wire_percent(
                spec,
                |its| its.ecn.changes_packets(),
                |wire| wire.ecn_changed,
            ),
            retransmit_percent: percent(window.repeats as f64, arrived),
            completed_requests: window.completed,
            aborted_requests: window.aborted,
            throughput_mbps: mean_of_directions(
                pairs().map(|(_, directions)| window.throughput_mbps(directions)).sum(),
            ),
            utilisation: mean_of_directions(
                (0..)
                    .zip(pairs())
                    .map(|(number, (hop, directions))| {
                        window.utilisation_of_both(number, &hop.link, directions)
                    })
                    .sum(),
            ),
            queue_packets_mean: mean(&queue_packets),
            queue_packets_p99: p99(&queue_packets),
            queue_delay_ms: QueueDelayMs::new(&DelayHistogram::together(&waits)),
            packet_bytes_mean: ratio(sent_bytes, sent),
            response_time_ms: ResponseTimeMs::new(times),
            fraction_within_500ms: ratio(times.within_500ms() as f64, times.all().len() as f64),
            bottleneck_packets: links().map(|link| link.after.queue.offered).sum(),
            classes: ClassSummary::of(links().map(|link| &link.delays)),
            directions: window.directions(spec),
            counters: counters.collect(),
            users: None,
            users_limited_by_percent: LimitedByPercent::default(),
            pages: None,
            sources: Vec::new(),
        }
    }
}

/// `part` in per cent of `whole`, if that is anything.
pub(crate) fn percent(part: f64, whole: f64) -> Option<f64> {
    ratio(part, whole).map(|share| 100.0 * share)
}

/// The mean, if anything was recorded.
pub(crate) fn mean(histogram: &Histogram<u64>) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.mean())
}

/// The 99th percentile, if anything was recorded.
fn p99(histogram: &Histogram<u64>) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(0.99))
}

#[cfg(test)]
mod tests {
    use aqmlab_aqm::Counters;
    use aqmlab_units::{Bytes, Time};

    use super::*;
    use crate::link::DelayByOwner;

    fn summary(links: &[(LinkCounters, LinkCounters); 2], seconds: f64) -> Summary {
        let spec = r#"{"queue": {"droptail": {}}, "users": {"per_side": 1}, "link": {"rate": "1 Mbit/s"}}"#;
        let spec = Spec::from_json(spec).expect("a sound spec");
        let links = links.map(|(before, after)| LinkWindow {
            before,
            after,
            delays: DelayByOwner::new(0, &[]),
            queue_packets: Histogram::new(3).expect("three significant digits are allowed"),
        });
        let (start, end) = (Time::ZERO, Time::from_secs_f64(seconds));
        let window =
            Window { links: vec![links], seed: 1, start, end, completed: 0, aborted: 0, repeats: 30 };
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
        LinkCounters {
            queue,
            sent,
            sent_bytes: Bytes::new(462 * sent),
            padding: Bytes::ZERO,
            held: queued - sent,
            policed: 0,
            wire: crate::link::WireCounts::default(),
        }
    }

    #[test]
    fn shares_are_those_of_both_directions_in_the_window_alone() {
        let (before, after) = (counters(100, 10, 5, 0, 80), counters(1_100, 30, 10, 40, 1_050));
        let summary = summary(&[(before, after), (before, before)], 10.0);
        // 1,000 packets arrived in the window, all in one direction: 25 were dropped, 40 marked, 970 sent.
        assert_eq!((summary.loss_percent, summary.mark_percent), (Some(2.5), Some(4.0)));
        assert_eq!(summary.retransmit_percent, Some(3.0));
        assert_eq!(summary.packet_bytes_mean, Some(462.0));
        // 970 frames of 500 bytes in 10 s at 1 Mbit/s, halved by the idle direction.
        assert!((summary.utilisation - 970.0 * 500.0 * 8.0 / 10e6 / 2.0).abs() < 1e-12);
        assert!((summary.throughput_mbps - 970.0 * 462.0 * 8.0 / 10e6 / 2.0).abs() < 1e-12);
        assert_eq!(summary.bottleneck_packets, 1_200);
        assert_eq!(summary.counters[0].held, 10);
    }

    #[test]
    fn an_empty_window_has_counts_of_zero_and_no_shares_and_means() {
        let summary = summary(&Default::default(), 1.0);
        let json = serde_json::to_value(&summary).expect("a summary has a JSON form");
        let nothing = [
            "loss_percent",
            "mark_percent",
            "retransmit_percent",
            "queue_packets_mean",
            "queue_packets_p99",
            "packet_bytes_mean",
            "fraction_within_500ms",
        ];
        for name in nothing {
            assert!(json[name].is_null() && json.get(name).is_some(), "{name}: {}", json[name]);
        }
        for name in ["queue_delay_ms", "response_time_ms"] {
            let object = json[name].as_object().expect("an object");
            assert!(
                object.len() >= 4 && object.values().all(serde_json::Value::is_null),
                "{name}: {object:?}"
            );
        }
        for name in ["completed_requests", "aborted_requests", "bottleneck_packets"] {
            assert_eq!(json[name], 0, "{name}");
        }
        assert_eq!((&json["throughput_mbps"], &json["utilisation"]), (&0.0.into(), &0.0.into()));
    }
}
