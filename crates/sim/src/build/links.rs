//! Boxed links of any discipline, so that one engine serves all of them.

use std::marker::PhantomData;

use aqmlab_aqm::{AdmissionControl, DecidesAtEnqueue, Fifo, Limit, Qdisc, Visitor, WithoutEcn};
use aqmlab_tcp::HeaderOptions;
use aqmlab_units::Stream;

use super::plan::{Hop, OneWay, QueueDiscipline};
use crate::capture::{Capture, OnTheWire, Tap};
use crate::link::{Boxed, Chain, Computed, IndexQueue, Queued, Wire};
use crate::packet::Packet;
use crate::side::Direction;
use crate::spec::{Hops, Spec};

/// A link of any discipline as one type.
pub(super) type ParkedLink<O> = Queued<IndexQueue<Packet<O>>, O>;

/// Return the two directions of the chain of `spec`, whose links are `hops`.
pub(super) fn chains<O>(spec: &Spec, hops: Vec<[Boxed<O>; 2]>) -> [Chain<Boxed<O>>; 2] {
    let paths = std::iter::once(spec.users.path).chain(spec.sources.iter().map(|source| source.path));
    let paths: Vec<Hops> =
        paths.map(|path| path.expect("in a chain all traffic has a path").hops()).collect();
    let (forward, reverse) = hops.into_iter().map(|[forward, reverse]| (forward, reverse)).unzip();
    [Chain::new(Direction::FORWARD, forward, paths.clone()), Chain::new(Direction::REVERSE, reverse, paths)]
}

impl Hop<'_> {
    /// Return both directions, each of the kind that is fastest under its discipline.
    pub(super) fn links<O: HeaderOptions + 'static>(self) -> [Boxed<O>; 2] {
        self.directions.map(OneWay::link)
    }

    /// Return both directions as one type for all disciplines, where speed does not matter.
    pub(super) fn parked<O: HeaderOptions>(self) -> [ParkedLink<O>; 2] {
        self.directions.map(OneWay::parked)
    }

    /// Return both directions with a capture of their packets.
    pub(super) fn captured<O: OnTheWire + 'static>(self, capture: &Capture) -> [Boxed<O>; 2] {
        let mut interface = 2 * self.number;
        self.directions.map(|one_way| {
            let number = u32::try_from(interface).expect("a chain has few links");
            interface += 1;
            let (queue, wire) = one_way.queue();
            Boxed::new(Queued::new(Tap::new(queue, number, capture.clone()), wire))
        })
    }
}

impl OneWay<'_> {
    /// Return the direction, of the kind that is fastest under its discipline.
    fn link<O: HeaderOptions + 'static>(self) -> Boxed<O> {
        match self {
            OneWay { wire, discipline: QueueDiscipline::Catalogue(config), noecn: false, stream }
                if wire.rate_changes.is_empty() =>
            {
                let context = wire.context;
                config.visit(&context, Of { wire, stream, options: PhantomData })
            }
            one_way => Boxed::new(one_way.parked()),
        }
    }

    fn parked<O: HeaderOptions>(self) -> ParkedLink<O> {
        let (queue, wire) = self.queue();
        Queued::new(queue, wire)
    }

    /// Return its queue, for packets with payload `P`, and the wire behind it.
    fn queue<P>(self) -> (IndexQueue<P>, Wire) {
        let OneWay { wire, discipline, noecn, stream } = self;
        let queue: Box<dyn Qdisc<usize> + Send> = match discipline {
            QueueDiscipline::Catalogue(config) => config.queue(&wire.context, stream),
            QueueDiscipline::Custom(law, limit) => Box::new(Fifo::new(law, limit)),
        };
        let queue = if noecn { Box::new(WithoutEcn::new(queue)) } else { queue };
        (IndexQueue::new(queue), wire)
    }
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
        Boxed::new(Queued::new(make(self.stream), self.wire))
    }
}
