//! SFQ, stochastic fairness queueing: flows are hashed onto queues, and the queues are served in turn.
//! There is no active management: an overflow drops a packet of the longest queue. The hash can be changed from
//! time to time, so that flows that share a queue do not share it forever.
//!
//! Source: McKenney, "Stochastic fairness queueing", INFOCOM 1990; Shreedhar and Varghese, "Efficient fair queuing using
//! deficit round-robin", IEEE/ACM Transactions on Networking 4(3), 1996; defaults of Linux `sch_sfq.c`.
//!
//! Differs from Linux: a rehash drops no packet, although a queue may then hold more than `depth`. The first of
//! the longest queues loses a packet; Linux takes the one that grew last. There is no RED in the queues.
//! [`Variant::Linux`] is Linux's discipline in every detail but changes of the hash.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::parameter::{QUANTUM, QUEUES, check, from, parameters};
use crate::parts::drr::Rules;
use crate::parts::flows::queue::{FlowQueue, Plan};
use crate::parts::linux::sfq::LinuxSfq;
use crate::parts::linux::with_linux_values;
use crate::parts::overflow::Eviction;
use crate::{
    Admission, Counters, DecidesAt, Departure, Discipline, Droptail, EcnUse, Limit, LinkContext, Packet,
    ParameterError, Qdisc, QueueEnd, QueueState, Tc, TcWords, Turns, Variant, Visitor,
};

parameters! {
    /// SFQ's parameters. The limit is the classic one, for slow links; at 100 Mbit/s use some ten times as much.
    pub struct SfqConfig {
        /// The number of queues that flows are hashed to.
        flows: u32 = 1024, in QUEUES, unit "queues", source "Linux sch_sfq.c: the hash table's size", tc TcWords::Value("divisor");
        /// The data that a queue may send in its turn.
        turns: Turns = Turns::Surplus, source "Linux sch_sfq.c";
        /// The credit of a queue in each round; no effect with turns of one packet.
        quantum: Bytes = Bytes::new(1514), in QUANTUM, source "Linux sch_sfq.c: one full Ethernet frame", tc TcWords::Value("quantum");
        /// The maximum number of packets in one queue.
        depth: u32 = 127, in from(1), unit "packets", source "Linux sch_sfq.c", tc TcWords::Value("depth");
        /// The end of a queue that is too long at which a packet is dropped.
        drop: QueueEnd = QueueEnd::Tail, source "Linux sch_sfq.c", tc TcWords::Choice(&[("head", "headdrop")]);
        /// The time between two changes of the hash; 0 s: never.
        perturb: Duration = Duration::ZERO, source "Linux sch_sfq.c";
        /// At a change of the hash, move waiting packets to their new queues, so that no flow is reordered.
        rehash: bool = true, source "Linux sch_sfq.c; McKenney 1990: false";
        /// The description that the discipline follows.
        variant: Variant = Variant::Published, source "McKenney 1990; or Linux sch_sfq.c: linux", omit default;
        /// The maximum that may wait in all queues.
        limit: Limit = Limit::Packets(127), source "Linux sch_sfq.c", tc TcWords::Value("limit");
    }
}

impl Discipline for SfqConfig {
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const ECN: EcnUse = EcnUse::Ignores;
    const SUMMARY: &'static str = "Hashes flows to queues served in turn, and drops from the longest";
    const TC: Option<Tc> = Some(Tc {
        names: &["sfq"],
        ecn: None,
        values: &[("variant", "linux")],
        accepted: &["perturb 0"],
        refused: &[("perturb", "the hash of variant = linux does not change")],
    });

    fn complete(&self, _link: &LinkContext) -> Result<SfqConfig, ParameterError> {
        let is_too_frequent = Duration::ZERO < self.perturb && self.perturb < Duration::from_millis(1);
        check(!is_too_frequent, "perturb", "0 s or at least 1 ms", &self.perturb)?;
        let is_linux = self.variant == Variant::Linux;
        let is_fixed = self.perturb == Duration::ZERO;
        check(!is_linux || is_fixed, "perturb", "0 s with variant = linux", &self.perturb)?;
        let is_power = !is_linux || self.flows.is_power_of_two();
        check(is_power, "flows", "a power of two with variant = linux", &self.flows)?;
        let is_in_packets = matches!(self.limit, Limit::Packets(2..));
        check(!is_linux || is_in_packets, "limit", "at least 2 packets with variant = linux", &self.limit)?;
        with_linux_values(self, self.variant, |config| config.turns = Turns::Surplus)
    }

    fn visit<V: Visitor>(&self, _link: &LinkContext, visitor: V) -> V::Output {
        match self.variant {
            Variant::Published => visitor.queue(|rng| Sfq::new(self, rng)),
            Variant::Linux => visitor.queue(|rng| LinuxSfq::new(self, rng)),
        }
    }
}

/// Stochastic fairness queueing.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    queues: FlowQueue<Droptail, P>,
    perturb: Duration,
    rehash: bool,
    next_perturbation: Option<Time>,
    rng: Stream,
}

impl<P> Sfq<P> {
    /// Return empty queues. `config` must have passed [`SfqConfig::resolve`].
    pub fn new(config: &SfqConfig, mut rng: Stream) -> Sfq<P> {
        let plan = Plan {
            depth: config.depth,
            eviction: Some(Eviction::Longest(config.drop)),
            ..Plan::new(config.flows, Rules::Plain(config.turns), config.quantum, config.limit)
        };
        let queues = FlowQueue::new(plan, &mut rng, |_| Droptail);
        let next_perturbation = (config.perturb > Duration::ZERO).then_some(Time::ZERO + config.perturb);
        Sfq { queues, perturb: config.perturb, rehash: config.rehash, next_perturbation, rng }
    }
}

impl<P> Qdisc<P> for Sfq<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        self.queues.enqueue(packet, payload, now, lost)
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        self.queues.dequeue(now, lost)
    }

    fn state(&self) -> QueueState {
        self.queues.state()
    }

    fn counters(&self) -> Counters {
        self.queues.counters()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_perturbation
    }

    fn on_timeout(&mut self, now: Time) {
        if let Some(due) = self.next_perturbation.filter(|&due| due <= now) {
            self.next_perturbation = Some(due + self.perturb);
            self.queues.perturb(self.rng.next_u64(), self.rehash);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.queues.probe(out);
    }
}
