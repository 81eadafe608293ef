//! MIMD RED, the self-configuring RED gateway: `max_p` is divided or multiplied when the average leaves its band.
//!
//! Whenever the average queue comes to lie below `min_th`, RED was too aggressive and `max_p` is divided by `alpha`;
//! whenever it comes to lie above `max_th`, RED was too timid and `max_p` is multiplied by `beta`.
//!
//! Source: Feng, Kandlur, Saha and Shin, "A self-configuring RED gateway", INFOCOM 1999, section 4. RED itself is
//! [`crate::Red`].
//!
//! Differs from ns-2 (`red.cc` with `feng_adaptive_`): the empty queue of the start counts as below, where ns-2 divides
//! `max_p` at the first packet; the gentle slope follows `max_p`, where ns-2 keeps the first one. Differs from both:
//! `max_p` stays a probability above zero, at most 1.

use aqmlab_units::{Bytes, Prob, Stream, Time};

use crate::parameter::{check, parameters};
use crate::{
    Aqm, ByteScaling, DecidesAt, DecidesAtEnqueue, Discipline, EcnPolicy, Limit, LinkContext, Mode, Packet,
    ParameterError, QueueState, Red, RedConfig, Spacing, Verdict, Visitor,
};

parameters! {
    /// MIMD RED's parameters.
    pub struct MimdRedConfig {
        /// What `max_p` is divided by when the average falls below `min_th`.
        alpha: f64 = 3.0, unit "1", source "Feng et al. 1999; ns-2";
        /// What `max_p` is multiplied by when the average rises above `max_th`.
        beta: f64 = 2.0, unit "1", source "Feng et al. 1999; ns-2";
        /// The average below which nothing is signalled.
        min_th: f64 = 5.0, unit "packets", source "Floyd & Jacobson 1993; ns-3, ALTQ";
        /// The average at which the probability reaches `max_p`.
        max_th: f64 = 15.0, unit "packets", source "Floyd & Jacobson 1993; ns-3, ALTQ";
        /// The weight of a new sample in the average: smaller forgets more slowly.
        w_q: f64 = 0.002, unit "1", source "Floyd & Jacobson 1993; ns-3";
        /// The probability at `max_th` to start from.
        max_p: Prob = Prob::clamped(0.1), unit "1", source "ns-2; ALTQ";
        /// From `max_th` on let the probability rise from `max_p` to 1 at twice `max_th`, instead of at once.
        gentle: bool = false, unit "true or false", source "Feng et al. 1999, before gentle RED; ns-2 has true";
        /// How signals are spaced: `uniform`, `figure2`, `wait`, `altq` or `geometric`.
        spacing: Spacing = Spacing::Uniform, unit "name", source "Floyd & Jacobson 1993";
        /// What becomes of ECN-capable packets from `max_th` on: `drop_above_max`, `mark_in_gentle` or `mark`.
        ecn_policy: EcnPolicy = EcnPolicy::DropAboveMax, unit "name", source "RFC 3168; Le et al. 2004";
        /// Whether the queue is measured in packets or in bytes: `packet` or `byte`.
        mode: Mode = Mode::Packet, unit "name", source "Le et al. 2004";
        /// In byte mode, whether size scales a probability before or after spacing: `before_spacing` or `after_spacing`.
        byte_scaling: ByteScaling = ByteScaling::BeforeSpacing, unit "name", source "Floyd & Jacobson 1993; Le et al. 2004";
        /// The packet size that counts as one packet in byte mode, and that the link would have sent when idle.
        mean_packet: Bytes = Bytes::new(500), unit "bytes", source "ns-2; Le et al. 2004: a little over 500 B";
        /// The most that may wait: enough never to drop for want of room, which would hide what the law does.
        limit: Limit = Limit::Packets(10_000), unit "packets or bytes", source "Le et al. 2004: no tail drops";
    }
}

impl Discipline for MimdRedConfig {
    const NAME: &'static str = "mimd_red";
    const FAMILY: &'static str = "RED";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "RED that divides or multiplies max_p when the average falls below or rises above the thresholds";
    const PAGE: &'static str = include_str!("../../pages/mimd_red.md");

    fn resolve(&self, link: &LinkContext) -> Result<MimdRedConfig, ParameterError> {
        check(1.0 < self.alpha && self.alpha <= 1000.0, "alpha", "above 1 and at most 1000", self.alpha)?;
        check(1.0 < self.beta && self.beta <= 1000.0, "beta", "above 1 and at most 1000", self.beta)?;
        check(self.max_p > Prob::ZERO, "max_p", "above 0", self.max_p)?;
        self.red().resolve(link)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |rng| MimdRed::new(self, link, rng))
    }
}

impl MimdRedConfig {
    /// The RED that is adapted.
    fn red(&self) -> RedConfig {
        RedConfig {
            min_th: self.min_th,
            max_th: self.max_th,
            w_q: self.w_q,
            max_p: self.max_p,
            gentle: self.gentle,
            spacing: self.spacing,
            ecn_policy: self.ecn_policy,
            mode: self.mode,
            byte_scaling: self.byte_scaling,
            mean_packet: self.mean_packet,
            limit: self.limit,
        }
    }
}

/// Where the average queue lies.
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
    /// A law that has seen an empty queue so far. `config` has passed [`MimdRedConfig::resolve`].
    pub fn new(config: &MimdRedConfig, link: &LinkContext, rng: Stream) -> MimdRed {
        MimdRed {
            red: Red::new(&config.red(), link, rng),
            alpha: config.alpha,
            beta: config.beta,
            min_th: config.min_th,
            max_th: config.max_th,
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
            // max_p = max_p / alpha; never zero, from which no factor leads back
            self.red.set_max_p((max_p / self.alpha).max(f64::MIN_POSITIVE));
        } else if avg > self.max_th && self.status != Status::Above {
            self.status = Status::Above;
            // max_p = max_p beta
            self.red.set_max_p((max_p * self.beta).min(1.0));
        }
    }
}

impl DecidesAtEnqueue for MimdRed {}

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
