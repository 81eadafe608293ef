//! A run, whatever its queue discipline and its hosts' TCP: how to build one and what it answers to.

use std::marker::PhantomData;

use aqmlab_aqm::{Aqm, DecidesAtEnqueue, Fifo, Gate, Limit, Qdisc, Visitor};
use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Basic, Full, HeaderOptions, Profile, Stack};
use aqmlab_units::{Stream, Time};
use aqmlab_workload::Web;
use aqmlab_workload::sources::Source;

use crate::capture::{Capture, Observed, OnTheWire, Tagged};
use crate::engine::{Engine, Network, Traffic};
use crate::explain::{Explainer, Numbered, Wish};
use crate::link::{Computed, Link, Queued, Wire};
use crate::packet::Packet;
use crate::record::{ResponseBin, Tables};
use crate::spec::{LinkSpec, QueueSpec, Spec, SpecError};
use crate::summary::Summary;

/// A run under way, whatever its queue discipline.
pub trait Laboratory: Send {
    /// Go on until `until`, or to the end if that comes first.
    fn advance(&mut self, until: Time);

    /// The simulated time reached.
    fn now(&self) -> Time;

    /// When the run ends: warm-up and measured window.
    fn end(&self) -> Time;

    /// Rows of the time series, to be taken out.
    fn tables(&mut self) -> &mut Tables;

    /// The histogram of response times so far.
    fn response_times(&self) -> Vec<ResponseBin>;

    /// The run in one row, at its end.
    fn summary(&mut self) -> Summary;
}

/// Laws that the caller brings, one for each direction, each behind a plain queue with the spec's limit. What they draw
/// they should draw from [`queue_stream`].
pub type Laws = [Box<dyn Aqm + Send>; 2];

/// What is written down of a run besides its results, which it does not change.
#[derive(Clone, Copy, Debug)]
pub enum Watch<'a> {
    /// Nothing.
    Nothing,
    /// What passes the queues.
    Capture(&'a Capture),
    /// Where the time of each exchange goes.
    Explain(Wish),
}

/// Prepare the run `seed` of `spec`, with laws of the caller's own if that is what the spec asks for.
pub fn build(
    spec: &Spec,
    seed: u64,
    laws: Option<Laws>,
    watch: Watch<'_>,
) -> Result<Box<dyn Laboratory>, SpecError> {
    let run = Run::new(spec, seed)?;
    if spec.tcp.profiles().any(Profile::needs_full) {
        return run.boxed::<Full<Any>>(laws, watch);
    }
    // What is run most often has an engine of its own for each discipline.
    match (&spec.queue, watch) {
        (QueueSpec::Known(config), Watch::Nothing) => Ok(config.visit(&spec.link.context(), run)),
        _ => run.boxed::<Basic>(laws, watch),
    }
}

/// The random stream of the queue of one direction in the run `seed`.
pub fn queue_stream(seed: u64, direction: usize) -> Stream {
    Stream::named(seed, &format!("queue/{direction}"))
}

/// Links of any discipline: one engine for all of them is enough where speed is not the point.
type AnyLink<O> = Box<dyn Link<O> + Send>;

/// A run but for its links.
struct Run<'a> {
    spec: &'a Spec,
    seed: u64,
    traffic: Traffic,
}

