//! The coupled AQM of DualPI2: one base probability p' for two queues.
//!
//! A proportional-integral controller changes p' so that the delay meets its target. Classic packets are
//! signalled with its square, L4S packets with k p' or by their own AQM. When k p' reaches 1, marks on L4S
//! packets have no further effect: both queues then drop with the Classic probability, whether or not a packet is
//! ECN-capable.
//!
//! Source: RFC 9332, appendix A.1 (the coupling) and A.2 (overload).

use aqmlab_units::{Bytes, Duration, Stream};

use crate::law::bernoulli;
use crate::parts::delay_pi::DelayPi;
use crate::parts::dual::scheduler::Lane;
use crate::{Controlled, Decide, DualPi2Config, Native, Overload, Verdict};

/// The packet at the head of its queue, about to leave.
#[derive(Clone, Copy, Debug)]
pub struct HeadPacket {
    pub(crate) lane: Lane,
    /// Its sojourn time.
    pub(crate) qdelay: Duration,
    /// L4S packets behind it.
    pub(crate) l4s_left: usize,
    /// Bytes behind it in both queues.
    pub(crate) bytes_left: Bytes,
}

/// An AQM for two queues.
pub trait DualAqm {
    /// Take note of an L4S packet that arrives with others ahead of it.
    fn on_l4s_arrival(&mut self, _ahead: usize) {}

    /// Update p' for the sojourn times of the first packets of the two queues.
    fn update(&mut self, l4s: Duration, classic: Duration);

    /// Decide about a packet that is about to leave.
    fn judge(&mut self, packet: HeadPacket) -> Verdict;

    /// Report the probabilities.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// The coupled AQM of RFC 9332.
#[derive(Clone, Debug)]
pub struct Coupled {
    config: DualPi2Config,
    rng: Stream,
    pi: DelayPi,
    /// The sums of probabilities of [`Decide::Recur`], for L4S and for Classic packets.
    counts: [f64; 2],
}

impl Coupled {
    pub(crate) fn new(config: &DualPi2Config, rng: Stream) -> Coupled {
        // Without drops in overload, p' stops at 1/k, where all L4S packets are marked.
        let max_p = if config.overload == Overload::Overflow { 1.0 / config.k } else { 1.0 };
        let pi = DelayPi::new(config.target, (config.alpha, config.beta), max_p);
        Coupled { config: config.clone(), rng, pi, counts: [0.0; 2] }
    }

    /// `p_C` = p'^2, for Classic packets.
    fn p_c(&self) -> f64 {
        self.pi.p() * self.pi.p()
    }

    /// `p_CL` = k p', the coupled probability for L4S packets.
    fn p_cl(&self) -> f64 {
        (self.config.k * self.pi.p()).min(1.0)
    }

    /// p'_L, the probability of the L4S queue's own AQM.
    fn laqm(&self, qdelay: Duration, l4s_left: usize) -> f64 {
        let DualPi2Config { step, min_th, range, min_left, .. } = self.config;
        // A queue of a packet or two is no congestion, even on a slow link (RFC 9332, appendix A.1, Th_len).
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

    /// Return true with this probability, or by its accumulated sum.
    fn decide(&mut self, lane: Lane, probability: f64) -> bool {
        if self.config.decide == Decide::Random {
            return bernoulli(probability, 1.0, &mut self.rng);
        }
        let count = &mut self.counts[usize::from(lane == Lane::Classic)];
        *count += probability;
        let exceeds = *count > 1.0;
        *count -= f64::from(u8::from(exceeds));
        exceeds
    }
}

impl DualAqm for Coupled {
    fn update(&mut self, l4s: Duration, classic: Duration) {
        let curq = match self.config.controlled {
            Controlled::Longer => classic.max(l4s),
            Controlled::Classic => classic,
        };
        self.pi.update(curq.as_secs_f64());
    }

    fn judge(&mut self, packet: HeadPacket) -> Verdict {
        let HeadPacket { lane, qdelay, l4s_left, bytes_left } = packet;
        let is_small = bytes_left < self.config.min_backlog;
        let (p_c, p_cl) = if is_small { (0.0, 0.0) } else { (self.p_c(), self.p_cl()) };
        // p_CL >= p_Lmax = 1, which is p_C >= p_Cmax = 1/k^2
        let is_overloaded = p_cl >= 1.0 && self.config.overload == Overload::Drop;
        if (lane == Lane::Classic || is_overloaded) && self.decide(lane, p_c) {
            return if is_overloaded { Verdict::Drop } else { Verdict::Mark };
        }
        // p_L = max(p'_L, p_CL)
        if lane == Lane::L4s && self.decide(lane, p_cl.max(self.laqm(qdelay, l4s_left))) {
            return Verdict::Mark;
        }
        Verdict::Pass
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p'", self.pi.p());
        out("p_c", self.p_c());
        out("p_cl", self.p_cl());
    }
}
