//! The links in the measured window.

use aqmlab_units::Time;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::{QueueDelayMs, mean, p99, percent};
use crate::link::{DelayByOwner, DelayHistogram, LinkCounters, Streams, WireCounts};
use crate::quantiles::ratio;
use crate::side::Direction;
use crate::spec::{Impairments, LinkSpec, Spec};

/// One direction of a link, over the measured window.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSummary {
    /// The number of the link in its chain, from 1: it joins the router of that number and the next. 1 outside a chain.
    pub link: usize,
    /// 0 carries what users of side 0 send; in a chain, towards routers of higher numbers.
    pub direction: usize,
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Packets dropped for any reason.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets that a policer dropped before the queue, which are in no other count.
    pub policed: u64,
    /// Packets lost on the wire, after the queue, for any reason.
    pub lost: u64,
    /// Packets that arrived twice, as `duplicate` says.
    pub duplicated: u64,
    /// Packets delayed by `link.reorder`.
    pub reordered: u64,
    /// Packets whose ECN field was changed on the wire.
    pub ecn_changed: u64,
    /// Packets dropped, in per cent of those that arrived.
    pub loss_percent: Option<f64>,
    /// Packets marked, in per cent of those that arrived.
    pub mark_percent: Option<f64>,
    /// IP Mbit/s sent.
    pub throughput_mbps: f64,
    /// The bits sent, frames' overhead included, divided by those that the link can send at its current rate.
    pub utilisation: f64,
    /// Mean of the sampled queue lengths in packets.
    pub queue_packets_mean: Option<f64>,
    /// Their 99th percentile.
    pub queue_packets_p99: Option<u64>,
    /// The queueing delay of the packets sent.
    pub queue_delay_ms: QueueDelayMs,
    /// The classes that the queue treats apart, where it does.
    pub classes: Vec<ClassSummary>,
}

/// One of the classes that a queue treats apart, over the measured window.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassSummary {
    /// The discipline's name for it.
    pub name: &'static str,
    /// Packets sent.
    pub packets: u64,
    /// Their queueing delay.
    pub queue_delay_ms: QueueDelayMs,
}

impl ClassSummary {
    /// The classes of these links, those of one name together.
    pub(super) fn of<'a>(each: impl Iterator<Item = &'a DelayByOwner> + Clone) -> Vec<ClassSummary> {
        let all = each.flat_map(DelayByOwner::classes);
        let mut names: Vec<&'static str> = Vec::new();
        for (name, _) in all.clone() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let class = |name| {
            let waits = DelayHistogram::together(
                all.clone().filter(|&(other, _)| other == name).map(|(_, waits)| waits),
            );
            ClassSummary { name, packets: waits.count(), queue_delay_ms: QueueDelayMs::new(&waits) }
        };
        names.into_iter().map(class).collect()
    }
}

/// The measured window, as counted by the laboratory.
#[derive(Debug)]
pub(crate) struct Window {
    /// Link by link, in each direction.
    pub(crate) links: Vec<[LinkWindow; 2]>,
    /// Of the run.
    pub(crate) seed: u64,
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) completed: u64,
    pub(crate) aborted: u64,
    /// Segments that hosts sent again.
    pub(crate) repeats: u64,
}

/// The measured window of one direction of a link.
#[derive(Debug)]
pub(crate) struct LinkWindow {
    pub(crate) before: LinkCounters,
    pub(crate) after: LinkCounters,
    /// The queueing delays of the packets that it sent in the window.
    pub(crate) delays: DelayByOwner,
    /// Sampled lengths of the queue.
    pub(crate) queue_packets: Histogram<u64>,
}

/// Returns an amount per second or per bit that could have been sent; 0 for an empty span.
pub(crate) fn per(amount: f64, span: f64) -> f64 {
    ratio(amount, span).unwrap_or(0.0)
}

impl Window {
    pub(crate) fn seconds(&self) -> f64 {
        self.end.saturating_since(self.start).as_secs_f64()
    }

