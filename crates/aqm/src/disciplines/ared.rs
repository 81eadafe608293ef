//! Adaptive RED: RED that adapts its settings.
//!
//! Thresholds and weight follow from the link and a target delay. Every half second `max_p` is raised a little if
//! the average queue is above a band around the middle of the thresholds, and lowered if it is below.
//!
//! Source: Floyd, Gummadi and Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active queue
//! management", 2001. RED itself, always gentle, is [`crate::Red`].
//!
//! Differs from ns-2 (`red.cc` with `adaptive_`). A timer checks the average, as in the paper; ns-2 waits for the
//! first arrival half a second after the last change. The gentle slope follows `max_p`; ns-2 keeps the first
//! slope. The capacity counts each frame's overhead. Differs from the paper: `max_p` is clipped to its bounds,
//! which the paper's last step may overshoot, and the average of an idle queue is aged before it is compared.

use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};

use crate::parameter::{LENGTH, WEIGHT, above, check, from, parameters, up_to};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, LinkContext, Packet, ParameterError, QueueState, Red,
    RedConfig, Variant, Verdict, Visitor,
};

parameters! {
    /// Adaptive RED's parameters. A parameter that is `None` follows from the link.
    pub struct AredConfig {
        /// The queueing delay to aim at with automatic thresholds.
        target_delay: Duration = Duration::from_millis(5), in up_to(Duration::from_secs(60)), source "Floyd et al. 2001; ns-2";
        /// The average below which no packet is signalled; automatic: max(5, `target_delay` C / 2) with C in
        /// packets/s.
        min_th: Option<f64> = None, in LENGTH, unit "packets", source "Floyd et al. 2001";
        /// The average at which the probability reaches `max_p`; automatic: 3 `min_th`.
        max_th: Option<f64> = None, in LENGTH, unit "packets", source "Floyd et al. 2001";
        /// The weight of a new sample in the average; automatic: 1 - exp(-1/C), a time constant of one second.
        w_q: Option<f64> = None, in WEIGHT, unit "1", source "Floyd et al. 2001";
        /// The initial probability at `max_th`.
        max_p: Prob = Prob::clamped(0.1), source "ns-2";
        /// The time between two corrections of `max_p`.
        interval: Duration = Duration::from_millis(500), in above(Duration::ZERO), source "Floyd et al. 2001";
        /// The most that one correction adds to `max_p`; at most a quarter of it.
        alpha: f64 = 0.01, in WEIGHT, unit "1", source "Floyd et al. 2001";
        /// The factor by which one correction lowers `max_p`.
        beta: f64 = 0.9, in above(0.0).below(1.0), unit "1", source "Floyd et al. 2001";
        /// The lower end of the target band, as a fraction of the distance from `min_th` to `max_th`.
        target_low: f64 = 0.4, in from(0.0).up_to(1.0), unit "1", source "Floyd et al. 2001";
        /// The upper end of the target band, as a fraction of the distance from `min_th` to `max_th`.
        target_high: f64 = 0.6, in from(0.0).up_to(1.0), unit "1", source "Floyd et al. 2001";
        /// The lower bound of `max_p`.
        max_p_bottom: Prob = Prob::clamped(0.01), in above(Prob::ZERO), source "Floyd et al. 2001";
        /// The upper bound of `max_p`.
        max_p_top: Prob = Prob::clamped(0.5), source "Floyd et al. 2001";
    }
    /// The RED that is adapted. The parameters above replace its own.
    include red: RedConfig {
        /// The packet size that counts as one packet: in C, in byte mode, and while the link is idle.
        mean_packet = Bytes::new(500), source "ns-2; Le et al. 2004: a little over 500 B";
    }
    fixed gentle = true;
    fixed variant = Variant::Published;
}

impl Discipline for AredConfig {
    const FAMILY: &'static str = "RED";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "RED that derives its settings from a target delay and adapts max_p to hold the average";

    fn complete(&self, link: &LinkContext) -> Result<AredConfig, ParameterError> {
        let (low, high) = (self.target_low, self.target_high);
        check(low <= high, "target_high", format_args!("between target_low = {low} and 1"), &high)?;
        let (bottom, top) = (self.max_p_bottom, self.max_p_top);
        check(bottom <= top, "max_p_top", format_args!("at least max_p_bottom = {bottom}"), &top)?;
        let between = format_args!("between max_p_bottom = {bottom} and max_p_top = {top}");
        check(bottom <= self.max_p && self.max_p <= top, "max_p", between, &self.max_p)?;
        let RedConfig { min_th, max_th, w_q, .. } = self.red(link).complete(link)?;
        Ok(AredConfig { min_th: Some(min_th), max_th: Some(max_th), w_q: Some(w_q), ..self.clone() })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.red.limit, |rng| Ared::new(self, link, rng))
    }
}

impl AredConfig {
    /// The RED that is adapted, with its automatic values.
    fn red(&self, link: &LinkContext) -> RedConfig {
        let c = link.packets_per_sec(self.red.mean_packet);
        // min_th = max(5, target_delay C / 2), max_th = 3 min_th, w_q = 1 - exp(-1/C)
        let min_th = self.min_th.unwrap_or_else(|| (self.target_delay.as_secs_f64() * c / 2.0).max(5.0));
        RedConfig {
            min_th,
            max_th: self.max_th.unwrap_or(3.0 * min_th),
            w_q: self.w_q.unwrap_or_else(|| -libm::expm1(-1.0 / c)),
            max_p: self.max_p,
            ..self.red.clone()
        }
    }
}

/// The Adaptive RED law.
#[derive(Clone, Debug)]
pub struct Ared {
    red: Red,
    interval: Duration,
    alpha: f64,
    beta: f64,
    /// The band in which `avg` causes no change, in packets.
    target: (f64, f64),
    max_p_bottom: f64,
    max_p_top: f64,
    next_check: Time,
}

impl Ared {
    /// Return a law that has seen only an empty queue. `config` must have passed [`AredConfig::resolve`].
    pub fn new(config: &AredConfig, link: &LinkContext, rng: Stream) -> Ared {
        let red = config.red(link);
        let at = |fraction: f64| red.min_th + fraction * (red.max_th - red.min_th);
        Ared {
            target: (at(config.target_low), at(config.target_high)),
            red: Red::new(&red, link, rng),
            interval: config.interval,
            alpha: config.alpha,
            beta: config.beta,
            max_p_bottom: config.max_p_bottom.get(),
            max_p_top: config.max_p_top.get(),
            next_check: Time::ZERO + config.interval,
        }
    }
}

impl DecidesAtEnqueue for Ared {
    const USES_ON_EMPTY: bool = true;
}

impl Aqm for Ared {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        self.red.on_enqueue(pkt, queue, now)
    }

    #[inline]
    fn on_empty(&mut self, now: Time) {
        self.red.on_empty(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_check)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now < self.next_check {
            return;
        }
        self.next_check += self.interval;
        // An idle queue has not aged its average, because only arrivals do.
        self.red.age(queue, now);
        let (avg, max_p) = (self.red.average(), self.red.max_p());
        let (low, high) = self.target;
        if avg > high {
            // max_p = max_p + min(alpha, max_p / 4)
            self.red.set_max_p((max_p + self.alpha.min(max_p / 4.0)).min(self.max_p_top));
        } else if avg < low {
            // max_p = max_p beta
            self.red.set_max_p((max_p * self.beta).max(self.max_p_bottom));
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(out);
        out("max_p", self.red.max_p());
    }
}
