//! FQ: a queue for each flow, served in fair rounds, without a law. Its packets may be marked above a sojourn time.
//!
//! Linux hosts use it, as it also paces the flows of their own sockets. Here, as on a router, packets belong to no socket:
//! flows are hashed, and nothing is paced.
//!
//! Source: Linux `sch_fq.c`, tc-fq(8).
//!
//! It is Linux's discipline in every detail, for packets of one priority: a packet that finds all flows empty leaves first, and
//! is never marked; a flow that has been idle for `refill_delay` gets a whole quantum.

use aqmlab_units::{Bytes, Duration};

use crate::parameter::{HOUR, QUANTUM, check, from, parameters, up_to};
use crate::parts::linux::coin::Coin;
use crate::parts::linux::fq::LinuxFq;
use crate::{DecidesAt, Discipline, EcnUse, Limit, LinkContext, ParameterError, Tc, TcWords, Visitor};

parameters! {
    /// FQ's parameters.
    pub struct FqConfig {
        /// The credit of a flow in each round.
        quantum: Bytes = Bytes::new(3028), in QUANTUM, source "Linux: two Ethernet frames", tc TcWords::Value("quantum");
        /// The credit of a flow with its first packet.
        initial_quantum: Bytes = Bytes::new(15_140), in QUANTUM, source "Linux: ten Ethernet frames", tc TcWords::Value("initial_quantum");
        /// The maximum number of packets of a flow.
        flow_limit: u32 = 100, in from(1), unit "packets", source "Linux", tc TcWords::Value("flow_limit");
        /// The bits of a flow's hash that select its queue: of 1023, ten.
        orphan_mask: u32 = 1023, in up_to(2046), unit "mask", source "Linux", tc TcWords::Value("orphan_mask");
        /// The idle time after which a flow gets a new quantum; it ends with a tick of a millisecond.
        refill_delay: Duration = Duration::from_millis(40), in up_to(HOUR), source "Linux", tc TcWords::Value("refill_delay");
        /// The sojourn time above which each ECN-capable packet is marked. Automatic: none.
        ce_threshold: Option<Duration> = None, in up_to(HOUR), source "Linux", tc TcWords::Value("ce_threshold"), omit default;
        /// The maximum that may wait in all flows.
        limit: Limit = Limit::Packets(10_000), source "Linux", tc TcWords::Value("limit");
    }
}

impl Discipline for FqConfig {
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const ECN: EcnUse = EcnUse::Ignores;
    const SUMMARY: &'static str =
        "A queue for each flow, served in fair rounds, with marks above a threshold";
    const TC: Option<Tc> = Some(Tc {
        names: &["fq"],
        ecn: None,
        values: &[],
        accepted: &[
            "buckets 1024",
            "bands 3",
            "priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
            "weights 589824 196608 65536",
            "low_rate_threshold 550Kbit",
            "timer_slack 10us",
            "timer_slack 10.000us",
            "horizon 10s",
            "horizon_drop",
            "pacing",
        ],
        refused: &[
            ("buckets", "it changes the speed of the search for a flow alone: write 1024"),
            ("bands", "packets have no priorities"),
            ("priomap", "packets have no priorities"),
            ("weights", "packets have no priorities"),
            ("low_rate_threshold", "it concerns the pacing of sockets, and packets of a router have none"),
            ("timer_slack", "it concerns the pacing of sockets, and packets of a router have none"),
            ("horizon", "packets of a router have no time to be sent at"),
            ("horizon_cap", "packets of a router have no time to be sent at"),
            ("offload_horizon", "packets of a router have no time to be sent at"),
            ("maxrate", "flows are paced by their senders alone"),
            ("defrate", "Linux ignores it since 3.13"),
            ("nopacing", "pacing is that of sockets, and packets of a router have none: leave it out"),
        ],
    });

    fn complete(&self, _link: &LinkContext) -> Result<FqConfig, ParameterError> {
        let in_packets = matches!(self.limit, Limit::Packets(1..));
        check(in_packets, "limit", "a number of packets", &self.limit)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, _link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|mut rng| self.linux_queue(&mut rng))
    }
}

impl FqConfig {
    /// Return the queue, whose flows are hashed with the key of this coin.
    pub(crate) fn linux_queue<P>(&self, coin: &mut impl Coin) -> LinuxFq<P> {
        LinuxFq::new(self, coin.flow_key())
    }
}
