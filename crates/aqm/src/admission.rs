//! The entrance of a queue: a law and a limit, and what became of each packet.
//!
//! Everything that can be said when a packet arrives is said here, once, for the queue that holds packets
//! ([`crate::Fifo`]) and for the engine's link that only computes when they leave.

use aqmlab_units::Time;

use crate::{Admission, Aqm, Counters, Limit, Packet, QueueState, Verdict};

/// A law, a limit and their counters.
///
/// ```
/// use aqmlab_aqm::{Admission, AdmissionControl, Droptail, Ecn, Limit, Packet, QueueState};
/// use aqmlab_units::{Bytes, Time};
///
/// // For a queue of one's own: it holds the packets, and asks here whether to take one.
/// let mut control = AdmissionControl::new(Droptail, Limit::Bytes(Bytes::new(3000)));
/// let packet = Packet { size: Bytes::new(1500), ecn: Ecn::NotEct, flow: 0 };
/// let full = QueueState { packets: 2, bytes: Bytes::new(3000) };
/// assert_eq!(control.admit(&packet, QueueState::default(), Time::ZERO), Admission::Queued);
/// assert_eq!(control.admit(&packet, full, Time::ZERO), Admission::DroppedByLimit);
/// assert_eq!(control.counters.offered, control.counters.queued + control.counters.refused());
/// ```
#[derive(Clone, Debug)]
pub struct AdmissionControl<A> {
    /// The law that judges.
    pub law: A,
    /// The queue's limit.
    pub limit: Limit,
    /// The packets so far, counted by outcome.
    pub counters: Counters,
}

impl<A: Aqm> AdmissionControl<A> {
    /// One through which nothing has passed yet.
    pub fn new(law: A, limit: Limit) -> AdmissionControl<A> {
        AdmissionControl { law, limit, counters: Counters::default() }
    }

    /// Decides the fate of an arriving packet and counts it. The caller enqueues an admitted packet, and sets CE on one
    /// that is [`Admission::Marked`].
    #[inline]
    pub fn admit(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Admission {
        let limit = self.limit;
        let admission = judge(&mut self.law, pkt, queue, now, || limit.admits(pkt.size, queue));
        self.counters.count(admission, pkt.size);
        admission
    }
}

/// Decides the fate of an arriving packet under `law`; `has_room` says whether the limit leaves room for it.
#[inline]
pub(crate) fn judge<A: Aqm>(
    law: &mut A,
    pkt: &Packet,
    queue: QueueState,
    now: Time,
    has_room: impl FnOnce() -> bool,
) -> Admission {
    match law.on_enqueue(pkt, queue, now) {
        Verdict::Drop => Admission::DroppedForced,
        Verdict::Mark if !pkt.ecn.is_capable() => Admission::DroppedEarly,
        _ if !has_room() => {
            law.on_overflow(pkt, queue, now);
            Admission::DroppedByLimit
        }
        Verdict::Mark => Admission::Marked,
        Verdict::Pass => Admission::Queued,
    }
}
