//! CoDel, controlled delay: signals ever faster while the time that packets wait stays above a target.
//!
//! The first signal is given when every packet for a whole interval has waited longer than the target; each further one
//! comes interval / sqrt(count) after the one before, until a packet has waited less.
//!
//! Source: RFC 8289, section 5; Nichols and Jacobson, "Controlling queue delay", ACM Queue 10(5), 2012.
//!
//! The RFC's loop drops a packet, looks at the next one, and only then plans the next drop. Here the same is said packet
//! by packet: that a drop left something to be planned is remembered until the packet behind it is judged.
//! With ECN the RFC has no loop: as in Linux a mark ends the call and plans the next signal at once. Where descriptions
//! differ there is an option: [`Sqrt`], [`NextMarkFrom`], [`Reentry`]. Differs from Linux: an episode may begin exactly
//! one interval after the first packet above target, as in the RFC, not only later.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::parameter::{HOUR, above, parameters, up_to};
use crate::parts::control_law::ControlLaw;
use crate::{
    Aqm, DecidesAt, Discipline, Fifo, Limit, LinkContext, NextMarkFrom, Packet, QueueState, Reentry, Sqrt,
    Verdict, Visitor,
};

parameters! {
    /// CoDel's parameters, meant to suit any link of the open Internet.
    pub struct CodelConfig {
        /// The acceptable standing sojourn time: 5 to 10 % of `interval`.
        target: Duration = Duration::from_millis(5), in up_to(HOUR), source "RFC 8289, section 4.3";
        /// The time for which the sojourn time must exceed `target` before the first signal: the longest usual
        /// round-trip time.
        interval: Duration = Duration::from_millis(100), in above(Duration::ZERO).up_to(HOUR), source "RFC 8289, section 4.2";
        /// Nothing is signalled while at most this is left in the queue: the largest packet.
        mtu: Bytes = Bytes::new(1500), source "RFC 8289, section 5.6; Ethernet";
        /// The computation of the square root.
        sqrt: Sqrt = Sqrt::Exact, source "RFC 8289, section 5.6; Linux and ns-3 have newton16";
        /// The instant from which the next mark is scheduled after a mark.
        next_mark_from: NextMarkFrom = NextMarkFrom::DropNext, source "Linux; ns-3 has now";
        /// The signalling rate, from that of the last episode, at which a new episode begins.
        reentry: Reentry = Reentry::Delta, source "RFC 8289, section 5.5; Linux";
        /// The queue's limit, large enough that no tail drops hide the effect of the law.
        limit: Limit = Limit::Packets(10_000), source "ours: no tail drops; Linux has 1000 packets";
    }
}

impl Discipline for CodelConfig {
    const FAMILY: &'static str = "delay";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str =
        "Signals at a growing rate while the sojourn time stays above a target for an interval";

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| Fifo::new(Codel::new(self, link, rng), self.limit))
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
    /// The instant at which the sojourn time will have exceeded `target` for an interval; `None` if the last one did
    /// not exceed it.
    first_above_time: Option<Time>,
    dropping: bool,
    /// The instant of the next signal; between episodes, the instant at which it would have been due.
    drop_next: Time,
    /// Signals given in this episode, and those it began with.
    count: u32,
    lastcount: u32,
    /// A packet was dropped, and the next drop is scheduled after the law has judged the packet behind it.
    after_drop: bool,
}

impl Codel {
    /// A law that has seen no packet so far. `config` has passed [`CodelConfig::resolve`].
    pub fn new(config: &CodelConfig, _link: &LinkContext, _rng: Stream) -> Codel {
        Codel {
            target: config.target,
            interval: config.interval,
            mtu: config.mtu,
            next_mark_from: config.next_mark_from,
            reentry: config.reentry,
            control_law: ControlLaw::new(config.interval, config.sqrt),
            first_above_time: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            after_drop: false,
        }
    }

    /// Counts an evicted packet as a signal.
    pub(crate) fn count_evicted(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Update `first_above_time` as RFC 8289 §5.6 does. Returns its `ok_to_drop`: the sojourn time has been above the target
    /// for an interval.
    fn update_first_above_time(&mut self, sojourn_time: Duration, queue: QueueState, now: Time) -> bool {
        if sojourn_time < self.target || queue.bytes <= self.mtu {
            self.first_above_time = None;
            return false;
        }
        now >= *self.first_above_time.get_or_insert(now + self.interval)
    }

    /// Returns whether an episode may begin, given that the sojourn time has been above target since
    /// `first_above_time`.
    fn may_begin(&self, now: Time) -> bool {
        match self.reentry {
            Reentry::Paper => {
                let twice = |since| now.saturating_since(since) >= self.interval;
                self.remembers(now) || self.first_above_time.is_some_and(twice)
            }
            Reentry::Delta | Reentry::MinusOne | Reentry::MinusTwo => true,
        }
    }

    /// Returns whether the last episode ended recently enough to begin at its rate.
    fn remembers(&self, now: Time) -> bool {
        now.saturating_since(self.drop_next) < self.interval * self.reentry.memory()
    }

    /// Begins an episode, whose first signal is given now.
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        let restored = self.reentry.restored(self.count, self.lastcount);
        self.count = if self.remembers(now) { restored } else { 1 };
        self.lastcount = self.count;
        self.control_law.set_count(self.count);
        // drop_next = now + interval / sqrt(count)
        self.drop_next = self.control_law.after(now);
    }
}

impl Aqm for Codel {
    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        let after_drop = std::mem::take(&mut self.after_drop);
        if !self.update_first_above_time(now.saturating_since(enqueued_at), queue, now) {
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
        // drop_next = drop_next + interval / sqrt(count)
        if after_drop {
            self.drop_next = self.control_law.after(self.drop_next);
        }
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        self.control_law.set_count(self.count);
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

    fn on_empty(&mut self, _now: Time) {
        // A call that finds no packet: of consequence only where the backlog is not this queue's alone.
        self.first_above_time = None;
        self.dropping = false;
        self.after_drop = false;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("dropping", f64::from(u8::from(self.dropping)));
    }
}
