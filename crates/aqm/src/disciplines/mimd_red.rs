//! MIMD RED, the self-configuring RED gateway: divides or multiplies `max_p` when the average leaves its band.
//!
//! When the average queue falls below `min_th`, RED was too aggressive, and `max_p` is divided by `alpha`. When
//! it rises above `max_th`, RED was too conservative, and `max_p` is multiplied by `beta`.
//!
//! Source: Feng, Kandlur, Saha and Shin, "A self-configuring RED gateway", INFOCOM 1999, section 4. RED itself is
//! [`crate::Red`].
//!
//! Differs from ns-2 (`red.cc` with `feng_adaptive_`): the initial empty queue counts as below; ns-2 divides
//! `max_p` at the first packet. The gentle slope follows `max_p`; ns-2 keeps the first slope. Differs from both:
//! `max_p` stays above zero and at most 1.

use aqmlab_units::{Prob, Stream, Time};

use crate::parameter::{above, check, parameters};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, LinkContext, Packet, ParameterError, QueueState, Red,
    RedConfig, Variant, Verdict, Visitor,
};

parameters! {
    /// MIMD RED's parameters.
    pub struct MimdRedConfig {
        /// The divisor of `max_p` when the average falls below `min_th`.
        alpha: f64 = 3.0, in above(1.0).up_to(1000.0), unit "1", source "Feng et al. 1999; ns-2";
        /// The factor of `max_p` when the average rises above `max_th`.
        beta: f64 = 2.0, in above(1.0).up_to(1000.0), unit "1", source "Feng et al. 1999; ns-2";
    }
    /// The RED that is adapted.
    include red: RedConfig {
        /// The initial probability at `max_th`.
        max_p = Prob::clamped(0.1), source "ns-2; ALTQ";
        gentle = false, source "Feng et al. 1999, before gentle RED; ns-2 has true";
    }
    fixed variant = Variant::Published;
}

impl Discipline for MimdRedConfig {
    const FAMILY: &'static str = "RED";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "RED that divides or multiplies max_p when the average falls below or rises above the thresholds";

    fn complete(&self, link: &LinkContext) -> Result<MimdRedConfig, ParameterError> {
        check(self.red.max_p > Prob::ZERO, "max_p", "above 0", &self.red.max_p)?;
        self.red.complete(link)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.red.limit, |rng| MimdRed::new(self, link, rng))
    }
}

/// Position of the average queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Below,
    Between,
    Above,
}

/// The MIMD RED law.
#[derive(Clone, Debug)]
pub struct MimdRed {
    red: Red,
    alpha: f64,
    beta: f64,
    min_th: f64,
    max_th: f64,
    status: Status,
}

impl MimdRed {
    /// Return a law that has seen only an empty queue. `config` must have passed [`MimdRedConfig::resolve`].
    pub fn new(config: &MimdRedConfig, link: &LinkContext, rng: Stream) -> MimdRed {
        MimdRed {
            red: Red::new(&config.red, link, rng),
            alpha: config.alpha,
            beta: config.beta,
            min_th: config.red.min_th,
            max_th: config.red.max_th,
            status: Status::Below,
        }
    }

    /// Change `max_p` if the average has just left the band.
    #[inline]
    fn adapt(&mut self, avg: f64) {
        let max_p = self.red.max_p();
        if self.min_th < avg && avg < self.max_th {
            self.status = Status::Between;
        } else if avg < self.min_th && self.status != Status::Below {
            self.status = Status::Below;
            // max_p = max_p / alpha; never zero, because no factor raises zero
            self.red.set_max_p((max_p / self.alpha).max(f64::MIN_POSITIVE));
        } else if avg > self.max_th && self.status != Status::Above {
            self.status = Status::Above;
            // max_p = max_p beta
            self.red.set_max_p((max_p * self.beta).min(1.0));
        }
    }
}

impl DecidesAtEnqueue for MimdRed {
    const USES_ON_EMPTY: bool = true;
}

impl Aqm for MimdRed {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        let avg = self.red.sample(queue, now);
        self.adapt(avg);
        self.red.judge(pkt, queue)
    }

    #[inline]
    fn on_empty(&mut self, now: Time) {
        self.red.on_empty(now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(out);
        out("max_p", self.red.max_p());
    }
}
