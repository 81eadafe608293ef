//! What the links did in the measured window.

use aqmlab_units::Time;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::ratio;
use crate::link::LinkCounters;
use crate::spec::{LinkSpec, Spec};

/// One direction of a link of a chain, over the measured window.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopSummary {
    /// The number of the link, from 1: it joins the router of that number and the next.
    pub link: usize,
    /// 0: towards routers of higher numbers.
    pub direction: usize,
    /// Packets that arrived at the queue.
    pub offered: u64,
    /// Packets dropped, for whatever reason.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets dropped, in per cent of those that arrived.
    pub loss_percent: f64,
    /// IP Mbit/s sent.
    pub throughput_mbps: f64,
    /// What was sent, frames' overhead included, in parts of what the link can send at its rate of the time.
    pub utilisation: f64,
    /// Mean of the sampled queue lengths in packets.
    pub queue_packets_mean: f64,
    /// Their 99th percentile.
    pub queue_packets_p99: u64,
}

/// The measured window, as counted by the laboratory.
#[derive(Debug)]
pub(crate) struct Window {
    /// Link by link, in each direction.
    pub(crate) links: Vec<[LinkWindow; 2]>,
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) completed: u64,
    pub(crate) aborted: u64,
}

/// The measured window of one direction of a link.
#[derive(Debug)]
pub(crate) struct LinkWindow {
    pub(crate) before: LinkCounters,
    pub(crate) after: LinkCounters,
    /// Sampled lengths of the queue.
    pub(crate) queue_packets: Histogram<u64>,
}

impl Window {
    pub(crate) fn seconds(&self) -> f64 {
        self.end.saturating_since(self.start).as_secs_f64()
    }

    /// What happened to `links` in the window.
    pub(super) fn sum<'a>(
        links: impl IntoIterator<Item = &'a LinkWindow>,
        read: impl Fn(&LinkCounters) -> u64,
    ) -> f64 {
        links.into_iter().map(|link| read(&link.after) - read(&link.before)).sum::<u64>() as f64
    }

    /// IP Mbit/s that `directions` of one link sent, together.
    pub(super) fn throughput_mbps(&self, directions: &[LinkWindow]) -> f64 {
        8e-6 * ratio(Window::sum(directions, |link| link.sent_bytes.get()), self.seconds())
    }

    /// Their utilisations, together.
    pub(super) fn utilisation(&self, spec: &LinkSpec, directions: &[LinkWindow]) -> f64 {
        let sent_bytes = Window::sum(directions, |link| link.sent_bytes.get());
        let sent = Window::sum(directions, |link| link.sent);
        let wire_bits = 8.0 * (sent_bytes + sent * spec.overhead.as_f64());
        ratio(wire_bits, spec.bits_between(self.start, self.end))
    }

    /// Each direction of each link of a chain.
    pub(super) fn hops(&self, spec: &Spec) -> Vec<HopSummary> {
        let hops = (1..).zip(spec.links().zip(&self.links)).flat_map(|(link, ((config, _), directions))| {
            (0..).zip(directions).map(move |(direction, counted)| {
                let it = std::slice::from_ref(counted);
                let change = |read: fn(&LinkCounters) -> u64| read(&counted.after) - read(&counted.before);
                let (offered, dropped) =
                    (change(|link| link.queue.offered), change(|link| link.queue.dropped()));
                HopSummary {
                    link,
                    direction,
                    offered,
                    dropped,
                    marked: change(|link| link.queue.marked),
                    loss_percent: 100.0 * ratio(dropped as f64, offered as f64),
                    throughput_mbps: self.throughput_mbps(it),
                    utilisation: self.utilisation(&config, it),
                    queue_packets_mean: counted.queue_packets.mean(),
                    queue_packets_p99: counted.queue_packets.value_at_quantile(0.99),
                }
            })
        });
        hops.collect()
    }
}