impl<'a> Run<'a> {
    fn new(spec: &'a Spec, seed: u64) -> Result<Run<'a>, SpecError> {
        let web = Web::new(&spec.users.workload, &spec.users.rtt, seed)
            .map_err(|error| SpecError { path: format!("users.{}", error.path), message: error.message })?;
        let numbered = (0..).zip(&spec.sources);
        let sources = numbered.map(|(number, config)| {
            Source::new(config, number, &spec.users.rtt, seed).map_err(|error| SpecError {
                path: format!("sources[{number}].{}", error.path),
                message: error.message,
            })
        });
        let sources = sources.collect::<Result<_, _>>()?;
        Ok(Run { spec, seed, traffic: Traffic { web, sources } })
    }

    /// The run with hosts of the TCP `S`.
    fn boxed<S: Stack<Options: OnTheWire>>(
        self,
        laws: Option<Laws>,
        watch: Watch<'_>,
    ) -> Result<Box<dyn Laboratory>, SpecError> {
        let Run { spec, seed, .. } = self;
        let links = Links { seed, wire: wire(spec) };
        let link = spec.link.context();
        let limit = spec.queue.limit();
        Ok(match watch {
            Watch::Nothing => {
                let links = match laws {
                    Some(laws) => links.of_laws(laws, limit),
                    None => spec.queue.known()?.visit(&link, links.carrying::<S::Options>()),
                };
                Box::new(self.engine::<S, _>(Network { links, capture: None }))
            }
            Watch::Capture(capture) => {
                let queues: [Queue<S::Options>; 2] = if let Some(laws) = laws {
                    laws.map(|law| -> Queue<S::Options> { Box::new(Fifo::new(law, limit)) })
                } else {
                    let config = spec.queue.known()?;
                    [0, 1].map(|direction| config.queue(&link, queue_stream(seed, direction)))
                };
                let links = links.captured(queues, capture);
                Box::new(self.engine::<S, _>(Network { links, capture: Some(capture.clone()) }))
            }
            Watch::Explain(wish) => {
                let links: [AnyLink<Numbered<S::Options>>; 2] = match laws {
                    Some(laws) => links.of_laws(laws, limit),
                    None => spec.queue.known()?.visit(&link, links.carrying()),
                };
                let explainer = Explainer::new(&spec.link, wish);
                let network = Network { links, capture: None };
                Box::new(Engine::<S, _, _>::new(spec, seed, self.traffic, network, explainer))
            }
        })
    }

    fn engine<S: Stack, L: Link<S::Options>>(self, network: Network<L>) -> Engine<S, L> {
        Engine::new(self.spec, self.seed, self.traffic, network, ())
    }

    fn with<L: Link + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> Box<dyn Laboratory> {
        let links = [0, 1].map(|direction| make(queue_stream(self.seed, direction), wire(self.spec)));
        Box::new(self.engine::<Basic, L>(Network { links, capture: None }))
    }
}

impl Visitor for Run<'_> {
    type Payload = Packet;
    type Output = Box<dyn Laboratory>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Box<dyn Laboratory> {
        self.with(|stream, wire| Computed::new(Gate::new(make(stream), limit), wire))
    }

    fn queue<Q: Qdisc<Packet> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Box<dyn Laboratory> {
        self.with(|stream, wire| Queued::new(make(stream), wire))
    }
}

fn wire(spec: &Spec) -> Wire {
    let LinkSpec { delay, device_fifo, .. } = spec.link;
    Wire { context: spec.link.context(), delay, device_fifo }
}

/// A queue whose packets are captured.
type Queue<O> = Box<dyn Qdisc<Tagged<O>> + Send>;

/// Builds both directions of a link of any discipline.
struct Links {
    seed: u64,
    wire: Wire,
}

impl Links {
    fn carrying<O>(self) -> Carrying<O> {
        Carrying { links: self, options: PhantomData }
    }

    fn of_laws<O: HeaderOptions + 'static>(self, laws: Laws, limit: Limit) -> [AnyLink<O>; 2] {
        laws.map(|law| -> AnyLink<O> { Box::new(Queued::new(Fifo::new(law, limit), self.wire)) })
    }

    fn captured<O: OnTheWire>(
        self,
        [first, second]: [Queue<O>; 2],
        capture: &Capture,
    ) -> [Queued<Observed<O>, O>; 2] {
        let link =
            |direction, queue| Queued::new(Observed::new(queue, direction, capture.clone()), self.wire);
        [link(0, first), link(1, second)]
    }
}

/// The same, for packets with options `O`.
struct Carrying<O> {
    links: Links,
    options: PhantomData<O>,
}

impl<O: HeaderOptions + 'static> Carrying<O> {
    fn with<L: Link<O> + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> [AnyLink<O>; 2] {
        let Links { seed, wire } = self.links;
        [0, 1].map(|direction| -> AnyLink<O> { Box::new(make(queue_stream(seed, direction), wire)) })
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
        self.with(|stream, wire| Computed::new(Gate::new(make(stream), limit), wire))
    }

    fn queue<Q: Qdisc<Packet<O>> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> [AnyLink<O>; 2] {
        self.with(|stream, wire| Queued::new(make(stream), wire))
    }
}
