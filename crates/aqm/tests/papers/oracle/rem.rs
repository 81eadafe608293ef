//! REM: Athuraliya, Li, Low and Yin (2001).

use aqmlab_aqm::{Mode, RemConfig, Verdict};
use aqmlab_units::Stream;

use super::{Oracle, Seen, capacity, drawn};

pub(crate) struct Rem {
    config: RemConfig,
    price: f64,
    arrived: f64,
    rng: Stream,
}

impl Rem {
    pub(crate) fn new(config: &RemConfig, rng: Stream) -> Rem {
        Rem { config: config.clone(), price: 0.0, arrived: 0.0, rng }
    }

    fn probability(&self) -> f64 {
        1.0 - libm::pow(self.config.phi, -self.price)
    }
}

impl Oracle for Rem {
    fn arrive(&mut self, size: f64, _seen: Seen, _now: f64) -> Verdict {
        let ratio = match self.config.mode {
            Mode::Packet => 1.0,
            Mode::Byte => size / self.config.mean_packet.as_f64(),
        };
        self.arrived += ratio;
        if drawn(self.probability() * ratio, &mut self.rng) { Verdict::Mark } else { Verdict::Pass }
    }

    fn period(&self) -> Option<f64> {
        Some(self.config.tau.as_secs_f64())
    }

    fn tick(&mut self, seen: Seen, _now: f64) {
        let mean = self.config.mean_packet.as_f64();
        let q = match self.config.mode {
            Mode::Packet => seen.packets,
            Mode::Byte => seen.bytes / mean,
        };
        let c = capacity(mean) * self.config.tau.as_secs_f64();
        let RemConfig { gamma, alpha, q_ref, .. } = self.config;
        self.price += gamma * (alpha * (q - q_ref) + self.arrived - c);
        if self.price < 0.0 {
            self.price = 0.0;
        }
        self.arrived = 0.0;
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("price", self.price), ("p", self.probability())]
    }
}
