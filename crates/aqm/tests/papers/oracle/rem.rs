//! REM: Athuraliya, Li, Low and Yin (2001).

use aqmlab_aqm::{Mode, RemConfig};
use aqmlab_units::Stream;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, drawn};
use crate::common::slow_capacity;

pub(crate) struct Rem {
    config: RemConfig,
    price: f64,
    arrived: f64,
    average: f64,
    rng: Stream,
}

impl Rem {
    pub(crate) fn new(config: &RemConfig, rng: Stream) -> Rem {
        Rem { config: config.clone(), price: 0.0, arrived: 0.0, average: 0.0, rng }
    }

    fn probability(&self) -> f64 {
        1.0 - libm::pow(self.config.phi, -self.price)
    }
}

impl Law for Rem {
    fn arrive(&mut self, item: &Item, _queue: &Queue) -> Decision {
        let size = item.size as f64;
        let ratio = match self.config.mode {
            Mode::Packet => 1.0,
            Mode::Byte => size / self.config.mean_packet.as_f64(),
        };
        self.arrived += ratio;
        if drawn(self.probability() * ratio, &mut self.rng) { Decision::Mark } else { Decision::Pass }
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * self.config.tau.as_secs_f64())
    }

    fn tick(&mut self, queue: &Queue, _now: f64) {
        let mean = self.config.mean_packet.as_f64();
        let q = match self.config.mode {
            Mode::Packet => queue.len() as f64,
            Mode::Byte => bytes(queue) as f64 / mean,
        };
        let c = slow_capacity(mean) * self.config.tau.as_secs_f64();
        let RemConfig { gamma, alpha, q_ref, w_x, .. } = self.config;
        self.average = w_x * self.arrived + (1.0 - w_x) * self.average;
        self.price += gamma * (alpha * (q - q_ref) + self.average - c);
        if self.price < 0.0 {
            self.price = 0.0;
        }
        self.arrived = 0.0;
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("price", self.price), ("p", self.probability())]
    }
}
