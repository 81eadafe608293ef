//! PI2 from its paper's equations, with a queue of its own. The delay is measured as PIE's oracle measures it.

use aqmlab_aqm::{Admission, Ecn, Pi2Config, SignalAt};
use aqmlab_units::Stream;

use super::pie_oracle::Clock;
use crate::common::oracle::{Item, Oracle, Queue, bytes};

pub(crate) struct Pi2 {
    queue: Queue,
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
            queue: Queue::new(),
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
        let enough = bytes(&self.queue) >= self.config.min_backlog.get().cast_signed();
        enough && p > 0.0 && (p >= 1.0 || self.rng.uniform() < p)
    }
}

impl Oracle for Pi2 {
    fn enqueue(&mut self, mut packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        let signalled = self.config.signal_at == SignalAt::Arrival && self.signalled(packet.ecn);
        if signalled && !packet.capable() {
            lost.push(packet.serial);
            return Some(Admission::DroppedEarly);
        }
        if self.queue.len() == self.limit {
            lost.push(packet.serial);
            return Some(Admission::DroppedByLimit);
        }
        if signalled {
            packet.mark();
        }
        self.queue.push_back(packet);
        Some(if signalled { Admission::Marked } else { Admission::Queued })
    }

    fn dequeue(&mut self, now: i64, lost: &mut Vec<usize>) -> Option<Item> {
        while let Some(mut packet) = self.queue.pop_front() {
            self.clock.deque(packet, &self.queue, now);
            // A packet that was marked when it arrived is not judged here.
            let signalled = self.config.signal_at == SignalAt::Departure && self.signalled(packet.ecn);
            if !signalled {
                return Some(packet);
            }
            if packet.capable() {
                packet.mark();
                return Some(packet);
            }
            lost.push(packet.serial);
        }
        None
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.t_update.as_secs_f64())
    }

    fn tick(&mut self, _now: i64) {
        let qdelay = self.clock.current_qdelay(&self.queue);
        let Pi2Config { alpha, beta, .. } = self.config;
        self.p_prime +=
            alpha * (qdelay - self.config.target.as_secs_f64()) + beta * (qdelay - self.qdelay_old);
        self.p_prime = self.p_prime.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
    }

    fn waiting(&self) -> (usize, i64) {
        (self.queue.len(), bytes(&self.queue))
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("p'", self.p_prime), ("qdelay", self.qdelay_old)]
    }
    fn variable_mut(&mut self, name: &str) -> Option<&mut f64> {
        (name == "p'").then_some(&mut self.p_prime)
    }
}
