//! PI: Hollot, Misra, Towsley and Gong (2001).

use aqmlab_aqm::{Mode, PiConfig, Verdict};
use aqmlab_units::Stream;

use super::{Oracle, Seen, drawn};

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

impl Oracle for Pi {
    fn arrive(&mut self, size: f64, _seen: Seen, _now: f64) -> Verdict {
        let p = match self.config.mode {
            Mode::Packet => self.p,
            Mode::Byte => self.p * size / self.config.mean_packet.as_f64(),
        };
        if drawn(p, &mut self.rng) { Verdict::Mark } else { Verdict::Pass }
    }

    fn period(&self) -> Option<f64> {
        Some(1.0 / self.config.sampling_hz)
    }

    fn tick(&mut self, seen: Seen, _now: f64) {
        let q = match self.config.mode {
            Mode::Packet => seen.packets,
            Mode::Byte => seen.bytes / self.config.mean_packet.as_f64(),
        };
        let PiConfig { a, b, q_ref, .. } = self.config;
        // Summed in the law's order: where the sum is 0, what rounding leaves of it decides whether a number is drawn.
        self.p = (a * (q - q_ref) - b * (self.q_old - q_ref) + self.p).clamp(0.0, 1.0);
        self.q_old = q;
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("p", self.p)]
    }
}
