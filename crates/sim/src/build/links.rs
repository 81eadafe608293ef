//! Boxed links, of whatever discipline: one engine for all of them is enough.

use std::marker::PhantomData;

use aqmlab_aqm::{AdmissionControl, DecidesAtEnqueue, Fifo, Limit, Qdisc, Visitor};
use aqmlab_tcp::HeaderOptions;
use aqmlab_units::Stream;

use super::plan::{Hop, OneWay, QueueDiscipline};
use crate::capture::{Capture, Observed, OnTheWire};
use crate::link::{Cached, Chain, Computed, Link, Queued, Wire};
use crate::packet::Packet;
use crate::side::Direction;
use crate::spec::{Hops, Spec};

/// A link of any kind.
pub(super) type AnyLink<O> = Cached<Box<dyn Link<O> + Send>>;

fn any<O>(link: impl Link<O> + Send + 'static) -> AnyLink<O> {
    Cached::new(Box::new(link))
}

/// The two directions of the chain of `spec`, whose links are `hops`.
pub(super) fn in_series<O>(spec: &Spec, hops: Vec<[AnyLink<O>; 2]>) -> [Chain<AnyLink<O>>; 2] {
    let paths = std::iter::once(spec.users.path).chain(spec.sources.iter().map(|source| source.path));
    let paths: Vec<Hops> = paths.map(|path| path.expect("a path for everyone in a chain").hops()).collect();
    let (forth, back) = hops.into_iter().map(|[forth, back]| (forth, back)).unzip();
    [Chain::new(Direction::FORTH, forth, paths.clone()), Chain::new(Direction::BACK, back, paths)]
}

impl Hop<'_> {
    /// Both directions, each of the kind that is fastest under its discipline.
    pub(super) fn links<O: HeaderOptions + 'static>(self) -> [AnyLink<O>; 2] {
        self.directions.map(OneWay::link)
    }

    /// Both directions, with a capture of what passes the queues, which are asked packet by packet whatever their
    /// discipline.
    pub(super) fn captured<O: OnTheWire + 'static>(self, capture: &Capture) -> [AnyLink<O>; 2] {
        let mut interface = 2 * self.number;
        self.directions.map(|one_way| {
            let number = u32::try_from(interface).expect("a chain has few links");
            interface += 1;
            let wire = one_way.wire.clone();
            any(Queued::new(Observed::new(one_way.queue(), number, capture.clone()), wire))
        })
    }
}

impl OneWay<'_> {
    /// The direction, of the kind that is fastest under its discipline.
    fn link<O: HeaderOptions + 'static>(self) -> AnyLink<O> {
        let OneWay { wire, discipline, stream } = self;
        match discipline {
            QueueDiscipline::Catalogue(config) => {
                let context = wire.context;
                config.visit(&context, Of { wire, stream, options: PhantomData })
            }
            QueueDiscipline::Custom(law, limit) => any(Queued::new(Fifo::new(law, limit), wire)),
        }
    }

    /// Its queue, for packets that carry a `P`.
    fn queue<P: Send + 'static>(self) -> Box<dyn Qdisc<P> + Send> {
        match self.discipline {
            QueueDiscipline::Catalogue(config) => config.queue(&self.wire.context, self.stream),
            QueueDiscipline::Custom(law, limit) => Box::new(Fifo::new(law, limit)),
        }
    }
}

/// Makes one direction of a link for packets with options `O`.
struct Of<O> {
    wire: Wire,
    stream: Stream,
    options: PhantomData<O>,
}

impl<O: HeaderOptions + 'static> Visitor for Of<O> {
    type Payload = Packet<O>;
    type Output = AnyLink<O>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> AnyLink<O> {
        let law = make(self.stream);
        if self.wire.rate_changes.is_empty() {
            any(Computed::new(AdmissionControl::new(law, limit), &self.wire))
        } else {
            any(Queued::new(Fifo::new(law, limit), self.wire))
        }
    }

    fn queue<Q: Qdisc<Packet<O>> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> AnyLink<O> {
        any(Queued::new(make(self.stream), self.wire))
    }
}
