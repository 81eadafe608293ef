//! What a queue discipline tells of itself, and how code runs for whichever is chosen.

use aqmlab_units::Stream;

use crate::law::DecidesAtEnqueue;
use crate::{Fifo, Limit, LinkContext, Parameter, ParameterError, Qdisc};

/// When a discipline drops and marks, with its default parameters.
///
/// `when_a_discipline_says_that_it_decides_is_when_it_does` in `tests/catalogue.rs` holds it to its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum DecidesAt {
    /// When packets arrive, and never when they leave.
    Enqueue,
    /// When packets leave; on arrival it drops for want of room at most.
    Dequeue,
}

/// The parameters of a discipline, as the macro that declares them knows them.
pub trait Settings: Clone + Default {
    /// The parameters in their order, as the catalogue shows them.
    fn parameters() -> Vec<Parameter>;

    /// The most that may wait.
    fn limit(&self) -> Limit;
}

/// A queue discipline, implemented by its configuration.
pub trait Discipline: Settings {
    /// Its name in configurations.
    const NAME: &'static str;
    /// The line of thought it belongs to.
    const FAMILY: &'static str;
    /// When it drops and marks.
    const DECIDES_AT: DecidesAt;
    /// What it does, in one line.
    const SUMMARY: &'static str;
    /// Its page in Markdown: idea, equations, where descriptions differ, how it is validated, references.
    const PAGE: &'static str;

    /// This configuration with its automatic values filled in for `link`, checked.
    fn resolve(&self, link: &LinkContext) -> Result<Self, ParameterError>;

    /// Run `visitor` with this discipline in front of `link`. The configuration has passed [`Discipline::resolve`].
    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output;
}

/// Code that runs for any discipline.
///
/// A discipline chosen at run time and code compiled for each meet here: the chosen one comes as a type, so that the
/// code inside has no dynamic dispatch per packet. `make` makes any number of it: one for each direction of a link,
/// each with a random stream of its own.
pub trait Visitor: Sized {
    /// What packets carry.
    type Payload: Send + 'static;
    /// What the code returns.
    type Output;

    /// Run with a law that decides when a packet arrives, for a queue of at most `limit`.
    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Self::Output;

    /// Run with a queue discipline of any kind.
    fn queue<Q: Qdisc<Self::Payload> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Self::Output;
}

/// Makes one queue of whatever kind.
pub(crate) struct Boxed<P> {
    pub(crate) rng: Stream,
    pub(crate) payload: std::marker::PhantomData<P>,
}

impl<P: Send + 'static> Visitor for Boxed<P> {
    type Payload = P;
    type Output = Box<dyn Qdisc<P> + Send>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Self::Output {
        Box::new(Fifo::new(make(self.rng), limit))
    }

    fn queue<Q: Qdisc<P> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Self::Output {
        Box::new(make(self.rng))
    }
}
