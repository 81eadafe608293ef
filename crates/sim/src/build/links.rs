//! Boxed links of any discipline, so that one engine serves all of them.

use std::marker::PhantomData;

use aqmlab_aqm::{AdmissionControl, DecidesAtEnqueue, Fifo, Limit, Qdisc, Visitor, WithoutEcn};
use aqmlab_tcp::HeaderOptions;
use aqmlab_units::Stream;

use super::plan::{Hop, OneWay, QueueDiscipline};
use crate::capture::{Capture, OnTheWire, Tap};
use crate::engine::emulated::{KernelQueueAt, PacketTag};
use crate::link::{
    AnyLaw, Boxed, BoxedCapacity, Capacity, Chain, Computed, Impaired, IndexQueue, KernelQueue, Link, Queued,
    Transmitter, Wire,
};
use crate::packet::Packet;
use crate::side::Direction;
use crate::spec::{Hops, PathSpec, Spec};

/// A link of any discipline as one type.
pub(super) type ParkedLink<O> = Queued<IndexQueue<Packet<O>>, O, BoxedCapacity>;

/// Return the paths through the chain of `spec` by owner; none without a chain.
pub(super) fn paths(spec: &Spec) -> Vec<Hops> {
    let paths = std::iter::once(spec.users.path).chain(spec.sources.iter().map(|source| source.path));
    paths.flatten().map(PathSpec::hops).collect()
}

/// Return the two directions of the chain of `spec`, whose links are `hops`.
pub(super) fn chains<O, L: Link<O>>(spec: &Spec, hops: Vec<[L; 2]>) -> [Chain<L, O>; 2] {
    let paths = paths(spec);
    let (forward, reverse) = hops.into_iter().map(|[forward, reverse]| (forward, reverse)).unzip();
    [Chain::new(Direction::FORWARD, forward, paths.clone()), Chain::new(Direction::REVERSE, reverse, paths)]
}

impl Hop<'_> {
    /// Return the queues whose disciplines run in a kernel.
    pub(super) fn kernel_queues(&self) -> impl Iterator<Item = KernelQueueAt> {
        Direction::BOTH.into_iter().filter_map(|direction| {
            match &self.directions[direction.index()].discipline {
                QueueDiscipline::Kernel(port) => {
                    Some(KernelQueueAt { direction, hop: self.number as usize, port: port.clone() })
                }
                _ => None,
            }
        })
    }

    /// Return both directions, each of the kind that is fastest under its discipline.
    pub(super) fn links<O: HeaderOptions + 'static>(self) -> [Boxed<O>; 2] {
        self.directions.map(|one_way| one_way.impaired(OneWay::link))
    }

    /// Return both directions as one type for all disciplines, where speed does not matter.
    pub(super) fn parked<O: HeaderOptions>(self) -> [ParkedLink<O>; 2] {
        self.directions.map(OneWay::parked)
    }

    /// Return both directions for packets of real hosts, with a capture of them if there is one.
    pub(super) fn emulated(self, capture: Option<&Capture>) -> [Boxed<PacketTag>; 2] {
        let interface = 2 * self.number;
        let [forward, reverse] = self.directions;
        let emulated =
            |one_way: OneWay<'_>, interface| one_way.impaired(|one_way| one_way.emulated(interface, capture));
        [emulated(forward, interface), emulated(reverse, interface + 1)]
    }

    /// Return both directions with a capture of their packets.
    pub(super) fn captured<O: OnTheWire + 'static>(self, capture: &Capture) -> [Boxed<O>; 2] {
        let interface = 2 * self.number;
        let [forward, reverse] = self.directions;
        let captured =
            |one_way: OneWay<'_>, interface| one_way.impaired(|one_way| one_way.captured(interface, capture));
        [captured(forward, interface), captured(reverse, interface + 1)]
    }
}

