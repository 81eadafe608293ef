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

use crate::parameter::{HOUR, above, parameters, up_to};
use crate::parts::ce_threshold::CeThreshold;
use crate::parts::cobalt::{CobaltRules, CobaltState, Departing};
use crate::parts::control_law::ControlLaw;
use crate::{
    Aqm, CeSelector, DecidesAt, Discipline, Fifo, Limit, LinkContext, Packet, ParameterError, QueueState,
    Sqrt, Verdict, Visitor,
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
        /// The sojourn time above which each ECN-capable packet is marked, besides the signals of the law. Automatic: none.
        ce_threshold: Option<Duration> = None, in up_to(HOUR), source "ns-3; CAKE has none", omit default;
        /// The packets that `ce_threshold` marks.
        ce_threshold_selector: CeSelector = CeSelector::Any, source "ns-3; with UseL4s it has ect1, and spares them from the law", omit default;
        /// The maximum that may wait: an overflow raises BLUE's probability.
        limit: Limit = Limit::Packets(1000), source "ns-3; CAKE has at least 4 MiB";
    }
}

impl Discipline for CobaltConfig {
    const FAMILY: &'static str = "delay";
    const DECIDES_AT: DecidesAt = DecidesAt::Dequeue;
    const SUMMARY: &'static str = "CoDel that forgets slowly, with BLUE against unresponsive flows";

    fn complete(&self, _link: &LinkContext) -> Result<CobaltConfig, ParameterError> {
        CeThreshold::check(self.ce_threshold, self.ce_threshold_selector)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| Fifo::new(Cobalt::new(self, link, rng), self.limit))
    }
}

/// The COBALT law.
#[derive(Clone, Debug)]
pub struct Cobalt {
    rules: CobaltRules,
    state: CobaltState,
    /// The sojourn time above which BLUE's probability rises, if it does.
    blue_threshold: Option<Duration>,
    ce_threshold: CeThreshold,
    rng: Stream,
}

impl Cobalt {
    /// Return a law that has seen no packet. `config` must have passed [`CobaltConfig::resolve`].
    pub fn new(config: &CobaltConfig, link: &LinkContext, rng: Stream) -> Cobalt {
        Cobalt {
            rules: CobaltRules {
                target: config.target,
                interval: config.interval,
                mtu_time: link.rate.time_to_send(config.mtu),
                p_inc: config.p_inc.get(),
                p_dec: config.p_dec.get(),
            },
            state: CobaltState::new(ControlLaw::new(config.interval, config.sqrt)),
            blue_threshold: config.blue_on_delay.then_some(config.blue_threshold),
            ce_threshold: CeThreshold::new(config.ce_threshold, config.ce_threshold_selector),
            rng,
        }
    }
}

impl Aqm for Cobalt {
    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, _queue: QueueState, now: Time) -> Verdict {
        let sojourn = now.saturating_since(enqueued_at);
        if self.blue_threshold.is_some_and(|threshold| sojourn > threshold) {
            self.state.raise_blue(&self.rules, now);
        }
        let packet = Departing { is_long: self.rules.is_long(sojourn), is_ecn_capable: pkt.ecn.is_capable() };
        let signals = self.state.advance(&self.rules, packet, now, &mut self.rng);
        let verdict = match (signals.by_blue, signals.by_codel) {
            // BLUE drops even ECN-capable packets: a sender that ignored earlier marks would ignore this one.
            (true, _) => Verdict::Drop,
            (false, true) => Verdict::Mark,
            (false, false) => Verdict::Pass,
        };
        self.ce_threshold.verdict(verdict, pkt.ecn, |threshold| sojourn > threshold)
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, now: Time) {
        self.state.on_overflow(&self.rules, now);
    }

    fn on_empty(&mut self, now: Time) {
        self.state.on_empty(&self.rules, now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.state.count()));
        out("p_drop", self.state.p_drop());
    }
}
