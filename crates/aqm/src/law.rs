//! The interface between a queue and its law: calls and verdicts.

use aqmlab_units::{Bytes, Stream, Time};

use crate::Packet;

/// A law's verdict about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it pass.
    Pass,
    /// Signal congestion: set CE when the packet is ECN-capable, drop it otherwise.
    Mark,
    /// Drop it, ECN-capable or not.
    Drop,
}

/// Length of the queue, without the packet that is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Length in packets.
    pub packets: u32,
    /// Length in bytes.
    pub bytes: Bytes,
}

/// An active queue management law.
///
/// The queue calls these methods in the order of time. At one instant a timeout comes before an arrival, and
/// [`Aqm::on_empty`] before the arrival that ends the idle period. Every arrival is passed to
/// [`Aqm::on_enqueue`], even one that the queue's limit then drops.
///
/// ```
/// use aqmlab_aqm::{Aqm, Ecn, Fifo, Limit, Packet, Qdisc, QueueState, Verdict};
/// use aqmlab_units::{Bytes, Time};
///
/// /// Signals every packet that finds at least this number of packets waiting.
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
/// // A signal marks an ECN-capable packet and drops another.
/// assert_eq!((queue.counters().marked, queue.counters().dropped_early), (1, 1));
/// ```
pub trait Aqm {
    /// Judge an arriving packet; `queue` is the queue before it.
    fn on_enqueue(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        Verdict::Pass
    }

    /// Judge a packet about to leave that has waited since `enqueued_at`; `queue` is the queue behind it.
    fn on_dequeue(&mut self, _pkt: &Packet, _enqueued_at: Time, _queue: QueueState, _now: Time) -> Verdict {
        Verdict::Pass
    }

    /// The queue had no room for a packet that [`Aqm::on_enqueue`] let pass: the one that has just arrived, or
    /// one that waited and is evicted by another's arrival.
    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {}

    /// Notes that the last packet left the queue at `now`.
    fn on_empty(&mut self, _now: Time) {}

    /// The time at which the law needs [`Aqm::on_timeout`] for its sampling period. May change after any call.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The time returned by [`Aqm::poll_timeout`] has come. An earlier call has no effect.
    fn on_timeout(&mut self, _queue: QueueState, _now: Time) {}

    /// Report the law's variables under the names of its paper, always the same ones in the same order.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// A law that decides only on arrival, and does not use [`Aqm::on_dequeue`].
///
/// The engine computes the departures of such a law's packets on arrival, which takes half the time of dequeueing
/// them one by one.
pub trait DecidesAtEnqueue: Aqm {
    /// True if it uses [`Aqm::on_empty`]. The engine calls it only for such laws, because detecting that the
    /// queue becomes empty took drop-tail 10 of 750 instructions a packet.
    const USES_ON_EMPTY: bool = false;
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

/// True with probability `p / whole`, clipped to \[0, 1\]; `whole` is above zero. It draws only if the outcome is
/// open, so that a law without anything to signal draws no random number. It multiplies, because a division would
/// cost more than the draw.
#[inline]
pub(crate) fn bernoulli(p: f64, whole: f64, rng: &mut Stream) -> bool {
    debug_assert!(!p.is_nan() && whole > 0.0, "{p} of {whole} is a probability");
    p > 0.0 && (p >= whole || rng.uniform() * whole < p)
}
