//! GSP, Global Synchronization Protection: drop-tail that signals one packet and then none for an interval.
//!
//! An overflow drops packets of nearly every flow, so that all slow down together. GSP signals one packet when
//! the queue exceeds a threshold, and then none for an interval, until the response can arrive. If the queue
//! spends more time above the threshold than below, the interval shrinks until the signals suffice.
//!
//! Source: Lautenschlaeger and Francini, "Global synchronization protection for bandwidth sharing TCP flows in
//! high-speed links", HPSR 2015; Lautenschlaeger, draft-lauten-aqm-gsp-03, 2016: the adaptive algorithm.
//!
//! Differs from them: time is counted from arrival to arrival, see [`Gsp::count`]; an ECN-capable packet is
//! marked. Their rules for the time after an overflow are left out: with the default limit there are no
//! overflows. Their form for delays is the automatic threshold, since the link's rate is known.

use aqmlab_units::{Bytes, Duration, Time};

use crate::parameter::{GAIN, HOUR, LENGTH, PACKET_SIZE, above, parameters, up_to};
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Packet, ParameterError, QueueState,
    Verdict, Visitor,
};

parameters! {
    /// GSP's parameters.
    pub struct GspConfig {
        /// The queueing delay at the automatic threshold.
        target_delay: Duration = Duration::from_millis(5), in up_to(Duration::from_secs(60)), source "ours: that of most laws of delay";
        /// The queue length above which a packet is signalled; automatic: `target_delay` C with C in packets/s.
        threshold: Option<f64> = None, in LENGTH, unit "packets", source "ours: from `target_delay`";
        /// The initial and longest time without a signal after one: longer than a round-trip time.
        interval: Duration = Duration::from_millis(200), in above(Duration::ZERO).up_to(HOUR), source "ours, as an ns-3 port: the longest round trips of most paths";
        /// The time constant by which the interval adapts.
        tau: Duration = Duration::from_secs(1), in above(Duration::ZERO).up_to(HOUR), source "Lautenschlaeger & Francini 2015: five intervals";
        /// The weight of time above the threshold against time below.
        alpha: f64 = 2.0, in GAIN, unit "1", source "an ns-3 port; Lautenschlaeger & Francini 2015: not much above 1";
        /// The maximum lead of the time above; the interval is at least `interval` / (1 + `max_time` / `tau`).
        max_time: Duration = Duration::from_secs(100), in up_to(HOUR), source "ours: up to 500 signals a second";
        /// The packet size that counts as one packet in C.
        mean_packet: Bytes = Bytes::new(500), in PACKET_SIZE, source "Le et al. 2004: a little over 500 B";
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "ours: no tail drops";
    }
}

impl Discipline for GspConfig {
    const FAMILY: &'static str = "threshold";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "Signals one packet above a threshold, then none for an interval that adapts";

    fn complete(&self, link: &LinkContext) -> Result<GspConfig, ParameterError> {
        Ok(GspConfig { threshold: Some(self.threshold(link)), ..self.clone() })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |_| Gsp::new(self, link))
    }
}

impl GspConfig {
    fn threshold(&self, link: &LinkContext) -> f64 {
        let c = link.packets_per_sec(self.mean_packet);
        self.threshold.unwrap_or_else(|| self.target_delay.as_secs_f64() * c)
    }
}

/// The GSP law.
#[derive(Clone, Copy, Debug)]
pub struct Gsp {
    threshold: f64,
    /// presetInt, tau and maxTime in seconds.
    preset: f64,
    tau: f64,
    max_time: f64,
    alpha: f64,
    /// Lead in seconds of the time above the threshold over that below.
    cumul_time: f64,
    counted_until: Time,
    /// No signal is given before this time.
    timeout: Time,
}

impl Gsp {
    /// Return a law that has seen only an empty queue. `config` must have passed [`GspConfig::resolve`].
    pub fn new(config: &GspConfig, link: &LinkContext) -> Gsp {
        Gsp {
            threshold: config.threshold(link),
            preset: config.interval.as_secs_f64(),
            tau: config.tau.as_secs_f64(),
            max_time: config.max_time.as_secs_f64(),
            alpha: config.alpha,
            cumul_time: 0.0,
            counted_until: Time::ZERO,
            timeout: Time::ZERO,
        }
    }

    /// cumulTime += alpha `time_above` - `time_below`, kept in [0, maxTime]. Between arrivals the queue only
    /// shrinks: if it is above the threshold now, it has been so since the previous arrival. Otherwise that time
    /// counts as below, an error of less than the time between two arrivals.
    fn count(&mut self, above: bool, now: Time) {
        let elapsed = (now - self.counted_until).as_secs_f64();
        self.counted_until = now;
        let lead = if above { self.alpha * elapsed } else { -elapsed };
        self.cumul_time = (self.cumul_time + lead).clamp(0.0, self.max_time);
    }

    /// interval = presetInt / (1 + cumulTime / tau)
    fn interval(&self) -> f64 {
        self.preset / (1.0 + self.cumul_time / self.tau)
    }
}

impl DecidesAtEnqueue for Gsp {}

impl Aqm for Gsp {
    #[inline]
    fn on_enqueue(&mut self, _pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        let above = f64::from(queue.packets) > self.threshold;
        self.count(above, now);
        if above && now >= self.timeout {
            self.timeout = now + Duration::from_secs_f64(self.interval());
            return Verdict::Mark;
        }
        Verdict::Pass
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("cumul_time", self.cumul_time);
        out("interval", self.interval());
    }
}
