//! Boxed links, of whatever discipline: one engine for all of them is enough.

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

/// A link of any discipline, all of one type.
pub(super) type ParkedLink<O> = Queued<IndexQueue<Packet<O>>, O>;

/// The two directions of the chain of `spec`, whose links are `hops`.
pub(super) fn in_series<O>(spec: &Spec, hops: Vec<[Boxed<O>; 2]>) -> [Chain<Boxed<O>>; 2] {
    let paths = std::iter::once(spec.users.path).chain(spec.sources.iter().map(|source| source.path));
    let paths: Vec<Hops> = paths.map(|path| path.expect("a path for everyone in a chain").hops()).collect();
    let (forth, back) = hops.into_iter().map(|[forth, back]| (forth, back)).unzip();
    [Chain::new(Direction::FORWARD, forth, paths.clone()), Chain::new(Direction::REVERSE, back, paths)]
}

impl Hop<'_> {
    /// Both directions, each of the kind that is fastest under its discipline.
    pub(super) fn links<O: HeaderOptions + 'static>(self) -> [Boxed<O>; 2] {
        self.directions.map(OneWay::link)
    }

    /// Both directions, of one kind whatever their disciplines: for what need not be fast.
    pub(super) fn parked<O: HeaderOptions>(self) -> [ParkedLink<O>; 2] {
        self.directions.map(OneWay::parked)
    }

    /// The same, with a capture of what passes the queues.
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
    /// The direction, of the kind that is fastest under its discipline.
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

    /// Its queue, for packets that carry a `P`, and the wire behind it.
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

/// Makes one direction of a link at one rate for packets with options `O`.
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
