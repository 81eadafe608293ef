//! A queue discipline: what owns packets.

use aqmlab_units::Time;

use crate::{Admission, Counters, Packet, QueueState};

/// A queue discipline: it owns packets that carry a payload `P` each (a buffer, an index, nothing).
///
/// The owner calls [`Qdisc::enqueue`] and [`Qdisc::dequeue`] in the order of time, and [`Qdisc::on_timeout`] when the
/// instant of [`Qdisc::poll_timeout`] comes, after a departure and before an arrival of the same instant.
///
/// The payload of each dropped packet is handed to `lost`, for drops on arrival, evictions and drops at dequeue.
///
/// ```
/// use aqmlab_aqm::{Ecn, LinkContext, Packet, PieConfig, Qdisc, QueueConfig};
/// use aqmlab_units::{BitRate, Bytes, Stream, Time};
///
/// /// Let a queue do what falls due until `now`.
/// fn advance<P>(queue: &mut dyn Qdisc<P>, now: Time) {
///     while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
///         queue.on_timeout(due);
///     }
/// }
///
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::new(38) };
/// let pie = QueueConfig::Pie(PieConfig::default()).resolve(&link)?;
/// let mut queue = pie.queue(&link, Stream::named(1, "queue/0"));
///
/// let now = Time::from_secs_f64(0.5);
/// advance(&mut *queue, now);
/// let packet = Packet { size: Bytes::new(1500), ecn: Ecn::NotEct, flow: 7 };
/// assert!(queue.enqueue(packet, 1, now, &mut |_| ()).is_queued());
/// assert_eq!(queue.dequeue(now, &mut |_| ()).map(|sent| sent.payload), Some(1));
/// assert!(queue.poll_timeout().is_none_or(|due| due > now));
/// # Ok::<(), aqmlab_aqm::ParameterError>(())
/// ```
pub trait Qdisc<P> {
    /// A packet arrives. A drop of another packet to make room for it goes to `lost` too.
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission;

    /// Returns the next packet for the free link, or `None` if the queue is empty.
    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>>;

    /// Returns the length of the queue.
    fn state(&self) -> QueueState;

    /// Returns the counters of the packets so far.
    fn counters(&self) -> Counters;

    /// Returns the instant of the next [`Qdisc::on_timeout`]. It may change after any call.
    fn poll_timeout(&self) -> Option<Time>;

    /// Handles the timeout of [`Qdisc::poll_timeout`].
    fn on_timeout(&mut self, now: Time);

    /// Returns the names of the classes of packets that it treats apart, such as `L4S` and `Classic`; usually none.
    fn classes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the class of a packet from its fields on arrival, as an index into [`Qdisc::classes`].
    fn class_of(&self, _packet: &Packet) -> u8 {
        0
    }

    /// Reports the discipline's variables, always the same ones in the same order.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// A packet on its way out of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// The packet, with CE set if it was marked.
    pub packet: Packet,
    /// Its payload.
    pub payload: P,
    /// The instant of its arrival.
    pub enqueued_at: Time,
}
