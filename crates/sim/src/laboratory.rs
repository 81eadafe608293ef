//! A run, whatever its queue discipline: how to build one and what it answers to.

use aqmlab_aqm::{Aqm, LinkContext, Visitor};
use aqmlab_units::{Stream, Time};
use aqmlab_workload::Web;

use crate::engine::Engine;
use crate::record::{ResponseBin, Tables};
use crate::spec::{Spec, SpecError};
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

    impl Visitor for Build<'_> {
        type Output = Box<dyn Laboratory>;

        fn visit<A: Aqm + Send + 'static>(self, make: impl Fn(Stream) -> A) -> Box<dyn Laboratory> {
            let laws = [0, 1].map(|direction| make(Stream::named(self.seed, &format!("queue/{direction}"))));
            Box::new(Engine::new(self.spec, self.web, laws))
        }
    }

    let web = Web::new(&spec.users.workload, &spec.users.rtt, seed)
        .map_err(|error| SpecError { path: format!("users.{}", error.path), message: error.message })?;
    let context: LinkContext = spec.link.context();
    Ok(spec.queue.visit(&context, Build { spec, seed, web }))
}
