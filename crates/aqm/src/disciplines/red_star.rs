//! RED*: RED that marks ECN-capable packets whatever the average queue.
//!
//! Above `max_th`, where RED drops them, they are marked as below it; what cannot be marked is dropped throughout.
//!
//! Source: Kuzmanovic, "The power of explicit congestion notification", SIGCOMM 2005, section 4. RED itself is
//! [`crate::Red`].
//!
//! Differs from RED in nothing but [`EcnPolicy::Mark`].

use aqmlab_units::{Bytes, Prob};

use crate::parameter::parameters;
use crate::{
    ByteScaling, DecidesAt, Discipline, EcnPolicy, Limit, LinkContext, Mode, ParameterError, Red, RedConfig,
    Spacing, Visitor,
};

parameters! {
    /// RED*'s parameters: those of RED, but for the ECN policy.
    pub struct RedStarConfig {
        /// The average below which nothing is signalled.
        min_th: f64 = 5.0, unit "packets", source "Floyd & Jacobson 1993; ns-3, ALTQ";
        /// The average at which the probability reaches `max_p`.
        max_th: f64 = 15.0, unit "packets", source "Floyd & Jacobson 1993; ns-3, ALTQ";
        /// The weight of a new sample in the average: smaller forgets more slowly.
        w_q: f64 = 0.002, unit "1", source "Floyd & Jacobson 1993; ns-3";
        /// The probability at `max_th`.
        max_p: Prob = Prob::clamped(0.1), unit "1", source "ns-2; ALTQ";
        /// From `max_th` on let the probability rise from `max_p` to 1 at twice `max_th`, instead of at once.
        gentle: bool = true, unit "true or false", source "Floyd 2000; ns-2, ns-3";
        /// How signals are spaced: `uniform`, `figure2`, `wait`, `altq` or `geometric`.
        spacing: Spacing = Spacing::Uniform, unit "name", source "Floyd & Jacobson 1993";
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

impl Discipline for RedStarConfig {
    const NAME: &'static str = "red_star";
    const FAMILY: &'static str = "RED";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str = "RED that never drops what it can mark, however long the average queue";
    const PAGE: &'static str = include_str!("../../pages/red_star.md");

    fn resolve(&self, link: &LinkContext) -> Result<RedStarConfig, ParameterError> {
        self.red().resolve(link)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        let red = self.red();
        visitor.law(self.limit, |rng| Red::new(&red, link, rng))
    }
}

impl RedStarConfig {
    /// The RED that it is.
    fn red(&self) -> RedConfig {
        RedConfig {
            min_th: self.min_th,
            max_th: self.max_th,
            w_q: self.w_q,
            max_p: self.max_p,
            gentle: self.gentle,
            spacing: self.spacing,
            ecn_policy: EcnPolicy::Mark,
            mode: self.mode,
            byte_scaling: self.byte_scaling,
            mean_packet: self.mean_packet,
            limit: self.limit,
        }
    }
}
