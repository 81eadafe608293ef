//! The current queueing delay: the three ways in which PIE and related laws measure it.
//!
//! Source: RFC 8033, sections 4.3 and 5.2 and its two appendices.
//!
//! Differs from RFC 8033, appendix A: a packet that leaves the queue empty counts as a delay of zero, as in
//! Linux, ns-3 and FreeBSD; otherwise the delay of an idle queue would be that of the last packet. The
//! measurement of the departure rate does not count the packet with which it begins, as in appendix B; Linux and
//! ns-3 count it.

use aqmlab_units::{Bytes, Time};

use crate::law::DecidesAtEnqueue;
use crate::parameter::choices;
use crate::{Aqm, LinkContext, Packet, QueueState, Verdict};

choices! {
    /// Measurement of the current delay.
    pub enum DelayFrom {
        /// The sojourn time of the packet that left last. RFC 8033, appendix A; Linux and ns-3 by default.
        Timestamp = "timestamp",
        /// The waiting bytes, over the rate of departures from a long queue. RFC 8033, section 5.2 and appendix
        /// B; FreeBSD. Before the first measurement, which needs a queue of twice `dq_threshold`, the delay is
        /// zero.
        RateEstimate = "rate_estimate",
        /// The waiting bytes, over the rate of the link, including frames' overhead. DOCSIS-PIE, RFC 8034, knows
        /// its rate.
        LinkRate = "link_rate",
    }
}

/// The current delay, in seconds.
#[derive(Clone, Debug)]
pub(crate) enum Delay {
    Timestamp { sojourn: f64 },
    RateEstimate(DepartureRate),
    LinkRate(LinkContext),
}

impl Delay {
    pub(crate) fn new(from: DelayFrom, rate: DepartureRate, link: &LinkContext) -> Delay {
        match from {
            DelayFrom::Timestamp => Delay::Timestamp { sojourn: 0.0 },
            DelayFrom::RateEstimate => Delay::RateEstimate(rate),
            DelayFrom::LinkRate => Delay::LinkRate(*link),
        }
    }

    /// Return the delay of a queue of this length, in seconds.
    pub(crate) fn estimate(&self, queue: QueueState) -> f64 {
        match self {
            Delay::Timestamp { sojourn } => *sojourn,
            Delay::RateEstimate(rate) => rate.delay_of(queue),
            Delay::LinkRate(link) => {
                let overheads = Bytes::new(link.overhead.get() * u64::from(queue.packets));
                link.rate.time_to_send(queue.bytes + overheads).as_secs_f64()
            }
        }
    }

    pub(crate) fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) {
        match self {
            Delay::Timestamp { sojourn } if queue.packets == 0 => *sojourn = 0.0,
            Delay::Timestamp { sojourn } => *sojourn = now.saturating_since(enqueued_at).as_secs_f64(),
            Delay::RateEstimate(rate) => rate.on_dequeue(pkt, queue, now),
            Delay::LinkRate(_) => {}
        }
    }
}

/// The time in which `dq_threshold` bytes leave.
#[derive(Clone, Debug)]
pub(crate) struct DepartureRate {
    dq_threshold: Bytes,
    weight: f64,
    /// In seconds; 0 before the first measurement, so that the delay is 0 too.
    avg_dq_time: f64,
    /// Start of the measurement, and bytes that have left since.
    measurement: Option<(Time, Bytes)>,
}

impl DepartureRate {
    pub(crate) fn new(dq_threshold: Bytes, weight: f64) -> DepartureRate {
        DepartureRate { dq_threshold, weight, avg_dq_time: 0.0, measurement: None }
    }

    fn delay_of(&self, queue: QueueState) -> f64 {
        // current_qdelay = queue_length avg_dq_time / dq_threshold
        queue.bytes.as_f64() * self.avg_dq_time / self.dq_threshold.as_f64()
    }

    fn on_dequeue(&mut self, pkt: &Packet, queue: QueueState, now: Time) {
        if let Some((since, dq_count)) = &mut self.measurement {
            *dq_count += pkt.size;
            if *dq_count >= self.dq_threshold {
                let dq_time = now.saturating_since(*since).as_secs_f64();
                // avg_dq_time = weight dq_time + (1 - weight) avg_dq_time
                let weight = if self.avg_dq_time > 0.0 { self.weight } else { 1.0 };
                self.avg_dq_time = weight * dq_time + (1.0 - weight) * self.avg_dq_time;
                self.measurement = None;
            }
        }
        // Only a queue of this length keeps the link busy throughout the measurement.
        if self.measurement.is_none() && queue.bytes >= self.dq_threshold {
            self.measurement = Some((now, Bytes::ZERO));
        }
    }
}

/// A law that derives the delay from the link's rate, and so needs no calls for packets that leave.
pub(crate) struct LinkRateLaw<A>(pub(crate) A);

impl<A: Aqm> DecidesAtEnqueue for LinkRateLaw<A> {}

impl<A: Aqm> Aqm for LinkRateLaw<A> {
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        self.0.on_enqueue(pkt, queue, now)
    }

    fn on_overflow(&mut self, pkt: &Packet, queue: QueueState, now: Time) {
        self.0.on_overflow(pkt, queue, now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.0.poll_timeout()
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        self.0.on_timeout(queue, now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.probe(out);
    }
}
