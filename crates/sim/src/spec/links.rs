//! The links between side 0 and side 1: one, or several in series, and the path of each sender over them.
//!
//! n links join the routers R1 to R(n+1). `link` is a table, or a list with a table for each link. A link without a
//! `queue` has that of the spec, its automatic parameters worked out for this link.

use aqmlab_units::{BitRate, Bytes};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::queue::QueuePair;
use crate::side::Direction;

use super::{DisciplineSpec, LinkSpec, QueueSpec, SpecError, TcpSpec, at_most, fault, read};

/// The most links in series.
pub(crate) const MOST_LINKS: usize = 64;

/// A link with the queues at its ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HopSpec {
    /// The link.
    #[serde(flatten)]
    pub link: LinkSpec,
    /// The queue discipline of direction 0, and of direction 1 where that has no other.
    pub queue: QueueSpec,
    /// The queue discipline of direction 1, where it is another or has other automatic parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_back: Option<QueueSpec>,
}

/// The links of a spec, from side 0 to side 1.
#[derive(Clone, Debug, PartialEq)]
pub struct LinksSpec {
    /// At least one.
    hops: Vec<HopSpec>,
    /// They are written as a list, so that results number them.
    is_chain: bool,
}

impl HopSpec {
    fn read(path: &str, written: Value, queues: &QueuePair) -> Result<HopSpec, SpecError> {
        let mut written = written;
        let mut take = |key: &str| written.as_object_mut().and_then(|table| table.remove(key));
        let (own, own_back) = (take("queue"), take("queue_back"));
        if let Some(back) = take("rate_back") {
            let up = take("rate").unwrap_or_else(|| "100 Mbit/s".into());
            return Err(fault(
                &format!("{path}.rate_back"),
                format!("write rate = {{ up = {up}, down = {back} }}"),
            ));
        }
        let link: LinkSpec = read(path, written)?;
        link.check(path)?;
        let link = link.without_neutral_impairments();
        let queue_path = format!("{path}.queue");
        // A queue of its own is that of both directions, unless it says another.
        let queues = own.map_or_else(|| queues.clone(), |queue| QueuePair::new(&queue_path, queue, None));
        let queues = queues.with_back(&format!("{queue_path}_back"), own_back);
        let (queue, queue_back) = queues.read(&link)?;
        check_kernel(&queue_path, &link, [Some(&queue), queue_back.as_ref()])?;
        Ok(HopSpec { link, queue, queue_back })
    }

    /// The queue discipline of each direction.
    pub fn queues(&self) -> [&QueueSpec; 2] {
        [&self.queue, self.queue_back.as_ref().unwrap_or(&self.queue)]
    }
}

impl LinksSpec {
    /// Read `link` as it is written; `queues` are those of links without their own.
    pub(super) fn read(written: Value, queues: &QueuePair) -> Result<LinksSpec, SpecError> {
        let Value::Array(list) = written else {
            let hops = vec![HopSpec::read("link", written, queues)?];
            return Ok(LinksSpec { hops, is_chain: false });
        };
        if list.is_empty() {
            return Err(fault(
                "link",
                "must be a table, or a list of at least one, got an empty list".into(),
            ));
        }
        at_most("link", list.len(), MOST_LINKS)?;
        let mut hops: Vec<HopSpec> = Vec::new();
        for (number, entry) in list.into_iter().enumerate() {
            let path = format!("link[{number}]");
            let hop = HopSpec::read(&path, entry, queues)?;
            refuse_custom(&format!("{path}.queue"), Some(&hop.queue))?;
            refuse_custom(&format!("{path}.queue_back"), hop.queue_back.as_ref())?;
            if let Some(first) = hops.first()
                && first.link.mtu != hop.link.mtu
            {
                let message = format!("must be that of link[0], {}, got {}", first.link.mtu, hop.link.mtu);
                return Err(fault(&format!("{path}.mtu"), message));
            }
            hops.push(hop);
        }
        Ok(LinksSpec { hops, is_chain: true })
    }

    /// Check what links do to ECN of these hosts.
    pub(super) fn check_ecn_paths(&self, tcp: &TcpSpec) -> Result<(), SpecError> {
        self.hops
            .iter()
            .enumerate()
            .try_for_each(|(number, hop)| hop.link.check_ecn_path(&self.key(number), tcp))
    }

