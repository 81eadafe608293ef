//! PI: Hollot, Misra, Towsley and Gong (2001).

use aqmlab_aqm::{Mode, PiConfig};
use aqmlab_units::Stream;

use crate::common::oracle::{Decision, Item, Law, Queue, bytes, drawn};

pub(crate) struct Pi {
    config: PiConfig,
    p: f64,
    q_old: f64,
    rng: Stream,
}

impl Pi {
    pub(crate) fn new(config: &PiConfig, rng: Stream) -> Pi {
        Pi { config: config.clone(), p: 0.0, q_old: 0.0, rng }
    }
}

impl Law for Pi {
    fn arrive(&mut self, item: &Item, _queue: &Queue) -> Decision {
        let size = item.size as f64;
        let p = match self.config.mode {
            Mode::Packet => self.p,
            Mode::Byte => self.p * size / self.config.mean_packet.as_f64(),
        };
        if drawn(p, &mut self.rng) { Decision::Mark } else { Decision::Pass }
    }

    fn due(&self, tick: u32) -> Option<f64> {
        Some(f64::from(tick) * 1.0 / self.config.sampling_hz)
    }

    fn tick(&mut self, queue: &Queue, _now: f64) {
        let q = match self.config.mode {
            Mode::Packet => queue.len() as f64,
            Mode::Byte => bytes(queue) as f64 / self.config.mean_packet.as_f64(),
        };
        let PiConfig { a, b, q_ref, .. } = self.config;
        self.p = (self.p + a * (q - q_ref) - b * (self.q_old - q_ref)).clamp(0.0, 1.0);
        self.q_old = q;
    }

    fn variables(&self, _queue: &Queue) -> Vec<(&'static str, f64)> {
        vec![("p", self.p)]
    }
    fn variable_mut(&mut self, name: &str) -> Option<&mut f64> {
        (name == "p").then_some(&mut self.p)
    }
}
