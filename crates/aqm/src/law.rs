//! The seam: what a queue tells a law, and what a law may answer.

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

/// How much waits in the queue, the packet being judged not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
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
/// // A signal marks what is ECN-capable and drops what is not.
/// assert_eq!((queue.counters().marked, queue.counters().dropped_early), (1, 1));
/// ```
pub trait Aqm {
    /// Judge an arriving packet; `queue` is what waits before it.
    fn on_enqueue(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        Verdict::Pass
    }

    /// Judge a packet about to leave after waiting since `enqueued_at`; `queue` is what stays behind.
    fn on_dequeue(&mut self, _pkt: &Packet, _enqueued_at: Time, _queue: QueueState, _now: Time) -> Verdict {
        Verdict::Pass
    }

    /// The queue had no room for a packet that [`Aqm::on_enqueue`] let through: the one that has just arrived, or one
    /// that waited and is pushed out by another's arrival.
    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {}

    /// The last waiting packet left at `now`.
    fn on_empty(&mut self, _now: Time) {}

    /// When the law next wants [`Aqm::on_timeout`]: its sampling period. May change after any call.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The instant promised by [`Aqm::poll_timeout`] has come. A call before it changes nothing.
    fn on_timeout(&mut self, _queue: QueueState, _now: Time) {}

    /// Show the law's variables under the names of its paper, always the same ones in the same order.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// A law that has said all when a packet has arrived: it does without [`Aqm::on_dequeue`].
///
/// The engine works out at once when such a law's packets will leave, which takes half the time of asking for them
/// one by one.
pub trait DecidesAtEnqueue: Aqm {
    /// Does it make anything of [`Aqm::on_empty`]? Only such laws are told by the engine, which for others would find out
    /// for nothing when the queue becomes empty: that took drop-tail 10 of 750 instructions a packet.
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
