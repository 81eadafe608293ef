//! DualPI2: two queues under one controller, for scalable senders (L4S) and for all others (Classic).
//!
//! Packets with ECT(1) or CE go to the L4S queue ([`Identifier`]), all others to the Classic queue. Their AQMs are coupled
//! (`parts/dual/coupled.rs`), so that both kinds of flow share the link as in one queue. L4S packets go first,
//! within limits (`parts/dual/scheduler.rs`).
//!
//! Source: RFC 9332, section 2.5 and appendix A; De Schepper, Bondarenko, Tsang and Briscoe, "PI2: a linearized AQM for
//! both classic and scalable TCP", CoNEXT 2016; defaults of Linux `sch_dualpi2.c`.
//!
//! Where descriptions differ there is an option: [`Native`], [`Share`], [`Decide`], [`Controlled`], [`Overload`],
//! `min_backlog`, `min_left`. Differs from Linux: one random number decides; Linux draws two and requires both to
//! be below p', which has the same probability. [`Variant::Linux`] is Linux's discipline in every detail.

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::parameter::{GAIN, HOUR, check, from, parameters, up_to};
use crate::parts::dual::coupled::{Coupled, DualAqm, HeadPacket};
use crate::parts::dual::scheduler::{DualScheduler, Lane};
use crate::parts::linux::coin::Coin;
use crate::parts::linux::dualpi2::LinuxCoupled;
use crate::parts::linux::with_linux_values;
use crate::{
    Admission, Controlled, Counters, Decide, DecidesAt, Departure, Discipline, Ecn, EcnUse, Identifier,
    Limit, LinkContext, Native, Overload, Packet, ParameterError, Qdisc, QueueState, Share, Tc, TcWords,
    Variant, Visitor,
};

parameters! {
    /// DualPI2's parameters. The gains suit round-trip times up to 100 ms; the step suits links that send several
    /// full packets in a millisecond.
    pub struct DualPi2Config {
        /// The target delay of the Classic queue.
        target: Duration = Duration::from_millis(15), in up_to(HOUR), source "RFC 9332, appendix A.1; Linux", tc TcWords::Value("target");
        /// The time between two updates of the controller.
        t_update: Duration = Duration::from_millis(16), in from(Duration::from_micros(100)).up_to(HOUR), source "Linux; RFC 9332 and ns-3 have 15 ms", tc TcWords::Value("tupdate");
        /// The gain on the distance from `target`, for each update.
        alpha: f64 = 0.16, in GAIN, unit "Hz", source "Linux; RFC 9332 and ns-3 have 0.15 Hz", tc TcWords::Value("alpha");
        /// The gain on the change since the last update.
        beta: f64 = 3.2, in GAIN, unit "Hz", source "Linux; RFC 9332 and ns-3 have 3 Hz", tc TcWords::Value("beta");
        /// The coupling factor: L4S packets are marked with k times p'.
        k: f64 = 2.0, in from(1.0).up_to(100.0), unit "1", source "RFC 9332, section 2.1", tc TcWords::Value("coupling_factor");
        /// The packets that go to the L4S queue, by their ECN field.
        identifier: Identifier = Identifier::L4sEct, source "RFC 9331, section 4.1; Linux", tc TcWords::Choice(&[("l4s_ect", "l4s_ect"), ("any_ect", "any_ect")]), omit default;
        /// The delay that is controlled.
        controlled: Controlled = Controlled::Longer, source "RFC 9332, appendix A.2; Linux";
        /// The AQM of the L4S queue alone.
        native: Native = Native::Step, source "Linux; RFC 9332 has ramp";
        /// The delay above which `step` marks.
        step: Duration = Duration::from_millis(1), in up_to(HOUR), source "Linux", tc TcWords::Value("step_thresh");
        /// The delay above which `ramp` begins to mark.
        min_th: Duration = Duration::from_micros(800), in up_to(HOUR), source "RFC 9332, appendix A.1";
        /// The further delay at which `ramp` marks every packet.
        range: Duration = Duration::from_micros(400), in up_to(HOUR), source "RFC 9332, appendix A.1";
        /// The L4S queue's own AQM marks nothing while fewer L4S packets than this stay behind.
        min_left: u32 = 0, unit "packets", source "Linux; RFC 9332 has 2: more than Th_len = 1", tc TcWords::Value("min_qlen_step");
        /// The base probability and the coupling signal nothing while less than this stays behind.
        min_backlog: Bytes = Bytes::new(3028), source "Linux: two full frames; RFC 9332 has 0 B";
        /// The conversion of probabilities into decisions.
        decide: Decide = Decide::Random, source "Linux; RFC 9332 has recur";
        /// The scheduler of the two queues.
        share: Share = Share::Wrr, source "Linux; RFC 9332 allows both";
        /// With `wrr`, the share of the Classic queue.
        classic_weight: u32 = 10, in from(1).up_to(99), unit "percent", source "Linux", tc TcWords::Value("classic_protection");
        /// With `wrr`, the packet size of the L4S queue's initial credit.
        mtu: Bytes = Bytes::new(1514), in up_to(Bytes::new(65_535)), source "Linux";
        /// With `ts_fifo`, the head start of L4S packets.
        tshift: Duration = Duration::from_millis(50), in up_to(HOUR), source "ns-3";
        /// The response to an overload, when marking every L4S packet is not enough.
        overload: Overload = Overload::Drop, source "RFC 9332, appendix A.2; Linux", tc TcWords::Choice(&[("drop", "drop_on_overload"), ("overflow", "overflow")]);
        /// The description that the discipline follows.
        variant: Variant = Variant::Published, source "RFC 9332; or Linux sch_dualpi2.c: linux", omit default;
        /// The maximum that may wait in both queues.
        limit: Limit = Limit::Packets(10_000), source "Linux; RFC 9332 has 250 ms", tc TcWords::Value("limit");
    }
}

