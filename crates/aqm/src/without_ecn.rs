//! A queue discipline that drops where it would mark: `noecn` in `tc`.

use aqmlab_units::Time;

use crate::{Admission, Counters, Departure, Ecn, Packet, Qdisc, QueueState};

/// A discipline to which no packet is ECN-capable, so that it signals by drops alone.
///
/// [`Departure::packet`] is the packet as the discipline sees it; its payload keeps the ECN field that it has.
///
/// ```
/// use aqmlab_aqm::{Ecn, LinkContext, Packet, PiConfig, Qdisc, QueueConfig, WithoutEcn};
/// use aqmlab_units::{BitRate, Bytes, Stream, Time};
///
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::ZERO };
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
    /// `queue` is empty.
    pub fn new(queue: Box<dyn Qdisc<P> + Send>) -> WithoutEcn<P> {
        WithoutEcn { queue }
    }
}

fn seen(packet: &Packet) -> Packet {
    Packet { ecn: Ecn::NotEct, ..*packet }
}

impl<P> Qdisc<P> for WithoutEcn<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        self.queue.enqueue(seen(&packet), payload, now, lost)
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        self.queue.dequeue(now, lost)
    }

    fn state(&self) -> QueueState {
        self.queue.state()
    }

    fn counters(&self) -> Counters {
        self.queue.counters()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.queue.poll_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.queue.on_timeout(now);
    }

    fn classes(&self) -> &'static [&'static str] {
        self.queue.classes()
    }

    fn class_of(&self, packet: &Packet) -> u8 {
        self.queue.class_of(&seen(packet))
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.queue.probe(out);
    }
}
