//! A run, whatever its queue discipline: how to build one and what it answers to.

use aqmlab_aqm::{Aqm, DecidesAtEnqueue, Fifo, Gate, Limit, Qdisc, Visitor};
use aqmlab_tcp::Basic;
use aqmlab_units::{Stream, Time};
use aqmlab_workload::Web;

use crate::engine::Engine;
use crate::explain::{Explainer, Numbered, Wish};
use crate::link::{Computed, Link, Queued, Wire};
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

/// Prepare the run `seed` of `spec`, whose queue discipline is of the catalogue.
pub fn build(spec: &Spec, seed: u64) -> Result<Box<dyn Laboratory>, SpecError> {
    let build = Build::new(spec, seed)?;
    Ok(spec.queue.known()?.visit(&spec.link.context(), build))
}

/// Prepare the run `seed` of `spec` under laws that the caller brings, one for each direction, each behind a plain queue
/// with the spec's limit. What they draw they should draw from [`queue_stream`].
pub fn build_own(
    spec: &Spec,
    seed: u64,
    laws: [Box<dyn Aqm + Send>; 2],
) -> Result<Box<dyn Laboratory>, SpecError> {
    let build = Build::new(spec, seed)?;
    let (limit, wire) = (spec.queue.limit(), build.wire());
    Ok(build.run(laws.map(|law| Queued::new(Fifo::new(law, limit), wire))))
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

/// The random stream of the queue of one direction in the run `seed`.
pub fn queue_stream(seed: u64, direction: usize) -> Stream {
    Stream::named(seed, &format!("queue/{direction}"))
}

/// A run but for its links.
struct Build<'a> {
    spec: &'a Spec,
    seed: u64,
    web: Web,
}

impl<'a> Build<'a> {
    fn new(spec: &'a Spec, seed: u64) -> Result<Build<'a>, SpecError> {
        let web = Web::new(&spec.users.workload, &spec.users.rtt, seed)
            .map_err(|error| SpecError { path: format!("users.{}", error.path), message: error.message })?;
        Ok(Build { spec, seed, web })
    }

    fn wire(&self) -> Wire {
        let LinkSpec { delay, device_fifo, .. } = self.spec.link;
        Wire { context: self.spec.link.context(), delay, device_fifo }
    }

    fn with<L: Link + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> Box<dyn Laboratory> {
        let links = [0, 1].map(|direction| make(queue_stream(self.seed, direction), self.wire()));
        self.run(links)
    }

    fn run<L: Link + Send + 'static>(self, links: [L; 2]) -> Box<dyn Laboratory> {
        Box::new(Engine::<Basic, L>::new(self.spec, self.seed, self.web, links, ()))
    }

    fn explained(self, links: [ExplainedLink; 2], wish: Wish) -> Box<dyn Laboratory> {
        let explainer = Explainer::new(&self.spec.link, wish);
        Box::new(Engine::<Basic, ExplainedLink, Explainer>::new(
            self.spec, self.seed, self.web, links, explainer,
        ))
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