impl Discipline for DualPi2Config {
    const FAMILY: &'static str = "L4S";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const ECN: EcnUse = EcnUse::Requires;
    const SUMMARY: &'static str =
        "A queue for L4S and one for Classic traffic, coupled under one PI controller";
    const CLASSES: &'static [&'static str] = &["L4S", "Classic"];
    const TC: Option<Tc> = Some(Tc {
        names: &["dualpi2"],
        ecn: None,
        values: &[("variant", "linux")],
        accepted: &["drop_dequeue", "split_gso"],
        refused: &[
            ("drop_enqueue", "the Classic queue drops when packets leave"),
            ("no_split_gso", "packets are no aggregates"),
            ("memlimit", "only packets are counted"),
            ("max_rtt", "write target, tupdate, alpha and beta"),
            ("typical_rtt", "write target, tupdate, alpha and beta"),
        ],
    });

    fn complete(&self, _link: &LinkContext) -> Result<DualPi2Config, ParameterError> {
        if self.variant == Variant::Linux {
            self.check_linux()?;
        }
        with_linux_values(self, self.variant, |config| {
            config.controlled = Controlled::Longer;
            config.native = Native::Step;
            config.decide = Decide::Random;
            config.share = Share::Wrr;
            config.min_backlog = Bytes::new(2 * config.mtu.get());
        })
    }

    fn visit<V: Visitor>(&self, _link: &LinkContext, visitor: V) -> V::Output {
        match self.variant {
            Variant::Published => visitor.queue(|rng| DualPi2::new(self, rng)),
            Variant::Linux => visitor.queue(|rng| DualPi2::linux(self, rng)),
        }
    }
}

impl DualPi2Config {
    /// Check the numbers that are whole ones in Linux, or smaller.
    fn check_linux(&self) -> Result<(), ParameterError> {
        let is_possible = self.k.fract() == 0.0;
        check(is_possible, "k", "a whole number with variant = linux", &self.k)?;
        let longest = Duration::from_nanos(u32::MAX.into());
        for (name, time) in [("target", self.target), ("t_update", self.t_update), ("step", self.step)] {
            check(time <= longest, name, "at most 4.294967295 s with variant = linux", &time)?;
        }
        let in_packets = matches!(self.limit, Limit::Packets(1..));
        check(in_packets, "limit", "a number of packets with variant = linux", &self.limit)
    }
}

/// The coupled dual queue.
#[derive(Clone, Debug)]
pub struct DualPi2<P, A = Coupled> {
    aqm: A,
    identifier: Identifier,
    scheduler: DualScheduler,
    limit: Limit,
    l4s: VecDeque<Departure<P>>,
    classic: VecDeque<Departure<P>>,
    state: QueueState,
    counters: Counters,
    t_update: Duration,
    next_update: Time,
}