impl<'a> OneWay<'a> {
    /// Return the direction that `make` makes, with its impairments if there are any.
    fn impaired<O: HeaderOptions + 'static>(mut self, make: impl FnOnce(OneWay<'a>) -> Boxed<O>) -> Boxed<O>
    where
        Packet<O>: Send,
    {
        match self.fates.take() {
            None => make(self),
            Some(fates) => Boxed::new(Impaired::new(make(self), fates)),
        }
    }

    /// Return the direction, of the kind that is fastest under its discipline.
    fn link<O: HeaderOptions + 'static>(self) -> Boxed<O> {
        let QueueDiscipline::Catalogue(config) = self.discipline else { return Boxed::new(self.parked()) };
        let context = self.wire.context;
        match self {
            OneWay { wire, capacity: None, noecn: false, stream, .. } => {
                config.visit(&context, Of { wire, stream, options: PhantomData })
            }
            OneWay { wire, capacity: Some(capacity), noecn: false, stream, .. }
                if capacity.is_known_ahead()
                    && let Some((law, limit)) = config.visit(&context, AnyLaw::maker(stream.clone())) =>
            {
                Boxed::new(Computed::with_capacity(AdmissionControl::new(law, limit), &wire, capacity))
            }
            one_way => Boxed::new(one_way.parked()),
        }
    }

    fn parked<O: HeaderOptions>(self) -> ParkedLink<O> {
        let (queue, wire, capacity) = self.queue();
        Queued::with_capacity(queue, &wire, capacity)
    }

    fn captured<O: OnTheWire + 'static>(self, interface: u32, capture: &Capture) -> Boxed<O> {
        let (queue, wire, capacity) = self.queue();
        let queue = Tap::new(queue, interface, capture.clone());
        Boxed::new(Queued::with_capacity(queue, &wire, capacity))
    }

    fn emulated(self, interface: u32, capture: Option<&Capture>) -> Boxed<PacketTag> {
        match (self, capture) {
            (OneWay { discipline: QueueDiscipline::Kernel(port), wire, capacity, .. }, None) => {
                Boxed::new(Queued::with_capacity(KernelQueue::new(port), &wire, or_constant(capacity, &wire)))
            }
            (OneWay { discipline: QueueDiscipline::Kernel(port), wire, capacity, .. }, Some(capture)) => {
                let queue = Tap::new(KernelQueue::new(port), interface, capture.clone());
                Boxed::new(Queued::with_capacity(queue, &wire, or_constant(capacity, &wire)))
            }
            (one_way, None) => Boxed::new(one_way.parked()),
            (one_way, Some(capture)) => one_way.captured(interface, capture),
        }
    }

    /// Return its queue, for packets with payload `P`, and the wire and the capacity behind it.
    fn queue<P>(self) -> (IndexQueue<P>, Wire, BoxedCapacity) {
        let OneWay { wire, capacity, discipline, noecn, stream, .. } = self;
        let capacity = or_constant(capacity, &wire);
        let queue: Box<dyn Qdisc<usize> + Send> = match discipline {
            QueueDiscipline::Catalogue(config) => config.queue(&wire.context, stream),
            QueueDiscipline::Custom(law, limit) => Box::new(Fifo::new(law, limit)),
            QueueDiscipline::Kernel(_) => {
                unreachable!("only an emulated network has the kernel's disciplines")
            }
        };
        let queue = if noecn { Box::new(WithoutEcn::new(queue)) } else { queue };
        (IndexQueue::new(queue), wire, capacity)
    }
}

/// Return `capacity`, or without one the constant rate of `wire`.
fn or_constant(capacity: Option<BoxedCapacity>, wire: &Wire) -> BoxedCapacity {
    capacity.unwrap_or_else(|| Box::new(Transmitter::new(wire.context.rate, wire.context.overhead)))
}

/// Makes one direction of a link with a constant rate, for packets with options `O`.
struct Of<O> {
    wire: Wire,
    stream: Stream,
    options: PhantomData<O>,
}

impl<O: HeaderOptions + 'static> Visitor for Of<O> {
    type Payload = Packet<O>;
    type Output = Boxed<O>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(self, limit: Limit, make: impl Fn(Stream) -> A) -> Boxed<O> {
        Boxed::new(Computed::new(AdmissionControl::new(make(self.stream), limit), &self.wire))
    }

    fn queue<Q: Qdisc<Packet<O>> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Boxed<O> {
        Boxed::new(Queued::new(make(self.stream), &self.wire))
    }
}
