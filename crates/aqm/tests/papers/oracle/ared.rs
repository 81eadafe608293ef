//! Adaptive RED: Floyd, Gummadi and Shenker (2001), Figure 1, around the RED oracle.

use aqmlab_aqm::{AredConfig, RedConfig, Verdict};
use aqmlab_units::Stream;

use super::red::Red;
use super::{Oracle, Seen};

pub(crate) struct Ared {
    red: Red,
    config: AredConfig,
}

impl Ared {
    pub(crate) fn new(config: &AredConfig, rng: Stream) -> Ared {
        let red = RedConfig {
            min_th: config.min_th.expect("resolved"),
            max_th: config.max_th.expect("resolved"),
            w_q: config.w_q.expect("resolved"),
            max_p: config.max_p,
            ..config.red.clone()
        };
        Ared { red: Red::new(&red, rng), config: config.clone() }
    }
}

impl Oracle for Ared {
    fn arrive(&mut self, size: f64, seen: Seen, now: f64) -> Verdict {
        self.red.arrive(size, seen, now)
    }

    fn empty(&mut self, now: f64) {
        self.red.empty(now);
    }

    fn period(&self) -> Option<f64> {
        Some(self.config.interval.as_secs_f64())
    }

    fn tick(&mut self, _seen: Seen, now: f64) {
        self.red.age(now);
        let (min, max) = (self.red.config.min_th, self.red.config.max_th);
        if self.red.avg > min + self.config.target_high * (max - min) {
            let step = if self.config.alpha < self.red.max_p / 4.0 {
                self.config.alpha
            } else {
                self.red.max_p / 4.0
            };
            self.red.max_p += step;
            if self.red.max_p > self.config.max_p_top.get() {
                self.red.max_p = self.config.max_p_top.get();
            }
        } else if self.red.avg < min + self.config.target_low * (max - min) {
            self.red.max_p *= self.config.beta;
            if self.red.max_p < self.config.max_p_bottom.get() {
                self.red.max_p = self.config.max_p_bottom.get();
            }
        }
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        let mut variables = self.red.variables();
        variables.push(("max_p", self.red.max_p));
        variables
    }
}
