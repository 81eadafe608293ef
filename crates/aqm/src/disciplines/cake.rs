//! CAKE: a shaper, traffic classes, fairness among hosts and flows, and COBALT, in one queue.
//!
//! The shaper makes the queue the bottleneck, so that packets wait here and not in a modem. It compensates for the overhead
//! of the link. Code points sort packets into tins, each with a share of the rate up to which it has priority. In a tin, a
//! set-associative hash gives flows queues of their own, hosts have equal shares, and COBALT keeps each queue short.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: a comprehensive queue management solution for home
//! gateways", LANMAN 2018; tc-cake(8); Linux `sch_cake.c`.
//!
//! Differs from Linux: clocks keep fractions of nanoseconds; the memory of a packet is a model (`parts/cake/memory.rs`);
//! of equally long queues, the first in the rotation loses a packet.

use aqmlab_units::{BitRate, Bytes, Duration, Range, Stream};

use crate::parameter::{HOUR, PACKET_SIZE, above, check, from, parameters, up_to};
use crate::parts::cake::framing::Framing;
use crate::parts::cake::queue::{self, Plan};
use crate::parts::cake::rules::TinRules;
use crate::parts::cake::several::SeveralCakes;
use crate::{
    AckFilter, Atm, Bandwidth, Coin, DecidesAt, Diffserv, Discipline, Isolation, Limit, LinkContext,
    LinkLayer, ParameterError, Rtt, SignedSize, Tc, TcWords, Variant, Visitor,
};

/// Rates from one at which a packet takes seconds to a hundred times what is built.
const RATES: Range<BitRate> = from(SLOWEST).up_to(BitRate::from_mbit_per_sec(1_000_000));

