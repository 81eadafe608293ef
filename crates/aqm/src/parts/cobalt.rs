//! COBALT for one of many queues: the state of a queue, and the rules that all queues share.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018, section III-D; Linux `sch_cake.c`.

use aqmlab_units::{Duration, Stream, Time};

use crate::law::bernoulli;
use crate::parts::control_law::ControlLaw;

/// The rules of COBALT.
#[derive(Clone, Debug)]
pub(crate) struct CobaltRules {
    /// The acceptable standing sojourn time, and the time between two changes of BLUE's probability.
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
    /// The transmission time of a full packet.
    pub(crate) mtu_time: Duration,
    pub(crate) p_inc: f64,
    pub(crate) p_dec: f64,
}

impl CobaltRules {
    /// True for a sojourn time above the target that more than four full packets explain.
    #[inline]
    pub(crate) fn is_long(&self, sojourn: Duration) -> bool {
        sojourn > self.target && sojourn > self.mtu_time * 4
    }
}

/// A packet about to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departing {
    /// Its sojourn time is too long.
    pub(crate) is_long: bool,
    pub(crate) is_ecn_capable: bool,
}

/// The decisions of the two parts of COBALT about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signals {
    /// CoDel's part: a mark, or a drop of a packet that is not ECN-capable.
    pub(crate) by_codel: bool,
    /// BLUE's part: a drop of any packet.
    pub(crate) by_blue: bool,
}

/// COBALT's state for one queue.
#[derive(Clone, Debug)]
pub(crate) struct CobaltState {
    control_law: ControlLaw,
    dropping: bool,
    /// Signals given and not yet counted back.
    count: u32,
    /// The time of the next signal or of counting one back; without signals, an interval after the last packet.
    drop_next: Time,
    /// BLUE's probability, which changes at most once in a target time.
    p_drop: f64,
    p_changed_at: Time,
}

impl CobaltState {
    /// Return the state of a queue that has seen no packet.
    pub(crate) fn new(control_law: ControlLaw) -> CobaltState {
        CobaltState {
            control_law,
            dropping: false,
            count: 0,
            drop_next: Time::ZERO,
            p_drop: 0.0,
            p_changed_at: Time::ZERO,
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn p_drop(&self) -> f64 {
        self.p_drop
    }

    /// True if nothing is left of earlier signals.
    #[inline]
    pub(crate) fn is_at_rest(&self, now: Time) -> bool {
        self.count == 0 && self.p_drop <= 0.0 && now >= self.drop_next
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Schedule the next signal, or the next one to count back.
    fn schedule(&mut self, count: u32, interval: Duration) {
        self.count = count;
        self.control_law.set_count(count, interval);
        // drop_next = drop_next + interval / sqrt(count)
        self.drop_next = self.control_law.after(self.drop_next);
    }

    /// Advance CoDel's part with a packet whose sojourn time is too long (`over_target`) or not. Returns true if
    /// the packet must be signalled.
    #[inline]
    fn advance_codel(&mut self, interval: Duration, over_target: bool, now: Time) -> bool {
        let is_due = self.is_due(now);
        if over_target && !self.dropping {
            self.drop_next = self.control_law.after(now);
        }
        self.dropping = over_target;
        if over_target {
            self.count = self.count.max(1);
            if is_due {
                self.schedule(self.count.saturating_add(1), interval);
            }
            return is_due;
        }
        // Count back all signals whose time has passed since the last packet.
        while self.is_due(now) {
            self.schedule(self.count - 1, interval);
        }
        false
    }

    /// Decide about a packet about to leave.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        rules: &CobaltRules,
        packet: Departing,
        now: Time,
        rng: &mut Stream,
    ) -> Signals {
        let was_quiet = self.count == 0 && now > self.drop_next;
        let by_codel = self.advance_codel(rules.interval, packet.is_long, now);
        let by_blue = bernoulli(self.p_drop, 1.0, rng);
        let is_dropped = by_blue || (by_codel && !packet.is_ecn_capable);
        // Without signals, the first one must wait for a whole interval. After a quiet time, the schedule starts
        // from now.
        if self.count == 0 {
            self.drop_next = now + rules.interval;
        } else if (was_quiet || now > self.drop_next) && !is_dropped {
            self.drop_next = now;
        }
        Signals { by_codel, by_blue }
    }

    /// A packet of the queue was dropped because no room was left.
    pub(crate) fn on_overflow(&mut self, rules: &CobaltRules, now: Time) {
        // An overflow starts CoDel's signals at once, without waiting for an interval.
        self.raise_blue(rules, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue is found empty. Returns true if BLUE's part stops to drop for that.
    #[inline]
    pub(crate) fn on_empty(&mut self, rules: &CobaltRules, now: Time) -> bool {
        let was_active = self.p_drop > 0.0;
        if was_active {
            self.move_blue(-rules.p_dec, rules.target, now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.schedule(self.count - 1, rules.interval);
        }
        was_active && self.p_drop <= 0.0
    }

    pub(crate) fn raise_blue(&mut self, rules: &CobaltRules, now: Time) {
        self.move_blue(rules.p_inc, rules.target, now);
    }

    fn move_blue(&mut self, step: f64, pace: Duration, now: Time) {
        if now.saturating_since(self.p_changed_at) > pace {
            self.p_drop = (self.p_drop + step).clamp(0.0, 1.0);
            self.p_changed_at = now;
        }
    }
}
