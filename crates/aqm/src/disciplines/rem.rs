//! REM, random exponential marking: a price that rises with excess demand and backlog.
//!
//! Every `tau` the price is raised by the arrivals beyond the link's capacity and by the backlog beyond the
//! target. Each arriving packet is then signalled with a probability exponential in the price, so that the
//! probability along a path reflects the sum of its prices.
//!
//! Source: Athuraliya, Li, Low and Yin, "REM: active queue management", IEEE Network 15(3), 2001; the equations as
//! printed by Le et al. (2004), section 2.
//!
//! Differs from ns-2 (`rem.cc`): it marks on arrival, not on departure, and drops a packet that is not
//! ECN-capable; ns-2 lets it pass. The capacity counts each frame's overhead. Byte mode is the default, as Le et
//! al. and the scheme's authors recommend.

use aqmlab_units::{Bytes, Duration, Stream, Time};

use crate::law::bernoulli;
use crate::parameter::{GAIN, LENGTH, PACKET_SIZE, WEIGHT, above, parameters};
use crate::parts::queue_unit::QueueUnit;
use crate::{
    Aqm, DecidesAt, DecidesAtEnqueue, Discipline, Limit, LinkContext, Mode, Packet, QueueState, Verdict,
    Visitor,
};

parameters! {
    /// REM's parameters, as its authors recommend.
    pub struct RemConfig {
        /// The queue length to hold.
        q_ref: f64 = 24.0, in LENGTH, unit "packets", source "Le et al. 2004: the better of 24 and 240";
        /// The rate at which the price follows a mismatch.
        gamma: f64 = 0.001, in GAIN, unit "1/packet", source "Athuraliya et al. 2001; ns-2";
        /// The weight of the backlog against the excess of arrivals.
        alpha: f64 = 0.1, in GAIN, unit "1", source "Athuraliya et al. 2001; ns-2";
        /// The base of the probability 1 - phi^-price.
        phi: f64 = 1.001, in above(1.0).up_to(1000.0), unit "1", source "Athuraliya et al. 2001; ns-2";
        /// The time between two updates of the price.
        tau: Duration = Duration::from_millis(2), in above(Duration::ZERO), source "ns-2";
        /// The weight of the newest interval's arrivals in their average; with 1 there is no averaging.
        w_x: f64 = 1.0, in WEIGHT, unit "1", source "ns-2 (`inw_`)";
        /// The unit of queue and arrivals: packets or bytes.
        mode: Mode = Mode::Byte, source "Le et al. 2004";
        /// The packet size that counts as one packet, in byte mode and in the link's capacity.
        mean_packet: Bytes = Bytes::new(500), in PACKET_SIZE, source "Le et al. 2004: a little over 500 B; ns-2 has 1000 B";
        /// The maximum that may wait: large enough to avoid tail drops, which would hide the law's effect.
        limit: Limit = Limit::Packets(10_000), source "Le et al. 2004: no tail drops";
    }
}

impl Discipline for RemConfig {
    const FAMILY: &'static str = "optimization";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "Signals with a probability exponential in a price for excess demand and backlog";

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.limit, |rng| Rem::new(self, link, rng))
    }
}

/// The REM law.
#[derive(Clone, Debug)]
pub struct Rem {
    gamma: f64,
    alpha: f64,
    ln_phi: f64,
    q_ref: f64,
    /// c, the number of packets that the link can send in `tau`.
    c: f64,
    tau: Duration,
    w_x: f64,
    measure: QueueUnit,
    rng: Stream,
    /// x, the number of packets that arrived since the last update, including dropped ones.
    x: f64,
    /// The average of x over the updates.
    x_avg: f64,
    price: f64,
    /// The probability of a signal.
    p: f64,
    next_update: Time,
}

impl Rem {
    /// Return a law whose price is zero. `config` must have passed [`RemConfig::resolve`].
    pub fn new(config: &RemConfig, link: &LinkContext, rng: Stream) -> Rem {
        Rem {
            gamma: config.gamma,
            alpha: config.alpha,
            ln_phi: libm::log(config.phi),
            q_ref: config.q_ref,
            c: config.tau.as_secs_f64() * link.packets_per_sec(config.mean_packet),
            tau: config.tau,
            w_x: config.w_x,
            measure: QueueUnit::new(config.mode, config.mean_packet),
            rng,
            x: 0.0,
            x_avg: 0.0,
            price: 0.0,
            p: 0.0,
            next_update: Time::ZERO + config.tau,
        }
    }
}

impl DecidesAtEnqueue for Rem {}

impl Aqm for Rem {
    #[inline]
    fn on_enqueue(&mut self, pkt: &Packet, _queue: QueueState, _now: Time) -> Verdict {
        let size = self.measure.packet(pkt);
        self.x += size;
        if bernoulli(self.p * size, 1.0, &mut self.rng) { Verdict::Mark } else { Verdict::Pass }
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now < self.next_update {
            return;
        }
        self.next_update += self.tau;
        let q = self.measure.queue(queue);
        // x_avg = (1 - w_x) x_avg + w_x x; with a weight of 1 this is exactly x.
        self.x_avg = (1.0 - self.w_x) * self.x_avg + self.w_x * self.x;
        self.x = 0.0;
        // price = max(0, price + gamma (alpha (q - q_ref) + x_avg - c))
        self.price =
            (self.price + self.gamma * (self.alpha * (q - self.q_ref) + self.x_avg - self.c)).max(0.0);
        // p = 1 - phi^-price
        self.p = -libm::expm1(-self.price * self.ln_phi);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("price", self.price);
        out("p", self.p);
    }
}
