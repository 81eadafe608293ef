//! SRED, stabilized RED: signals by the number of active flows, which is estimated without state per flow.
//!
//! Each arriving packet is compared with a random entry of a list of recent flows, the zombies. The frequency of
//! matches, P, is about one over the number of active flows. The probability of a signal grows with the square of
//! that number, and in steps with the queue.
//!
//! Source: Ott, Lakshman and Wong, "SRED: stabilized RED", INFOCOM 1999: the zombie list, Simple SRED and Full SRED.
//!
//! Differs from the paper: a zombie has no count and no time of arrival, which the paper uses only to name
//! misbehaving flows. Until the list is full there are no comparisons and P stays 0, which means "too many flows
//! to count". The paper drops; here a signal marks ECN-capable packets.

use aqmlab_units::{Prob, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{above, choices, from, parameters};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Packet, QueueState, Verdict, Visitor,
};

choices! {
    /// Effect of a hit on the packet that made it.
    pub enum SredVariant {
        /// None: all packets have the same probability. Simple SRED.
        Simple = "simple",
        /// A factor `1 + 1/P`, so that flows with more packets are signalled more often. Full SRED.
        Full = "full",
    }
}

parameters! {
    /// SRED's parameters. Its thresholds are a sixth and a third of the limit, the paper's buffer B.
    pub struct SredConfig {
        /// Effect of a hit on the probability of a signal for its packet.
        variant: SredVariant = SredVariant::Full, source "Ott et al. 1999: Full SRED; Kwon & Fahmy 2003";
        /// The probability from a third of the limit on, with many flows; a quarter of it from a sixth on.
        p_max: Prob = Prob::clamped(0.15), source "Ott et al. 1999; Kwon & Fahmy 2003";
        /// M, the length of the zombie list.
        m: u32 = 1000, in from(1).up_to(1_000_000), unit "flows", source "Ott et al. 1999; Kwon & Fahmy 2003";
        /// The probability that a packet that does not match its zombie replaces it; the paper's p.
        r: Prob = Prob::clamped(0.25), in above(Prob::ZERO), source "Ott et al. 1999; Kwon & Fahmy 2003";
        /// The number of active flows from which the probability stays constant.
        max_flows: f64 = 256.0, in from(1.0).up_to(1e6), unit "flows", source "Ott et al. 1999; J-Sim has a third of the buffer in packets";
        /// B, the maximum that may wait; its unit is the unit of the queue.
        limit: Limit = Limit::Packets(240), source "ours: the room of the drop-tail baseline";
    }
}

impl Discipline for SredConfig {
    const FAMILY: &'static str = "flows";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str = "Signals in proportion to the square of the number of active flows, estimated from a list of recent ones";

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |rng| Sred::new(self, link, rng))
    }
}

/// The SRED law.
#[derive(Clone, Debug)]
pub struct Sred {
    variant: SredVariant,
    p_max: f64,
    m: usize,
    r: f64,
    max_flows: f64,
    /// B.
    limit: Limit,
    rng: Stream,
    /// Recent flows.
    zombies: Vec<u32>,
    /// P(t), the recent frequency of hits.
    p_hit: f64,
}

impl Sred {
    /// Return a law that has seen no packet. `config` must have passed [`SredConfig::resolve`].
    pub fn new(config: &SredConfig, _link: &LinkContext, rng: Stream) -> Sred {
        Sred {
            variant: config.variant,
            p_max: config.p_max.get(),
            m: config.m as usize,
            r: config.r.get(),
            max_flows: config.max_flows,
            limit: config.limit,
            rng,
            zombies: Vec::new(),
            p_hit: 0.0,
        }
    }

    /// Compare the packet's flow with a random zombie and update the list. Returns true on a hit.
    #[inline]
    fn sample_zombie(&mut self, flow: u32) -> bool {
        if self.zombies.len() < self.m {
            self.zombies.push(flow);
            return false;
        }
        let zombie = self.rng.below(self.m as u64);
        let zombie = &mut self.zombies[usize::try_from(zombie).expect("below the length of a list")];
        let hit = *zombie == flow;
        if !hit && bernoulli(self.r, 1.0, &mut self.rng) {
            *zombie = flow;
        }
        // P(t) = (1 - alpha) P(t-1) + alpha Hit(t), with alpha = r / M: the list is replaced once in M/r packets.
        let alpha = self.r / self.m as f64;
        self.p_hit += alpha * (f64::from(u8::from(hit)) - self.p_hit);
        hit
    }

    /// `p_sred(q)`: `p_max` from B/3 on, a quarter of it from B/6 on, zero below.
    #[inline]
    fn p_sred(&self, queue: QueueState) -> f64 {
        let (q, b) = match self.limit {
            Limit::Packets(b) => (f64::from(queue.packets), f64::from(b)),
            Limit::Bytes(b) => (queue.bytes.as_f64(), b.as_f64()),
        };
        if 3.0 * q >= b {
            self.p_max
        } else if 6.0 * q >= b {
            self.p_max / 4.0
        } else {
            0.0
        }
    }
}

impl DecidesAtEnqueue for Sred {}

impl Aqm for Sred {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        let hit = self.sample_zombie(pkt.flow);
        let p_sred = self.p_sred(queue);
        if p_sred <= 0.0 {
            return Verdict::Pass;
        }
        // p_zap = p_sred(q) min(1, 1 / (256 P)^2), in Full SRED times 1 + Hit / P
        let crowd = (self.max_flows * self.p_hit).max(1.0);
        let bias = if hit && self.variant == SredVariant::Full { 1.0 + 1.0 / self.p_hit } else { 1.0 };
        let p_zap = p_sred / (crowd * crowd) * bias;
        if bernoulli(p_zap, 1.0, &mut self.rng) { Verdict::Mark } else { Verdict::Pass }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("P", self.p_hit);
        // There is no estimate before the first hit.
        out("flows", if self.p_hit > 0.0 { 1.0 / self.p_hit } else { 0.0 });
    }
}
