//! Adaptive RED: Floyd, Gummadi and Shenker (2001), Figure 1, around the RED oracle.

use aqmlab_aqm::{AredConfig, RedConfig};
use aqmlab_units::Stream;

use super::red::Red;
use crate::common::oracle::{Decision, Item, Law, Queue};

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

impl Law for Ared {
    fn arrive(&mut self, item: &Item, queue: &Queue) -> Decision {
        self.red.arrive(item, queue)
    }

    fn empty(&mut self, now: f64) {
        self.red.empty(now);
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.interval.as_secs_f64())
    }

    fn tick(&mut self, _queue: &Queue, now: f64) {
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

    fn variables(&self, queue: &Queue) -> Vec<(&'static str, f64)> {
        let mut variables = self.red.variables(queue);
        variables.push(("max_p", self.red.max_p));
        variables
    }
}
