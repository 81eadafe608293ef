//! PIE, the proportional-integral controller enhanced: a controller that drives the queueing delay to a
//! reference.
//!
//! At fixed intervals the probability is corrected in proportion to the distance of the delay from its reference
//! and to its change, in steps that shrink with the probability. Each arriving packet is then signalled with it.
//! Bursts after quiet times are not signalled.
//!
//! Source: RFC 8033. Section 4 and appendix A are the law; section 5 adds marks, the estimate of the departure rate,
//! derandomisation and the cap, as appendix B has them.
//!
//! Where descriptions differ there is an option: [`DelayFrom`], [`LightLoad`], [`Decay`], and the parameters with
//! an "or" in their source. Differs from RFC 8033: the law decides about a packet before the limit drops it, so
//! that it may be signalled first; random numbers are drawn only when the outcome is open. PIE is always active
//! (section 5.3 would activate it at a third of the buffer). Differs from Linux and ns-3 in the use of the burst
//! allowance: here updates reduce it, as in the RFC; in Linux, departures do; ns-3 also holds the probability at
//! zero meanwhile. [`Variant::Linux`] is Linux's law in every detail.

use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{GAIN, HOUR, PACKET_SIZE, WEIGHT, above, check, from, parameters, up_to};
use crate::parts::delay::{Delay, DepartureRate, LinkRateLaw};
use crate::parts::linux::coin::Coin;
use crate::parts::linux::fifo::{LinuxFifo, Order};
use crate::parts::linux::pie::{LinuxPie, tenth};
use crate::parts::linux::with_linux_values;
use crate::{
    Aqm, Decay, DecidesAt, DelayFrom, Discipline, Fifo, LightLoad, Limit, LinkContext, Packet,
    ParameterError, QueueState, Tc, TcWords, Variant, Verdict, Visitor,
};

parameters! {
    /// PIE's parameters.
    pub struct PieConfig {
        /// The delay to hold.
        qdelay_ref: Duration = Duration::from_millis(15), in up_to(HOUR), source "RFC 8033, appendix A; Linux, ns-3", tc TcWords::Value("target");
        /// The time between two updates of the probability.
        t_update: Duration = Duration::from_millis(15), in from(Duration::from_micros(1)).up_to(HOUR), source "RFC 8033, appendix A; Linux, ns-3", tc TcWords::Value("tupdate");
        /// The gain on the distance from `qdelay_ref`.
        alpha: f64 = 0.125, in GAIN, unit "Hz", source "RFC 8033, appendix A; Linux, ns-3", tc TcWords::Multiple("alpha", 16.0);
        /// The gain on the change since the last update.
        beta: f64 = 1.25, in GAIN, unit "Hz", source "RFC 8033, appendix A; Linux, ns-3", tc TcWords::Multiple("beta", 16.0);
        /// The time after quiet times in which no packet is signalled.
        max_burst: Duration = Duration::from_millis(150), in up_to(HOUR), source "RFC 8033, appendix A; Linux; or ns-3: 15 ms";
        /// The probability from which ECN-capable packets are dropped too.
        mark_ecnth: Prob = Prob::clamped(0.1), source "RFC 8033, section 5.1";
        /// The measurement of the delay.
        delay_from: DelayFrom = DelayFrom::Timestamp, source "RFC 8033, appendix A; Linux, ns-3; or appendix B: rate_estimate", tc TcWords::Choice(&[("rate_estimate", "dq_rate_estimator"), ("timestamp", "no_dq_rate_estimator")]);
        /// For `rate_estimate`, the bytes that must wait for a measurement to begin, and leave for it to end.
        dq_threshold: Bytes = Bytes::new(16_384), in above(Bytes::ZERO), source "RFC 8033, section 5.2; Linux, ns-3";
        /// For `rate_estimate`, the weight of a new measurement in the average.
        dq_weight: f64 = 0.25, in WEIGHT, unit "1", source "RFC 8033, appendix B; or Linux: 0.125, ns-3: 0.5, on rates";
        /// Accumulate the probability from packet to packet: no signal below a sum of 0.85, a certain one from
        /// 8.5 on.
        derandomize: bool = true, source "RFC 8033, section 5.4; Linux; or ns-3: false";
        /// From a probability of 0.1 on, raise it by at most 0.02 per update.
        cap: bool = true, source "RFC 8033, section 5.5; Linux, ns-3; or appendix A: false";
        /// Raise the probability by 0.02 more at each update with a delay above 250 ms.
        steep: bool = false, source "RFC 8033 has no such step; or Linux: true";
        /// The delay that must be short for light load.
        light_load: LightLoad = LightLoad::LastUpdate, source "RFC 8033, section 4.1; ns-3; or Linux: now";
        /// The condition for a decay of the probability.
        decay: Decay = Decay::Idle, source "RFC 8033, section 4.2; Linux, ns-3; or appendix B: light";
        /// The factor of one decay.
        decay_factor: f64 = 0.98, in from(0.0).up_to(1.0), unit "1", source "RFC 8033, section 4.2; ns-3; or Linux: 0.984375";
        /// No packet is signalled while at most two packets of this size wait.
        mean_packet: Bytes = Bytes::new(1024), in PACKET_SIZE, source "RFC 8034; or ns-3: 1000 B, Linux: the MTU; RFC 8033 has no value";
        /// The description that the law follows.
        variant: Variant = Variant::Published, source "RFC 8033; or Linux sch_pie.c: linux", omit default;
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "ours: no tail drops; Linux has 1000 packets", tc TcWords::Value("limit");
    }
}

