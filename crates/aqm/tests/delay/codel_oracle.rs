//! CoDel as the pseudocode of RFC 8289, section 5, has it: one call takes as many packets from its queue as it drops, and
//! one more. Times are nanoseconds, and 0 means "not set" as in the RFC. Where a packet can be marked, it is marked
//! instead of dropped and ends the call, as in Linux.

use aqmlab_aqm::{Admission, CodelConfig, NextMarkFrom, Reentry, Sqrt};

use crate::common::oracle::{Item, Oracle, Queue, bytes};

pub(crate) struct Codel {
    queue: Queue,
    config: CodelConfig,
    first_above_time: i64,
    drop_next: i64,
    count: i64,
    lastcount: i64,
    dropping: bool,
    /// 1/sqrt(count) times 2^32.
    rec_inv_sqrt: i128,
}

/// x/2 (3 - n x^2) for x a fraction of 2^32, rounded down at each step.
pub(crate) fn newton(x: i128, n: i64) -> i128 {
    let one = 1_i128 << 32;
    (3 * one - i128::from(n) * (x * x / one)) / 4 * x / (one / 2)
}

/// interval / sqrt(count), and the approximation carried on.
#[expect(clippy::cast_possible_truncation, reason = "shorter than the interval")]
pub(crate) fn gap(sqrt: Sqrt, interval: i64, count: i64, rec_inv_sqrt: &mut i128) -> i64 {
    let full = (1_i128 << 32) - 1;
    *rec_inv_sqrt = match sqrt {
        Sqrt::Exact => return (interval as f64 / (count as f64).sqrt()).round() as i64,
        Sqrt::Newton16 if count == 1 => full / 65536 * 65536,
        Sqrt::Newton16 => newton(*rec_inv_sqrt, count) / 65536 * 65536,
        Sqrt::Table32 | Sqrt::ExactTable32 if count < 16 => {
            let steps = if sqrt == Sqrt::Table32 { 4 } else { 20 };
            let mut x = full;
            for n in 1..=count {
                for _step in 0..steps {
                    x = newton(x, n);
                }
            }
            x
        }
        Sqrt::Table32 | Sqrt::ExactTable32 => newton(*rec_inv_sqrt, count),
    };
    i64::try_from(i128::from(interval) * *rec_inv_sqrt / (1_i128 << 32)).expect("less than the interval")
}

impl Codel {
    pub(crate) fn new(config: &CodelConfig) -> Codel {
        Codel {
            queue: Queue::new(),
            config: config.clone(),
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            rec_inv_sqrt: 0,
        }
    }

    fn interval(&self) -> i64 {
        self.config.interval.as_nanos().cast_signed()
    }

    fn control_law(&mut self, t: i64) -> i64 {
        t + gap(self.config.sqrt, self.interval(), self.count, &mut self.rec_inv_sqrt)
    }

    fn dodequeue(&mut self, now: i64) -> (Option<Item>, bool) {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let sojourn_time = now - packet.at;
        let mut ok_to_drop = false;
        if sojourn_time < self.config.target.as_nanos().cast_signed()
            || bytes(&self.queue) <= self.config.mtu.get().cast_signed()
        {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval();
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }
}

impl Oracle for Codel {
    fn enqueue(&mut self, packet: Item, _lost: &mut Vec<usize>) -> Option<Admission> {
        self.queue.push_back(packet);
        Some(Admission::Queued)
    }

    fn dequeue(&mut self, now: i64, lost: &mut Vec<usize>) -> Option<Item> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if let Some(packet) = packet.as_mut().filter(|packet| packet.capable()) {
                    let from = match self.config.next_mark_from {
                        NextMarkFrom::DropNext => self.drop_next,
                        NextMarkFrom::Now => now,
                    };
                    self.drop_next = self.control_law(from);
                    packet.mark();
                    return Some(*packet);
                }
                lost.push(packet.expect("ok to drop").serial);
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    // The rest does not change the schedule, but continues an approximation, as Linux does.
                    self.control_law(0);
                    self.dropping = false;
                }
            }
            return packet;
        }
        let since_last = now - self.drop_next;
        let may_begin = self.config.reentry != Reentry::Paper
            || since_last < self.interval()
            || now - self.first_above_time >= self.interval();
        if !(ok_to_drop && may_begin) {
            return packet;
        }
        if let Some(packet) = packet.as_mut().filter(|packet| packet.capable()) {
            packet.mark();
        } else {
            lost.push(packet.expect("ok to drop").serial);
            (packet, _) = self.dodequeue(now);
        }
        self.dropping = true;
        let delta = self.count - self.lastcount;
        self.count = match self.config.reentry {
            Reentry::Delta if delta > 1 && since_last < 16 * self.interval() => delta,
            Reentry::MinusOne if self.count > 1 && since_last < 16 * self.interval() => self.count - 1,
            Reentry::MinusTwo if self.count > 2 && since_last < 8 * self.interval() => self.count - 2,
            Reentry::Paper if self.count > 2 && since_last < self.interval() => self.count - 2,
            _ => 1,
        };
        self.drop_next = self.control_law(now);
        self.lastcount = self.count;
        packet
    }

    fn waiting(&self) -> (usize, i64) {
        (self.queue.len(), bytes(&self.queue))
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("count", self.count as f64)]
    }
}
