//! DualPI2 as the pseudocode of RFC 9332, appendix A.2, has it, with the scheduler, the step, the coin and the small
//! backlog of Linux as alternatives. Times are nanoseconds.

use std::collections::VecDeque;

use aqmlab_aqm::{
    Admission, Controlled, Decide, DualPi2Config, Ecn, Identifier, Limit, Native, Overload, Share,
};
use aqmlab_units::{Duration, Stream};

use crate::common::oracle::{Item, Oracle, Queue, bytes};

pub(crate) struct DualPi2 {
    config: DualPi2Config,
    rng: Stream,
    lq: Queue,
    cq: Queue,
    lq_count: f64,
    cq_count: f64,
    p: f64,
    p_cl: f64,
    p_c: f64,
    prevq: f64,
    credit: i64,
}

fn ns(span: Duration) -> i64 {
    span.as_nanos().cast_signed()
}

impl DualPi2 {
    pub(crate) fn new(config: &DualPi2Config, rng: Stream) -> DualPi2 {
        let mut dual = DualPi2 {
            config: config.clone(),
            rng,
            lq: VecDeque::new(),
            cq: VecDeque::new(),
            lq_count: 0.0,
            cq_count: 0.0,
            p: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            prevq: 0.0,
            credit: 0,
        };
        dual.reset_credit();
        dual
    }

    fn reset_credit(&mut self) {
        let (wc, wl) = self.weights();
        self.credit = self.config.mtu.get().cast_signed() * (wc - wl);
    }

    fn weights(&self) -> (i64, i64) {
        let wc = i64::from(self.config.classic_weight);
        (wc, 100 - wc)
    }

    fn scheduler_chooses_lq(&self, now: i64) -> bool {
        let (Some(l), Some(c)) = (self.lq.front(), self.cq.front()) else {
            return self.cq.is_empty();
        };
        match self.config.share {
            Share::Wrr => self.credit <= 0,
            Share::TsFifo => now - l.at + ns(self.config.tshift) >= now - c.at,
        }
    }

    fn laqm(&self, qdelay: i64) -> f64 {
        let (min_th, range) = (ns(self.config.min_th), ns(self.config.range));
        if self.lq.len() < self.config.min_left as usize {
            return 0.0;
        }
        match self.config.native {
            Native::Step if qdelay > ns(self.config.step) => 1.0,
            Native::Ramp if qdelay >= min_th + range => 1.0,
            Native::Ramp if qdelay > min_th => {
                (qdelay as f64 * 1e-9 - min_th as f64 * 1e-9) / (range as f64 * 1e-9)
            }
            Native::Step | Native::Ramp => 0.0,
        }
    }

    fn recur(&mut self, in_lq: bool, likelihood: f64) -> bool {
        if self.config.decide == Decide::Random {
            return likelihood > 0.0 && (likelihood >= 1.0 || self.rng.uniform() < likelihood);
        }
        let count = if in_lq { &mut self.lq_count } else { &mut self.cq_count };
        *count += likelihood;
        if *count > 1.0 {
            *count -= 1.0;
            return true;
        }
        false
    }

    /// One packet of the L4S queue: whether it leaves, marked perhaps.
    fn l4s(&mut self, pkt: &mut Item, now: i64, p_cl: f64, p_c: f64) -> bool {
        let saturated = p_cl >= 1.0;
        if saturated && self.config.overload == Overload::Drop {
            if self.recur(true, p_c) {
                return false;
            }
            if self.recur(true, p_cl) {
                pkt.mark();
            }
            return true;
        }
        let p_l = p_cl.max(self.laqm(now - pkt.at));
        if self.recur(true, p_l) {
            pkt.mark();
        }
        true
    }

    fn classic(&mut self, pkt: &mut Item, p_c: f64) -> bool {
        let p_cmax = (1.0 / (self.config.k * self.config.k)).min(1.0);
        if self.recur(false, p_c) {
            let saturated = p_c >= p_cmax && self.config.overload == Overload::Drop;
            if pkt.ecn == Ecn::NotEct || saturated {
                return false;
            }
            pkt.mark();
        }
        true
    }
}

impl Oracle for DualPi2 {
    fn enqueue(&mut self, packet: Item, lost: &mut Vec<usize>) -> Option<Admission> {
        let (packets, all) = self.waiting();
        let full = match self.config.limit {
            Limit::Packets(most) => packets >= most as usize,
            Limit::Bytes(most) => all + packet.size > most.get().cast_signed(),
        };
        if full {
            lost.push(packet.serial);
            return None;
        }
        match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => self.lq.push_back(packet),
            // Linux, `any_ect`.
            Ecn::Ect0 if self.config.identifier == Identifier::AnyEct => self.lq.push_back(packet),
            Ecn::Ect0 | Ecn::NotEct => self.cq.push_back(packet),
        }
        None
    }

    fn dequeue(&mut self, now: i64, lost: &mut Vec<usize>) -> Option<Item> {
        while !(self.lq.is_empty() && self.cq.is_empty()) {
            let both_backlogged = !self.lq.is_empty() && !self.cq.is_empty();
            let from_lq = self.scheduler_chooses_lq(now);
            let mut pkt = if from_lq { self.lq.pop_front() } else { self.cq.pop_front() }.expect("chosen");
            let (p_cl, p_c) = if self.waiting().1 < self.config.min_backlog.get().cast_signed() {
                (0.0, 0.0)
            } else {
                (self.p_cl, self.p_c)
            };
            let leaves =
                if from_lq { self.l4s(&mut pkt, now, p_cl, p_c) } else { self.classic(&mut pkt, p_c) };
            if !leaves {
                lost.push(pkt.serial);
                continue;
            }
            if both_backlogged {
                let (wc, wl) = self.weights();
                self.credit += if from_lq { wc * pkt.size } else { -wl * pkt.size };
            }
            return Some(pkt);
        }
        self.reset_credit();
        None
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.t_update.as_secs_f64())
    }

    fn tick(&mut self, now: i64) {
        let time = |queue: &Queue| queue.front().map_or(0.0, |head| (now - head.at) as f64 * 1e-9);
        let curq = match self.config.controlled {
            Controlled::Longer => time(&self.cq).max(time(&self.lq)),
            Controlled::Classic => time(&self.cq),
        };
        let target = self.config.target.as_secs_f64();
        self.p = self.p + self.config.alpha * (curq - target) + self.config.beta * (curq - self.prevq);
        let most = if self.config.overload == Overload::Drop { 1.0 } else { 1.0 / self.config.k };
        self.p = self.p.max(0.0).min(most);
        // A likelihood above 1 would be paid back by `recur` long after the overload.
        self.p_cl = (self.config.k * self.p).min(1.0);
        self.p_c = self.p * self.p;
        self.prevq = curq;
    }

    fn waiting(&self) -> (usize, i64) {
        (self.lq.len() + self.cq.len(), bytes(&self.lq) + bytes(&self.cq))
    }
}
