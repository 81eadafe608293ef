//! COBALT, the CoDel-BLUE alternate: CoDel whose rate decays gradually, with BLUE against unresponsive flows.
//!
//! The CoDel part signals as CoDel does while sojourn times are too long. Afterwards it counts its signals back
//! at the rate at which it gave them, instead of forgetting them. The BLUE part drops with a probability that
//! rises while the queue overflows and falls while it is empty.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018; Palmei et al., "Design and evaluation of
//! COBALT queue discipline", LANMAN 2019. The papers describe the idea; the rules are those of CAKE in Linux
//! (`sch_cake.c`).
//!
//! Differs from Linux. When its memory is full, CAKE drops from the head of the longest of many queues; here the
//! arriving packet is dropped. The queue counts as empty when its last packet leaves; in CAKE, when the link next
//! finds no packet. The very first signal also waits for an interval, as in ns-3; Linux starts with 1/sqrt(count)
//! = 0.

use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{HOUR, above, parameters, up_to};
use crate::parts::control_law::ControlLaw;
use crate::{
    Aqm, DecidesAt, Discipline, Fifo, Limit, LinkContext, Packet, QueueState, Sqrt, Verdict, Visitor,
};

parameters! {
    /// COBALT's parameters.
    pub struct CobaltConfig {
        /// The acceptable standing sojourn time, and the time between two changes of `p_drop`.
        target: Duration = Duration::from_millis(5), in up_to(HOUR), source "CAKE; ns-3";
        /// The time for which sojourn times must exceed `target` before the first signal.
        interval: Duration = Duration::from_millis(100), in above(Duration::ZERO).up_to(HOUR), source "CAKE; ns-3";
        /// No packet is signalled while its sojourn time is at most four transmission times of this size.
        mtu: Bytes = Bytes::new(1500), in up_to(Bytes::new(65_535)), source "CAKE; Ethernet; or ns-3: 0 B";
        /// The computation of the square root.
        sqrt: Sqrt = Sqrt::Table32, source "CAKE; ns-3";
        /// The increase of BLUE's probability when the queue overflows.
        p_inc: Prob = Prob::clamped(1.0 / 256.0), source "CAKE; ns-3";
        /// The decrease of BLUE's probability when the queue is empty.
        p_dec: Prob = Prob::clamped(1.0 / 4096.0), source "CAKE; ns-3";
        /// Raise BLUE's probability also for a sojourn time above `blue_threshold`.
        blue_on_delay: bool = false, source "CAKE; or ns-3: true";
        /// The sojourn time above which `blue_on_delay` raises BLUE's probability.
        blue_threshold: Duration = Duration::from_millis(400), source "ns-3";
        /// The maximum that may wait: an overflow raises BLUE's probability.
        limit: Limit = Limit::Packets(1000), source "ns-3; CAKE has at least 4 MiB";
    }
}

impl Discipline for CobaltConfig {
    const FAMILY: &'static str = "delay";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str = "CoDel that forgets slowly, with BLUE against unresponsive flows";

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| Fifo::new(Cobalt::new(self, link, rng), self.limit))
    }
}

/// The COBALT law.
#[derive(Clone, Debug)]
pub struct Cobalt {
    target: Duration,
    interval: Duration,
    /// The sojourn time, from the size of packets, up to which no packet is signalled.
    four_mtu: Duration,
    control_law: ControlLaw,
    blue: BlueProbability,
    rng: Stream,
    dropping: bool,
    /// Signals given and not yet counted back.
    count: u32,
    /// The time of the next signal or of counting one back; without signals, an interval after the last packet.
    drop_next: Time,
}

/// BLUE's probability, which changes at most once in `pace`.
#[derive(Clone, Debug)]
struct BlueProbability {
    p_inc: f64,
    p_dec: f64,
    pace: Duration,
    /// The sojourn time that counts as an overflow.
    threshold: Option<Duration>,
    p_drop: f64,
    last_change: Time,
}

