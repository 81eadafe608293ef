//! Queue disciplines: the owners of packets.

use aqmlab_units::Time;

use crate::{Admission, Counters, FlowLabel, Packet, QueueState, TcpHeader};

/// A queue discipline: it owns packets, each with a payload `P` (a buffer, an index, or none).
///
/// The owner calls [`Qdisc::enqueue`] and [`Qdisc::dequeue`] in the order of time. It calls [`Qdisc::on_timeout`]
/// at the time of [`Qdisc::poll_timeout`], after a departure and before an arrival at the same time.
///
/// A discipline that shapes returns no packet before its time, although packets wait. It then has a timeout at that
/// time, after which the owner calls [`Qdisc::dequeue`] again if the link is free.
///
/// The payload of each packet that is dropped, on arrival, in the queue or at dequeue, is passed to `lost`.
///
/// ```
/// use aqmlab_aqm::{Ecn, LinkContext, Packet, PieConfig, Qdisc, QueueConfig};
/// use aqmlab_units::{BitRate, Bytes, Stream, Time};
///
/// /// Run the queue's timeouts up to `now`.
/// fn advance<P>(queue: &mut dyn Qdisc<P>, now: Time) {
///     while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
///         queue.on_timeout(due);
///     }
/// }
///
/// let link = LinkContext { rate: BitRate::from_mbit_per_sec(10), header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
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
    /// Handle an arriving packet. A packet that is evicted for it goes to `lost` too.
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission;

    /// True for a discipline that reads TCP headers, to which the owner passes segments by [`Qdisc::enqueue_segment`].
    fn reads_headers(&self) -> bool {
        false
    }

    /// Handle an arriving packet that is a TCP segment with this header.
    fn enqueue_segment(
        &mut self,
        packet: Packet,
        _header: &TcpHeader,
        payload: P,
        now: Time,
        lost: &mut dyn FnMut(P),
    ) -> Admission {
        self.enqueue(packet, payload, now, lost)
    }

    /// Return the next packet to send, for a link that is free, or `None` if there is none.
    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>>;

    /// The length of the queue.
    fn state(&self) -> QueueState;

    /// Counts of the packets so far, by outcome.
    fn counters(&self) -> Counters;

    /// The time at which the discipline needs [`Qdisc::on_timeout`]. May change after any call.
    fn poll_timeout(&self) -> Option<Time>;

    /// The time returned by [`Qdisc::poll_timeout`] has come.
    fn on_timeout(&mut self, now: Time);

    /// Note the label of a flow before its first packet, for disciplines that classify by it. Returns its label behind the queue.
    fn label_flow(&mut self, _flow: u32, label: FlowLabel) -> FlowLabel {
        label
    }

    /// The classes of packets that it treats separately, by name, if any: `L4S` and `Classic`.
    fn classes(&self) -> &'static [&'static str] {
        &[]
    }

    /// The class of a packet that has these fields on arrival.
    fn class_of(&self, _packet: &Packet) -> u8 {
        0
    }

    /// Report the discipline's variables, always the same ones in the same order.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// A packet that leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<P> {
    /// The packet, with CE set if it was marked.
    pub packet: Packet,
    /// Its payload.
    pub payload: P,
    /// Time of its arrival.
    pub enqueued_at: Time,
}

/// Forward the methods of [`Qdisc`] that handle no packet to the queue in the field `$queue`, in the implementation of a
/// discipline that wraps another.
#[macro_export]
macro_rules! forward_qdisc {
    ($queue:ident) => {
        fn reads_headers(&self) -> bool {
            self.$queue.reads_headers()
        }

        fn state(&self) -> $crate::QueueState {
            self.$queue.state()
        }

        fn counters(&self) -> $crate::Counters {
            self.$queue.counters()
        }

        fn poll_timeout(&self) -> Option<aqmlab_units::Time> {
            self.$queue.poll_timeout()
        }

        fn on_timeout(&mut self, now: aqmlab_units::Time) {
            self.$queue.on_timeout(now);
        }

        fn label_flow(&mut self, flow: u32, label: $crate::FlowLabel) -> $crate::FlowLabel {
            self.$queue.label_flow(flow, label)
        }

        fn classes(&self) -> &'static [&'static str] {
            self.$queue.classes()
        }

        fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
            self.$queue.probe(out);
        }
    };
}
