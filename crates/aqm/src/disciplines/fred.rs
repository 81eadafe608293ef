//! FRED, flow random early drop: RED that counts each flow's packets in the queue.
//!
//! A flow with few waiting packets is spared. A flow above its share loses its packets, and one that exceeds it
//! repeatedly is limited to the average share from then on. Only the other flows are subject to RED's random
//! drop.
//!
//! Source: Lin and Morris, "Dynamics of random early detection", SIGCOMM 1997: the pseudocode of FRED.
//!
//! Differs from the paper: signals are spaced as [`Spacing`] says, whose `figure2` is the pseudocode and whose
//! `uniform`, the default, counts one packet less. An arrival that the limit drops has been sampled in the
//! average. `avgcq` is computed when it is needed. The paper does not mention ECN: here the random drop is a
//! signal, which marks an ECN-capable packet, and a flow that exceeds its bounds is always dropped. The treatment
//! from `max_th` on is an option, [`AboveMax`].

use aqmlab_units::{Bytes, Prob, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{LENGTH, PACKET_SIZE, WEIGHT, above, check, choices, parameters};
use crate::parts::average::Average;
use crate::parts::flows::table::FlowTable;
use crate::parts::queue_unit::QueueUnit;
use crate::parts::red_curve::RedCurve;
use crate::{
    Aqm, DecidesAt, Discipline, Fifo, Limit, LinkContext, Mode, Packet, ParameterError, QueueState, Spacing,
    Verdict, Visitor,
};

choices! {
    /// Treatment of packets from `max_th` on, if their flow is within its bounds.
    pub enum AboveMax {
        /// All are dropped, as in J-Sim's port of the pseudocode.
        Drop = "drop",
        /// A flow may have two packets waiting: the paper's support for many flows, of which `maxq = 2` is a part.
        TwoPackets = "two_packets",
    }
}

parameters! {
    /// FRED's parameters. A parameter that is `None` follows from the limit.
    pub struct FredConfig {
        /// The average below which no packet is dropped at random, and the maximum number of a flow's waiting
        /// packets; automatic: a quarter of the limit.
        min_th: Option<f64> = None, in above(0.0).up_to(1e9), unit "packets", source "Lin & Morris 1997: a quarter of the buffer or a round trip";
        /// The average at which the probability reaches `max_p`; automatic: 2 `min_th`.
        max_th: Option<f64> = None, in LENGTH, unit "packets", source "Lin & Morris 1997";
        /// The weight of a new sample in the average.
        w_q: f64 = 0.002, in WEIGHT, unit "1", source "Lin & Morris 1997";
        /// The probability at `max_th`.
        max_p: Prob = Prob::clamped(0.02), source "Lin & Morris 1997";
        /// A flow with fewer waiting packets is not dropped at random; 2 suits a small queue.
        minq: u32 = 4, unit "packets", source "Lin & Morris 1997: large buffers; Kwon & Fahmy 2003";
        /// Treatment of packets from `max_th` on.
        above_max: AboveMax = AboveMax::Drop, source "J-Sim";
        /// The spacing of signals.
        spacing: Spacing = Spacing::Uniform, source "Floyd & Jacobson 1993; Lin & Morris 1997";
        /// The unit of queues: packets or bytes.
        mode: Mode = Mode::Packet, source "Lin & Morris 1997";
        /// The packet size that counts as one packet, in byte mode and for the packets that the link would have
        /// sent when idle.
        mean_packet: Bytes = Bytes::new(500), in PACKET_SIZE, source "ns-2; Le et al. 2004: a little over 500 B";
        /// The maximum that may wait.
        limit: Limit = Limit::Packets(240), source "ours: the room of the drop-tail baseline";
    }
}

impl Discipline for FredConfig {
    const FAMILY: &'static str = "flows";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str = "RED that spares flows with few packets waiting and bounds those with many";

    fn complete(&self, _link: &LinkContext) -> Result<FredConfig, ParameterError> {
        let (min_th, max_th) = self.thresholds();
        check(max_th > min_th, "max_th", format_args!("above min_th = {min_th} packets"), &max_th)?;
        Ok(FredConfig { min_th: Some(min_th), max_th: Some(max_th), ..self.clone() })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| Fifo::new(Fred::new(self, link, rng), self.limit))
    }
}

impl FredConfig {
    /// `min_th` and `max_th`, in packets.
    fn thresholds(&self) -> (f64, f64) {
        let buffer = match self.limit {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(bytes) => bytes.as_f64() / self.mean_packet.as_f64(),
        };
        let min_th = self.min_th.unwrap_or(buffer / 4.0);
        (min_th, self.max_th.unwrap_or(2.0 * min_th))
    }
}

