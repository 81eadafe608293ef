//! PI: a proportional-integral controller that drives the queue to a reference length.
//!
//! At a fixed frequency the controller samples the queue and corrects the probability p, in proportion to the
//! distance from the reference and to the change of the queue. Each arriving packet is then signalled with p.
//!
//! Source: Hollot, Misra, Towsley and Gong, "On designing improved controllers for AQM routers supporting TCP
//! flows", INFOCOM 2001; the equation as printed by Le et al. (2004), section 2.
//!
//! Differs from ns-2 (`pi.cc`): byte mode by default, as Le et al. and the scheme's authors recommend.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{GAIN, LENGTH, PACKET_SIZE, check, from, parameters};
use crate::parts::queue_unit::QueueUnit;
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Mode, Packet, ParameterError,
    QueueState, Verdict, Visitor,
};

parameters! {
    /// PI's parameters. The gains were designed for 3,750 packets/s, at least 60 flows and round-trip times up to
    /// 246 ms; Le et al. used them unscaled at 100 Mbit/s.
    pub struct PiConfig {
        /// The queue length to hold.
        q_ref: f64 = 24.0, in LENGTH, unit "packets", source "Le et al. 2004: the better of 24 and 240";
        /// The gain on the current distance from `q_ref`. It must be above `b`, or the controller does not
        /// integrate.
        a: f64 = 1.822e-5, in GAIN, unit "1/packet", source "Hollot et al. 2001; ns-2";
        /// The gain on the distance from `q_ref` one sample ago.
        b: f64 = 1.816e-5, in GAIN, unit "1/packet", source "Hollot et al. 2001; ns-2";
        /// The frequency of samples.
        sampling_hz: f64 = 170.0, in from(0.001).up_to(1e6), unit "Hz", source "ns-2";
        /// The unit of the queue: packets or bytes.
        mode: Mode = Mode::Byte, source "Le et al. 2004";
        /// The packet size that counts as one packet in byte mode.
        mean_packet: Bytes = Bytes::new(500), in PACKET_SIZE, source "ns-2; Le et al. 2004: a little over 500 B";
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "Le et al. 2004: no tail drops";
    }
}

impl Discipline for PiConfig {
    const FAMILY: &'static str = "control theory";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "A proportional-integral controller that drives the queue to a reference length";

    fn complete(&self, _link: &LinkContext) -> Result<PiConfig, ParameterError> {
        check(self.a > self.b, "a", format_args!("above b = {:e} and at most 1000", self.b), &self.a)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |rng| Pi::new(self, link, rng))
    }
}

/// The PI controller.
#[derive(Clone, Debug)]
pub struct Pi {
    a: f64,
    b: f64,
    q_ref: f64,
    /// T, the sampling period.
    period: Duration,
    measure: QueueUnit,
    rng: Stream,
    /// p(kT), the probability of a signal.
    p: f64,
    /// q((k-1)T), the queue at the last sample.
    q_old: f64,
    next_sample: Time,
}

impl Pi {
    /// Return a controller that has seen only an empty queue. `config` must have passed [`PiConfig::resolve`].
    pub fn new(config: &PiConfig, _link: &LinkContext, rng: Stream) -> Pi {
        let period = Duration::from_secs_f64(1.0 / config.sampling_hz);
        Pi {
            a: config.a,
            b: config.b,
            q_ref: config.q_ref,
            period,
            measure: QueueUnit::new(config.mode, config.mean_packet),
            rng,
            p: 0.0,
            q_old: 0.0,
            next_sample: Time::ZERO + period,
        }
    }
}

impl DecidesAtEnqueue for Pi {}

impl Aqm for Pi {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        if bernoulli(self.p * self.measure.packet(pkt), 1.0, &mut self.rng) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_sample)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now < self.next_sample {
            return;
        }
        self.next_sample += self.period;
        let q = self.measure.queue(queue);
        // p(kT) = a (q(kT) - q_ref) - b (q((k-1)T) - q_ref) + p((k-1)T), kept in [0, 1]
        let p = self.a * (q - self.q_ref) - self.b * (self.q_old - self.q_ref) + self.p;
        self.p = p.clamp(0.0, 1.0);
        self.q_old = q;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
    }
}