impl BlueProbability {
    fn new(config: &CobaltConfig) -> BlueProbability {
        BlueProbability {
            p_inc: config.p_inc.get(),
            p_dec: config.p_dec.get(),
            pace: config.target,
            threshold: config.blue_on_delay.then_some(config.blue_threshold),
            p_drop: 0.0,
            last_change: Time::ZERO,
        }
    }

    fn rise(&mut self, now: Time) {
        self.move_by(self.p_inc, now);
    }

    fn fall(&mut self, now: Time) {
        if self.p_drop > 0.0 {
            self.move_by(-self.p_dec, now);
        }
    }

    fn move_by(&mut self, step: f64, now: Time) {
        if now.saturating_since(self.last_change) > self.pace {
            self.p_drop = (self.p_drop + step).clamp(0.0, 1.0);
            self.last_change = now;
        }
    }
}

impl Cobalt {
    /// Return a law that has seen no packet. `config` must have passed [`CobaltConfig::resolve`].
    pub fn new(config: &CobaltConfig, link: &LinkContext, rng: Stream) -> Cobalt {
        Cobalt {
            target: config.target,
            interval: config.interval,
            four_mtu: link.rate.time_to_send(config.mtu) * 4,
            control_law: ControlLaw::new(config.interval, config.sqrt),
            blue: BlueProbability::new(config),
            rng,
            dropping: false,
            count: 0,
            drop_next: Time::ZERO,
        }
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Schedule the next signal, or the next one to count back.
    fn schedule(&mut self, count: u32) {
        self.count = count;
        self.control_law.set_count(count);
        // drop_next = drop_next + interval / sqrt(count)
        self.drop_next = self.control_law.after(self.drop_next);
    }

    /// Advance CoDel's part with a packet whose sojourn time is too long (`over_target`) or not. Returns true if
    /// the packet must be signalled.
    fn advance_codel(&mut self, over_target: bool, now: Time) -> bool {
        let is_due = self.is_due(now);
        if over_target && !self.dropping {
            self.drop_next = self.control_law.after(now);
        }
        self.dropping = over_target;
        if over_target {
            self.count = self.count.max(1);
            if is_due {
                self.schedule(self.count.saturating_add(1));
            }
            return is_due;
            // Count back all signals whose time has passed since the last packet.
        }
        while self.is_due(now) {
            self.schedule(self.count - 1);
        }
        false
    }
}

impl Aqm for Cobalt {
    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, _queue: QueueState, now: Time) -> Verdict {
        let sojourn = now.saturating_since(enqueued_at);
        let was_quiet = self.count == 0 && now > self.drop_next;
        let is_signalled = self.advance_codel(sojourn > self.target && sojourn > self.four_mtu, now);
        if self.blue.threshold.is_some_and(|threshold| sojourn > threshold) {
            self.blue.rise(now);
        }
        // BLUE drops even ECN-capable packets: a sender that ignored earlier marks would ignore this one.
        let is_dropped_by_blue = bernoulli(self.blue.p_drop, 1.0, &mut self.rng);
        let is_dropped = is_dropped_by_blue || (is_signalled && !pkt.ecn.is_capable());
        // Without signals, the first one must wait for a whole interval. After a quiet time, the schedule starts
        // from now.
        if self.count == 0 {
            self.drop_next = now + self.interval;
        } else if (was_quiet || now > self.drop_next) && !is_dropped {
            self.drop_next = now;
        }
        match (is_dropped_by_blue, is_signalled) {
            (true, _) => Verdict::Drop,
            (false, true) => Verdict::Mark,
            (false, false) => Verdict::Pass,
        }
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, now: Time) {
        // An overflow starts CoDel's signals at once, without waiting for an interval.
        self.blue.rise(now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    fn on_empty(&mut self, now: Time) {
        self.blue.fall(now);
        self.dropping = false;
        if self.is_due(now) {
            self.schedule(self.count - 1);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("p_drop", self.blue.p_drop);
    }
}
