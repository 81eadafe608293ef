//! BLUE: a signalling probability that queue overflows raise and idle periods lower.
//!
//! Each arriving packet is signalled with p. An overflow raises p by `d1`, an empty queue lowers it by `d2`.
//! After either, p is frozen for `freeze_time`. The length of the queue has no effect.
//!
//! Source: Feng, Kandlur, Saha and Shin, "BLUE: a new class of active queue management algorithms", University of
//! Michigan CSE-TR-387-99, 1999, section 3.1; the same in IEEE/ACM Transactions on Networking 10(4), 2002.
//!
//! Differs from the paper, whose idle event has no duration: while the queue stays empty, p is lowered once every
//! `freeze_time`, or by option once per idle period as in ALTQ (`altq_blue.c`); see [`IdleDecrease`]. The arrival
//! that ends an idle period computes its decrease, because p has no effect before. As in both, lowering a p of
//! zero freezes it too. ALTQ also drops a random packet of a full queue, and resets p after an idle second.

use aqmlab_units::{Duration, Prob, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{HOUR, above, choices, parameters};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Packet, ParameterError, QueueState,
    Verdict, Visitor,
};

parameters! {
    /// BLUE's parameters. The limit matters as in drop-tail: overflows are the law's input.
    pub struct BlueConfig {
        /// The increase of p at an overflow; well above `d2`, because loss is more urgent than idleness.
        d1: Prob = Prob::clamped(0.0025), in above(Prob::ZERO), source "Feng's ns code, as ported to ns-3";
        /// The decrease of p at an idle event.
        d2: Prob = Prob::clamped(0.00025), in above(Prob::ZERO), source "Feng's ns code, as ported to ns-3";
        /// The minimum time between two changes of p.
        freeze_time: Duration = Duration::from_millis(100), in above(Duration::ZERO).up_to(HOUR), source "Feng's ns code, as ported to ns-3; Kwon & Fahmy 2002";
        /// The frequency of decreases in an idle period.
        idle_decrease: IdleDecrease = IdleDecrease::WhileIdle, source "Feng et al. 1999: when the link is idle";
        /// A queue above this counts as an overflow; automatic: the limit, so that only overflows count.
        level: Option<Limit> = None, source "Feng et al. 1999: overflow, or a level L";
        /// The maximum that may wait.
        limit: Limit = Limit::Packets(240), source "ours: as drop-tail, Le et al. 2004, the baseline";
    }
}

choices! {
    /// The frequency of BLUE's decreases in an idle period.
    pub enum IdleDecrease {
        /// At its start, or as soon as p is not frozen, and then once every `freeze_time`.
        WhileIdle = "while_idle",
        /// Once, by the arrival that ends it, unless p is frozen. As in ALTQ.
        Once = "once",
    }
}

impl Discipline for BlueConfig {
    const FAMILY: &'static str = "BLUE";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "Signals with a probability that overflows raise and idle periods lower, at any queue length";

    fn complete(&self, _link: &LinkContext) -> Result<BlueConfig, ParameterError> {
        Ok(BlueConfig { level: Some(self.level()), ..self.clone() })
    }

    fn visit<V: Visitor>(&self, _link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |rng| Blue::new(self, rng))
    }
}

impl BlueConfig {
    fn level(&self) -> Limit {
        self.level.unwrap_or(self.limit)
    }
}

/// The BLUE law.
#[derive(Clone, Debug)]
pub struct Blue {
    d1: f64,
    d2: f64,
    freeze_time: Duration,
    idle_decrease: IdleDecrease,
    level: Limit,
    rng: Stream,
    /// The probability of a signal.
    p: f64,
    /// `last_update` + `freeze_time`: the time at which p may change again.
    frozen_until: Time,
    /// Start of the idle period, while the queue is empty.
    idle_since: Time,
}

impl Blue {
    /// Return a law that has seen only an empty queue. `config` must have passed [`BlueConfig::resolve`].
    pub fn new(config: &BlueConfig, rng: Stream) -> Blue {
        Blue {
            d1: config.d1.get(),
            d2: config.d2.get(),
            freeze_time: config.freeze_time,
            idle_decrease: config.idle_decrease,
            level: config.level(),
            rng,
            p: 0.0,
            frozen_until: Time::ZERO,
            idle_since: Time::ZERO,
        }
    }

    /// Raise p for an overflow, or a queue above the level, unless p is frozen.
    fn raise(&mut self, now: Time) {
        if now >= self.frozen_until {
            // p = p + d1
            self.p = (self.p + self.d1).min(1.0);
            self.frozen_until = now + self.freeze_time;
        }
    }

    /// Lower p for an idle period from `idle_since` to `now`.
    fn lower(&mut self, now: Time) {
        // The first decrease comes when the period has begun and p is no longer frozen.
        let first = self.idle_since.max(self.frozen_until);
        if now < first {
            return;
        }
        let (events, last) = match self.idle_decrease {
            IdleDecrease::WhileIdle => {
                let more = (now - first).as_nanos() / self.freeze_time.as_nanos();
                (1 + more, first + self.freeze_time * more)
            }
            IdleDecrease::Once => (1, now),
        };
        // p = p - d2, at each event
        self.p = (self.p - self.d2 * events as f64).max(0.0);
        self.frozen_until = last + self.freeze_time;
    }

    fn is_above_level(&self, queue: QueueState) -> bool {
        match self.level {
            Limit::Packets(level) => queue.packets > level,
            Limit::Bytes(level) => queue.bytes > level,
        }
    }
}

impl DecidesAtEnqueue for Blue {
    const USES_ON_EMPTY: bool = true;
}

impl Aqm for Blue {
    #[inline]
    fn on_enqueue(&mut self, _pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        if queue.packets == 0 {
            self.lower(now);
        }
        if self.is_above_level(queue) {
            self.raise(now);
        }
        if bernoulli(self.p, 1.0, &mut self.rng) { Verdict::Mark } else { Verdict::Pass }
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, now: Time) {
        self.raise(now);
    }

    #[inline]
    fn on_empty(&mut self, now: Time) {
        self.idle_since = now;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
    }
}
