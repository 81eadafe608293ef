//! A queue discipline that drops where it would mark: `noecn` in `tc`.

use aqmlab_units::Time;

use crate::{Admission, Departure, Ecn, Packet, Qdisc, TcpHeader, forward_qdisc};

/// A discipline for which no packet is ECN-capable, so that it signals only by drops.
///
/// [`Departure::packet`] is the packet as the discipline sees it; its payload keeps the real ECN field.
///
/// ```
/// use aqmlab_aqm::{Ecn, LinkContext, Packet, PiConfig, Qdisc, QueueConfig, WithoutEcn};
/// use aqmlab_units::{BitRate, Bytes, Stream, Time};
///
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::ZERO, peak: None };
/// let pi = QueueConfig::Pi(PiConfig::default()).resolve(&link)?;
/// let mut queue = WithoutEcn::new(pi.queue(&link, Stream::named(1, "queue/0")));
/// for number in 0..1_000 {
///     let packet = Packet { size: Bytes::new(1500), ecn: Ecn::Ect0, flow: 7 };
///     let now = Time::from_secs_f64(0.001 * f64::from(number));
///     while queue.poll_timeout().is_some_and(|due| due <= now) {
///         queue.on_timeout(now);
///     }
///     queue.enqueue(packet, 0, now, &mut |_| ());
/// }
/// assert_eq!(queue.counters().marked, 0);
/// assert!(queue.counters().dropped_early > 0);
/// # Ok::<(), aqmlab_aqm::ParameterError>(())
/// ```
pub struct WithoutEcn<P> {
    queue: Box<dyn Qdisc<P> + Send>,
}

impl<P> WithoutEcn<P> {
    /// Wrap `queue`, which is empty.
    pub fn new(queue: Box<dyn Qdisc<P> + Send>) -> WithoutEcn<P> {
        WithoutEcn { queue }
    }
}

/// Return the packet as the discipline sees it.
fn without_ect(packet: &Packet) -> Packet {
    Packet { ecn: Ecn::NotEct, ..*packet }
}

impl<P> Qdisc<P> for WithoutEcn<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        self.queue.enqueue(without_ect(&packet), payload, now, lost)
    }

    fn enqueue_segment(
        &mut self,
        packet: Packet,
        header: &TcpHeader,
        payload: P,
        now: Time,
        lost: &mut dyn FnMut(P),
    ) -> Admission {
        self.queue.enqueue_segment(without_ect(&packet), header, payload, now, lost)
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        self.queue.dequeue(now, lost)
    }

    forward_qdisc!(queue);

    fn class_of(&self, packet: &Packet) -> u8 {
        self.queue.class_of(&without_ect(packet))
    }
}
