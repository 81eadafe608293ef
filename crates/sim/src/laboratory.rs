//! A run, whatever its queue discipline and its hosts' TCP: how to build one and what it answers to.

mod links;

use aqmlab_aqm::{Aqm, DecidesAtEnqueue, Fifo, Gate, Limit, Qdisc, Visitor};
use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Basic, Full, Needs, Profile, Scaled, Stack};
use aqmlab_units::{Stream, Time};
use aqmlab_workload::Web;
use aqmlab_workload::sources::Source;

use self::links::{AnyLink, Links, Queue, any, hop_stream, wire};
use crate::capture::{Capture, OnTheWire};
use crate::engine::{Engine, Network, Traffic};
use crate::explain::{Explainer, Numbered, Wish};
use crate::link::{Chain, Computed, Link, Queued, Wire};
use crate::packet::Packet;
use crate::record::{ResponseBin, Tables};
use crate::spec::{Hops, QueueSpec, Spec, SpecError};
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
    let needed = spec.tcp.profiles().map(Profile::needs).max().unwrap_or(Needs::Basic);
    if !spec.chain.is_empty() {
        return match needed {
            Needs::Basic => run.chained::<Basic>(watch),
            Needs::Scaled => run.chained::<Scaled>(watch),
            Needs::Full => run.chained::<Full<Any>>(watch),
        };
    }
    match (needed, &spec.queue, watch) {
        // What is run most often has an engine of its own for each discipline.
        (Needs::Basic, QueueSpec::Known(config), Watch::Nothing) if spec.link.rate_changes.is_empty() => {
            Ok(config.visit(&spec.link.context(), run))
        }
        (Needs::Basic, ..) => run.boxed::<Basic>(laws, watch),
        (Needs::Scaled, ..) => run.boxed::<Scaled>(laws, watch),
        (Needs::Full, ..) => run.boxed::<Full<Any>>(laws, watch),
    }
}

/// The random stream of the queue of one direction in the run `seed`.
pub fn queue_stream(seed: u64, direction: usize) -> Stream {
    Stream::named(seed, &format!("queue/{direction}"))
}

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
        let sources = numbered.map(|(number, source)| {
            Source::new(&source.config, number, &spec.users.rtt, seed).map_err(|error| SpecError {
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
        let links = Links {
            streams: [0, 1].map(|direction| queue_stream(seed, direction)),
            wire: wire(&spec.link, spec),
        };
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
                let queues: [Queue<S::Options>; 2] = match laws {
                    Some(laws) => laws.map(|law| -> Queue<S::Options> { Box::new(Fifo::new(law, limit)) }),
                    None => links.queues(spec.queue.known()?),
                };
                let links = links.captured(queues, capture, 0);
                Box::new(self.engine::<S, _>(Network { links, capture: Some(capture.clone()) }))
            }
            Watch::Explain(wish) => {
                refuse_explaining("link.rate_changes", !spec.link.rate_changes.is_empty())?;
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

    /// The run over a chain of links.
    fn chained<S: Stack<Options: OnTheWire>>(
        self,
        watch: Watch<'_>,
    ) -> Result<Box<dyn Laboratory>, SpecError> {
        let spec = self.spec;
        refuse_explaining("chain", matches!(watch, Watch::Explain(_)))?;
        let capture = if let Watch::Capture(capture) = watch { Some(capture) } else { None };
        let mut links: [Vec<AnyLink<S::Options>>; 2] = Default::default();
        for (number, (link, queue)) in spec.links().enumerate() {
            let streams = [0, 1].map(|direction| hop_stream(self.seed, number, direction));
            let both = Links { streams, wire: wire(&link, spec) };
            let config = queue.known()?;
            let both: [AnyLink<S::Options>; 2] = match capture {
                None => config.visit(&link.context(), both.carrying()),
                Some(capture) => {
                    let queues = both.queues(config);
                    both.captured(queues, capture, number).map(any)
                }
            };
            for (direction, one) in links.iter_mut().zip(both) {
                direction.push(one);
            }
        }
        let paths = std::iter::once(spec.users.path).chain(spec.sources.iter().map(|source| source.path));
        let paths: Vec<Hops> =
            paths.map(|path| path.expect("a path for everyone in a chain").hops()).collect();
        let [forth, back] = links;
        let links = [Chain::new(0, forth, paths.clone()), Chain::new(1, back, paths)];
        Ok(Box::new(self.engine::<S, _>(Network { links, capture: capture.cloned() })))
    }

    fn engine<S: Stack, L: Link<S::Options>>(self, network: Network<L>) -> Engine<S, L> {
        Engine::new(self.spec, self.seed, self.traffic, network, ())
    }

    fn with<L: Link + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> Box<dyn Laboratory> {
        let links = [0, 1]
            .map(|direction| make(queue_stream(self.seed, direction), wire(&self.spec.link, self.spec)));
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
        self.with(|stream, wire| Computed::new(Gate::new(make(stream), limit), &wire))
    }

    fn queue<Q: Qdisc<Packet> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Box<dyn Laboratory> {
        self.with(|stream, wire| Queued::new(make(stream), wire))
    }
}

/// Explanations know of one link, on which a packet takes the time of its bits.
fn refuse_explaining(path: &str, it_is: bool) -> Result<(), SpecError> {
    let message = "such a run cannot be explained: explanations know of one link of one rate";
    if it_is { Err(SpecError { path: path.to_owned(), message: message.to_owned() }) } else { Ok(()) }
}
