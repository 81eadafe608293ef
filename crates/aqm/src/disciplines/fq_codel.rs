//! FQ-CoDel: flows are hashed to queues, each under CoDel, and served by deficit round robin with new flows
//! first.
//!
//! A flow that sends little finds its queue empty and is served at once. A flow that sends much waits in its own
//! queue, which CoDel keeps short. On overflow, the queue with the most bytes loses up to half of it.
//!
//! Source: RFC 8290, sections 4 and 5; Linux `sch_fq_codel.c`.
//!
//! Differs from the RFC's wording in one place: a queue whose credit is exactly used up has had its turn,
//! although the RFC says "negative". The RFC's explanation ("already dequeued at least a quantum"), ns-3 and
//! Linux agree with this. Where descriptions differ there is an option: [`Half`], [`Backlog`], [`ThroughOld`],
//! `count_evicted`, and those of CoDel. [`Variant::Linux`] is Linux's discipline in every detail.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::parameter::{QUANTUM, QUEUES, check, from, parameters};
use crate::parts::ce_threshold::CeThreshold;
use crate::parts::drr::Rules;
use crate::parts::flows::queue::{FlowQueue, Plan};
use crate::parts::linux::codel::LinuxCodel;
use crate::parts::linux::flow_queue::LinuxFlowQueue;
use crate::parts::linux::with_linux_values;
use crate::parts::overflow::Eviction;
use crate::{
    Aqm, Backlog, CeSelector, Codel, CodelConfig, DecidesAt, Discipline, Half, Limit, LinkContext, Packet,
    ParameterError, QueueState, Tc, TcWords, ThroughOld, Variant, Verdict, Visitor,
};

parameters! {
    /// FQ-CoDel's parameters, meant to suit any link of the open Internet.
    pub struct FqCodelConfig {
        /// The number of queues that flows are hashed onto.
        flows: u32 = 1024, in QUEUES, unit "queues", source "RFC 8290, section 5.2", tc TcWords::Value("flows");
        /// The credit of a queue in each round; less favours small packets.
        quantum: Bytes = Bytes::new(1514), in QUANTUM, source "RFC 8290, section 5.2", tc TcWords::Value("quantum");
        /// The backlog that is compared with `mtu`.
        backlog: Backlog = Backlog::Flow, source "RFC 8289, section 5.6; ns-3; Linux has all", before sqrt;
        /// The measure of the half that an overflow drops from the fattest queue.
        drop_half: Half = Half::Packets, source "RFC 8290, section 4.1; Linux and ns-3 have bytes", before limit;
        /// The maximum number of packets that one overflow drops.
        drop_batch: u32 = 64, in from(1), unit "packets", source "RFC 8290, section 4.1", tc TcWords::Value("drop_batch"), before limit;
        /// The memory for waiting packets, as Linux counts it. Automatic: no limit.
        memory_limit: Option<Bytes> = None, in from(Bytes::new(4096)), source "Linux; RFC 8290 has none", tc TcWords::Value("memory_limit"), omit default, before limit;
        /// Count packets that an overflow drops among CoDel's signals, so that its next ones come faster.
        count_evicted: bool = false, source "RFC 8290 has no such rule; Linux: true", before limit;
        /// Passage of a new queue that empties through the old ones.
        through_old: ThroughOld = ThroughOld::Always, source "RFC 8290, section 4.2; Linux and ns-3 have if_any", before limit;
    }
    /// The CoDel of each queue.
    include codel: CodelConfig {
        /// The acceptable standing sojourn time in a queue.
        target = Duration::from_millis(5), source "RFC 8290, section 5.2";
        interval = Duration::from_millis(100), source "RFC 8290, section 5.2";
        mtu = Bytes::new(1500), source "RFC 8289, section 5.6; Linux has 1514 B";
        ce_threshold_selector = CeSelector::Any, source "Linux", tc TcWords::Choice(&[("ect0", "ce_threshold_selector 0x2/0x3"), ("ect1", "ce_threshold_selector 0x1/0x3")]);
        /// The maximum that may wait in all queues.
        limit = Limit::Packets(10_240), source "RFC 8290, section 5.2";
    }
}

impl Discipline for FqCodelConfig {
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str = "A queue for each flow under CoDel, served in fair rounds, new flows first";
    const TC: Option<Tc> = Some(Tc {
        names: &["fq_codel"],
        ecn: Some(true),
        values: &[("variant", "linux"), ("mtu", "1514 B"), ("memory_limit", "33554432 B")],
        accepted: &[],
        refused: &[(
            "ce_threshold_selector",
            "laws see no code points: write 0x1/0x3 for ECT(1) or 0x2/0x3 for ECT(0)",
        )],
    });

    fn complete(&self, _link: &LinkContext) -> Result<FqCodelConfig, ParameterError> {
        CeThreshold::check(self.codel.ce_threshold, self.codel.ce_threshold_selector)?;
        let counts_memory = self.memory_limit.is_none() || self.codel.variant == Variant::Linux;
        check(counts_memory, "memory_limit", "automatic with variant = published", &self.memory_limit)?;
        with_linux_values(self, self.codel.variant, |config| {
            config.codel.set_linux_values();
            config.backlog = Backlog::All;
            config.drop_half = Half::Bytes;
            config.count_evicted = true;
            config.through_old = ThroughOld::IfAny;
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match self.codel.variant {
            Variant::Published => visitor.queue(|rng| self.queue(link, rng)),
            Variant::Linux => visitor.queue(|rng| self.linux_queue(rng)),
        }
    }
}

impl FqCodelConfig {
    fn plan(&self) -> Plan {
        let rules = Rules::SparseFirst(self.through_old);
        Plan {
            eviction: Some(Eviction::HalfOfFattest(self.drop_half, self.drop_batch)),
            backlog: self.backlog,
            ..Plan::new(self.flows, rules, self.quantum, self.codel.limit)
        }
    }

    fn queue<P>(&self, link: &LinkContext, mut rng: Stream) -> FlowQueue<CodelOfFlow, P> {
        FlowQueue::new(self.plan(), &mut rng, |rng| CodelOfFlow {
            codel: Codel::new(&self.codel, link, rng),
            count_evicted: self.count_evicted,
        })
    }

    /// Return the queue of Linux's variant.
    pub(crate) fn linux_queue<P>(&self, mut rng: Stream) -> LinuxFlowQueue<LinuxCodel, P> {
        LinuxFlowQueue::new(self.plan(), &mut rng, |_| LinuxCodel::new(&self.codel))
            .with_memory_limit(self.memory_limit)
    }
}

/// The CoDel of one queue, which may count evictions as signals.
#[derive(Clone, Debug)]
struct CodelOfFlow {
    codel: Codel,
    count_evicted: bool,
}

impl Aqm for CodelOfFlow {
    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        self.codel.on_dequeue(pkt, enqueued_at, queue, now)
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {
        if self.count_evicted {
            self.codel.count_evicted();
        }
    }

    fn on_empty(&mut self, now: Time) {
        self.codel.on_empty(now);
    }
}
