//! CoDel, controlled delay: signals with rising frequency while sojourn times stay above a target.
//!
//! The first signal is given when the sojourn times of a whole interval have exceeded the target. Each further
//! one follows interval / sqrt(count) after the previous one, until a packet's sojourn time is below the target.
//!
//! Source: RFC 8289, section 5; Nichols and Jacobson, "Controlling queue delay", ACM Queue 10(5), 2012.
//!
//! The RFC's loop drops a packet, looks at the next one, and only then schedules the next drop. Here the same
//! happens packet by packet: a flag after a drop has the next packet schedule the next drop. With ECN the RFC has
//! no loop: as in Linux, a mark ends the call and schedules the next signal at once. Where descriptions differ
//! there is an option: [`Sqrt`], [`NextMarkFrom`], [`Reentry`]. Differs from Linux: an episode may begin exactly
//! one interval after the first packet above target, as in the RFC, not only later. [`Variant::Linux`] is Linux's law in every detail.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::parameter::{HOUR, above, parameters, up_to};
use crate::parts::ce_threshold::CeThreshold;
use crate::parts::control_law::ControlLaw;
use crate::parts::linux::codel::LinuxCodel;
use crate::parts::linux::fifo::{LinuxFifo, Order};
use crate::parts::linux::with_linux_values;
use crate::{
    Aqm, CeSelector, DecidesAt, Discipline, Fifo, Limit, LinkContext, NextMarkFrom, Packet, ParameterError,
    QueueState, Reentry, Sqrt, Tc, TcWords, Variant, Verdict, Visitor,
};

parameters! {
    /// CoDel's parameters, meant to suit any link of the open Internet.
    pub struct CodelConfig {
        /// The acceptable standing sojourn time: 5 to 10 % of `interval`.
        target: Duration = Duration::from_millis(5), in up_to(HOUR), source "RFC 8289, section 4.3", tc TcWords::Value("target");
        /// The time for which sojourn times must exceed `target` before the first signal: the longest usual
        /// round-trip time.
        interval: Duration = Duration::from_millis(100), in above(Duration::ZERO).up_to(HOUR), source "RFC 8289, section 4.2", tc TcWords::Value("interval");
        /// No packet is signalled while at most this stays behind it: the largest packet.
        mtu: Bytes = Bytes::new(1500), source "RFC 8289, section 5.6; Ethernet";
        /// The computation of the square root.
        sqrt: Sqrt = Sqrt::Exact, source "RFC 8289, section 5.6; Linux and ns-3 have newton16";
        /// The time from which the next mark is scheduled after a mark.
        next_mark_from: NextMarkFrom = NextMarkFrom::DropNext, source "Linux; ns-3 has now";
        /// The rate with which the next episode starts after a recent one.
        reentry: Reentry = Reentry::Delta, source "RFC 8289, section 5.5; Linux";
        /// The sojourn time above which each ECN-capable packet is marked, besides the signals of the law. Automatic: none.
        ce_threshold: Option<Duration> = None, in up_to(HOUR), source "Linux; RFC 8289 has none", tc TcWords::Value("ce_threshold"), omit default;
        /// The packets that `ce_threshold` marks.
        ce_threshold_selector: CeSelector = CeSelector::Any, source "Linux; its codel has any", omit default;
        /// The description that the law follows.
        variant: Variant = Variant::Published, source "RFC 8289; or Linux sch_codel.c: linux", omit default;
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "ours: no tail drops; Linux has 1000 packets", tc TcWords::Value("limit");
    }
}

impl Discipline for CodelConfig {
    const FAMILY: &'static str = "delay";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str =
        "Signals with rising frequency while sojourn times exceed a target for an interval";
    const TC: Option<Tc> = Some(Tc {
        names: &["codel"],
        ecn: Some(false),
        values: &[("variant", "linux"), ("mtu", "1514 B"), ("limit", "1000 packets")],
        accepted: &[],
        refused: &[],
    });

