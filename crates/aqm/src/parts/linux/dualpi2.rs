//! The coupled AQM of DualPI2 as Linux computes it: p' as a whole number of 32 bits, and gains in 256ths of a hertz.
//!
//! Differs from [`Coupled`](crate::parts::dual::coupled::Coupled) in these points. A Classic packet is signalled if two random
//! numbers are at most p', not one below its square. The load is an overload only if k p' exceeds 1. The length of the L4S queue
//! that `min_left` asks for is that which a packet finds on arrival, not the one that it leaves behind.

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration};

use crate::parts::dual::coupled::{DualAqm, HeadPacket};
use crate::parts::dual::scheduler::Lane;
use crate::parts::linux::coin::Coin;
use crate::{DualPi2Config, Overload, Verdict};

/// A probability of one.
const ONE: u32 = u32::MAX;

/// Delays are counted in units of 64 ns.
const UNIT: i64 = 64;

/// The coupled AQM.
#[derive(Clone, Debug)]
pub(crate) struct LinuxCoupled<C> {
    coin: C,
    target: i64,
    /// The gains, in changes of the probability per unit of time.
    alpha: i64,
    beta: i64,
    /// k.
    coupling: u64,
    step: Duration,
    /// The L4S packets that a packet must find, if the step shall judge it.
    min_ahead: usize,
    small: Bytes,
    drops_on_overload: bool,
    max_prob: u32,
    /// p'.
    prob: u32,
    last_qdelay: i64,
    /// For each waiting L4S packet, true if the step judges it.
    judged_by_step: VecDeque<bool>,
}

fn nanos(delay: Duration) -> i64 {
    i64::try_from(delay.as_nanos()).expect("a delay")
}

/// Return a gain in Hz as Linux has it: in 256ths, per unit of time.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers above zero")]
fn gain(hertz: f64) -> i64 {
    let given = (256.0 * hertz).round() as u64;
    i64::from((((given * u64::from(ONE)) >> 2) / 1_000_000_000) as u32)
}

impl<C: Coin> LinuxCoupled<C> {
    /// Return an AQM that has seen no packet. `config` must have passed [`crate::Discipline::resolve`].
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
    pub(crate) fn new(config: &DualPi2Config, coin: C) -> LinuxCoupled<C> {
        let drops_on_overload = config.overload == Overload::Drop;
        LinuxCoupled {
            coin,
            target: nanos(config.target),
            alpha: gain(config.alpha),
            beta: gain(config.beta),
            coupling: config.k as u64,
            step: config.step,
            min_ahead: config.min_left as usize,
            small: config.min_backlog,
            drops_on_overload,
            max_prob: if drops_on_overload { ONE } else { ONE / config.k as u32 },
            prob: 0,
            last_qdelay: 0,
            judged_by_step: VecDeque::new(),
        }
    }

    /// Return true with this probability.
    fn roll(&mut self, prob: u32) -> bool {
        self.coin.toss() >> 32 <= u64::from(prob)
    }

    /// Return true with the square of p'.
    fn roll_twice(&mut self) -> bool {
        self.roll(self.prob) && self.roll(self.prob)
    }

    fn judge_classic(&mut self, is_overload: bool) -> Verdict {
        match (self.roll_twice(), is_overload) {
            (false, _) => Verdict::Pass,
            (true, true) => Verdict::Drop,
            (true, false) => Verdict::Mark,
        }
    }

    fn judge_l4s(&mut self, p_cl: u64) -> Verdict {
        match u32::try_from(p_cl) {
            Ok(p_cl) if self.roll(p_cl) => Verdict::Mark,
            Ok(_) => Verdict::Pass,
            Err(_) if self.drops_on_overload && self.roll_twice() => Verdict::Drop,
            Err(_) => Verdict::Mark,
        }
    }
}

impl<C: Coin> DualAqm for LinuxCoupled<C> {
    fn on_l4s_arrival(&mut self, ahead: usize) {
        self.judged_by_step.push_back(ahead >= self.min_ahead);
    }

    /// Update p'. Its change is rounded towards zero, and more than 32 bits of it are lost: that may happen if the delay changes by
    /// some 0.3 s between two updates.
    fn update(&mut self, l4s: Duration, classic: Duration) {
        let qdelay = nanos(l4s.max(classic));
        let change = (qdelay - self.target) * self.alpha + (qdelay - self.last_qdelay) * self.beta;
        self.last_qdelay = qdelay;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as in Linux")]
        let changed = (i64::from(self.prob) + change / UNIT) as u32;
        let prob = match change > 0 {
            true if changed < self.prob => ONE,
            false if changed > self.prob => 0,
            _ => changed,
        };
        self.prob = prob.min(self.max_prob);
    }

