//! Boxed links, of whatever discipline and in series or not: one engine for all of them is enough.

use std::marker::PhantomData;

use aqmlab_aqm::{DecidesAtEnqueue, Fifo, Gate, Limit, Qdisc, Visitor};
use aqmlab_tcp::HeaderOptions;
use aqmlab_units::Stream;

use super::plan::{Hop, Queues};
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

/// The two directions of the network of `spec`, whose links are `hops`.
pub(super) fn in_series<O: HeaderOptions + 'static>(
    spec: &Spec,
    mut hops: impl Iterator<Item = [AnyLink<O>; 2]>,
) -> [AnyLink<O>; 2] {
    if spec.chain.is_empty() {
        return hops.next().expect("there is a link");
    }
    let paths = std::iter::once(spec.users.path).chain(spec.sources.iter().map(|source| source.path));
    let paths: Vec<Hops> = paths.map(|path| path.expect("a path for everyone in a chain").hops()).collect();
    let (forth, back) = hops.map(|[forth, back]| (forth, back)).unzip();
    [any(Chain::new(Direction::FORTH, forth, paths.clone())), any(Chain::new(Direction::BACK, back, paths))]
}

impl Hop<'_> {
    /// Both directions, each of the kind that is fastest under its discipline.
    pub(super) fn links<O: HeaderOptions + 'static>(self) -> [AnyLink<O>; 2] {
        let Hop { wire, queues, streams, .. } = self;
        match queues {
            Queues::Catalogue(config) => {
                let context = wire.context;
                config.visit(&context, Both { wire, streams, options: PhantomData })
            }
            Queues::Custom(laws, limit) => {
                laws.map(|law| any(Queued::new(Fifo::new(law, limit), wire.clone())))
            }
        }
    }

    /// Both directions, with a capture of what passes the queues, which are asked packet by packet whatever their
    /// discipline.
    pub(super) fn captured<O: OnTheWire + 'static>(self, capture: &Capture) -> [AnyLink<O>; 2] {
        let (wire, mut interface) = (self.wire.clone(), 2 * self.number);
        self.queues().map(|queue| {
            let number = u32::try_from(interface).expect("a chain has few links");
            interface += 1;
            any(Queued::new(Observed::new(queue, number, capture.clone()), wire.clone()))
        })
    }

    /// The queue of each direction, for packets that carry a `P`.
    fn queues<P: Send + 'static>(self) -> [Box<dyn Qdisc<P> + Send>; 2] {
        match self.queues {
            Queues::Catalogue(config) => self.streams.map(|stream| config.queue(&self.wire.context, stream)),
            Queues::Custom(laws, limit) => {
                laws.map(|law| -> Box<dyn Qdisc<P> + Send> { Box::new(Fifo::new(law, limit)) })
            }
        }
    }
}

/// Makes both directions of a link for packets with options `O`.
struct Both<O> {
    wire: Wire,
    streams: [Stream; 2],
    options: PhantomData<O>,
}

impl<O: HeaderOptions + 'static> Both<O> {
    fn of<L: Link<O> + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> [AnyLink<O>; 2] {
        self.streams.map(|stream| any(make(stream, self.wire.clone())))
    }
}

impl<O: HeaderOptions + 'static> Visitor for Both<O> {
    type Payload = Packet<O>;
    type Output = [AnyLink<O>; 2];

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> [AnyLink<O>; 2] {
        if self.wire.rate_changes.is_empty() {
            self.of(|stream, wire| Computed::new(Gate::new(make(stream), limit), &wire))
        } else {
            self.of(|stream, wire| Queued::new(Fifo::new(make(stream), limit), wire))
        }
    }

    fn queue<Q: Qdisc<Packet<O>> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> [AnyLink<O>; 2] {
        self.of(|stream, wire| Queued::new(make(stream), wire))
    }
}
