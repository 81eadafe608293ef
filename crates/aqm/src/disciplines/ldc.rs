//! LDC, load/delay control: a signalling probability that combines queueing delay and load.
//!
//! Every `tau` the queue and the load factor, input rate over output rate, are averaged and compared with their
//! targets. The two ratios, raised to a power and clipped to 1, are added with fixed weights to the probability
//! of a signal.
//!
//! Source: Kwon and Fahmy, "A comparison of load-based and queue-based active queue management algorithms", Proc.
//! SPIE 4866, 2002, sections 3.2 and 4, equations 1 to 3.
//!
//! Differs from the paper: bytes are counted on the wire, including each frame's overhead. The output rate has
//! two readings: see [`OutputRate`].

use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{GAIN, WEIGHT, above, choices, parameters};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Packet, QueueState, Verdict, Visitor,
};

parameters! {
    /// LDC's parameters, as in the paper, except the target delay, which was seconds on its links of some 0.1
    /// Mbit/s.
    pub struct LdcConfig {
        /// The queueing delay at which the queue's share of the probability is complete.
        d_target: Duration = Duration::from_millis(5), in above(Duration::ZERO).up_to(Duration::from_secs(60)), source "ours: as ARED, Floyd et al. 2001";
        /// The load factor at which the load's share of the probability is complete.
        r_target: f64 = 0.95, in GAIN, unit "1", source "Kwon & Fahmy 2002, table 2";
        /// The time between two updates of the probability.
        tau: Duration = Duration::from_millis(2), in above(Duration::ZERO), source "Kwon & Fahmy 2002, table 2";
        /// The weight of a new sample in the average queue.
        w_q: f64 = 0.002, in WEIGHT, unit "1", source "Kwon & Fahmy 2002, table 2";
        /// The weight of a new sample in the average load factor.
        w_r: f64 = 0.998, in WEIGHT, unit "1", source "Kwon & Fahmy 2002, table 2";
        /// The power to which both ratios are raised.
        n: f64 = 3.0, in GAIN, unit "1", source "Kwon & Fahmy 2002, table 2";
        /// The queue's share of the probability; the load has the rest.
        delay_weight: Prob = Prob::clamped(0.75), source "Kwon & Fahmy 2002, equation 3";
        /// The divisor of the input rate.
        output_rate: OutputRate = OutputRate::Capacity, source "Kwon & Fahmy 2002, section 3.2";
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "ours: no tail drops, as Le et al. 2004";
    }
}

choices! {
    /// LDC's output rate.
    pub enum OutputRate {
        /// The link's capacity, as in the paper for a link with one class of traffic.
        Capacity = "capacity",
        /// The departures of the last `tau`, one reading of its "measured service rate". No arrivals mean a load
        /// factor of zero. An interval with arrivals and no departure is left out.
        Departures = "departures",
    }
}

impl Discipline for LdcConfig {
    const FAMILY: &'static str = "load";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "Signals with a probability that combines average queueing delay and average load";

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |rng| Ldc::new(self, link, rng))
    }
}

/// The LDC law. Quantities of data are bytes on the wire.
#[derive(Clone, Debug)]
pub struct Ldc {
    config: LdcConfig,
    overhead: Bytes,
    /// Bytes that the link can send in `tau`.
    c: f64,
    q_target: f64,
    rng: Stream,
    /// Bytes that arrived since the last update, including dropped packets.
    arrived: Bytes,
    /// Bytes of these that the law admitted.
    admitted: Bytes,
    /// The queue at the last update.
    q_old: Bytes,
    q_avg: f64,
    r_avg: f64,
    /// The probability of a signal.
    p_drop: f64,
    next_update: Time,
}

impl Ldc {
    /// Return a law that has seen only an empty queue. `config` must have passed [`LdcConfig::resolve`].
    pub fn new(config: &LdcConfig, link: &LinkContext, rng: Stream) -> Ldc {
        let bytes_per_sec = link.rate.packets_per_sec(Bytes::new(1));
        Ldc {
            overhead: link.overhead,
            c: bytes_per_sec * config.tau.as_secs_f64(),
            // Q_target = D_target x Output_Rate
            q_target: bytes_per_sec * config.d_target.as_secs_f64(),
            rng,
            arrived: Bytes::ZERO,
            admitted: Bytes::ZERO,
            q_old: Bytes::ZERO,
            q_avg: 0.0,
            r_avg: 0.0,
            p_drop: 0.0,
            next_update: Time::ZERO + config.tau,
            config: config.clone(),
        }
    }

    /// The load factor, `Input_Rate / Output_Rate`, since the last update; `None` if it cannot be measured.
    fn load_factor(&self, q: Bytes) -> Option<f64> {
        let input = self.arrived.as_f64();
        let output = match self.config.output_rate {
            OutputRate::Capacity => self.c,
            OutputRate::Departures if self.arrived == Bytes::ZERO => return Some(0.0),
            // Bytes that were admitted and no longer wait have left.
            OutputRate::Departures => (self.q_old + self.admitted).as_f64() - q.as_f64(),
        };
        (output > 0.0).then(|| input / output)
    }
}

impl DecidesAtEnqueue for Ldc {}

impl Aqm for Ldc {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        let size = pkt.size + self.overhead;
        self.arrived += size;
        let signalled = bernoulli(self.p_drop, 1.0, &mut self.rng);
        if !signalled || pkt.ecn.is_capable() {
            self.admitted += size;
        }
        if signalled { Verdict::Mark } else { Verdict::Pass }
    }

    fn on_overflow(&mut self, pkt: &Packet, _queue: QueueState, _now: Time) {
        self.admitted = self.admitted - (pkt.size + self.overhead);
        // `on_enqueue` has counted this packet as admitted.
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now < self.next_update {
            return;
        }
        self.next_update += self.config.tau;
        let q = queue.bytes + Bytes::new(self.overhead.get() * u64::from(queue.packets));
        let LdcConfig { w_q, w_r, n, r_target, .. } = self.config;
        // Q_avg = (1 - w_q) Q_avg + w_q Q, R_avg = (1 - w_r) R_avg + w_r Load_Factor
        self.q_avg += w_q * (q.as_f64() - self.q_avg);
        if let Some(load_factor) = self.load_factor(q) {
            self.r_avg += w_r * (load_factor - self.r_avg);
        }
        (self.arrived, self.admitted, self.q_old) = (Bytes::ZERO, Bytes::ZERO, q);
        // P_drop = 3/4 min(1, (Q_avg / Q_target)^n) + 1/4 min(1, (R_avg / R_target)^n)
        let weight = self.config.delay_weight.get();
        let delay = libm::pow(self.q_avg / self.q_target, n).min(1.0);
        let load = libm::pow(self.r_avg / r_target, n).min(1.0);
        self.p_drop = weight * delay + (1.0 - weight) * load;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("q_avg", self.q_avg);
        out("r_avg", self.r_avg);
        out("p_drop", self.p_drop);
    }
}
