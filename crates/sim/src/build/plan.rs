//! The plan of a run: hosts, traffic, and the links in series with their queues.

use aqmlab_aqm::{Aqm, Limit, QueueConfig};
use aqmlab_tcp::{Profile, RequiredStack};
use aqmlab_units::Stream;
use aqmlab_workload::pages::Pages;
use aqmlab_workload::sources::Source;
use aqmlab_workload::{Web, WorkloadConfig};

use super::{Laws, queue_stream};
use crate::engine::{Population, Traffic};
use crate::link::{BoxedCapacity, CapacitySpec, Fates, Interrupted, KernelPort, Schedule, Streams, Wire};
use crate::side::Direction;
use crate::spec::{DisciplineSpec, HopSpec, LinkSpec, Spec, SpecError};

/// A run before its engine is chosen.
pub(super) struct Plan<'a> {
    pub(super) spec: &'a Spec,
    pub(super) seed: u64,
    pub(super) traffic: Traffic,
    /// The smallest TCP with the features of all hosts.
    pub(super) required_stack: RequiredStack,
    /// The links: those of the chain, or the only one.
    pub(super) hops: Vec<Hop<'a>>,
}

/// A link in both directions.
pub(super) struct Hop<'a> {
    /// Its number, counted from 0.
    pub(super) number: u32,
    pub(super) directions: [OneWay<'a>; 2],
}

/// One direction of a link.
pub(super) struct OneWay<'a> {
    pub(super) wire: Wire,
    /// Its capacity, unless that is the constant rate of the wire.
    pub(super) capacity: Option<BoxedCapacity>,
    pub(super) discipline: QueueDiscipline<'a>,
    /// The queue drops packets that the discipline would mark.
    pub(super) noecn: bool,
    /// The queue's random stream.
    pub(super) stream: Stream,
    /// The impairments of its wire with their random streams, if there are any.
    pub(super) fates: Option<Fates>,
}

/// The discipline of a queue.
pub(super) enum QueueDiscipline<'a> {
    /// One of the catalogue.
    Catalogue(&'a QueueConfig),
    /// A custom law, and the maximum that may wait.
    Custom(Box<dyn Aqm + Send>, Limit),
    /// One of a Linux kernel.
    Kernel(KernelPort),
}

impl<'a> Plan<'a> {
    pub(super) fn new(spec: &'a Spec, seed: u64, laws: Option<Laws>) -> Result<Plan<'a>, SpecError> {
        let mut laws = laws.unwrap_or_default();
        let hops = (0..).zip(spec.links.hops()).map(|(number, hop)| {
            let mut one_way = |direction: Direction| {
                let queue = hop.queues()[direction.index()];
                let discipline = match &queue.discipline {
                    DisciplineSpec::Custom(custom) => match laws[direction.index()].take() {
                        Some(law) => QueueDiscipline::Custom(law, custom.limit),
                        None => QueueDiscipline::Catalogue(queue.known()?),
                    },
                    DisciplineSpec::Known(config) => QueueDiscipline::Catalogue(config),
                    DisciplineSpec::Kernel { .. } => QueueDiscipline::Kernel(KernelPort::default()),
                };
                let stream = hop_stream(seed, number, direction.index());
                let streams = Streams { seed, link: number, direction };
                let kind = hop.link.rate.of(direction).kind();
                let fates = hop.link.impairments(direction).map(|impairments| {
                    let place = format!("{}/link/{number}", direction.index());
                    let path = kind.and_then(|kind| kind.path(&streams));
                    Fates::new(&impairments, &hop.link, path, |purpose| {
                        Stream::named(seed, &format!("{purpose}/{place}"))
                    })
                });
                let link = hop.link.one_way(direction);
                Ok(OneWay {
                    wire: wire(&link, spec),
                    capacity: capacity(&link, kind, &streams),
                    discipline,
                    noecn: queue.noecn,
                    stream,
                    fates,
                })
            };
            Ok(Hop { number, directions: [one_way(Direction::FORWARD)?, one_way(Direction::REVERSE)?] })
        });
        Ok(Plan {
            spec,
            seed,
            hops: hops.collect::<Result<_, _>>()?,
            traffic: traffic(spec, seed)?,
            required_stack: spec
                .tcp
                .profiles()
                .chain(&spec.http3_stacks())
                .map(Profile::required_stack)
                .max()
                .unwrap_or(RequiredStack::Basic),
        })
    }

    /// Return the discipline of the only link, if it is from the catalogue, the same in both directions, and may
    /// mark, and if the rate is constant and the same in both directions.
    pub(super) fn one_discipline(&self) -> Option<&'a QueueConfig> {
        let HopSpec { link, queue_back, .. } = &self.spec.links.hops()[0];
        let is_plain = !self.spec.links.is_chain() && link.is_constant() && queue_back.is_none();
        match self.hops.as_slice() {
            [
                Hop {
                    directions:
                        [OneWay { discipline: QueueDiscipline::Catalogue(config), noecn: false, .. }, _],
                    ..
                },
            ] if is_plain => Some(config),
            _ => None,
        }
    }
}

/// Return the wire of one direction of `link`, a link of `spec`.
fn wire(link: &LinkSpec, spec: &Spec) -> Wire {
    Wire {
        context: link.context(),
        delay: link.shortest_delay(),
        device_fifo: link.device_fifo,
        // The users and each source. Without sources, delays need no division by owner.
        owners: if spec.sources.is_empty() { 0 } else { 1 + spec.sources.len() },
    }
}

/// Return the capacity of one direction of `link`, unless it is a constant rate.
fn capacity(link: &LinkSpec, kind: Option<&CapacitySpec>, streams: &Streams) -> Option<BoxedCapacity> {
    let outages = link.waiting_outages();
    if let Some(kind) = kind {
        let capacity = kind.capacity(&link.context(), streams);
        let is_interrupted = !outages.is_empty();
        return Some(if is_interrupted { Box::new(Interrupted::new(capacity, outages)) } else { capacity });
    }
    if link.rate_changes.is_empty() && outages.is_empty() {
        return None;
    }
    Some(Box::new(Schedule::new(&link.context(), link.rates().collect(), outages)))
}

/// The random stream of the queue of one direction of link `number` of a chain, counted from 0. The first link
/// has the stream of a single link.
fn hop_stream(seed: u64, number: u32, direction: usize) -> Stream {
    match number {
        0 => queue_stream(seed, direction),
        _ => Stream::named(seed, &format!("queue/{direction}/link/{number}")),
    }
}

fn traffic(spec: &Spec, seed: u64) -> Result<Traffic, SpecError> {
    let (users, sources) = (&spec.users, (0..).zip(&spec.sources));
    let population = match &users.workload {
        WorkloadConfig::Web(config) => Web::new(config, &users.rtt, seed).map(Box::new).map(Population::Web),
        WorkloadConfig::Pages(_) => {
            let config = users.pages().expect("users load pages");
            Pages::new(&config, &users.rtt, seed).map(Box::new).map(Population::Pages)
        }
    };
    let population = population
        .map_err(|error| SpecError { path: format!("users.{}", error.path), message: error.message })?;
    let sources = sources.map(|(number, source)| {
        Source::new(&source.config, number, &users.rtt, seed).map_err(|error| SpecError {
            path: format!("sources[{number}].{}", error.path),
            message: error.message,
        })
    });
    Ok(Traffic { population, sources: sources.collect::<Result<_, _>>()? })
}
