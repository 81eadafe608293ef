//! Links of any discipline, boxed: where one engine for all of them is enough.

use std::marker::PhantomData;

use aqmlab_aqm::{DecidesAtEnqueue, Fifo, Gate, Limit, Qdisc, QueueConfig, Visitor};
use aqmlab_tcp::HeaderOptions;
use aqmlab_units::{Stream, Time};

use super::{Laws, queue_stream};
use crate::capture::{Capture, Observed, OnTheWire, Tagged};
use crate::link::{Announced, Computed, Link, Queued, Wire};
use crate::packet::Packet;
use crate::spec::{LinkSpec, Spec};

/// A link of any discipline: one engine for all of them is enough for hosts of today.
pub(super) type AnyLink<O> = Announced<Box<dyn Link<O> + Send>>;

pub(super) fn any<O>(link: impl Link<O> + Send + 'static) -> AnyLink<O> {
    Announced::new(Box::new(link))
}

/// One direction of `link`, which `spec` has.
pub(super) fn wire(link: &LinkSpec, spec: &Spec) -> Wire {
    let changes = link.rate_changes.iter().map(|change| (Time::ZERO + change.at, change.rate));
    Wire {
        context: link.context(),
        delay: link.delay,
        device_fifo: link.device_fifo,
        rate_changes: changes.collect(),
        // The users and each source, where there are any.
        owners: if spec.sources.is_empty() { 0 } else { 1 + spec.sources.len() },
    }
}

/// The random stream of the queue of one direction of link `number` of a chain, counted from 0: the first link's is that
/// of a link alone.
pub(super) fn hop_stream(seed: u64, number: usize, direction: usize) -> Stream {
    match number {
        0 => queue_stream(seed, direction),
        _ => Stream::named(seed, &format!("queue/{direction}/link/{number}")),
    }
}

/// A queue whose packets are captured.
pub(super) type Queue<O> = Box<dyn Qdisc<Tagged<O>> + Send>;

/// Builds both directions of a link of any discipline.
pub(super) struct Links {
    /// What the queues draw from.
    pub(super) streams: [Stream; 2],
    pub(super) wire: Wire,
}

impl Links {
    pub(super) fn carrying<O>(self) -> Carrying<O> {
        Carrying { links: self, options: PhantomData }
    }

    pub(super) fn of_laws<O: HeaderOptions + 'static>(self, laws: Laws, limit: Limit) -> [AnyLink<O>; 2] {
        laws.map(|law| any(Queued::new(Fifo::new(law, limit), self.wire.clone())))
    }

    pub(super) fn queues<O: OnTheWire + 'static>(&self, config: &QueueConfig) -> [Queue<O>; 2] {
        self.streams.clone().map(|stream| config.queue(&self.wire.context, stream))
    }

    /// Link `number`, counted from 0, with a capture of what passes `queues`.
    pub(super) fn captured<O: OnTheWire>(
        self,
        [first, second]: [Queue<O>; 2],
        capture: &Capture,
        number: usize,
    ) -> [Queued<Observed<O>, O>; 2] {
        let link = |direction, queue| {
            let interface = u32::try_from(2 * number + direction).expect("a chain has few links");
            Queued::new(Observed::new(queue, interface, capture.clone()), self.wire.clone())
        };
        [link(0, first), link(1, second)]
    }
}

/// The same, for packets with options `O`.
pub(super) struct Carrying<O> {
    links: Links,
    options: PhantomData<O>,
}

impl<O: HeaderOptions + 'static> Carrying<O> {
    fn with<L: Link<O> + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> [AnyLink<O>; 2] {
        let Links { streams, wire } = self.links;
        streams.map(|stream| any(make(stream, wire.clone())))
    }
}

impl<O: HeaderOptions + 'static> Visitor for Carrying<O> {
    type Payload = Packet<O>;
    type Output = [AnyLink<O>; 2];

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> [AnyLink<O>; 2] {
        if self.links.wire.rate_changes.is_empty() {
            self.with(|stream, wire| Computed::new(Gate::new(make(stream), limit), &wire))
        } else {
            self.with(|stream, wire| Queued::new(Fifo::new(make(stream), limit), wire))
        }
    }

    fn queue<Q: Qdisc<Packet<O>> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> [AnyLink<O>; 2] {
        self.with(|stream, wire| Queued::new(make(stream), wire))
    }
}
