//! Links in series, and who goes over which of them.
//!
//! n links join the routers R1 to R(n+1). Each entry of `chain` is a link; what it leaves open is that of `[link]` and
//! `[queue]`, the queue's automatic parameters worked out for the link that it stands at.

#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Duration};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::link::{LinkSpec, RateChange};
use super::queue::QueuePair;
use super::{DisciplineSpec, QueueSpec, SpecError, at_most, fault, read};

/// The most links of a chain.
pub(crate) const MOST_LINKS: usize = 64;

/// One link of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HopSpec {
    /// Bit rate on the wire, frame overhead included.
    pub rate: BitRate,
    /// The same in direction 1, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_back: Option<BitRate>,
    /// One-way delay.
    pub delay: Duration,
    /// Packets that the device holds below the discipline, besides the one being sent.
    pub device_fifo: u32,
    /// Changes of the rate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<RateChange>,
    /// The queue discipline of direction 0, and of direction 1 where that has no other.
    pub queue: QueueSpec,
    /// The queue discipline of direction 1, where it is another or has other automatic parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_back: Option<QueueSpec>,
}

/// One link of several in series; what is left out is that of `link` and `queue`.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ChainLink", transform = with_ranges::<LinkSpec>))]
#[serde(deny_unknown_fields)]
pub(super) struct RawHop {
    /// The bit rate on the wire in each direction.
    rate: Option<BitRate>,
    /// The same in direction 1, towards routers of lower numbers, where it is another.
    rate_back: Option<BitRate>,
    /// Propagation delay of one direction.
    delay: Option<Duration>,
    /// Packets that the device holds below the queue discipline.
    device_fifo: Option<u32>,
    /// Changes of the rate.
    #[serde(default)]
    rate_changes: Vec<RateChange>,
    /// The queue discipline at each end of it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<QueueSpec>"))]
    queue: Option<Value>,
    /// The queue discipline of direction 1, where it is another.
    #[cfg_attr(feature = "schema", schemars(with = "Option<QueueSpec>"))]
    queue_back: Option<Value>,
}

impl HopSpec {
    /// The links of a chain; `common` and `queue` are what an entry may leave open.
    pub(super) fn read_all(
        written: Vec<Value>,
        common: &LinkSpec,
        queue: &Value,
        queue_back: Option<&Value>,
    ) -> Result<Vec<HopSpec>, SpecError> {
        at_most("chain", written.len(), MOST_LINKS)?;
        if !written.is_empty() && !common.rate_changes.is_empty() {
            let message = "in a chain each link has its own: write chain[0].rate_changes and so on".into();
            return Err(fault("link.rate_changes", message));
        }
        let queues = QueuePair::new("queue", queue.clone(), queue_back.cloned());
        let entries = written.into_iter().enumerate();
        entries.map(|(number, entry)| HopSpec::read(number, entry, common, &queues)).collect()
    }

    fn read(
        number: usize,
        entry: Value,
        common: &LinkSpec,
        queues: &QueuePair,
    ) -> Result<HopSpec, SpecError> {
        let path = format!("chain[{number}]");
        let written: RawHop = read(&path, entry)?;
        let link = LinkSpec {
            rate: written.rate.unwrap_or(common.rate),
            // A rate of its own is that of both directions, unless it says another.
            rate_back: written.rate_back.or(common.rate_back.filter(|_| written.rate.is_none())),
            delay: written.delay.unwrap_or(common.delay),
            device_fifo: written.device_fifo.unwrap_or(common.device_fifo),
            rate_changes: written.rate_changes,
            ..*common
        };
        link.check(&path)?;
        let own = format!("{path}.queue");
        // A queue of its own is that of both directions, unless it says another.
        let queues = written.queue.map_or_else(|| queues.clone(), |queue| QueuePair::new(&own, queue, None));
        let back = format!("{own}_back");
        let (queue, queue_back) = queues.with_back(&back, written.queue_back).read(&link)?;
        refuse_custom(&own, &queue)?;
        queue_back.iter().try_for_each(|queue| refuse_custom(&back, queue))?;
        let LinkSpec { rate, rate_back, delay, device_fifo, rate_changes, .. } = link;
        Ok(HopSpec { rate, rate_back, delay, device_fifo, rate_changes, queue, queue_back })
    }

    /// The link, with what is common to all of them.
    pub(super) fn link(&self, common: &LinkSpec) -> LinkSpec {
        LinkSpec {
            rate: self.rate,
            rate_back: self.rate_back,
            delay: self.delay,
            device_fifo: self.device_fifo,
            rate_changes: self.rate_changes.clone(),
            ..*common
        }
    }
}

/// Laws that the caller brings are one for each direction of one link.
pub(super) fn refuse_custom(path: &str, queue: &QueueSpec) -> Result<(), SpecError> {
    match &queue.discipline {
        DisciplineSpec::Known(_) | DisciplineSpec::Kernel { .. } => Ok(()),
        DisciplineSpec::Custom(custom) => {
            let message = "a custom law cannot stand in a chain of links".into();
            Err(fault(&format!("{path}.{}", custom.name), message))
        }
    }
}

/// The way through a chain: side 0 is at the first of two routers, side 1 at the second. Routers are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathSpec([u32; 2]);

/// The links that a path leads over, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hops {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl PathSpec {
    /// A path through a chain of `links` links, from end to end when none is written; none without a chain.
    pub(super) fn read(
        path: &str,
        written: Option<Value>,
        links: usize,
    ) -> Result<Option<PathSpec>, SpecError> {
        let routers = u32::try_from(links + 1).expect("a chain has few links");
        let Some(written) = written else {
            return Ok((links > 0).then_some(PathSpec([1, routers])));
        };
        if links == 0 {
            return Err(fault(
                path,
                format!("is a way through a chain of links; there is none, got {written}"),
            ));
        }
        let [first, last]: [u32; 2] = read(path, written)?;
        if !(1 <= first && first < last && last <= routers) {
            let message =
                format!("must be two routers [a, b] with 1 <= a < b <= {routers}, got [{first}, {last}]");
            return Err(fault(path, message));
        }
        Ok(Some(PathSpec([first, last])))
    }

    /// The links that it leads over.
    pub(crate) fn hops(self) -> Hops {
        let [first, last] = self.0.map(|router| router as usize - 1);
        Hops { first, last: last - 1 }
    }
}