impl Discipline for PieConfig {
    const FAMILY: &'static str = "control theory";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "A proportional-integral controller that drives the queueing delay to a reference";
    const TC: Option<Tc> = Some(Tc {
        names: &["pie"],
        ecn: Some(false),
        values: &[("variant", "linux"), ("mean_packet", "1514 B"), ("limit", "1000 packets")],
        accepted: &[],
        refused: &[("bytemode", "the probability does not depend on the size of packets")],
    });

    fn complete(&self, _link: &LinkContext) -> Result<PieConfig, ParameterError> {
        self.check_linux()?;
        with_linux_values(self, self.variant, |config| {
            config.set_linux_values();
            config.mark_ecnth = Prob::clamped(0.1);
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        if self.variant == Variant::Linux {
            return visitor.queue(|rng| self.linux_queue(rng));
        }
        match self.delay_from {
            DelayFrom::LinkRate => visitor.law(self.limit, |rng| LinkRateLaw(Pie::new(self, link, rng))),
            DelayFrom::Timestamp | DelayFrom::RateEstimate => {
                visitor.queue(|rng| Fifo::new(Pie::new(self, link, rng), self.limit))
            }
        }
    }
}

impl PieConfig {
    pub(crate) fn linux_queue<P>(&self, coin: impl Coin) -> LinuxFifo<impl Aqm + Send + 'static, P> {
        LinuxFifo::new(LinuxPie::new(self, tenth(), coin), self.limit, Order::LimitFirst)
    }

    pub(crate) fn set_linux_values(&mut self) {
        self.max_burst = Duration::from_millis(150);
        self.dq_threshold = Bytes::new(16_384);
        self.dq_weight = 0.125;
        self.derandomize = true;
        self.cap = true;
        self.steep = true;
        self.light_load = LightLoad::Now;
        self.decay = Decay::Idle;
        self.decay_factor = 0.984_375;
    }

    /// Refuse a delay that Linux does not measure.
    pub(crate) fn check_linux(&self) -> Result<(), ParameterError> {
        let is_measured = self.variant == Variant::Published || self.delay_from != DelayFrom::LinkRate;
        let measured = "timestamp or rate_estimate with variant = linux";
        check(is_measured, "delay_from", measured, &self.delay_from)
    }
}

/// The PIE law.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    /// The reference in seconds.
    qdelay_ref: f64,
    /// Waiting bytes up to which no packet is signalled.
    small: Bytes,
    delay: Delay,
    rng: Stream,
    drop_prob: f64,
    /// Sum of the probabilities since the last signal.
    accu_prob: f64,
    /// The delay at the last update, in seconds.
    qdelay_old: f64,
    burst_allowance: Duration,
    next_update: Time,
}

