//! The threshold of ECN+: marks every ECN-capable packet above a queue length.
//!
//! It uses the instantaneous queue, without average or randomness, and never drops: other packets pass until the
//! queue is full.
//!
//! Source: Kuzmanovic, "The power of explicit congestion notification", SIGCOMM 2005, section 5.1.
//!
//! It differs from no statement of the paper, which leaves three things open: the threshold, a queue exactly at
//! it (here it does not exceed it), and packets that are not ECN-capable.

use aqmlab_units::{Bytes, Duration, Time};

use crate::parameter::{LENGTH, PACKET_SIZE, parameters, up_to};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Packet, ParameterError, QueueState,
    Verdict, Visitor,
};

parameters! {
    /// The threshold's parameters. The limit matters as in drop-tail: only it drops.
    pub struct ThresholdConfig {
        /// The queueing delay at the automatic threshold.
        target_delay: Duration = Duration::from_millis(5), in up_to(Duration::from_secs(60)), source "Kuzmanovic 2005, section 5.2.2: typically targeted";
        /// The queue length above which packets are marked; automatic: `target_delay` C with C in packets/s.
        threshold: Option<f64> = None, in LENGTH, unit "packets", source "ours: from the delay that the paper names";
        /// The packet size that counts as one packet in C.
        mean_packet: Bytes = Bytes::new(500), in PACKET_SIZE, source "Le et al. 2004: a little over 500 B";
        /// The maximum that may wait.
        limit: Limit = Limit::Packets(240), source "ours: as drop-tail, Le et al. 2004, the baseline";
    }
}

impl Discipline for ThresholdConfig {
    const FAMILY: &'static str = "threshold";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str = "Marks all ECN-capable packets while the queue is above a threshold";

    fn complete(&self, link: &LinkContext) -> Result<ThresholdConfig, ParameterError> {
        Ok(ThresholdConfig { threshold: Some(self.threshold(link)), ..self.clone() })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |_| Threshold::new(self, link))
    }
}

impl ThresholdConfig {
    fn threshold(&self, link: &LinkContext) -> f64 {
        let c = link.packets_per_sec(self.mean_packet);
        self.threshold.unwrap_or_else(|| self.target_delay.as_secs_f64() * c)
    }
}

/// The threshold law.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    threshold: f64,
}

impl Threshold {
    /// Return the law. `config` must have passed [`ThresholdConfig::resolve`].
    pub fn new(config: &ThresholdConfig, link: &LinkContext) -> Threshold {
        Threshold { threshold: config.threshold(link) }
    }
}

impl DecidesAtEnqueue for Threshold {}

impl Aqm for Threshold {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        let exceeds = f64::from(queue.packets) > self.threshold;
        if exceeds && pkt.ecn.is_capable() { Verdict::Mark } else { Verdict::Pass }
    }
}
