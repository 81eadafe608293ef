//! Ramp: signals with a probability that rises with the queue, from none at one length to all at another.
//!
//! A law to copy from. It has what most laws have: parameters, a random stream, a variable to show; and it says `Mark`
//! and leaves it to the queue what that means for a packet that is not ECN-capable.

use aqmlab_aqm::{Aqm, Packet, QueueState, Verdict};
use aqmlab_units::{Stream, Time};

/// Between which lengths of the queue, in packets, the probability rises from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct RampConfig {
    /// Up to this length nothing is signalled.
    pub from: u32,
    /// From this length on everything is; above `from`.
    pub to: u32,
}

/// The law.
#[derive(Clone, Debug)]
pub struct Ramp {
    config: RampConfig,
    rng: Stream,
    /// The probability of a signal for the last packet.
    p: f64,
}

impl Ramp {
    /// A law that draws from `rng`, and from nothing else: so one seed gives one result.
    ///
    /// # Panics
    /// When `from` is not below `to`.
    pub fn new(config: RampConfig, rng: Stream) -> Ramp {
        assert!(config.from < config.to, "a ramp rises: {config:?}");
        Ramp { config, rng, p: 0.0 }
    }
}

impl Aqm for Ramp {
    fn on_enqueue(&mut self, _pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        let RampConfig { from, to } = self.config;
        // p = (q - from) / (to - from), kept in [0, 1]
        let above = f64::from(queue.packets.saturating_sub(from));
        self.p = (above / f64::from(to - from)).min(1.0);
        if self.rng.uniform() < self.p { Verdict::Mark } else { Verdict::Pass }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
    }
}
