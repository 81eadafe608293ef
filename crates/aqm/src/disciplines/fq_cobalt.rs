//! FQ-COBALT: CAKE without its shaper: flows find queues of their own, each under COBALT, served with new flows first.
//!
//! As FQ-CoDel, but the hash is set-associative, so that flows share a queue only when eight queues are all taken; the law
//! forgets slowly and drops from flows that do not respond; and what is too much goes packet by packet.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: a comprehensive queue management solution for home
//! gateways", LANMAN 2018, sections III-B and III-D; Linux `sch_cake.c`.
//!
//! Not here, of CAKE: the shaper with its overhead compensation, tins by `DiffServ`, fairness among hosts, the filter of
//! acknowledgements, and the list of decaying queues, in which an empty queue's COBALT runs on; here it stands still
//! until the queue's next packet. Differs from CAKE: a queue's last packet that BLUE would drop leaves unmarked.

use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};

use crate::parameter::{check, check_flows, check_quantum, parameters};
use crate::parts::flow_hash::{FlowHash, WAYS};
use crate::parts::flow_queue::{FlowQueue, Plan};
use crate::parts::overflow::Eviction;
use crate::parts::round::{Round, Rules};
use crate::{
    Aqm, Backlog, Cobalt, CobaltConfig, DecidesAt, Discipline, Limit, LinkContext, Packet, ParameterError,
    QueueState, Sqrt, ThroughOld, Verdict, Visitor,
};

parameters! {
    /// FQ-COBALT's parameters.
    pub struct FqCobaltConfig {
        /// The number of queues, in sets of eight.
        flows: u32 = 1024, unit "queues", source "CAKE";
        /// The credit that a queue gets for each round. CAKE takes less below 50 Mbit/s: 300 B up to 10 Mbit/s.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "CAKE, when it does not shape";
        /// Whether an emptied new queue passes through the old ones: `always`, `if_any` or `never`.
        through_old: ThroughOld = ThroughOld::Never, unit "name", source "CAKE; RFC 8290, section 4.2, has always";
        /// Let a queue's last packet through, marked perhaps, where COBALT would drop it.
        spare_last: bool = true, unit "true or false", source "CAKE";
        /// The time in its queue that a packet may take for good, and the time between two corrections of `p_drop`.
        target: Duration = Duration::from_millis(5), unit "time", source "CAKE";
        /// How long packets must wait above `target` before the first signal.
        interval: Duration = Duration::from_millis(100), unit "time", source "CAKE";
        /// Nothing is signalled while packets wait no longer than four of this size take to send.
        mtu: Bytes = Bytes::new(1500), unit "bytes", source "CAKE; Ethernet";
        /// How the square root is computed: `exact`, `newton16` or `table32`.
        sqrt: Sqrt = Sqrt::Table32, unit "name", source "CAKE";
        /// What BLUE adds to its probability when a packet of its queue is pushed out.
        p_inc: Prob = Prob::clamped(1.0 / 256.0), unit "1", source "CAKE";
        /// What BLUE takes from its probability when its queue is empty.
        p_dec: Prob = Prob::clamped(1.0 / 4096.0), unit "1", source "CAKE";
        /// Whether a wait above `blue_threshold` raises BLUE's probability too.
        blue_on_delay: bool = false, unit "true or false", source "CAKE; or ns-3's COBALT: true";
        /// That wait.
        blue_threshold: Duration = Duration::from_millis(400), unit "time", source "ns-3's COBALT";
        /// The most that may wait in all queues.
        limit: Limit = Limit::Bytes(Bytes::new(4 << 20)), unit "packets or bytes", source "CAKE: the least when it shapes";
    }
}

impl Discipline for FqCobaltConfig {
    const NAME: &'static str = "fq_cobalt";
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str =
        "CAKE without its shaper: a queue for each flow under COBALT, new flows first";
    const PAGE: &'static str = include_str!("../../pages/fq_cobalt.md");

    fn resolve(&self, link: &LinkContext) -> Result<FqCobaltConfig, ParameterError> {
        check_flows(self.flows)?;
        check((self.flows as usize).is_multiple_of(WAYS), "flows", "a multiple of 8", self.flows)?;
        check_quantum(self.quantum)?;
        self.cobalt().resolve(link)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| self.queue(link, rng))
    }
}

impl FqCobaltConfig {
    /// The COBALT of each queue.
    fn cobalt(&self) -> CobaltConfig {
        CobaltConfig {
            target: self.target,
            interval: self.interval,
            mtu: self.mtu,
            sqrt: self.sqrt,
            p_inc: self.p_inc,
            p_dec: self.p_dec,
            blue_on_delay: self.blue_on_delay,
            blue_threshold: self.blue_threshold,
            limit: self.limit,
        }
    }

    fn queue<P>(&self, link: &LinkContext, mut rng: Stream) -> FlowQueue<CobaltOfFlow, P> {
        let flows = self.flows as usize;
        let plan = Plan {
            hash: FlowHash::set_associative(flows, rng.next_u64()),
            round: Round::new(Rules::SparseFirst(self.through_old), self.quantum, flows),
            limit: self.limit,
            depth: u32::MAX,
            eviction: Some(Eviction::Fattest),
            backlog: Backlog::Flow,
        };
        let (config, spare_last) = (self.cobalt(), self.spare_last);
        FlowQueue::new(plan, flows, &mut rng, |rng| CobaltOfFlow {
            cobalt: Cobalt::new(&config, link, rng),
            spare_last,
        })
    }
}

/// The COBALT of one queue, which may have to spare the last packet.
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
