//! Admission to a queue: a law, a limit, and counters of the outcome.
//!
//! The queue that holds packets ([`crate::Fifo`]) and the engine's link, which only computes departures, share
//! it.

use aqmlab_units::Time;

use crate::{Admission, Aqm, Counters, Limit, Packet, QueueState, Verdict};

/// A law, a limit and their counters.
///
/// ```
/// use aqmlab_aqm::{Admission, AdmissionControl, Droptail, Ecn, Limit, Packet, QueueState};
/// use aqmlab_units::{Bytes, Time};
///
/// // For a queue of your own: it holds the packets, and asks here whether to take one.
/// let mut control = AdmissionControl::new(Droptail, Limit::Bytes(Bytes::new(3000)));
/// let packet = Packet { size: Bytes::new(1500), ecn: Ecn::NotEct, flow: 0 };
/// let full = QueueState { packets: 2, bytes: Bytes::new(3000) };
/// assert_eq!(control.admit(&packet, QueueState::default(), Time::ZERO), Admission::Queued);
/// assert_eq!(control.admit(&packet, full, Time::ZERO), Admission::DroppedByLimit);
/// assert_eq!(control.counters.offered, control.counters.queued + control.counters.refused());
/// ```
#[derive(Clone, Debug)]
pub struct AdmissionControl<A> {
    /// The law that decides.
    pub law: A,
    /// The maximum that may wait behind it.
    pub limit: Limit,
    /// Counts of the packets so far, by outcome.
    pub counters: Counters,
}

impl<A: Aqm> AdmissionControl<A> {
    /// Return an admission control that no packet has passed.
    pub fn new(law: A, limit: Limit) -> AdmissionControl<A> {
        AdmissionControl { law, limit, counters: Counters::default() }
    }

    /// Decide about an arriving packet and count it. The caller queues an admitted packet, and sets CE on one
    /// that is [`Admission::Marked`].
    #[inline]
    pub fn admit(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Admission {
        let limit = self.limit;
        let admission = judge(&mut self.law, pkt, queue, now, || limit.admits(pkt.size, queue));
        self.counters.count(admission, pkt.size);
        admission
    }
}

/// Return the outcome of an arriving packet under `law`; `has_room` tells if the queue could take it.
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
