//! PI2: a proportional-integral controller of delay whose output is squared.
//!
//! The rate of a Classic sender (Reno, Cubic) falls with the square root of the drop probability. So the
//! controller's output is p', which changes in proportion to the load, and a packet is signalled with p'^2: the
//! gains fit without PIE's table. The rate of a Scalable sender (DCTCP, Prague) falls with the marking
//! probability itself: its packets, which have ECT(1), can be marked with k p'.
//!
//! Source: De Schepper, Bondarenko, Tsang and Briscoe, "PI2: a linearized AQM for both Classic and Scalable TCP", CoNEXT
//! 2016. The defaults are those of RFC 9332, appendix A, for the same controller in a dual queue.
//!
//! Where descriptions differ there is an option: [`DelayFrom`], [`SignalAt`], and the parameters with an "or" in
//! their source. Differs from RFC 9332: there is one queue; in overload, when k p' is 1, all Scalable packets are
//! marked, not dropped.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{GAIN, HOUR, WEIGHT, above, choices, from, parameters, up_to};
use crate::parts::delay::{Delay, DepartureRate, LinkRateLaw};
use crate::parts::delay_pi::DelayPi;
use crate::{
    Aqm, DecidesAt, DelayFrom, Discipline, Ecn, Fifo, Limit, LinkContext, Packet, QueueState, Verdict,
    Visitor,
};

parameters! {
    /// PI2's parameters, for round-trip times up to 100 ms. Those of the paper are 20 ms, 32 ms, 0.3125 Hz, 3.125 Hz: half
    /// the updates, each of twice the weight.
    pub struct Pi2Config {
        /// The delay to hold.
        target: Duration = Duration::from_millis(15), in up_to(HOUR), source "RFC 9332, appendix A; or De Schepper et al. 2016: 20 ms";
        /// The time between two updates of p'.
        t_update: Duration = Duration::from_millis(16), in from(Duration::from_micros(1)).up_to(HOUR), source "RFC 9332; Linux dualpi2; or De Schepper et al. 2016: 32 ms";
        /// The gain on the distance from `target`.
        alpha: f64 = 0.16, in GAIN, unit "Hz", source "RFC 9332; Linux dualpi2; or De Schepper et al. 2016: 0.3125";
        /// The gain on the change since the last update.
        beta: f64 = 3.2, in GAIN, unit "Hz", source "RFC 9332; Linux dualpi2; or De Schepper et al. 2016: 3.125";
        /// Mark packets with ECT(1), those of Scalable senders, with k p'.
        coupled: bool = false, source "ours: Classic senders only; or De Schepper et al. 2016: true";
        /// The coupling factor.
        k: f64 = 2.0, in GAIN, unit "1", source "De Schepper et al. 2016; RFC 9332";
        /// The time at which packets are signalled.
        signal_at: SignalAt = SignalAt::Arrival, source "De Schepper et al. 2016; or RFC 9332: departure";
        /// No packet is signalled while less than this waits.
        min_backlog: Bytes = Bytes::ZERO, source "De Schepper et al. 2016: no such rule; or Linux dualpi2: two MTU";
        /// The measurement of the delay.
        delay_from: DelayFrom = DelayFrom::Timestamp, source "RFC 9332; or ns-3: rate_estimate";
        /// For `rate_estimate`, the bytes that must wait for a measurement to begin, and leave for it to end.
        dq_threshold: Bytes = Bytes::new(16_384), in above(Bytes::ZERO), source "RFC 8033, section 5.2; or ns-3: 10000 B";
        /// For `rate_estimate`, the weight of a new measurement in the average.
        dq_weight: f64 = 0.25, in WEIGHT, unit "1", source "RFC 8033, appendix B; or ns-3: 0.5, on rates";
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "Linux dualpi2; no tail drops";
    }
}

choices! {
    /// The time at which PI2 signals packets.
    pub enum SignalAt {
        /// On arrival. De Schepper et al. (2016), as in PIE.
        Arrival = "arrival",
        /// On departure, so that senders respond earlier by the sojourn time. RFC 9332; Linux `dualpi2`.
        Departure = "departure",
    }
}

impl Discipline for Pi2Config {
    const FAMILY: &'static str = "control theory";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "A proportional-integral controller of delay whose output is squared for Classic senders";

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match (self.delay_from, self.signal_at) {
            (DelayFrom::LinkRate, SignalAt::Arrival) => {
                visitor.law(self.limit, |rng| LinkRateLaw(Pi2::new(self, link, rng)))
            }
            _ => visitor.queue(|rng| Fifo::new(Pi2::new(self, link, rng), self.limit)),
        }
    }
}

/// The PI2 law.
#[derive(Clone, Debug)]
pub struct Pi2 {
    pi: DelayPi,
    t_update: Duration,
    /// k, if packets with ECT(1) are treated as Scalable.
    coupling: Option<f64>,
    signal_at: SignalAt,
    min_backlog: Bytes,
    delay: Delay,
    rng: Stream,
    next_update: Time,
}

impl Pi2 {
    /// Return a controller that has seen only an empty queue. `config` must have passed [`Pi2Config::resolve`].
    pub fn new(config: &Pi2Config, link: &LinkContext, rng: Stream) -> Pi2 {
        let rate = DepartureRate::new(config.dq_threshold, config.dq_weight);
        Pi2 {
            pi: DelayPi::new(config.target, (config.alpha, config.beta), 1.0),
            t_update: config.t_update,
            coupling: config.coupled.then_some(config.k),
            signal_at: config.signal_at,
            min_backlog: config.min_backlog,
            delay: Delay::new(config.delay_from, rate, link),
            rng,
            next_update: Time::ZERO + config.t_update,
        }
    }

    fn judge(&mut self, pkt: &Packet, queue: QueueState) -> Verdict {
        // A short backlog is less than a sender needs to keep the link busy (RFC 9332, appendix A).
        if queue.bytes < self.min_backlog {
            return Verdict::Pass;
        }
        // p_C = p'^2, p_L = k p'
        let p = match self.coupling {
            Some(k) if pkt.ecn == Ecn::Ect1 => k * self.pi.p(),
            _ => self.pi.p() * self.pi.p(),
        };
        if bernoulli(p, 1.0, &mut self.rng) { Verdict::Mark } else { Verdict::Pass }
    }
}

impl Aqm for Pi2 {
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        match self.signal_at {
            SignalAt::Arrival => self.judge(pkt, queue),
            SignalAt::Departure => Verdict::Pass,
        }
    }

    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        self.delay.on_dequeue(pkt, enqueued_at, queue, now);
        match self.signal_at {
            SignalAt::Arrival => Verdict::Pass,
            SignalAt::Departure => self.judge(pkt, queue),
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now < self.next_update {
            return;
        }
        self.next_update += self.t_update;
        self.pi.update(self.delay.estimate(queue));
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p'", self.pi.p());
        out("qdelay", self.pi.qdelay());
    }
}
