//! PIE as the pseudocode of RFC 8033 has it, appendix B with the choices of appendix A, in floating point and with a queue
//! of its own.

use aqmlab_aqm::{Admission, Decay, DelayFrom, LightLoad, PieConfig};
use aqmlab_units::Stream;

use crate::common::oracle::{Item, Oracle, Queue, bytes};

/// The current delay in seconds, by any of three ways.
pub(crate) struct Clock {
    pub(crate) from: DelayFrom,
    pub(crate) dq_threshold: f64,
    pub(crate) weight: f64,
    /// Of the last packet that left.
    sojourn: f64,
    avg_dq_time: f64,
    in_measurement: bool,
    measurement_start: f64,
    dq_count: f64,
}

impl Clock {
    pub(crate) fn new(from: DelayFrom, dq_threshold: f64, weight: f64) -> Clock {
        Clock {
            from,
            dq_threshold,
            weight,
            sojourn: 0.0,
            avg_dq_time: 0.0,
            in_measurement: false,
            measurement_start: 0.0,
            dq_count: 0.0,
        }
    }

    pub(crate) fn current_qdelay(&self, queue: &Queue) -> f64 {
        match self.from {
            DelayFrom::Timestamp => self.sojourn,
            DelayFrom::RateEstimate => bytes(queue) as f64 * self.avg_dq_time / self.dq_threshold,
            // 100 Mbit/s Ethernet.
            DelayFrom::LinkRate => 8.0 * (bytes(queue) as f64 + 38.0 * queue.len() as f64) / 100e6,
        }
    }

    /// `packet` has left `queue`.
    pub(crate) fn deque(&mut self, packet: Item, queue: &Queue, now: i64) {
        self.sojourn = if queue.is_empty() { 0.0 } else { (now - packet.at) as f64 * 1e-9 };
        let now = now as f64 * 1e-9;
        if self.in_measurement {
            self.dq_count += packet.size as f64;
            if self.dq_count >= self.dq_threshold {
                let dq_time = now - self.measurement_start;
                if self.avg_dq_time == 0.0 {
                    self.avg_dq_time = dq_time;
                } else {
                    self.avg_dq_time = dq_time * self.weight + self.avg_dq_time * (1.0 - self.weight);
                }
                self.in_measurement = false;
            }
        }
        if bytes(queue) as f64 >= self.dq_threshold && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0.0;
        }
    }
}

pub(crate) struct Pie {
    queue: Queue,
    config: PieConfig,
    limit: usize,
    clock: Clock,
    rng: Stream,
    drop_prob: f64,
    accu_prob: f64,
    qdelay_old: f64,
    burst_allowance: f64,
}

impl Pie {
    pub(crate) fn new(config: &PieConfig, limit: usize, rng: Stream) -> Pie {
        Pie {
            queue: Queue::new(),
            config: config.clone(),
            limit,
            clock: Clock::new(config.delay_from, config.dq_threshold.as_f64(), config.dq_weight),
            rng,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: config.max_burst.as_secs_f64(),
        }
    }

    fn half(&self) -> f64 {
        self.config.qdelay_ref.as_secs_f64() / 2.0
    }

    fn drop_early(&mut self) -> bool {
        let qdelay = match self.config.light_load {
            LightLoad::LastUpdate => self.qdelay_old,
            LightLoad::Now => self.clock.current_qdelay(&self.queue),
        };
        if qdelay < self.half() && self.drop_prob < 0.2 {
            return false;
        }
        if bytes(&self.queue) as f64 <= 2.0 * self.config.mean_packet.as_f64() {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.config.derandomize {
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        self.drop_prob > 0.0 && (self.drop_prob >= 1.0 || self.rng.uniform() < self.drop_prob)
    }
}

impl Oracle for Pie {
    fn enqueue(&mut self, mut packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        let current_qdelay = self.clock.current_qdelay(&self.queue);
        if self.drop_prob == 0.0 && current_qdelay < self.half() && self.qdelay_old < self.half() {
            self.burst_allowance = self.config.max_burst.as_secs_f64();
        }
        // A difference of less than a nanosecond is a rounding error.
        let signalled = self.burst_allowance < 1e-9 && self.drop_early();
        let mut admission = Admission::Queued;
        if signalled {
            self.accu_prob = 0.0;
            admission = if self.drop_prob >= self.config.mark_ecnth.get() {
                Admission::DroppedForced
            } else if !packet.capable() {
                Admission::DroppedEarly
            } else {
                Admission::Marked
            };
        }
        if admission.is_queued() && self.queue.len() == self.limit {
            self.accu_prob = 0.0;
            admission = Admission::DroppedByLimit;
        }
        if !admission.is_queued() {
            lost.push(packet.serial);
            return Some(admission);
        }
        if admission == Admission::Marked {
            packet.mark();
        }
        self.queue.push_back(packet);
        Some(admission)
    }

    fn dequeue(&mut self, now: i64, _lost: &mut Vec<usize>) -> Option<Item> {
        let packet = self.queue.pop_front()?;
        self.clock.deque(packet, &self.queue, now);
        Some(packet)
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.t_update.as_secs_f64())
    }

    fn tick(&mut self, _now: i64) {
        let PieConfig { alpha, beta, .. } = self.config;
        let current_qdelay = self.clock.current_qdelay(&self.queue);
        let mut p = alpha * (current_qdelay - self.config.qdelay_ref.as_secs_f64())
            + beta * (current_qdelay - self.qdelay_old);
        if self.drop_prob < 1e-6 {
            p /= 2048.0;
        } else if self.drop_prob < 1e-5 {
            p /= 512.0;
        } else if self.drop_prob < 1e-4 {
            p /= 128.0;
        } else if self.drop_prob < 1e-3 {
            p /= 32.0;
        } else if self.drop_prob < 1e-2 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        if self.config.cap && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        if self.config.steep && current_qdelay > 0.25 {
            p += 0.02;
        }
        self.drop_prob += p;
        let decays = match self.config.decay {
            Decay::Idle => current_qdelay == 0.0 && self.qdelay_old == 0.0,
            Decay::Light => current_qdelay < self.half() && self.qdelay_old < self.half(),
        };
        if decays {
            self.drop_prob *= self.config.decay_factor;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = current_qdelay;
        self.burst_allowance = f64::max(0.0, self.burst_allowance - self.config.t_update.as_secs_f64());
    }

    fn waiting(&self) -> (usize, i64) {
        (self.queue.len(), bytes(&self.queue))
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("p", self.drop_prob), ("qdelay", self.qdelay_old)]
    }
}
