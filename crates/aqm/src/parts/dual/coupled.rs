//! The coupled AQM of DualPI2: one base probability p' for two queues.
//!
//! A proportional-integral controller moves p' so that the delay meets its target. Classic packets are signalled with
//! its square, L4S packets with k p' or by their own AQM. When k p' reaches 1, marking L4S packets cannot do more: both
//! queues then drop with the Classic probability, regardless of a packet's ECN field.
//!
//! Source: RFC 9332, appendix A.1 (the coupling) and A.2 (overload).

use aqmlab_units::{Bytes, Duration, Stream};

use crate::law::bernoulli;
use crate::parts::delay_pi::DelayPi;
use crate::parts::dual::scheduler::Lane;
use crate::{Controlled, Decide, DualPi2Config, Native, Overload, Verdict};

/// The packet at the head of its lane, about to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadPacket {
    pub(crate) lane: Lane,
    /// Its sojourn time.
    pub(crate) qdelay: Duration,
    /// L4S packets that are left in the queue.
    pub(crate) l4s_left: usize,
    /// Bytes that are left in both queues.
    pub(crate) bytes_left: Bytes,
}

/// The coupled AQM.
#[derive(Clone, Debug)]
pub(crate) struct Coupled {
    config: DualPi2Config,
    rng: Stream,
    pi: DelayPi,
    /// The sums of likelihoods that [`Decide::Recur`] keeps, for L4S and for Classic packets.
    counts: [f64; 2],
}

impl Coupled {
    pub(crate) fn new(config: &DualPi2Config, rng: Stream) -> Coupled {
        // Where nothing is dropped in overload, p' stops at 1/k, with all L4S packets marked.
        let most = if config.overload == Overload::Overflow { 1.0 / config.k } else { 1.0 };
        let pi = DelayPi::new(config.target, (config.alpha, config.beta), most);
        Coupled { config: config.clone(), rng, pi, counts: [0.0; 2] }
    }

    /// An update of p', when the first packets of the two queues have waited so long.
    pub(crate) fn update(&mut self, l4s: Duration, classic: Duration) {
        let curq = match self.config.controlled {
            Controlled::Longer => classic.max(l4s),
            Controlled::Classic => classic,
        };
        self.pi.update(curq.as_secs_f64());
    }

    /// `p_C` = p'^2, for Classic packets.
    fn p_c(&self) -> f64 {
        self.pi.p() * self.pi.p()
    }

    /// `p_CL` = k p', for L4S packets on account of the Classic ones.
    fn p_cl(&self) -> f64 {
        (self.config.k * self.pi.p()).min(1.0)
    }

    /// p'_L, for L4S packets on their own account.
    fn laqm(&self, qdelay: Duration, l4s_left: usize) -> f64 {
        let DualPi2Config { step, min_th, range, min_left, .. } = self.config;
        if l4s_left < min_left as usize {
            return 0.0;
        }
        match self.config.native {
            Native::Step => f64::from(u8::from(qdelay > step)),
            Native::Ramp if qdelay >= min_th + range => 1.0,
            Native::Ramp if qdelay > min_th => {
                (qdelay.as_secs_f64() - min_th.as_secs_f64()) / range.as_secs_f64()
            }
            Native::Ramp => 0.0,
        }
    }

    /// True with this likelihood.
    fn recur(&mut self, lane: Lane, likelihood: f64) -> bool {
        if self.config.decide == Decide::Random {
            return bernoulli(likelihood, 1.0, &mut self.rng);
        }
        let count = &mut self.counts[usize::from(lane == Lane::Classic)];
        *count += likelihood;
        let exceeds = *count > 1.0;
        *count -= f64::from(u8::from(exceeds));
        exceeds
    }

    /// Judges this packet.
    pub(crate) fn judge(&mut self, packet: HeadPacket) -> Verdict {
        let HeadPacket { lane, qdelay, l4s_left, bytes_left } = packet;
        let is_small = bytes_left < self.config.min_backlog;
        let (p_c, p_cl) = if is_small { (0.0, 0.0) } else { (self.p_c(), self.p_cl()) };
        // p_CL >= p_Lmax = 1, which is p_C >= p_Cmax = 1/k^2
        let is_overloaded = p_cl >= 1.0 && self.config.overload == Overload::Drop;
        if (lane == Lane::Classic || is_overloaded) && self.recur(lane, p_c) {
            return if is_overloaded { Verdict::Drop } else { Verdict::Mark };
        }
        // p_L = max(p'_L, p_CL)
        if lane == Lane::L4s && self.recur(lane, p_cl.max(self.laqm(qdelay, l4s_left))) {
            return Verdict::Mark;
        }
        Verdict::Pass
    }

    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p'", self.pi.p());
        out("p_c", self.p_c());
        out("p_cl", self.p_cl());
    }
}