const SLOWEST: BitRate = match BitRate::from_bits_per_sec(1_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// The overheads that tc(8) accepts.
const OVERHEADS: Range<SignedSize> = from(SignedSize(-64)).up_to(SignedSize(256));

parameters! {
    /// CAKE's parameters, under the names of tc-cake(8).
    pub struct CakeConfig {
        /// The arithmetic of the clocks: fractions of nanoseconds are kept, or lost as in Linux.
        variant: Variant = Variant::Published, source "no drift; or Linux sch_cake.c: linux", omit default;
        /// The rate of the shaper.
        bandwidth: Bandwidth = Bandwidth::Unlimited, in RATES, source "tc-cake(8)", tc TcWords::Value("bandwidth");
        /// Estimate the rate of arrivals, and shape to 15/16 of it.
        autorate_ingress: bool = false, source "tc-cake(8)", tc TcWords::Flag("autorate-ingress", "");
        /// The tins.
        diffserv: Diffserv = Diffserv::Diffserv3, source "tc-cake(8)", tc TcWords::Name(&[]);
        /// The isolation of flows and hosts.
        isolation: Isolation = Isolation::TripleIsolate, source "tc-cake(8)", tc TcWords::Name(&[]);
        /// The filter of acknowledgements.
        ack_filter: AckFilter = AckFilter::NoAckFilter, source "tc-cake(8)", tc TcWords::Name(&[]), omit default;
        // `nonat` is not written: a kernel without connection tracking refuses it.
        /// Tell hosts behind a NAT apart.
        nat: bool = false, source "tc-cake(8)", tc TcWords::Flag("nat", "");
        /// Set the code points of packets to 0 behind the queue, so that only this one and those before it classify by them.
        wash: bool = false, source "tc-cake(8)", tc TcWords::Flag("wash", "nowash"), omit default;
        /// The round-trip time of typical paths, which COBALT's interval is; its target is a twentieth.
        rtt: Rtt = Rtt(Duration::from_millis(100)), in above(Duration::ZERO).up_to(HOUR), source "tc-cake(8)", tc TcWords::Value("rtt");
        /// Shape what has already passed the bottleneck: dropped packets count like sent ones.
        ingress: bool = false, source "tc-cake(8)", tc TcWords::Flag("ingress", "egress");
        /// The layers below IP, whose overhead, minimum and cells count. Automatic: `ip` with `overhead` or `ether_vlan`, else `raw`.
        link_layer: Option<LinkLayer> = None, source "tc-cake(8)", tc TcWords::Name(&["ip"]);
        /// Bytes of each packet on the link beyond its IP packet. Automatic: those of `link_layer`.
        overhead: Option<SignedSize> = None, in OVERHEADS, source "tc-cake(8)", tc TcWords::Value("overhead");
        /// The length of the shortest packet on the link, with its overhead. Automatic: that of `link_layer`.
        mpu: Option<Bytes> = None, in up_to(Bytes::new(256)), source "tc-cake(8)", tc TcWords::Value("mpu");
        /// The cells into which the link divides packets. Automatic: those of `link_layer`.
        atm: Option<Atm> = None, source "tc-cake(8)", tc TcWords::Name(&[]);
        /// Tags of virtual networks in each frame, which add 4 B each to the overhead.
        ether_vlan: u32 = 0, in up_to(8), unit "tags", source "tc-cake(8)", tc TcWords::Repeated("ether-vlan");
        /// The longest frame, whose transmission time raises COBALT's target on slow links.
        mtu: Bytes = Bytes::new(1514), in PACKET_SIZE, source "Linux: that of the device; Ethernet";
        /// The memory for waiting packets. Automatic: four times `bandwidth` and `rtt`, at least 4 MiB and at most 10240 frames.
        memlimit: Option<Bytes> = None, in from(Bytes::new(4096)), source "tc-cake(8)", tc TcWords::Value("memlimit");
        /// The transmit queues of the device, each with a CAKE and its part of the rate: `cake_mq` with more than one.
        queues: u32 = 1, in from(1).up_to(1024), unit "queues", source "ours: a link is one queue", omit default;
        /// The maximum that may wait besides `memlimit`.
        limit: Limit = Limit::Packets(100_000), source "ours: memlimit is reached first";
    }
}

impl Discipline for CakeConfig {
    const FAMILY: &'static str = "fair queueing";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str = "A shaper with traffic classes, fair to hosts and flows, under COBALT";
    const TC: Option<Tc> = Some(Tc {
        names: &["cake"],
        ecn: None,
        values: &[("variant", "linux")],
        accepted: &["nonat", "split-gso", "via-ethernet"],
        refused: &[
            ("fwmark", "packets have no marks of a firewall"),
            ("no-split-gso", "packets are no aggregates"),
        ],
    });

    fn complete(&self, _link: &LinkContext) -> Result<CakeConfig, ParameterError> {
        let has_overhead = self.overhead.is_some() || self.ether_vlan > 0;
        let of_overhead = if has_overhead { LinkLayer::Ip } else { LinkLayer::Raw };
        let layer = self.link_layer.unwrap_or(of_overhead);
        let (overhead, mpu, atm) = layer.preset();
        let overhead = self.overhead.unwrap_or(SignedSize(overhead));
        let is_raw = layer == LinkLayer::Raw;
        check(!is_raw || overhead.0 == 0, "overhead", "0 B with link_layer = raw", &overhead)?;
        let adapts = self.autorate_ingress && self.queues > 1;
        check(!adapts, "queues", "1 with autorate_ingress, as in Linux", &self.queues)?;
        check(!is_raw || self.ether_vlan == 0, "ether_vlan", "0 with link_layer = raw", &self.ether_vlan)?;
        Ok(CakeConfig {
            link_layer: Some(layer),
            overhead: Some(overhead),
            mpu: Some(self.mpu.unwrap_or(Bytes::new(mpu))),
            atm: Some(self.atm.unwrap_or(atm)),
            ..self.clone()
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        if self.queues > 1 {
            visitor.queue(|rng| self.several(link, rng))
        } else {
            visitor.queue(|rng| queue::Cake::<_, Stream>::new(self.plan(link), rng, None))
        }
    }
}

impl CakeConfig {
    /// Return an empty queue that tosses this coin where Linux tosses its own.
    pub(crate) fn queue_of_linux<P, C: Coin>(
        &self,
        link: &LinkContext,
        rng: Stream,
        coin: C,
    ) -> queue::Cake<P, C> {
        queue::Cake::new(self.plan(link), rng, Some(coin))
    }

    pub(crate) fn several<P>(&self, link: &LinkContext, rng: Stream) -> SeveralCakes<P> {
        SeveralCakes::new(self.queues as usize, self.plan(link), rng)
    }

    fn plan(&self, link: &LinkContext) -> Plan {
        let complete = "a resolved configuration is complete";
        let framing =
            (self.overhead.expect(complete).0, self.mpu.expect(complete), self.atm.expect(complete));
        Plan {
            rate: self.bandwidth.rate().map(|rate| rate.bits_per_sec() / 8),
            diffserv: self.diffserv,
            tin_rules: TinRules {
                isolation: self.isolation,
                rtt: self.rtt.0,
                mtu: self.mtu,
                ingress: self.ingress,
                variant: self.variant,
                ack_filter: self.ack_filter,
            },
            framing: Framing::new(self.link_layer.expect(complete), framing, self.ether_vlan, link.header),
            nat: self.nat,
            wash: self.wash,
            autorate: self.autorate_ingress,
            memlimit: self.memlimit,
            limit: self.limit,
        }
    }
}