    fn judge(&mut self, packet: HeadPacket) -> Verdict {
        let HeadPacket { lane, qdelay, bytes_left, .. } = packet;
        let p_cl = u64::from(self.prob) * self.coupling;
        let is_small = bytes_left < self.small;
        if lane == Lane::Classic {
            return if is_small { Verdict::Pass } else { self.judge_classic(p_cl > ONE.into()) };
        }
        let is_judged_by_step = self.judged_by_step.pop_front().expect("it has arrived");
        match if is_small { Verdict::Pass } else { self.judge_l4s(p_cl) } {
            Verdict::Pass if is_judged_by_step && qdelay > self.step => Verdict::Mark,
            verdict => verdict,
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let p = f64::from(self.prob) / f64::from(ONE);
        out("p'", p);
        out("p_c", p * p);
        out("p_cl", (self.coupling as f64 * p).min(1.0));
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::{BitRate, Stream};

    use super::*;
    use crate::{Discipline, LinkContext, Variant};

    /// A coin that shows zero, so that each probability signals.
    #[derive(Clone)]
    struct Zero;

    impl Coin for Zero {
        fn toss(&mut self) -> u64 {
            0
        }
    }

    fn ms(delay: u64) -> Duration {
        Duration::from_millis(delay)
    }

    fn aqm() -> LinuxCoupled<Stream> {
        LinuxCoupled::new(&DualPi2Config::default(), Stream::named(1, "coin"))
    }

    fn packet(lane: Lane, qdelay: Duration) -> HeadPacket {
        HeadPacket { lane, qdelay, l4s_left: 0, bytes_left: Bytes::new(9000) }
    }

    #[test]
    fn an_update_changes_p_by_whole_numbers() {
        // 0.16 Hz is 41/256 Hz and 44 in 2^-32 per 64 ns, 3.2 Hz is 819/256 Hz and 879.
        let mut aqm = aqm();
        aqm.update(ms(0), ms(31));
        assert_eq!(u64::from(aqm.prob), (16_000_000 * 44 + 31_000_000 * 879) / 64);
        let before = aqm.prob;
        aqm.update(ms(30), ms(0));
        assert_eq!(aqm.prob, before - (879_000_000 - 15_000_000 * 44) / 64, "the longer delay counts");
    }

    #[test]
    fn p_keeps_its_bounds_unless_the_delay_jumps() {
        let mut aqm = aqm();
        (1..=5).for_each(|update| aqm.update(ms(0), ms(100 * update)));
        assert_eq!(aqm.prob, ONE);
        (0..5).rev().for_each(|update| aqm.update(ms(0), ms(100 * update)));
        assert_eq!(aqm.prob, 0);
        aqm.prob = ONE;
        aqm.last_qdelay = nanos(ms(2000));
        aqm.update(ms(0), ms(0));
        // 27,479,062,500 is six times 2^32 and 1,709,258,724.
        assert_eq!(aqm.prob, ONE - 1_709_258_724);
    }

    #[test]
    fn overflow_bounds_p_where_all_l4s_packets_are_marked() {
        let config = DualPi2Config { overload: Overload::Overflow, ..DualPi2Config::default() };
        let mut aqm = LinuxCoupled::new(&config, Zero);
        (0..3).for_each(|_| aqm.update(ms(0), ms(3000)));
        assert_eq!(aqm.prob, ONE / 2);
        assert_eq!(aqm.judge(packet(Lane::Classic, ms(1))), Verdict::Mark);
    }

    #[test]
    fn the_backlog_without_signals_is_two_full_frames() {
        let linux = DualPi2Config { variant: Variant::Linux, ..DualPi2Config::default() };
        let link = LinkContext {
            rate: BitRate::from_mbit_per_sec(1),
            header: Bytes::ZERO,
            overhead: Bytes::ZERO,
            peak: None,
        };
        let jumbo = DualPi2Config { mtu: Bytes::new(9014), ..linux.clone() };
        assert_eq!(jumbo.resolve(&link).unwrap().min_backlog, Bytes::new(18_028));
        let other = DualPi2Config { min_backlog: Bytes::ZERO, ..linux };
        let refused = other.resolve(&link).unwrap_err().to_string();
        assert_eq!(refused, "min_backlog: must be 3028 B with variant = linux, got 0 B");
    }

    #[test]
    fn only_more_than_all_marks_are_an_overload() {
        let mut aqm = LinuxCoupled::new(&DualPi2Config::default(), Zero);
        for (prob, verdict) in [(ONE / 2, Verdict::Mark), (ONE / 2 + 1, Verdict::Drop)] {
            aqm.prob = prob;
            aqm.on_l4s_arrival(0);
            assert_eq!(aqm.judge(packet(Lane::L4s, ms(0))), verdict);
            assert_eq!(aqm.judge(packet(Lane::Classic, ms(0))), verdict);
        }
    }

    #[test]
    fn the_step_asks_for_the_packets_that_one_found() {
        let config = DualPi2Config { min_left: 2, ..DualPi2Config::default() };
        let mut aqm = LinuxCoupled::new(&config, Stream::named(1, "coin"));
        (0..4).for_each(|ahead| aqm.on_l4s_arrival(ahead));
        // One in 2^32 is marked at p' = 0 too.
        let verdicts = [1, 2, 2, 1].map(|delay| aqm.judge(packet(Lane::L4s, ms(delay))));
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Mark, Verdict::Pass]);
    }
}
