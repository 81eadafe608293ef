//! AVQ, the adaptive virtual queue: a virtual queue on a slower virtual link whose capacity adapts to the load.
//!
//! Each arrival also enters a virtual queue that a link of the virtual capacity serves; an arrival that overflows
//! it is signalled. The virtual capacity falls with each arrival and rises with time, so that arrivals settle at
//! the share `gamma` of the link.
//!
//! Source: Kunniyur and Srikant, "Analysis and design of an adaptive virtual queue (AVQ) algorithm for active queue
//! management", SIGCOMM 2001, section 2 and the algorithm of section 5.
//!
//! Differs from ns-2 (`vq.cc`): bytes are counted on the wire, including each frame's overhead. The virtual
//! capacity is clipped to C before a packet is subtracted from it, as in the paper; ns-2 clips it after. A packet
//! that ns-2 drops is not part of the load: see [`AvqLoad`].

use aqmlab_units::{Bytes, Duration, Prob, Time};

use crate::parameter::{GAIN, PACKET_SIZE, above, choices, parameters};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Packet, QueueState, Verdict, Visitor,
};

parameters! {
    /// AVQ's parameters.
    pub struct AvqConfig {
        /// The rate at which the virtual capacity follows the load.
        alpha: f64 = 0.15, in GAIN, unit "1/s", source "Kunniyur & Srikant 2001; ns-2";
        /// The utilization of the link to aim at.
        gamma: Prob = Prob::clamped(0.98), in above(Prob::ZERO), source "Kunniyur & Srikant 2001; ns-2";
        /// The size of the virtual queue as a multiple of the limit.
        buffer: f64 = 1.0, in GAIN, unit "1", source "Kunniyur & Srikant 2001; ns-2";
        /// The initial virtual capacity, as a share of the link's.
        initial: Prob = Prob::clamped(0.8), source "ns-2";
        /// The arrivals that lower the virtual capacity.
        load: AvqLoad = AvqLoad::Offered, source "Kunniyur & Srikant 2001";
        /// The packet size with which the limit is converted to bytes on the wire.
        mean_packet: Bytes = Bytes::new(500), in PACKET_SIZE, source "Le et al. 2004: a little over 500 B; ns-2 has 1000 B";
        /// The maximum that may wait, in the queue and by default in the virtual one.
        limit: Limit = Limit::Packets(240), source "ours: as drop-tail, Le et al. 2004, the baseline";
    }
}

choices! {
    /// The arrivals that lower the virtual capacity.
    pub enum AvqLoad {
        /// All: offered traffic settles at the share `gamma` of the link, before drops.
        Offered = "offered",
        /// Those that the law lets pass: a signalled packet that is not ECN-capable does not count. As ns-2 when
        /// it drops.
        Accepted = "accepted",
    }
}

impl Discipline for AvqConfig {
    const FAMILY: &'static str = "virtual queue";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "Signals packets that overflow a virtual queue whose capacity adapts to the wanted utilization";

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |_| Avq::new(self, link))
    }
}

/// The AVQ law. It draws no random numbers.
#[derive(Clone, Debug)]
pub struct Avq {
    alpha: f64,
    gamma: f64,
    load: AvqLoad,
    overhead: Bytes,
    /// C, the link's capacity in bytes per second, on the wire.
    c: f64,
    /// B, the size of the virtual queue in bytes on the wire.
    b: f64,
    /// The bytes in the virtual queue.
    vq: f64,
    /// C~, the virtual capacity, in bytes per second.
    c_tilde: f64,
    /// Time of the last arrival.
    s: Time,
    /// The time that has not raised the virtual capacity yet.
    uncredited: Duration,
}

impl Avq {
    /// Return a law that has seen no packet. `config` must have passed [`AvqConfig::resolve`].
    pub fn new(config: &AvqConfig, link: &LinkContext) -> Avq {
        let frames = match config.limit {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(bytes) => bytes.as_f64() / config.mean_packet.as_f64(),
        };
        let c = link.rate.packets_per_sec(Bytes::new(1));
        Avq {
            alpha: config.alpha,
            gamma: config.gamma.get(),
            load: config.load,
            overhead: link.overhead,
            c,
            b: config.buffer * frames * link.on_wire(config.mean_packet).as_f64(),
            vq: 0.0,
            c_tilde: config.initial.get() * c,
            s: Time::ZERO,
            uncredited: Duration::ZERO,
        }
    }

    /// Enqueue a packet into the virtual queue that arrives `dt` after the previous one. Returns false on
    /// overflow.
    fn enqueue_virtual(&mut self, bytes: f64, dt: Duration) -> bool {
        // VQ = max(0, VQ - C~ (t - s)), then VQ + b if that is at most B
        self.vq = (self.vq - self.c_tilde * dt.as_secs_f64()).max(0.0);
        let fits = self.vq + bytes <= self.b;
        if fits {
            self.vq += bytes;
        }
        fits
    }

    fn adapt(&mut self, bytes: f64) {
        let dt = std::mem::take(&mut self.uncredited).as_secs_f64();
        // C~ = max(0, min(C, C~ + alpha gamma C (t - s)) - alpha b)
        let credited = (self.c_tilde + self.alpha * self.gamma * self.c * dt).min(self.c);
        self.c_tilde = (credited - self.alpha * bytes).max(0.0);
    }
}

impl DecidesAtEnqueue for Avq {}

impl Aqm for Avq {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, _queue: QueueState, now: Time) -> Verdict {
        let dt = now - self.s;
        self.s = now;
        self.uncredited = self.uncredited + dt;
        let bytes = (pkt.size + self.overhead).as_f64();
        let fits = self.enqueue_virtual(bytes, dt);
        // A mark does not reduce the load on the link, a drop does.
        if self.load == AvqLoad::Offered || fits || pkt.ecn.is_capable() {
            self.adapt(bytes);
        }
        if fits { Verdict::Pass } else { Verdict::Mark }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("vq", self.vq);
        out("c_tilde", self.c_tilde);
    }
}
