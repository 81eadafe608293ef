//! A run, whatever its queue discipline: how to build one and what it answers to.

use aqmlab_aqm::{DecidesAtEnqueue, Gate, Limit, LinkContext, Qdisc, Visitor};
use aqmlab_units::{Stream, Time};
use aqmlab_workload::Web;

use crate::engine::Engine;
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

/// Prepare the run `seed` of `spec`.
pub fn build(spec: &Spec, seed: u64) -> Result<Box<dyn Laboratory>, SpecError> {
    struct Build<'a> {
        spec: &'a Spec,
        seed: u64,
        web: Web,
    }

    impl Build<'_> {
        fn with<L: Link + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> Box<dyn Laboratory> {
            let LinkSpec { delay, device_fifo, .. } = self.spec.link;
            let wire = Wire { context: self.spec.link.context(), delay, device_fifo };
            let stream = |direction| Stream::named(self.seed, &format!("queue/{direction}"));
            let links = [0, 1].map(|direction| make(stream(direction), wire));
            Box::new(Engine::new(self.spec, self.web, links))
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

    let web = Web::new(&spec.users.workload, &spec.users.rtt, seed)
        .map_err(|error| SpecError { path: format!("users.{}", error.path), message: error.message })?;
    let context: LinkContext = spec.link.context();
    Ok(spec.queue.visit(&context, Build { spec, seed, web }))
}
