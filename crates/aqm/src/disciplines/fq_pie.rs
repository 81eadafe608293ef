//! FQ-PIE: flows are hashed to queues, each under PIE, and served by deficit round robin with new flows first.
//!
//! As FQ-CoDel, but with a law that decides on arrival. The probabilities of all queues, including empty ones,
//! are updated at the same times.
//!
//! Source: Ramakrishnan, Bhasi, Saicharan, Monis, Patil and Tahiliani, "FQ-PIE queue discipline in the Linux kernel: design,
//! implementation and challenges", LCN 2019; Linux `sch_fq_pie.c`; RFC 8290 for the round and RFC 8033 for the law.
//!
//! Where descriptions differ there is an option: [`NoRoom`], [`ThroughOld`], and those of PIE. Differs from
//! Linux: the law decides about a packet before the limit drops it, and all queues are updated at once; Linux
//! updates 2048 at a time. [`Variant::Linux`] is Linux's discipline in every detail.

use aqmlab_units::{Bytes, Duration, Prob, Stream};

use crate::parameter::{QUANTUM, QUEUES, check, from, parameters};
use crate::parts::drr::Rules;
use crate::parts::flows::queue::{FlowQueue, Plan};
use crate::parts::linux::coin::Coin;
use crate::parts::linux::flow_queue::LinuxFlowQueue;
use crate::parts::linux::pie::{LinuxPie, percent};
use crate::parts::linux::with_linux_values;
use crate::parts::overflow::Eviction;
use crate::{
    DecidesAt, DelayFrom, Discipline, Half, Limit, LinkContext, NoRoom, ParameterError, Pie, PieConfig, Tc,
    TcWords, ThroughOld, Variant, Visitor,
};

parameters! {
    /// FQ-PIE's parameters.
    pub struct FqPieConfig {
        /// The number of queues that flows are hashed to.
        flows: u32 = 1024, in QUEUES, unit "queues", source "Linux sch_fq_pie.c; ns-3", tc TcWords::Value("flows");
        /// The credit of a queue in each round; less favours small packets.
        quantum: Bytes = Bytes::new(1514), in QUANTUM, source "Linux sch_fq_pie.c: one full Ethernet frame", tc TcWords::Value("quantum");
        /// The packets that an overflow drops: the arriving one, or those of the queue with the most bytes.
        no_room: NoRoom = NoRoom::Arrival, source "Linux; ns-3 has fattest";
        /// The maximum number of packets of the fattest queue that one overflow drops.
        drop_batch: u32 = 64, in from(1), unit "packets", source "ns-3";
        /// Passage of a new queue that empties through the old ones.
        through_old: ThroughOld = ThroughOld::IfAny, source "Linux, ns-3; RFC 8290, section 4.2, has always";
    }
    /// The PIE of each queue.
    include pie: PieConfig {
        /// The delay to hold in each queue.
        qdelay_ref = Duration::from_millis(15), source "RFC 8033, section 4.2; Linux, ns-3";
        mark_ecnth = Prob::clamped(0.1), source "RFC 8033, section 5.1", tc TcWords::Multiple("ecn_prob", 100.0);
        /// The measurement of a queue's delay: `timestamp`, `rate_estimate` or `link_rate`, as if the queue had
        /// the link alone.
        delay_from = DelayFrom::Timestamp, source "Linux, ns-3";
        /// No packet is signalled while at most two packets of this size wait in its queue.
        mean_packet = Bytes::new(1024), source "RFC 8034; or ns-3: 1000 B, Linux: the MTU; RFC 8033 has no value";
        /// The maximum that may wait in all queues.
        limit = Limit::Packets(10_240), source "Linux sch_fq_pie.c; ns-3";
    }
}

impl Discipline for FqPieConfig {
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str = "A queue for each flow under PIE, served in fair rounds, new flows first";
    const TC: Option<Tc> = Some(Tc {
        names: &["fq_pie"],
        ecn: Some(false),
        values: &[("variant", "linux"), ("mean_packet", "1514 B")],
        accepted: &["memory_limit 32Mb"],
        refused: &[
            ("bytemode", "the probability does not depend on the size of packets"),
            ("memory_limit", "only packets are counted"),
        ],
    });

    fn complete(&self, _link: &LinkContext) -> Result<FqPieConfig, ParameterError> {
        let is_linux = self.pie.variant == Variant::Linux;
        let at_once = "at most 2048 with variant = linux, which updates no more at once";
        check(!is_linux || self.flows <= 2048, "flows", at_once, &self.flows)?;
        self.pie.check_linux()?;
        with_linux_values(self, self.pie.variant, |config| {
            config.pie.set_linux_values();
            config.no_room = NoRoom::Arrival;
            config.through_old = ThroughOld::IfAny;
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match self.pie.variant {
            Variant::Published => visitor.queue(|rng| self.queue(link, rng)),
            Variant::Linux => visitor.queue(|rng| self.linux_queue(rng, |rng| rng)),
        }
    }
}

impl FqPieConfig {
    fn plan(&self) -> Plan {
        let rules = Rules::SparseFirst(self.through_old);
        Plan {
            eviction: match self.no_room {
                NoRoom::Arrival => None,
                NoRoom::Fattest => Some(Eviction::HalfOfFattest(Half::Bytes, self.drop_batch)),
            },
            ..Plan::new(self.flows, rules, self.quantum, self.pie.limit)
        }
    }

    fn queue<P>(&self, link: &LinkContext, mut rng: Stream) -> FlowQueue<Pie, P> {
        FlowQueue::new(self.plan(), &mut rng, |rng| Pie::new(&self.pie, link, rng))
    }

    /// Return the queue of Linux's variant; `coin` makes the coin of each flow's law from its random stream.
    pub(crate) fn linux_queue<P, C: Coin>(
        &self,
        mut rng: Stream,
        coin: impl Fn(Stream) -> C,
    ) -> LinuxFlowQueue<LinuxPie<C>, P> {
        let mark_limit = percent(self.pie.mark_ecnth);
        LinuxFlowQueue::new(self.plan(), &mut rng, |rng| LinuxPie::new(&self.pie, mark_limit, coin(rng)))
    }
}
