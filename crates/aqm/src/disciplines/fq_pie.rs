//! FQ-PIE: flows are hashed onto queues, each under PIE, and served by deficit round robin with new flows first.
//!
//! As FQ-CoDel, but with a law that decides when a packet arrives. All queues' probabilities are updated at the same
//! instants, those of empty queues too.
//!
//! Source: Ramakrishnan, Bhasi, Saicharan, Monis, Patil and Tahiliani, "FQ-PIE queue discipline in the Linux kernel: design,
//! implementation and challenges", LCN 2019; Linux `sch_fq_pie.c`; RFC 8290 for the round and RFC 8033 for the law.
//!
//! Where descriptions differ there is an option: [`NoRoom`], [`ThroughOld`], and those of PIE. Differs from Linux: a packet
//! that the limit refuses is judged before, and all queues are updated at once, where Linux takes 2048 at a time.

use aqmlab_units::{Bytes, Duration, Prob, Stream};

use crate::parameter::{check, check_flows, check_quantum, parameters};
use crate::parts::flow_hash::FlowHash;
use crate::parts::flow_queue::{FlowQueue, Plan};
use crate::parts::overflow::Eviction;
use crate::parts::round::{Round, Rules};
use crate::{
    Backlog, Decay, DecidesAt, DelayFrom, Discipline, Half, LightLoad, Limit, LinkContext, NoRoom,
    ParameterError, Pie, PieConfig, ThroughOld, Visitor,
};

parameters! {
    /// FQ-PIE's parameters.
    pub struct FqPieConfig {
        /// The number of queues that flows are hashed onto.
        flows: u32 = 1024, unit "queues", source "Linux sch_fq_pie.c; ns-3";
        /// The credit that a queue gets for each round: less favours small packets.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "Linux sch_fq_pie.c: one full Ethernet frame";
        /// What gives way beyond the limit: the `arrival` or packets of the `fattest` queue.
        no_room: NoRoom = NoRoom::Arrival, unit "name", source "Linux; ns-3 has fattest";
        /// The most packets of the fattest queue that go at once.
        drop_batch: u32 = 64, unit "packets", source "ns-3";
        /// Whether an emptied new queue passes through the old ones: `always`, `if_any` or `never`.
        through_old: ThroughOld = ThroughOld::IfAny, unit "name", source "Linux, ns-3; RFC 8290, section 4.2, has always";
        /// The delay to hold in each queue.
        qdelay_ref: Duration = Duration::from_millis(15), unit "time", source "RFC 8033, section 4.2; Linux, ns-3";
        /// The time between two updates of the probabilities.
        t_update: Duration = Duration::from_millis(15), unit "time", source "RFC 8033, section 4.2; Linux, ns-3";
        /// Gain on the distance from `qdelay_ref`.
        alpha: f64 = 0.125, unit "Hz", source "RFC 8033, section 4.2; Linux, ns-3";
        /// Gain on the change since the last update.
        beta: f64 = 1.25, unit "Hz", source "RFC 8033, section 4.2; Linux, ns-3";
        /// How long after quiet times nothing is signalled.
        max_burst: Duration = Duration::from_millis(150), unit "time", source "RFC 8033, section 4.4; Linux; or ns-3: 15 ms";
        /// The probability from which on ECN-capable packets are dropped too.
        mark_ecnth: Prob = Prob::clamped(0.1), unit "1", source "RFC 8033, section 5.1; Linux, ns-3";
        /// What a queue's delay is measured by: `timestamp`, `rate_estimate` or `link_rate`, as if it had the link alone.
        delay_from: DelayFrom = DelayFrom::Timestamp, unit "name", source "Linux, ns-3";
        /// For `rate_estimate`, the bytes that must wait for a measurement to begin, and leave for it to end.
        dq_threshold: Bytes = Bytes::new(16_384), unit "bytes", source "RFC 8033, section 5.2; Linux, ns-3";
        /// For `rate_estimate`, the weight of a new measurement in the average.
        dq_weight: f64 = 0.25, unit "1", source "RFC 8033, appendix B; or Linux: 0.125, ns-3: 0.5, on rates";
        /// Let the probability add up from packet to packet: no signal below 0.85, a certain one from 8.5 on.
        derandomize: bool = true, unit "true or false", source "RFC 8033, section 5.4; Linux; or ns-3: false";
        /// From a probability of 0.1 on, raise it by no more than 0.02 at once.
        cap: bool = true, unit "true or false", source "RFC 8033, section 5.5; Linux, ns-3";
        /// Raise the probability by 0.02 more at each update at which the delay is above 250 ms.
        steep: bool = false, unit "true or false", source "RFC 8033 has no such step; or Linux: true";
        /// The delay that must be short for light load: `last_update` or `now`.
        light_load: LightLoad = LightLoad::LastUpdate, unit "name", source "RFC 8033, section 4.1; ns-3; or Linux: now";
        /// When the probability decays: `idle` or `light`.
        decay: Decay = Decay::Idle, unit "name", source "RFC 8033, section 4.2; Linux, ns-3";
        /// The factor of one decay.
        decay_factor: f64 = 0.98, unit "1", source "RFC 8033, section 4.2; ns-3; or Linux: 0.984375";
        /// Nothing is signalled while no more than two packets of this size wait in a queue.
        mean_packet: Bytes = Bytes::new(1024), unit "bytes", source "RFC 8034; or ns-3: 1000 B, Linux: the MTU";
        /// The most that may wait in all queues.
        limit: Limit = Limit::Packets(10_240), unit "packets or bytes", source "Linux sch_fq_pie.c; ns-3";
    }
}

impl Discipline for FqPieConfig {
    const NAME: &'static str = "fq_pie";
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str = "A queue for each flow under PIE, served in a fair round, new flows first";
    const PAGE: &'static str = include_str!("../../pages/fq_pie.md");

    fn resolve(&self, link: &LinkContext) -> Result<FqPieConfig, ParameterError> {
        check_flows(self.flows)?;
        check_quantum(self.quantum)?;
        check(self.drop_batch > 0, "drop_batch", "at least 1 packet", self.drop_batch)?;
        self.pie().resolve(link)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| self.queue(link, rng))
    }
}

impl FqPieConfig {
    /// The PIE of each queue.
    fn pie(&self) -> PieConfig {
        PieConfig {
            qdelay_ref: self.qdelay_ref,
            t_update: self.t_update,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            mark_ecnth: self.mark_ecnth,
            delay_from: self.delay_from,
            dq_threshold: self.dq_threshold,
            dq_weight: self.dq_weight,
            derandomize: self.derandomize,
            cap: self.cap,
            steep: self.steep,
            light_load: self.light_load,
            decay: self.decay,
            decay_factor: self.decay_factor,
            mean_packet: self.mean_packet,
            limit: self.limit,
        }
    }

    fn queue<P>(&self, link: &LinkContext, mut rng: Stream) -> FlowQueue<Pie, P> {
        let flows = self.flows as usize;
        let plan = Plan {
            hash: FlowHash::plain(flows, rng.next_u64()),
            round: Round::new(Rules::SparseFirst(self.through_old), self.quantum, flows),
            limit: self.limit,
            depth: u32::MAX,
            eviction: match self.no_room {
                NoRoom::Arrival => None,
                NoRoom::Fattest => Some(Eviction::HalfOfFattest(Half::Bytes, self.drop_batch)),
            },
            backlog: Backlog::Flow,
        };
        let config = self.pie();
        FlowQueue::new(plan, flows, &mut rng, |rng| Pie::new(&config, link, rng))
    }
}