impl<P> DualPi2<P> {
    /// Return empty queues. `config` must have passed [`DualPi2Config::resolve`].
    pub fn new(config: &DualPi2Config, rng: Stream) -> DualPi2<P> {
        DualPi2::with_aqm(config, Coupled::new(config, rng))
    }
}

impl<P, C: Coin> DualPi2<P, LinuxCoupled<C>> {
    /// Return empty queues of the variant of Linux, which toss a coin.
    pub(crate) fn linux(config: &DualPi2Config, coin: C) -> Self {
        DualPi2::with_aqm(config, LinuxCoupled::new(config, coin))
    }
}

impl<P, A> DualPi2<P, A> {
    fn with_aqm(config: &DualPi2Config, aqm: A) -> Self {
        DualPi2 {
            aqm,
            identifier: config.identifier,
            scheduler: DualScheduler::new(config.share, config.tshift, config.classic_weight, config.mtu),
            limit: config.limit,
            l4s: VecDeque::new(),
            classic: VecDeque::new(),
            state: QueueState::default(),
            counters: Counters::default(),
            t_update: config.t_update,
            next_update: Time::ZERO + config.t_update,
        }
    }
}

impl Identifier {
    /// Return the queue of an arriving packet.
    #[inline]
    fn lane_of(self, packet: &Packet) -> Lane {
        match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => Lane::L4s,
            Ecn::Ect0 if self == Identifier::AnyEct => Lane::L4s,
            Ecn::Ect0 | Ecn::NotEct => Lane::Classic,
        }
    }
}

/// Return the sojourn time of the first packet so far.
fn head_delay<P>(queue: &VecDeque<Departure<P>>, now: Time) -> Option<Duration> {
    queue.front().map(|head| now.saturating_since(head.enqueued_at))
}

impl<P, A: DualAqm> Qdisc<P> for DualPi2<P, A> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        if !self.limit.admits(packet.size, self.state) {
            self.counters.count(Admission::DroppedByLimit, packet.size);
            lost(payload);
            return Admission::DroppedByLimit;
        }
        self.counters.count(Admission::Queued, packet.size);
        self.state.packets += 1;
        self.state.bytes += packet.size;
        let queue = if self.identifier.lane_of(&packet) == Lane::L4s {
            self.aqm.on_l4s_arrival(self.l4s.len());
            &mut self.l4s
        } else {
            &mut self.classic
        };
        queue.push_back(Departure { packet, payload, enqueued_at: now });
        Admission::Queued
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        loop {
            let delays = (head_delay(&self.l4s, now), head_delay(&self.classic, now));
            let lane = self.scheduler.next(delays.0, delays.1)?;
            let queue = if lane == Lane::L4s { &mut self.l4s } else { &mut self.classic };
            let mut head = queue.pop_front().expect("the scheduler chose a queue that has packets");
            self.state.packets -= 1;
            self.state.bytes = self.state.bytes - head.packet.size;
            let verdict = self.aqm.judge(HeadPacket {
                lane,
                qdelay: now.saturating_since(head.enqueued_at),
                l4s_left: self.l4s.len(),
                bytes_left: self.state.bytes,
            });
            if self.counters.release(verdict, &mut head.packet) {
                // Only contention counts against a queue's share.
                if let (Some(_), Some(_)) = delays {
                    self.scheduler.on_sent(lane, head.packet.size);
                }
                return Some(head);
            }
            lost(head.payload);
        }
    }

    fn state(&self) -> QueueState {
        self.state
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, now: Time) {
        if now >= self.next_update {
            self.next_update += self.t_update;
            let delay = |queue| head_delay(queue, now).unwrap_or_default();
            self.aqm.update(delay(&self.l4s), delay(&self.classic));
        }
    }

    fn classes(&self) -> &'static [&'static str] {
        DualPi2Config::CLASSES
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> u8 {
        self.identifier.lane_of(packet) as u8
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe(out);
        out("l4s_packets", self.l4s.len() as f64);
        out("classic_packets", self.classic.len() as f64);
    }
}
