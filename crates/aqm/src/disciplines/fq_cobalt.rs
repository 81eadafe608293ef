//! FQ-COBALT: CAKE without its shaper. Flows have separate queues, each under COBALT, and new flows are served
//! first.
//!
//! Unlike FQ-CoDel, the hash is set-associative, so that flows share a queue only when all eight queues of a set
//! are taken. The law forgets slowly and drops packets of unresponsive flows. An overflow evicts single packets.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: a comprehensive queue management solution for home
//! gateways", LANMAN 2018, sections III-B and III-D; Linux `sch_cake.c`.
//!
//! A new queue that empties passes through the old ones, as in FQ-CoDel; CAKE lets it leave while it has credit,
//! and gives less credit when it shapes a slow link (see the page).
//!
//! Left out of CAKE: the shaper with its overhead compensation, tins by `DiffServ`, fairness among hosts, the
//! filter of acknowledgements, and the list of decaying queues, in which an empty queue's COBALT continues; here
//! its state is frozen until the queue's next packet. Differs from CAKE: a queue's last packet that BLUE would
//! drop leaves unmarked.

use aqmlab_units::{Bytes, Stream, Time};

use crate::parameter::{QUANTUM, QUEUES, check, parameters};
use crate::parts::ce_threshold::CeThreshold;
use crate::parts::drr::Rules;
use crate::parts::flows::hash::WAYS;
use crate::parts::flows::queue::{FlowQueue, Plan};
use crate::parts::overflow::Eviction;
use crate::{
    Aqm, Cobalt, CobaltConfig, DecidesAt, Discipline, Limit, LinkContext, Packet, ParameterError, QueueState,
    ThroughOld, Verdict, Visitor,
};

parameters! {
    /// FQ-COBALT's parameters.
    pub struct FqCobaltConfig {
        /// The number of queues, in sets of eight.
        flows: u32 = 1024, in QUEUES, unit "queues", source "CAKE";
        /// The credit of a queue in each round. CAKE uses less below 50 Mbit/s: 300 B up to 10 Mbit/s.
        quantum: Bytes = Bytes::new(1514), in QUANTUM, source "CAKE, when it does not shape";
        /// Passage of a new queue that empties through the old ones. With `never`, a flow whose packets are
        /// smaller than the quantum can stay new, and takes more than its share.
        through_old: ThroughOld = ThroughOld::Always, source "RFC 8290, section 4.2; CAKE has never";
        /// Let a queue's last packet leave, possibly marked, when COBALT would drop it.
        spare_last: bool = true, source "CAKE";
    }
    /// The COBALT of each queue, which is notified when an overflow evicts a packet of its queue.
    include cobalt: CobaltConfig {
        /// The maximum that may wait in all queues.
        limit = Limit::Bytes(Bytes::new(4 << 20)), source "CAKE: the least when it shapes";
    }
}

impl Discipline for FqCobaltConfig {
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str =
        "CAKE without its shaper: a queue for each flow under COBALT, new flows first";

    fn complete(&self, _link: &LinkContext) -> Result<FqCobaltConfig, ParameterError> {
        CeThreshold::check(self.cobalt.ce_threshold, self.cobalt.ce_threshold_selector)?;
        check((self.flows as usize).is_multiple_of(WAYS), "flows", "a multiple of 8", &self.flows)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| self.queue(link, rng))
    }
}

impl FqCobaltConfig {
    fn queue<P>(&self, link: &LinkContext, mut rng: Stream) -> FlowQueue<CobaltOfFlow, P> {
        let rules = Rules::SparseFirst(self.through_old);
        let plan = Plan {
            set_associative: true,
            eviction: Some(Eviction::Fattest),
            ..Plan::new(self.flows, rules, self.quantum, self.cobalt.limit)
        };
        FlowQueue::new(plan, &mut rng, |rng| CobaltOfFlow {
            cobalt: Cobalt::new(&self.cobalt, link, rng),
            spare_last: self.spare_last,
        })
    }
}

/// The COBALT of one queue, which may spare the last packet.
#[derive(Clone, Debug)]
struct CobaltOfFlow {
    cobalt: Cobalt,
    spare_last: bool,
}

impl Aqm for CobaltOfFlow {
    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        match self.cobalt.on_dequeue(pkt, enqueued_at, queue, now) {
            Verdict::Mark if pkt.ecn.is_capable() => Verdict::Mark,
            _ if self.spare_last && queue.packets == 0 => Verdict::Pass,
            verdict => verdict,
        }
    }

    fn on_overflow(&mut self, pkt: &Packet, queue: QueueState, now: Time) {
        self.cobalt.on_overflow(pkt, queue, now);
    }

    fn on_empty(&mut self, now: Time) {
        self.cobalt.on_empty(now);
    }
}
