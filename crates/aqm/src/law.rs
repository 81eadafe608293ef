//! The interface between a queue and a law: the queue reports events, the law returns verdicts.

use aqmlab_units::{Bytes, Stream, Time};

use crate::Packet;

/// A law's answer about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it through.
    Pass,
    /// Signal congestion: set CE when the packet is ECN-capable, drop it otherwise.
    Mark,
    /// Drop it, ECN-capable or not.
    Drop,
}

/// The length of a queue, without the packet that is being judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Length in packets.
    pub packets: u32,
    /// Length in bytes.
    pub bytes: Bytes,
}

/// An active queue management law.
///
/// The queue calls these in the order of time. Within one instant a timeout comes before an arrival, and
/// [`Aqm::on_empty`] before the arrival that ends the idle period. Every arrival is shown to [`Aqm::on_enqueue`],
/// even one that the queue's limit will then refuse.
///
/// ```
/// use aqmlab_aqm::{Aqm, Ecn, Fifo, Limit, Packet, Qdisc, QueueState, Verdict};
/// use aqmlab_units::{Bytes, Time};
///
/// /// Signals every packet that finds a number of packets waiting.
/// struct Step(u32);
///
/// impl Aqm for Step {
///     fn on_enqueue(&mut self, _pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
///         if queue.packets >= self.0 { Verdict::Mark } else { Verdict::Pass }
///     }
/// }
///
/// let mut queue = Fifo::new(Step(2), Limit::Packets(100));
/// for ecn in [Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::NotEct] {
///     queue.enqueue(Packet { size: Bytes::new(1500), ecn, flow: 0 }, (), Time::ZERO, &mut drop);
/// }
/// // A signal marks ECN-capable packets and drops others.
/// assert_eq!((queue.counters().marked, queue.counters().dropped_early), (1, 1));
/// ```
pub trait Aqm {
    /// Judges an arriving packet; `queue` is the queue in front of it.
    fn on_enqueue(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        Verdict::Pass
    }

    /// Judges a packet that was enqueued at `enqueued_at` and is about to leave; `queue` is what stays behind it.
    fn on_dequeue(&mut self, _pkt: &Packet, _enqueued_at: Time, _queue: QueueState, _now: Time) -> Verdict {
        Verdict::Pass
    }

    /// Notes that a packet which [`Aqm::on_enqueue`] passed was dropped by an overflow: the arriving packet, or a
    /// queued one that is evicted to make room for it.
    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {}

    /// Notes that the last packet left the queue at `now`.
    fn on_empty(&mut self, _now: Time) {}

    /// Returns the instant of the next [`Aqm::on_timeout`], usually a sample. It may change after any call.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Handles the timeout of [`Aqm::poll_timeout`]. A call before that instant changes nothing.
    fn on_timeout(&mut self, _queue: QueueState, _now: Time) {}

    /// Reports the law's variables under the names of its paper, always the same ones in the same order.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// A law that decides on arrival alone and does not need [`Aqm::on_dequeue`].
///
/// On arrival, the engine computes the instant at which such a law's packet leaves. This takes half the time of
/// dequeuing packets one by one.
pub trait DecidesAtEnqueue: Aqm {
    /// True if the law implements [`Aqm::on_empty`]. The engine calls it for such laws only, because the check for an
    /// empty queue costs 10 of drop-tail's 750 instructions a packet.
    const MINDS_EMPTY: bool = false;
}

impl<T: Aqm + ?Sized> Aqm for Box<T> {
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        (**self).on_enqueue(pkt, queue, now)
    }

    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        (**self).on_dequeue(pkt, enqueued_at, queue, now)
    }

    fn on_overflow(&mut self, pkt: &Packet, queue: QueueState, now: Time) {
        (**self).on_overflow(pkt, queue, now);
    }

    fn on_empty(&mut self, now: Time) {
        (**self).on_empty(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        (**self).on_timeout(queue, now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(out);
    }
}

/// True with probability `p / whole`, clipped to \[0, 1\]; `whole` is above zero. Draws only when the outcome is open,
/// so that a law draws no random number while it has nothing to signal, and multiplies where a division would cost
/// more than the draw.
#[inline]
pub(crate) fn bernoulli(p: f64, whole: f64, rng: &mut Stream) -> bool {
    debug_assert!(!p.is_nan() && whole > 0.0, "{p} of {whole} is a probability");
    p > 0.0 && (p >= whole || rng.uniform() * whole < p)
}
