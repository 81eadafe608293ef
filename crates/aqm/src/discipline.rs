//! The description of a queue discipline, and code that runs for the one that is chosen.

use aqmlab_units::Stream;

use crate::law::DecidesAtEnqueue;
use crate::parameter::check;
use crate::{Fifo, Limit, LinkContext, ParameterError, Qdisc, Settings};

/// The point at which a discipline with its default parameters drops and marks.
///
/// `when_a_discipline_says_that_it_decides_is_when_it_does` in `tests/catalogue.rs` checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum DecidesAt {
    /// On arrival, and never at dequeue.
    Enqueue,
    /// At dequeue; on arrival it drops only if the queue is full.
    Dequeue,
}

/// The treatment of ECN-capable packets by a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum EcnUse {
    /// It marks them where it drops others. `noecn` has it drop them too.
    Marks,
    /// It drops them like others: it never marks.
    Ignores,
    /// It classifies packets by their ECN field, so that it does not work without ECN.
    Requires,
}

/// A queue discipline, implemented by its configuration.
///
/// ```
/// use aqmlab_aqm::{Discipline, LinkContext, RedConfig};
/// use aqmlab_units::{BitRate, Bytes};
///
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::new(38) };
/// let refused = RedConfig { min_th: 12.0, max_th: 8.0, ..RedConfig::default() }.resolve(&link).unwrap_err();
/// assert_eq!(refused.field, "max_th");
/// ```
pub trait Discipline: Settings {
    /// The line of thought it belongs to.
    const FAMILY: &'static str;
    /// The point at which it drops and marks.
    const DECIDES_AT: DecidesAt;
    /// A summary of one line.
    const SUMMARY: &'static str;
    /// The treatment of ECN-capable packets.
    const ECN: EcnUse = EcnUse::Marks;
    /// The classes of packets that it treats apart, by name.
    const CLASSES: &'static [&'static str] = &[];

    /// This configuration with its automatic values filled in for `link`, checked.
    fn resolve(&self, link: &LinkContext) -> Result<Self, ParameterError> {
        self.check()?;
        check(!self.limit().is_zero(), "limit", "at least 1 packet or 1 B", &self.limit())?;
        let complete = self.complete(link)?;
        complete.check()?;
        Ok(complete)
    }

    /// Fills in automatic values and checks parameters that depend on each other. Each parameter is already known to be
    /// in its range.
    fn complete(&self, _link: &LinkContext) -> Result<Self, ParameterError> {
        Ok(self.clone())
    }

    /// Run `visitor` with this discipline in front of `link`. The configuration has passed [`Discipline::resolve`].
    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output;
}

/// Code that runs for any discipline.
///
/// It receives the discipline that is chosen at run time as a type, so that its code has no dynamic dispatch per
/// packet. `make` makes any number of queues: one for each direction of a link, each with a random stream of its own.
///
/// ```
/// use aqmlab_aqm::{Aqm, DecidesAtEnqueue, LinkContext, Limit, PiConfig, Qdisc, QueueConfig, Visitor};
/// use aqmlab_units::{BitRate, Bytes, Stream};
///
/// /// The size of the queue's type: code that is compiled for each discipline.
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
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::new(38) };
/// let pi = QueueConfig::Pi(PiConfig::default()).resolve(&link)?;
/// assert!(pi.visit(&link, Size) > 0);
/// # Ok::<(), aqmlab_aqm::ParameterError>(())
/// ```
pub trait Visitor: Sized {
    /// The payload of a packet.
    type Payload: Send + 'static;
    /// The value that the code returns.
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

/// A visitor that makes one boxed queue of any discipline.
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
