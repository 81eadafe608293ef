//! RED: Floyd and Jacobson (1993), with the gentle region, the rules that ns-2 and ALTQ share (nothing with at most one
//! packet waiting; the packet that crosses `min_th` passes), the spacing variants and the ECN policies.

use aqmlab_aqm::{ByteScaling, EcnAboveMax, Mode, RedConfig, Spacing};
use aqmlab_units::Stream;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, drawn};
use crate::common::slow_capacity;

pub(crate) struct Red {
    pub(crate) config: RedConfig,
    pub(crate) max_p: f64,
    pub(crate) avg: f64,
    /// Packets (or bytes over the mean packet) since the last signal; -1 below `min_th`.
    count: f64,
    idle: bool,
    idle_since: f64,
    rng: Stream,
}

impl Red {
    pub(crate) fn new(config: &RedConfig, rng: Stream) -> Red {
        Red {
            config: config.clone(),
            max_p: config.max_p.get(),
            avg: 0.0,
            count: -1.0,
            idle: true,
            idle_since: 0.0,
            rng,
        }
    }

    /// (1-w)^m, as if m packets had been sent since the queue became empty.
    pub(crate) fn age(&mut self, now: f64) {
        if self.idle {
            let m = (now - self.idle_since) * slow_capacity(self.config.mean_packet.as_f64());
            self.avg *= libm::pow(1.0 - self.config.w_q, m);
            self.idle_since = now;
        }
    }

    fn initial_probability(&self) -> f64 {
        let (min, max) = (self.config.min_th, self.config.max_th);
        if self.avg < min {
            return 0.0;
        }
        if self.avg < max {
            return self.max_p * (self.avg - min) / (max - min);
        }
        if self.config.gentle && self.avg < 2.0 * max {
            return self.max_p + (1.0 - self.max_p) * (self.avg - max) / max;
        }
        1.0
    }

    fn spaced(&self, p: f64, this: f64) -> f64 {
        match self.config.spacing {
            Spacing::Geometric => p,
            Spacing::Uniform => {
                if self.count * p < 1.0 {
                    p / (1.0 - self.count * p)
                } else {
                    1.0
                }
            }
            Spacing::Figure2 => {
                let count = self.count + this;
                if count * p < 1.0 { p / (1.0 - count * p) } else { 1.0 }
            }
            Spacing::Wait => {
                let n = self.count + this;
                if n * p < 1.0 {
                    0.0
                } else if n * p < 2.0 {
                    p / (2.0 - n * p)
                } else {
                    1.0
                }
            }
            Spacing::Altq => {
                let n = self.count + this;
                if n * p < 2.0 { p / (2.0 - n * p) } else { 1.0 }
            }
        }
    }
}

impl Law for Red {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        let (size, now) = (item.size as f64, item.secs());
        let mean = self.config.mean_packet.as_f64();
        let by_bytes = self.config.mode == Mode::Byte;
        let ratio = if by_bytes { size / mean } else { 1.0 };
        let q = if by_bytes { bytes(queue) as f64 / mean } else { queue.len() as f64 };
        self.age(now);
        self.idle = false;
        self.avg = (1.0 - self.config.w_q) * self.avg + self.config.w_q * q;
        if self.avg < self.config.min_th || queue.len() as f64 <= 1.0 {
            self.count = -1.0;
            return Decision::Pass;
        }
        let above_max = self.avg >= self.config.max_th;
        let full = self.avg >= if self.config.gentle { 2.0 * self.config.max_th } else { self.config.max_th };
        let this = if self.config.byte_scaling == ByteScaling::AfterSpacing { ratio } else { 1.0 };
        let signalled = if full {
            true
        } else if self.count < 0.0 {
            self.count = this;
            return Decision::Pass;
        } else {
            let p_b = self.initial_probability();
            let p = match self.config.byte_scaling {
                ByteScaling::BeforeSpacing => self.spaced(p_b * ratio, this),
                ByteScaling::AfterSpacing => {
                    let p = self.spaced(p_b, this);
                    if p < 1.0 { p * ratio } else { 1.0 }
                }
            };
            drawn(p, &mut self.rng)
        };
        if !signalled {
            self.count += this;
            return Decision::Pass;
        }
        self.count = 0.0;
        match self.config.ecn_policy {
            EcnAboveMax::DropAboveMax if above_max => Decision::Drop,
            EcnAboveMax::MarkInGentle if full => Decision::Drop,
            _ => Decision::Mark,
        }
    }

    fn empty(&mut self, now: f64) {
        self.idle = true;
        self.idle_since = now;
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("avg", self.avg), ("p_b", self.initial_probability())]
    }
}