    /// The place of a link in the spec: `link`, or with its number in a chain.
    pub(crate) fn key(&self, number: usize) -> String {
        if self.is_chain { format!("link[{number}]") } else { "link".to_owned() }
    }

    /// The links from side 0 to side 1, each with its queues.
    pub fn hops(&self) -> &[HopSpec] {
        &self.hops
    }

    /// Are they in series, each with its number in results?
    pub fn is_chain(&self) -> bool {
        self.is_chain
    }

    /// The number of links in series; 0 for a single link, which has no path through routers.
    pub(super) fn in_series(&self) -> usize {
        if self.is_chain { self.hops.len() } else { 0 }
    }

    /// The first link, which is the only one outside a chain. Interfaces of hosts have its overhead.
    pub fn first(&self) -> &LinkSpec {
        &self.hops[0].link
    }

    /// The longest IP packet on all links.
    pub fn mtu(&self) -> Bytes {
        self.first().mtu
    }

    /// The highest rate that any link ever has, of those of `hops` alone where given.
    pub(super) fn fastest(&self, hops: Option<Hops>) -> BitRate {
        let hops = hops.map_or(&self.hops[..], |Hops { first, last }| &self.hops[first..=last]);
        hops.iter().map(|hop| hop.link.fastest()).max().expect("there is a link")
    }
}

impl Serialize for LinksSpec {
    /// A single link is the table `link`, with its queues beside it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_map(None)?;
        match self.hops.as_slice() {
            [HopSpec { link, queue, queue_back }] if !self.is_chain => {
                table.serialize_entry("link", link)?;
                table.serialize_entry("queue", queue)?;
                queue_back.iter().try_for_each(|back| table.serialize_entry("queue_back", back))?;
            }
            hops => table.serialize_entry("link", hops)?,
        }
        table.end()
    }
}

/// Refuse a queue in a kernel before a capacity that may have no room although the device has a place.
fn check_kernel(path: &str, link: &LinkSpec, queues: [Option<&QueueSpec>; 2]) -> Result<(), SpecError> {
    let mut kinds = Direction::BOTH.into_iter().filter_map(|direction| link.rate.of(direction).kind());
    let is_kernel = |queue: &&QueueSpec| matches!(queue.discipline, DisciplineSpec::Kernel { .. });
    match (kinds.next(), queues.into_iter().flatten().find(is_kernel)) {
        (Some(kind), Some(_)) => {
            let message = format!("needs a link with a bit rate, got one with {}", kind.name());
            Err(fault(&format!("{path}.kernel"), message))
        }
        _ => Ok(()),
    }
}

/// Laws that the caller brings are one for each direction of one link.
fn refuse_custom(path: &str, queue: Option<&QueueSpec>) -> Result<(), SpecError> {
    match queue.map(|queue| &queue.discipline) {
        Some(DisciplineSpec::Custom(custom)) => {
            let message = "a custom law cannot stand in a chain of links".into();
            Err(fault(&format!("{path}.{}", custom.name), message))
        }
        _ => Ok(()),
    }
}

/// Refuse queues of a spec that no link uses, because each has its own.
pub(super) fn check_use(
    link: &Value,
    queue: Option<&Value>,
    queue_back: Option<&Value>,
) -> Result<(), SpecError> {
    let links = link.as_array().map_or(std::slice::from_ref(link), Vec::as_slice);
    for (key, written, own) in
        [("queue", queue, &["queue"][..]), ("queue_back", queue_back, &["queue", "queue_back"])]
    {
        let is_used = links.iter().any(|link| own.iter().all(|key| link.get(key).is_none()));
        if let Some(queue) = written.filter(|_| !is_used) {
            let message = format!("has no effect: every link has a queue of its own, got {queue}");
            return Err(fault(key, message));
        }
    }
    Ok(())
}

/// The tables of all links of a document, before it is read.
pub(super) fn written_links(document: &mut Map<String, Value>) -> Vec<&mut Map<String, Value>> {
    match document.entry("link").or_insert_with(|| Map::new().into()) {
        Value::Array(links) => links.iter_mut().filter_map(Value::as_object_mut).collect(),
        // What is no table is refused where it is read.
        link => link.as_object_mut().into_iter().collect(),
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
                format!("is a path through links in series, a list `link`; there is none, got {written}"),
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
