//! The proportional-integral controller that PI2 and DualPI2 share: it moves p' until the delay meets its target.
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
    /// p' rises no higher.
    most: f64,
    p: f64,
    qdelay_old: f64,
}

impl DelayPi {
    /// A controller that has seen no delay so far. The gains are in Hz.
    pub(crate) fn new(target: Duration, (alpha, beta): (f64, f64), most: f64) -> DelayPi {
        DelayPi { alpha, beta, target: target.as_secs_f64(), most, p: 0.0, qdelay_old: 0.0 }
    }

    /// An update that finds this delay, in seconds.
    pub(crate) fn update(&mut self, qdelay: f64) {
        // p' = p' + alpha (qdelay - target) + beta (qdelay - qdelay_old), kept in [0, most]
        let p = self.p + self.alpha * (qdelay - self.target) + self.beta * (qdelay - self.qdelay_old);
        self.p = p.clamp(0.0, self.most);
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
