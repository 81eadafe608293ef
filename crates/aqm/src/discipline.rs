//! What a queue discipline tells of itself, and how code runs for whichever is chosen.

use aqmlab_units::Stream;

use crate::law::DecidesAtEnqueue;
use crate::parameter::check;
use crate::{Fifo, Limit, LinkContext, ParameterError, Qdisc, Settings};

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

/// The treatment of ECN-capable packets by a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum EcnUse {
    /// It marks them where it drops others. `noecn` has it drop them too.
    Marks,
    /// It drops them like others: it never marks.
    Ignores,
    /// It sorts packets by their ECN field, so that it is no longer itself without ECN.
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
    /// When it drops and marks.
    const DECIDES_AT: DecidesAt;
    /// What it does, in one line.
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

    /// What one parameter alone does not tell: automatic values are filled in, and parameters that depend on each other
    /// checked. Each is in its range.
    fn complete(&self, _link: &LinkContext) -> Result<Self, ParameterError> {
        Ok(self.clone())
    }

    /// Run `visitor` with this discipline in front of `link`. The configuration has passed [`Discipline::resolve`].
    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output;
}

/// Code that runs for any discipline.
///
/// A discipline chosen at run time and code compiled for each meet here: the chosen one comes as a type, so that the
/// code inside has no dynamic dispatch per packet. `make` makes any number of it: one for each direction of a link,
/// each with a random stream of its own.
///
/// ```
/// use aqmlab_aqm::{Aqm, DecidesAtEnqueue, LinkContext, Limit, PiConfig, Qdisc, QueueConfig, Visitor};
/// use aqmlab_units::{BitRate, Bytes, Stream};
///
/// /// How large the queue itself is, for whichever discipline: code that is compiled for each.
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
