//! The proportional-integral controller of PI2 and DualPI2: it changes p' until the delay meets its target.
//!
//! Source: De Schepper et al., "PI2", CoNEXT 2016, section 4; RFC 9332, appendix A.1.

use aqmlab_units::Duration;

/// A controller of delay.
#[derive(Clone, Debug)]
pub(crate) struct DelayPi {
    alpha: f64,
    beta: f64,
    /// In seconds.
    target: f64,
    /// Upper bound of p'.
    max_p: f64,
    p: f64,
    qdelay_old: f64,
}

impl DelayPi {
    /// Return a controller that has seen no delay. The gains are in Hz.
    pub(crate) fn new(target: Duration, (alpha, beta): (f64, f64), max_p: f64) -> DelayPi {
        DelayPi { alpha, beta, target: target.as_secs_f64(), max_p, p: 0.0, qdelay_old: 0.0 }
    }

    /// Update p' for this delay, in seconds.
    pub(crate) fn update(&mut self, qdelay: f64) {
        // p' = p' + alpha (qdelay - target) + beta (qdelay - qdelay_old), kept in [0, max_p]
        let p = self.p + self.alpha * (qdelay - self.target) + self.beta * (qdelay - self.qdelay_old);
        self.p = p.clamp(0.0, self.max_p);
        self.qdelay_old = qdelay;
    }

    /// p', the base probability.
    #[inline]
    pub(crate) fn p(&self) -> f64 {
        self.p
    }

    /// The delay at the last update, in seconds.
    pub(crate) fn qdelay(&self) -> f64 {
        self.qdelay_old
    }
}