    fn complete(&self, _link: &LinkContext) -> Result<CodelConfig, ParameterError> {
        CeThreshold::check(self.ce_threshold, self.ce_threshold_selector)?;
        with_linux_values(self, self.variant, |config| {
            config.set_linux_values();
            config.ce_threshold_selector = CeSelector::Any;
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match self.variant {
            Variant::Published => visitor.queue(|rng| Fifo::new(Codel::new(self, link, rng), self.limit)),
            Variant::Linux => {
                visitor.queue(|_| LinuxFifo::new(LinuxCodel::new(self), self.limit, Order::Bypass))
            }
        }
    }
}

impl CodelConfig {
    pub(crate) fn set_linux_values(&mut self) {
        self.sqrt = Sqrt::Newton16;
        self.next_mark_from = NextMarkFrom::DropNext;
        self.reentry = Reentry::Delta;
    }
}

/// The CoDel law.
#[derive(Clone, Debug)]
pub struct Codel {
    target: Duration,
    interval: Duration,
    mtu: Bytes,
    next_mark_from: NextMarkFrom,
    reentry: Reentry,
    control_law: ControlLaw,
    ce_threshold: CeThreshold,
    /// The time at which sojourn times will have exceeded `target` for an interval; `None` if the last one did
    /// not.
    first_above_time: Option<Time>,
    dropping: bool,
    /// The time of the next signal; between episodes, the time at which it would have been due.
    drop_next: Time,
    /// Signals given in this episode, and the count at its start.
    count: u32,
    lastcount: u32,
    /// A packet was dropped; the next packet schedules the next drop.
    after_drop: bool,
}

impl Codel {
    /// Return a law that has seen no packet. `config` must have passed [`CodelConfig::resolve`].
    pub fn new(config: &CodelConfig, _link: &LinkContext, _rng: Stream) -> Codel {
        Codel {
            target: config.target,
            interval: config.interval,
            mtu: config.mtu,
            next_mark_from: config.next_mark_from,
            reentry: config.reentry,
            control_law: ControlLaw::new(config.interval, config.sqrt),
            ce_threshold: CeThreshold::new(config.ce_threshold, config.ce_threshold_selector),
            first_above_time: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            after_drop: false,
        }
    }

    /// Count an evicted packet as a signal.
    pub(crate) fn count_evicted(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Update `first_above_time` as RFC 8289 §5.6 does. Returns its `ok_to_drop`: sojourn times have exceeded the
    /// target for an interval.
    fn update_first_above_time(&mut self, sojourn_time: Duration, queue: QueueState, now: Time) -> bool {
        // With at most one packet left, dropping it would idle the link (RFC 8289 §5.6).
        if sojourn_time < self.target || queue.bytes <= self.mtu {
            self.first_above_time = None;
            return false;
        }
        now >= *self.first_above_time.get_or_insert(now + self.interval)
    }

    /// True if an episode may begin, given that sojourn times have exceeded the target for an interval.
    fn may_begin(&self, now: Time) -> bool {
        match self.reentry {
            Reentry::Paper => {
                let is_second_interval = |since| now.saturating_since(since) >= self.interval;
                self.has_recent_episode(now) || self.first_above_time.is_some_and(is_second_interval)
            }
            Reentry::Delta | Reentry::MinusOne | Reentry::MinusTwo => true,
        }
    }

    /// True if the last episode ended recently enough that its rate is a good start.
    fn has_recent_episode(&self, now: Time) -> bool {
        now.saturating_since(self.drop_next) < self.interval * self.reentry.memory_intervals()
    }

    /// Begins an episode, whose first signal is given now.
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        let initial = self.reentry.initial_count(self.count, self.lastcount);
        self.count = if self.has_recent_episode(now) { initial } else { 1 };
        self.lastcount = self.count;
        self.control_law.set_count(self.count, self.interval);
        // drop_next = now + interval / sqrt(count)
        self.drop_next = self.control_law.after(now);
    }

    /// Return CoDel's own verdict on a packet that leaves.
    fn signal(&mut self, pkt: &Packet, sojourn_time: Duration, queue: QueueState, now: Time) -> Verdict {
        let after_drop = std::mem::take(&mut self.after_drop);
        if !self.update_first_above_time(sojourn_time, queue, now) {
            self.dropping = false;
            return Verdict::Pass;
        }
        if !self.dropping {
            if !self.may_begin(now) {
                return Verdict::Pass;
            }
            self.begin(now);
            return Verdict::Mark;
        }
        // A drop has left the next one to be scheduled: drop_next = drop_next + interval / sqrt(count)
        if after_drop {
            self.drop_next = self.control_law.after(self.drop_next);
        }
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        self.control_law.set_count(self.count, self.interval);
        // A dropped packet's successor schedules the next drop, as in the RFC's loop; a marked packet leaves, and
        // ends it.
        if pkt.ecn.is_capable() {
            self.drop_next = self.control_law.after(match self.next_mark_from {
                NextMarkFrom::DropNext => self.drop_next,
                NextMarkFrom::Now => now,
            });
        } else {
            self.after_drop = true;
        }
        Verdict::Mark
    }
}

impl Aqm for Codel {
    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        let sojourn_time = now.saturating_since(enqueued_at);
        let signal = self.signal(pkt, sojourn_time, queue, now);
        self.ce_threshold.verdict(signal, pkt.ecn, |threshold| sojourn_time > threshold)
    }

    fn on_empty(&mut self, _now: Time) {
        // A call that finds no packet. It matters only if the backlog includes other queues.
        self.first_above_time = None;
        self.dropping = false;
        self.after_drop = false;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("dropping", f64::from(u8::from(self.dropping)));
    }
}