/// The FRED law.
#[derive(Clone, Debug)]
pub struct Fred {
    min_th: f64,
    max_th: f64,
    minq: f64,
    above_max: AboveMax,
    spacing: Spacing,
    measure: QueueUnit,
    rng: Stream,
    curve: RedCurve,
    avg: Average,
    /// Packets passed between the thresholds since the last signal.
    count: f64,
    flows: FlowTable,
}

impl Fred {
    /// Return a law that has seen only an empty queue. `config` must have passed [`FredConfig::resolve`].
    pub fn new(config: &FredConfig, link: &LinkContext, rng: Stream) -> Fred {
        let (min_th, max_th) = config.thresholds();
        Fred {
            min_th,
            max_th,
            minq: f64::from(config.minq),
            above_max: config.above_max,
            spacing: config.spacing,
            measure: QueueUnit::new(config.mode, config.mean_packet),
            rng,
            curve: RedCurve::new(min_th, max_th, config.max_p.get(), false),
            avg: Average::new(config.w_q, link.packets_per_sec(config.mean_packet)),
            count: 0.0,
            flows: FlowTable::default(),
        }
    }

    /// The average share of an active flow.
    fn avgcq(&self) -> f64 {
        // avgcq = max(1, avg / Nactive)
        (self.avg.get() / self.flows.active()).max(1.0)
    }

    fn judge(&mut self, pkt: &Packet) -> Verdict {
        let (avg, avgcq) = (self.avg.get(), self.avgcq());
        let crowded = avg >= self.max_th;
        // maxq = min_th, or 2 once avg >= max_th
        let maxq = if crowded { 2.0 } else { self.min_th };
        let flow = self.flows.get(pkt.flow);
        let (qlen, strike) = (self.measure.queue(flow.waiting), flow.strike);
        // qlen >= maxq, or avg >= max_th and qlen > 2 avgcq, or qlen >= avgcq and strike > 1: a non-adaptive flow
        if qlen >= maxq || (crowded && qlen > 2.0 * avgcq) || (qlen >= avgcq && strike > 1) {
            self.flows.strike(pkt.flow);
            return Verdict::Drop;
        }
        if avg < self.min_th {
            self.count = 0.0;
            return Verdict::Pass;
        }
        if crowded {
            self.count = 0.0;
            return match self.above_max {
                AboveMax::Drop => Verdict::Drop,
                AboveMax::TwoPackets => Verdict::Pass,
            };
        }
        // Flows with few packets are fragile: a random drop would cost them a timeout.
        let is_robust = qlen >= self.minq.max(avgcq);
        if is_robust && self.draw_signal(pkt, avg) {
            self.count = 0.0;
            return Verdict::Mark;
        }
        self.count += 1.0;
        Verdict::Pass
    }

    /// Draw RED's random signal between the thresholds.
    fn draw_signal(&mut self, pkt: &Packet, avg: f64) -> bool {
        let p_b = self.curve.p_b(avg) * self.measure.packet(pkt);
        // p_a = p_b / rest
        let rest = self.spacing.rest(self.count, self.count + 1.0, p_b);
        rest.is_some_and(|rest| p_b >= rest || bernoulli(p_b, rest, &mut self.rng))
    }
}

impl Aqm for Fred {
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        if queue.packets == 0 {
            self.avg.age(now);
        }
        let verdict = self.judge(pkt);
        if verdict == Verdict::Pass || (verdict == Verdict::Mark && pkt.ecn.is_capable()) {
            // A dropped packet does not move the average, nor does an empty queue, whose average has aged
            // instead.
            if queue.packets > 0 {
                self.avg.sample(self.measure.queue(queue));
            }
            self.flows.add(pkt);
        }
        verdict
    }

    fn on_dequeue(&mut self, pkt: &Packet, _enqueued_at: Time, queue: QueueState, _now: Time) -> Verdict {
        self.avg.sample(self.measure.queue(queue));
        self.flows.remove(pkt);
        Verdict::Pass
    }

    fn on_overflow(&mut self, pkt: &Packet, _queue: QueueState, _now: Time) {
        self.flows.remove(pkt);
    }

    fn on_empty(&mut self, now: Time) {
        self.avg.start_idle(now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.avg.get());
        out("p_b", self.curve.p_b(self.avg.get()));
        out("avgcq", self.avgcq());
    }
}
