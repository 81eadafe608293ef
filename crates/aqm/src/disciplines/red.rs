//! RED, random early detection: signals with a probability that grows with the average queue.
//!
//! Each arrival updates a moving average of the queue. Between two thresholds, packets are signalled with a
//! probability that grows with the average, and the signals are spaced evenly. Above the thresholds all packets
//! are signalled.
//!
//! Source: Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993; "gentle" after Floyd (2000).
//!
//! Differs from the paper where both ns-2 (`red.cc`) and ALTQ (`altq_red.c`) do: no signal while at most one
//! packet waits; the packet with which the average crosses `min_th` passes and counts as the first since the last
//! signal; an ordinary sample of the empty queue follows an idle period. Where those two differ from each other
//! or from the paper, there is an option: [`Spacing`], [`ByteScaling`], [`EcnAboveMax`]. A packet that the
//! queue's limit drops counts as passed. [`Variant::Linux`] is Linux's law in every detail, with the table that `tc` makes.

use aqmlab_units::{Bytes, Prob, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{LENGTH, PACKET_SIZE, WEIGHT, check, parameters};
use crate::parts::average::Average;
use crate::parts::linux::coin::Coin;
use crate::parts::linux::fifo::{LinuxFifo, Order};
use crate::parts::linux::red::{LinuxRed, threshold, weight_log};
use crate::parts::linux::with_linux_values;
use crate::parts::queue_unit::QueueUnit;
use crate::parts::red_curve::RedCurve;
use crate::{
    Aqm, ByteScaling, DecidesAt, DecidesAtEnqueue, Discipline, EcnAboveMax, Limit, LinkContext, Mode, Packet,
    ParameterError, QueueState, Spacing, Variant, Verdict, Visitor,
};

parameters! {
    /// RED's parameters. The defaults are the classic ones for a slow link. At 100 Mbit/s use larger thresholds
    /// and a smaller weight, or ARED, which sets them automatically.
    pub struct RedConfig {
        /// The average below which no packet is signalled.
        min_th: f64 = 5.0, in LENGTH, unit "packets", source "Floyd & Jacobson 1993; ns-3, ALTQ";
        /// The average at which the probability reaches `max_p`.
        max_th: f64 = 15.0, in LENGTH, unit "packets", source "Floyd & Jacobson 1993; ns-3, ALTQ";
        /// The weight of a new sample in the average; a smaller one averages over a longer time.
        w_q: f64 = 0.002, in WEIGHT, unit "1", source "Floyd & Jacobson 1993; ns-3";
        /// The probability at `max_th`.
        max_p: Prob = Prob::clamped(0.1), source "ns-2; ALTQ";
        /// Raise the probability from `max_p` at `max_th` to 1 at twice `max_th`, instead of at once.
        gentle: bool = true, source "Floyd 2000; ns-2, ns-3";
        /// The spacing of signals.
        spacing: Spacing = Spacing::Uniform, source "Floyd & Jacobson 1993";
        /// Treatment of ECN-capable packets from `max_th` on.
        ecn_policy: EcnAboveMax = EcnAboveMax::DropAboveMax, source "RFC 3168; Le et al. 2004";
        /// The unit of the queue: packets or bytes.
        mode: Mode = Mode::Packet, source "Le et al. 2004";
        /// In byte mode, the order of scaling by size and spacing.
        byte_scaling: ByteScaling = ByteScaling::BeforeSpacing, source "Floyd & Jacobson 1993; Le et al. 2004";
        /// The packet size that counts as one packet, in byte mode and for the packets that the link would have
        /// sent when idle.
        mean_packet: Bytes = Bytes::new(500), in PACKET_SIZE, source "ns-2; Le et al. 2004: a little over 500 B";
        /// The description that the law follows.
        variant: Variant = Variant::Published, source "Floyd & Jacobson 1993; or Linux sch_red.c: linux", omit default;
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "Le et al. 2004: no tail drops";
    }
}

impl Discipline for RedConfig {
    const FAMILY: &'static str = "RED";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "Signals with a probability that grows with the average queue between two thresholds";

    fn complete(&self, _link: &LinkContext) -> Result<RedConfig, ParameterError> {
        let above = format_args!("above min_th = {} packets", self.min_th);
        check(self.max_th > self.min_th, "max_th", above, &self.max_th)?;
        self.check_linux(self.mean_packet)?;
        with_linux_values(self, self.variant, |config| {
            config.gentle = false;
            config.spacing = Spacing::Uniform;
            config.mode = Mode::Byte;
            config.byte_scaling = ByteScaling::BeforeSpacing;
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match self.variant {
            Variant::Published => visitor.law(self.limit, |rng| Red::new(self, link, rng)),
            Variant::Linux => visitor.queue(|rng| self.linux_queue(link, rng)),
        }
    }
}

impl RedConfig {
    pub(crate) fn linux_queue<P, C: Coin>(&self, link: &LinkContext, coin: C) -> LinuxFifo<LinuxRed<C>, P> {
        LinuxFifo::new(LinuxRed::new(self, link, coin), self.limit, Order::LawFirst)
    }

    /// Refuse values that Linux's whole numbers do not have, for thresholds in packets of this length.
    pub(crate) fn check_linux(&self, packet: Bytes) -> Result<(), ParameterError> {
        if self.variant == Variant::Published {
            return Ok(());
        }
        let log = weight_log(self.w_q);
        check(log.is_some(), "w_q", "a power of two below 1 with variant = linux", &self.w_q)?;
        let longest = threshold(self.max_th, packet) << log.unwrap_or(0);
        check(longest < 1 << 31, "max_th", "less than 2^31 times w_q with variant = linux", &self.max_th)?;
        let is_known = self.ecn_policy != EcnAboveMax::MarkInGentle;
        check(is_known, "ecn_policy", "mark or drop_above_max with variant = linux", &self.ecn_policy)
    }
}

/// The RED law.
#[derive(Clone, Debug)]
pub struct Red {
    min_th: f64,
    max_th: f64,
    spacing: Spacing,
    byte_scaling: ByteScaling,
    ecn_policy: EcnAboveMax,
    measure: QueueUnit,
    pub(crate) rng: Stream,
    curve: RedCurve,
    avg: Average,
    /// Arrivals since the last signal: packets, or mean packets if size scales after spacing. `None` while no
    /// packet may be signalled.
    count: Option<f64>,
}

impl Red {
    /// Return a law that has seen only an empty queue. `config` must have passed [`RedConfig::resolve`].
    pub fn new(config: &RedConfig, link: &LinkContext, rng: Stream) -> Red {
        Red {
            min_th: config.min_th,
            max_th: config.max_th,
            spacing: config.spacing,
            byte_scaling: config.byte_scaling,
            ecn_policy: config.ecn_policy,
            measure: QueueUnit::new(config.mode, config.mean_packet),
            rng,
            curve: RedCurve::new(config.min_th, config.max_th, config.max_p.get(), config.gentle),
            avg: Average::new(config.w_q, link.packets_per_sec(config.mean_packet)),
            count: None,
        }
    }

    pub(crate) fn max_p(&self) -> f64 {
        self.curve.max_p()
    }

    pub(crate) fn set_max_p(&mut self, max_p: f64) {
        self.curve.set_max_p(max_p);
    }

    pub(crate) fn average(&self) -> f64 {
        self.avg.get()
    }

    /// Age the average of an idle queue up to `now`.
    #[inline]
    pub(crate) fn age(&mut self, queue: QueueState, now: Time) {
        if queue.packets == 0 {
            self.avg.age(now);
        }
    }

    /// Sample the queue that an arriving packet finds into the average, and return the average.
    #[inline]
    pub(crate) fn sample(&mut self, queue: QueueState, now: Time) -> f64 {
        self.age(queue, now);
        self.avg.sample(self.measure.queue(queue))
    }

    /// Decide about an arriving packet, which the average already includes.
    #[inline]
    pub(crate) fn judge(&mut self, pkt: &Packet, queue: QueueState) -> Verdict {
        let avg = self.avg.get();
        if avg < self.min_th || queue.packets <= 1 {
            self.count = None;
            return Verdict::Pass;
        }
        if self.draw_signal(pkt, avg) { self.signal(avg) } else { Verdict::Pass }
    }

    /// Draw the signal for a packet while `avg` is above `min_th`, and count the packet.
    #[inline]
    fn draw_signal(&mut self, pkt: &Packet, avg: f64) -> bool {
        if self.curve.is_full(avg) {
            self.count = Some(0.0);
            return true;
        }
        let (before, after) = match self.byte_scaling {
            ByteScaling::BeforeSpacing => (self.measure.packet(pkt), 1.0),
            ByteScaling::AfterSpacing => (1.0, self.measure.packet(pkt)),
        };
        let Some(count) = self.count else {
            // The packet with which the average crosses min_th passes, as in ns-2 and ALTQ.
            self.count = Some(after);
            return false;
        };
        let p_b = self.curve.p_b(avg) * before;
        let n = count + after;
        // p_a = p_b / rest, times the size if that scales after spacing
        let rest = self.spacing.rest(count, n, p_b);
        let is_signalled =
            rest.is_some_and(|rest| p_b >= rest || bernoulli(p_b * after, rest, &mut self.rng));
        self.count = Some(if is_signalled { 0.0 } else { n });
        is_signalled
    }

    /// Return the verdict of a signal at this average.
    #[inline]
    fn signal(&self, avg: f64) -> Verdict {
        let drops = match self.ecn_policy {
            EcnAboveMax::DropAboveMax => avg >= self.max_th,
            EcnAboveMax::MarkInGentle => self.curve.is_full(avg),
            EcnAboveMax::Mark => false,
        };
        if drops { Verdict::Drop } else { Verdict::Mark }
    }
}

impl DecidesAtEnqueue for Red {
    const USES_ON_EMPTY: bool = true;
}

impl Aqm for Red {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        self.sample(queue, now);
        self.judge(pkt, queue)
    }

    #[inline]
    fn on_empty(&mut self, now: Time) {
        self.avg.start_idle(now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.avg.get());
        out("p_b", self.curve.p_b(self.avg.get()));
    }
}
