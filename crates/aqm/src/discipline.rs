//! Self-description of a queue discipline, and code that runs for any discipline.

use aqmlab_units::Stream;

use crate::law::DecidesAtEnqueue;
use crate::parameter::check;
use crate::{Fifo, Limit, LinkContext, ParameterError, Qdisc, Settings, Tc};

/// The time at which a discipline drops and marks, with its default parameters.
///
/// Checked by `the_declared_decision_point_is_the_actual_one` in `tests/catalogue.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum DecidesAt {
    /// On arrival only.
    Enqueue,
    /// On departure; on arrival it drops only if the queue is full.
    Dequeue,
}

/// The treatment of ECN-capable packets by a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum EcnUse {
    /// It marks them where it drops others. With `noecn` it drops them too.
    Marks,
    /// It drops them like others: it never marks in place of a drop.
    Ignores,
    /// It classifies packets by their ECN field, so that it needs ECN.
    Requires,
}

/// A queue discipline, implemented by its configuration.
///
/// ```
/// use aqmlab_aqm::{Discipline, LinkContext, RedConfig};
/// use aqmlab_units::{BitRate, Bytes};
///
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
/// let refused = RedConfig { min_th: 12.0, max_th: 8.0, ..RedConfig::default() }.resolve(&link).unwrap_err();
/// assert_eq!(refused.field, "max_th");
/// ```
pub trait Discipline: Settings {
    /// The family of disciplines it belongs to.
    const FAMILY: &'static str;
    /// The time of its drops and marks.
    const DECIDES_AT: DecidesAt;
    /// Its effect, in one line.
    const SUMMARY: &'static str;
    /// The treatment of ECN-capable packets.
    const ECN: EcnUse = EcnUse::Marks;
    /// The classes of packets that it treats separately, by name.
    const CLASSES: &'static [&'static str] = &[];
    /// The words of Linux's `tc`, if Linux has it and `tc` gives it all that it needs.
    const TC: Option<Tc> = None;

    /// Check this configuration, and fill in its automatic values for `link`.
    fn resolve(&self, link: &LinkContext) -> Result<Self, ParameterError> {
        self.check()?;
        check(!self.limit().is_zero(), "limit", "at least 1 packet or 1 B", &self.limit())?;
        let complete = self.complete(link)?;
        complete.check()?;
        Ok(complete)
    }

    /// Fill in automatic values, and check parameters that depend on each other. Each is already in its range.
    fn complete(&self, _link: &LinkContext) -> Result<Self, ParameterError> {
        Ok(self.clone())
    }

    /// Run `visitor` with this discipline in front of `link`. The configuration must have passed
    /// [`Discipline::resolve`].
    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output;
}

/// Code that runs for any discipline.
///
/// It joins a discipline chosen at run time with code compiled for each: the discipline comes as a type, so that
/// the code has no dynamic dispatch per packet. `make` makes any number of queues or laws: one for each direction
/// of a link, each with its own random stream.
///
/// ```
/// use aqmlab_aqm::{Aqm, DecidesAtEnqueue, LinkContext, Limit, PiConfig, Qdisc, QueueConfig, Visitor};
/// use aqmlab_units::{BitRate, Bytes, Stream};
///
/// /// Returns the size of a discipline: code that is compiled for each.
/// struct Size;
///
/// impl Visitor for Size {
///     type Payload = ();
///     type Output = usize;
///
///     fn law<A: DecidesAtEnqueue + Send + 'static>(self, _limit: Limit, _make: impl Fn(Stream) -> A) -> usize {
///         size_of::<A>()
///     }
///
///     fn queue<Q: Qdisc<()> + Send + 'static>(self, _make: impl Fn(Stream) -> Q) -> usize {
///         size_of::<Q>()
///     }
/// }
///
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
/// let pi = QueueConfig::Pi(PiConfig::default()).resolve(&link)?;
/// assert!(pi.visit(&link, Size) > 0);
/// # Ok::<(), aqmlab_aqm::ParameterError>(())
/// ```
pub trait Visitor: Sized {
    /// Payload of packets.
    type Payload: Send + 'static;
    /// Result of the code.
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

/// Makes one queue of any kind.
pub(crate) struct Boxed {
    pub(crate) rng: Stream,
}

impl Visitor for Boxed {
    type Payload = usize;
    type Output = Box<dyn Qdisc<usize> + Send>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Self::Output {
        Box::new(Fifo::new(make(self.rng), limit))
    }

    fn queue<Q: Qdisc<usize> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Self::Output {
        Box::new(make(self.rng))
    }
}