impl Pie {
    /// Return a controller that has seen only an empty queue. `config` must have passed [`PieConfig::resolve`].
    pub fn new(config: &PieConfig, link: &LinkContext, rng: Stream) -> Pie {
        let rate = DepartureRate::new(config.dq_threshold, config.dq_weight);
        Pie {
            qdelay_ref: config.qdelay_ref.as_secs_f64(),
            small: Bytes::new(2 * config.mean_packet.get()),
            delay: Delay::new(config.delay_from, rate, link),
            rng,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: config.max_burst,
            next_update: Time::ZERO + config.t_update,
            config: config.clone(),
        }
    }

    fn is_light(&self, qdelay: f64) -> bool {
        qdelay < self.qdelay_ref / 2.0
    }

    /// Decide whether to signal this packet (RFC 8033, appendix A, `drop_early`).
    fn drop_early(&mut self, queue: QueueState) -> bool {
        let qdelay = match self.config.light_load {
            LightLoad::LastUpdate => self.qdelay_old,
            LightLoad::Now => self.delay.estimate(queue),
        };
        // Random drops at light load would cost throughput and gain no delay (RFC 8033 §4.1).
        if (self.is_light(qdelay) && self.drop_prob < 0.2) || queue.bytes <= self.small {
            return false;
        }
        self.accu_prob = if self.drop_prob > 0.0 { self.accu_prob + self.drop_prob } else { 0.0 };
        // Derandomisation (RFC 8033 §5.4): no two signals too close together, and none too far apart.
        if self.config.derandomize && self.accu_prob < 0.85 {
            return false;
        }
        (self.config.derandomize && self.accu_prob >= 8.5) || bernoulli(self.drop_prob, 1.0, &mut self.rng)
    }

    /// Return the step of the probability at an update with this delay.
    fn step(&self, qdelay: f64) -> f64 {
        let PieConfig { alpha, beta, cap, steep, .. } = self.config;
        // p = alpha (current_qdelay - QDELAY_REF) + beta (current_qdelay - qdelay_old), tuned
        let p = alpha * (qdelay - self.qdelay_ref) + beta * (qdelay - self.qdelay_old);
        let tuned = p / tuning(self.drop_prob);
        // A large step at a high probability would stop flows altogether (RFC 8033 §5.5).
        let capped = if cap && self.drop_prob >= 0.1 { tuned.min(0.02) } else { tuned };
        if steep && qdelay > 0.25 { capped + 0.02 } else { capped }
    }
}

/// Return the divisor of steps at this probability (RFC 8033 §4.2), which keeps the relative step stable.
fn tuning(drop_prob: f64) -> f64 {
    match drop_prob {
        p if p < 1e-6 => 2048.0,
        p if p < 1e-5 => 512.0,
        p if p < 1e-4 => 128.0,
        p if p < 1e-3 => 32.0,
        p if p < 1e-2 => 8.0,
        p if p < 1e-1 => 2.0,
        _ => 1.0,
    }
}

impl Aqm for Pie {
    fn on_enqueue(&mut self, _pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        let is_quiet = self.is_light(self.delay.estimate(queue)) && self.is_light(self.qdelay_old);
        if self.drop_prob <= 0.0 && is_quiet {
            self.burst_allowance = self.config.max_burst;
        }
        if self.burst_allowance > Duration::ZERO || !self.drop_early(queue) {
            return Verdict::Pass;
        }
        self.accu_prob = 0.0;
        if self.drop_prob < self.config.mark_ecnth.get() { Verdict::Mark } else { Verdict::Drop }
    }

    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        self.delay.on_dequeue(pkt, enqueued_at, queue, now);
        Verdict::Pass
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {
        // A tail drop is a signal too, so the spacing starts again.
        self.accu_prob = 0.0;
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now < self.next_update {
            return;
        }
        self.next_update += self.config.t_update;
        let qdelay = self.delay.estimate(queue);
        self.drop_prob += self.step(qdelay);
        let is_decaying = match self.config.decay {
            Decay::Idle => qdelay <= 0.0 && self.qdelay_old <= 0.0,
            Decay::Light => self.is_light(qdelay) && self.is_light(self.qdelay_old),
        };
        if is_decaying {
            self.drop_prob *= self.config.decay_factor;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
        let remaining = self.burst_allowance.as_nanos().saturating_sub(self.config.t_update.as_nanos());
        self.burst_allowance = Duration::from_nanos(remaining);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.drop_prob);
        out("qdelay", self.qdelay_old);
    }
}
