//! COBALT as CAKE in Linux has it, on a single queue, with the two additions of ns-3 that have options. Nanoseconds.

use aqmlab_aqm::{Admission, CobaltConfig};
use aqmlab_units::Stream;

use super::codel_oracle::gap;
use crate::common::oracle::{Item, Oracle, Queue, bytes};

pub(crate) struct Cobalt {
    queue: Queue,
    config: CobaltConfig,
    limit: usize,
    rng: Stream,
    count: i64,
    /// interval / sqrt(count), as it was computed when count changed last.
    gap: i64,
    rec_inv_sqrt: i128,
    drop_next: i64,
    blue_timer: i64,
    p_drop: f64,
    dropping: bool,
}

impl Cobalt {
    pub(crate) fn new(config: &CobaltConfig, limit: usize, rng: Stream) -> Cobalt {
        let mut cobalt = Cobalt {
            queue: Queue::new(),
            config: config.clone(),
            limit,
            rng,
            count: 0,
            gap: 0,
            rec_inv_sqrt: 0,
            drop_next: 0,
            blue_timer: 0,
            p_drop: 0.0,
            dropping: false,
        };
        cobalt.invsqrt();
        cobalt
    }

    fn invsqrt(&mut self) {
        let interval = self.config.interval.as_nanos().cast_signed();
        self.gap = gap(self.config.sqrt, interval, self.count.max(1), &mut self.rec_inv_sqrt);
    }

    fn blue(&mut self, step: f64, now: i64) {
        if now - self.blue_timer > self.config.target.as_nanos().cast_signed() {
            self.p_drop = (self.p_drop + step).clamp(0.0, 1.0);
            self.blue_timer = now;
        }
    }

    fn queue_full(&mut self, now: i64) {
        self.blue(self.config.p_inc.get(), now);
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    fn queue_empty(&mut self, now: i64) {
        if self.p_drop > 0.0 {
            self.blue(-self.config.p_dec.get(), now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.invsqrt();
            self.drop_next += self.gap;
        }
    }

    /// Decide on the packet: `(is_dropped, is_marked)`.
    fn should_drop(&mut self, packet: Item, now: i64) -> (bool, bool) {
        let interval = self.config.interval.as_nanos().cast_signed();
        let sojourn = now - packet.at;
        let mut schedule = now - self.drop_next;
        // At 100 Mbit/s, 80 ns for each byte.
        let mtu_time = 80 * self.config.mtu.get().cast_signed();
        let over_target = sojourn > self.config.target.as_nanos().cast_signed() && sojourn > 4 * mtu_time;
        let mut next_due = self.count > 0 && schedule >= 0;
        let (mut drop, mut marked) = (false, false);
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.gap;
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        if next_due && self.dropping {
            marked = packet.capable();
            drop = !marked;
            self.count += 1;
            self.invsqrt();
            self.drop_next += self.gap;
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count -= 1;
                self.invsqrt();
                self.drop_next += self.gap;
                schedule = now - self.drop_next;
                next_due = self.count > 0 && schedule >= 0;
            }
        }
        if self.config.blue_on_delay && sojourn > self.config.blue_threshold.as_nanos().cast_signed() {
            self.blue(self.config.p_inc.get(), now);
        }
        if self.p_drop > 0.0 && (self.p_drop >= 1.0 || self.rng.uniform() < self.p_drop) {
            drop = true;
        }
        if self.count == 0 {
            self.drop_next = now + interval;
        } else if schedule > 0 && !drop {
            self.drop_next = now;
        }
        (drop, marked)
    }
}

impl Oracle for Cobalt {
    fn enqueue(&mut self, packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        if self.queue.len() == self.limit {
            self.queue_full(packet.at);
            lost.push(packet.serial);
            return Some(Admission::DroppedByLimit);
        }
        self.queue.push_back(packet);
        Some(Admission::Queued)
    }

    fn dequeue(&mut self, now: i64, lost: &mut Vec<usize>) -> Option<Item> {
        while let Some(mut packet) = self.queue.pop_front() {
            let (drop, marked) = self.should_drop(packet, now);
            if self.queue.is_empty() {
                self.queue_empty(now);
            }
            if marked {
                packet.mark();
            }
            if !drop {
                return Some(packet);
            }
            lost.push(packet.serial);
        }
        None
    }

    fn waiting(&self) -> (usize, i64) {
        (self.queue.len(), bytes(&self.queue))
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("count", self.count as f64), ("p_drop", self.p_drop)]
    }
}
