//! PI2 from its paper's equations, with a queue of its own. The delay is measured as PIE's oracle measures it.

use aqmlab_aqm::{Admission, Ecn, Pi2Config, SignalAt};
use aqmlab_units::Stream;

use super::pie_oracle::Clock;
use super::traffic::{Left, Oracle, Plain, Waiting};

pub(crate) struct Pi2 {
    queue: Plain,
    config: Pi2Config,
    limit: usize,
    clock: Clock,
    rng: Stream,
    p_prime: f64,
    qdelay_old: f64,
}

impl Pi2 {
    pub(crate) fn new(config: &Pi2Config, limit: usize, rng: Stream) -> Pi2 {
        Pi2 {
            queue: Plain::default(),
            config: config.clone(),
            limit,
            clock: Clock::new(config.delay_from, config.dq_threshold.as_f64(), config.dq_weight),
            rng,
            p_prime: 0.0,
            qdelay_old: 0.0,
        }
    }

    fn signalled(&mut self, ecn: Ecn) -> bool {
        let p = if self.config.coupled && ecn == Ecn::Ect1 {
            self.config.k * self.p_prime
        } else {
            self.p_prime * self.p_prime
        };
        let enough = self.queue.bytes() >= self.config.min_backlog.get();
        enough && p > 0.0 && (p >= 1.0 || self.rng.uniform() < p)
    }
}

impl Oracle for Pi2 {
    fn enqueue(&mut self, packet: Waiting) -> Admission {
        let signalled = self.config.signal_at == SignalAt::Arrival && self.signalled(packet.ecn);
        if signalled && packet.ecn == Ecn::NotEct {
            return Admission::DroppedEarly;
        }
        if self.queue.0.len() == self.limit {
            return Admission::DroppedByLimit;
        }
        self.queue.0.push_back(packet);
        if signalled { Admission::Marked } else { Admission::Queued }
    }

    fn dequeue(&mut self, now: i64) -> Left {
        let mut left = Left::default();
        while let Some(packet) = self.queue.0.pop_front() {
            self.clock.deque(packet, &self.queue, now);
            // A packet that was marked when it arrived is not judged here.
            let signalled = self.config.signal_at == SignalAt::Departure && self.signalled(packet.ecn);
            if !signalled || packet.ecn != Ecn::NotEct {
                left.sent = Some((packet.id, signalled));
                break;
            }
            left.dropped.push(packet.id);
        }
        left
    }

    fn period(&self) -> Option<i64> {
        Some(self.config.t_update.as_nanos().cast_signed())
    }

    fn tick(&mut self, _now: i64) {
        let qdelay = self.clock.current_qdelay(&self.queue);
        let Pi2Config { alpha, beta, .. } = self.config;
        // Summed in the law's order: where the sum is 0, what rounding leaves of it decides whether a number is drawn.
        let target = self.config.target.as_secs_f64();
        let p_prime = self.p_prime + alpha * (qdelay - target) + beta * (qdelay - self.qdelay_old);
        self.p_prime = p_prime.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("p'", self.p_prime), ("qdelay", self.qdelay_old)]
    }
}
