//! A run, whatever its queue discipline: how to build one and what it answers to.

use aqmlab_aqm::{Aqm, DecidesAtEnqueue, Fifo, Gate, Limit, Qdisc, Visitor};
use aqmlab_tcp::Basic;
use aqmlab_units::{Stream, Time};
use aqmlab_workload::Web;
use aqmlab_workload::sources::Source;

use crate::capture::{Capture, Observed, Tagged};
use crate::engine::{Engine, Network, Traffic};
use crate::explain::{Explainer, Numbered, Wish};
use crate::link::{Computed, Link, Queued, Wire};
use crate::observer::Observer;
use crate::packet::Packet;
use crate::record::{ResponseBin, Tables};
use crate::spec::{LinkSpec, Spec, SpecError};
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

/// Prepare the run `seed` of `spec`, whose queue discipline is of the catalogue, with its packets captured if `capture`
/// is given.
pub fn build(spec: &Spec, seed: u64, capture: Option<&Capture>) -> Result<Box<dyn Laboratory>, SpecError> {
    let build = Build::new(spec, seed)?;
    let config = spec.queue.known()?;
    let link = spec.link.context();
    Ok(match capture {
        None => config.visit(&link, build),
        Some(capture) => {
            let queue = |direction| config.queue(&link, queue_stream(seed, direction));
            build.captured([queue(0), queue(1)], capture)
        }
    })
}

/// Prepare the run `seed` of `spec` under laws that the caller brings, one for each direction, each behind a plain queue
/// with the spec's limit. What they draw they should draw from [`queue_stream`].
pub fn build_own(
    spec: &Spec,
    seed: u64,
    laws: [Box<dyn Aqm + Send>; 2],
    capture: Option<&Capture>,
) -> Result<Box<dyn Laboratory>, SpecError> {
    let build = Build::new(spec, seed)?;
    let (limit, wire) = (spec.queue.limit(), build.wire());
    Ok(match capture {
        None => {
            let links = laws.map(|law| Queued::new(Fifo::new(law, limit), wire));
            build.run(Network { links, capture: None, observer: () })
        }
        Some(capture) => {
            build.captured(laws.map(|law| -> Queue { Box::new(Fifo::new(law, limit)) }), capture)
        }
    })
}

/// Prepare the run that [`build`] would, to be explained: the same results, and where the time of each exchange went.
pub fn build_explained(spec: &Spec, seed: u64, wish: Wish) -> Result<Box<dyn Laboratory>, SpecError> {
    let build = Build::new(spec, seed)?;
    let config = spec.queue.known()?;
    let links = config.visit(&spec.link.context(), Links { seed, wire: build.wire() });
    Ok(build.explained(links, wish))
}

/// Prepare the run that [`build_own`] would, to be explained.
pub fn build_own_explained(
    spec: &Spec,
    seed: u64,
    laws: [Box<dyn Aqm + Send>; 2],
    wish: Wish,
) -> Result<Box<dyn Laboratory>, SpecError> {
    let build = Build::new(spec, seed)?;
    let (limit, wire) = (spec.queue.limit(), build.wire());
    let links = laws.map(|law| -> ExplainedLink { Box::new(Queued::new(Fifo::new(law, limit), wire)) });
    Ok(build.explained(links, wish))
}

/// A queue whose packets are captured.
type Queue = Box<dyn Qdisc<Tagged<()>> + Send>;

/// The random stream of the queue of one direction in the run `seed`.
pub fn queue_stream(seed: u64, direction: usize) -> Stream {
    Stream::named(seed, &format!("queue/{direction}"))
}

/// A run but for its links.
struct Build<'a> {
    spec: &'a Spec,
    seed: u64,
    traffic: Traffic,
}

impl<'a> Build<'a> {
    fn new(spec: &'a Spec, seed: u64) -> Result<Build<'a>, SpecError> {
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
        Ok(Build { spec, seed, traffic: Traffic { web, sources } })
    }

    fn wire(&self) -> Wire {
        let LinkSpec { delay, device_fifo, .. } = self.spec.link;
        Wire { context: self.spec.link.context(), delay, device_fifo }
    }

    fn with<L: Link + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> Box<dyn Laboratory> {
        let links = [0, 1].map(|direction| make(queue_stream(self.seed, direction), self.wire()));
        self.run(Network { links, capture: None, observer: () })
    }

    fn captured(self, [first, second]: [Queue; 2], capture: &Capture) -> Box<dyn Laboratory> {
        let wire = self.wire();
        let link = |direction, queue| Queued::new(Observed::new(queue, direction, capture.clone()), wire);
        let links = [link(0, first), link(1, second)];
        self.run(Network { links, capture: Some(capture.clone()), observer: () })
    }

    fn explained(self, links: [ExplainedLink; 2], wish: Wish) -> Box<dyn Laboratory> {
        let observer = Explainer::new(&self.spec.link, wish);
        self.run(Network { links, capture: None, observer })
    }

    fn run<L, O>(self, network: Network<L, O>) -> Box<dyn Laboratory>
    where
        L: Link<O::Carried> + Send + 'static,
        O: Observer<Basic> + Send + 'static,
        O::Carried: Send,
    {
        Box::new(Engine::<Basic, L, O>::new(self.spec, self.seed, self.traffic, network))
    }
}

/// Links of explained runs are boxed: one engine for all disciplines is enough where speed is not the point.
type ExplainedLink = Box<dyn Link<Numbered<()>> + Send>;

/// Builds both directions of the link of an explained run.
struct Links {
    seed: u64,
    wire: Wire,
}

impl Links {
    fn with<L>(self, make: impl Fn(Stream, Wire) -> L) -> [ExplainedLink; 2]
    where
        L: Link<Numbered<()>> + Send + 'static,
    {
        [0, 1].map(|direction| -> ExplainedLink {
            Box::new(make(queue_stream(self.seed, direction), self.wire))
        })
    }
}

impl Visitor for Links {
    type Payload = Packet<Numbered<()>>;
    type Output = [ExplainedLink; 2];

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> [ExplainedLink; 2] {
        self.with(|stream, wire| Computed::new(Gate::new(make(stream), limit), wire))
    }

    fn queue<Q: Qdisc<Self::Payload> + Send + 'static>(
        self,
        make: impl Fn(Stream) -> Q,
    ) -> [ExplainedLink; 2] {
        self.with(|stream, wire| Queued::new(make(stream), wire))
    }
}

impl Visitor for Build<'_> {
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