    /// Returns the change of a counter of `links` over the window.
    pub(super) fn sum<'a>(
        links: impl IntoIterator<Item = &'a LinkWindow>,
        read: impl Fn(&LinkCounters) -> u64,
    ) -> f64 {
        links.into_iter().map(|link| read(&link.after) - read(&link.before)).sum::<u64>() as f64
    }

    /// IP Mbit/s that `directions` of one link sent, together.
    pub(super) fn throughput_mbps(&self, directions: &[LinkWindow]) -> f64 {
        8e-6 * per(Window::sum(directions, |link| link.sent_bytes.get()), self.seconds())
    }

    /// The utilisations of both directions of a link, together.
    pub(super) fn utilisation_of_both(
        &self,
        number: u32,
        link: &LinkSpec,
        directions: &[LinkWindow; 2],
    ) -> f64 {
        let streams = |direction| Streams { seed: self.seed, link: number, direction };
        if link.is_symmetric() {
            return self.utilisation(link, directions, &streams(Direction::FORWARD));
        }
        let each = Direction::BOTH.into_iter().zip(directions);
        let utilisation = |(direction, it)| {
            self.utilisation(&link.one_way(direction), std::slice::from_ref(it), &streams(direction))
        };
        each.map(utilisation).sum()
    }

    /// The utilisations of `directions` that have the rate of `spec`, together.
    pub(super) fn utilisation(&self, spec: &LinkSpec, directions: &[LinkWindow], streams: &Streams) -> f64 {
        let sent_bytes = Window::sum(directions, |link| link.sent_bytes.get());
        let sent = Window::sum(directions, |link| link.sent);
        let padding = Window::sum(directions, |link| link.padding.get());
        let wire_bits = 8.0 * (sent_bytes + sent * spec.overhead.as_f64() + padding);
        per(wire_bits, spec.bits_between(self.start, self.end, streams))
    }

    /// Packets dropped by policers, in per cent of those that arrived at one.
    pub(super) fn policed_percent(&self, spec: &Spec) -> Option<f64> {
        let policed = self.those_of(spec, LinkSpec::has_policer);
        let dropped = Window::sum(policed.iter().copied(), |link| link.policed);
        let passed = Window::sum(policed.iter().copied(), |link| link.queue.offered);
        percent(dropped, dropped + passed)
    }

    /// Packets that wires impaired in one way, in per cent of those that links with such an impairment sent.
    pub(super) fn wire_percent(
        &self,
        spec: &Spec,
        has_impairment: fn(&Impairments) -> bool,
        read: fn(WireCounts) -> u64,
    ) -> Option<f64> {
        let has =
            |link: &LinkSpec, direction| link.impairments(direction).is_some_and(|its| has_impairment(&its));
        let impaired = self.those_of(spec, has);
        let counted = Window::sum(impaired.iter().copied(), |link| read(link.wire));
        percent(counted, Window::sum(impaired.iter().copied(), |link| link.sent))
    }

    /// The directions of links that `is_meant` selects.
    fn those_of(&self, spec: &Spec, is_meant: impl Fn(&LinkSpec, Direction) -> bool) -> Vec<&LinkWindow> {
        let pairs = spec.links.hops().iter().zip(&self.links);
        let each = pairs.flat_map(|(hop, directions)| {
            Direction::BOTH.into_iter().zip(directions).map(move |(direction, it)| (&hop.link, direction, it))
        });
        each.filter(|&(link, direction, _)| is_meant(link, direction)).map(|(.., it)| it).collect()
    }

    /// Each direction of each link.
    pub(super) fn directions(&self, spec: &Spec) -> Vec<DirectionSummary> {
        let each =
            (1..).zip(spec.links.hops().iter().zip(&self.links)).flat_map(|(link, (hop, directions))| {
                let ways = Direction::BOTH.map(|direction| hop.link.one_way(direction));
                (0..)
                    .zip(ways)
                    .zip(directions)
                    .map(move |((direction, one_way), it)| self.direction(link, direction, &one_way, it))
            });
        each.collect()
    }

    fn direction(
        &self,
        link: usize,
        direction: usize,
        config: &LinkSpec,
        counted: &LinkWindow,
    ) -> DirectionSummary {
        let it = std::slice::from_ref(counted);
        let number = u32::try_from(link - 1).expect("a chain has few links");
        let streams = Streams { seed: self.seed, link: number, direction: Direction::BOTH[direction] };
        let change = |read: fn(&LinkCounters) -> u64| read(&counted.after) - read(&counted.before);
        let arrived = change(|link| link.queue.offered);
        let (dropped, marked) = (change(|link| link.queue.dropped()), change(|link| link.queue.marked));
        DirectionSummary {
            link,
            direction,
            arrived,
            dropped,
            marked,
            policed: change(|link| link.policed),
            lost: change(|link| link.wire.lost),
            duplicated: change(|link| link.wire.duplicated),
            reordered: change(|link| link.wire.reordered),
            ecn_changed: change(|link| link.wire.ecn_changed),
            loss_percent: percent(dropped as f64, arrived as f64),
            mark_percent: percent(marked as f64, arrived as f64),
            throughput_mbps: self.throughput_mbps(it),
            utilisation: self.utilisation(config, it, &streams),
            queue_packets_mean: mean(&counted.queue_packets),
            queue_packets_p99: p99(&counted.queue_packets),
            queue_delay_ms: QueueDelayMs::new(&counted.delays.all()),
            classes: ClassSummary::of(std::iter::once(&counted.delays)),
        }
    }
}
