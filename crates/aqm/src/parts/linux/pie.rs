//! PIE as Linux computes it: times in units of 64 ns, and probabilities as whole numbers up to 2^56.
//!
//! Differs from [`crate::Pie`] also in these points. Departures reduce the burst allowance, not updates. An update with a
//! delay of zero and a backlog does not decay the probability. A probability may exceed one until the next fall. The
//! sum of probabilities lasts over a mark that it made certain.

use aqmlab_units::{Bytes, Duration, Prob, Time};

use crate::parts::linux::coin::Coin;
use crate::parts::linux::timer;
use crate::{Aqm, DelayFrom, Packet, PieConfig, QueueState, Verdict};

/// A probability of one.
const ONE: u64 = u64::MAX >> 8;

/// The number of units of 64 ns in a span.
fn units(span: Duration) -> u64 {
    span.as_nanos() >> 6
}

fn units_at(time: Time) -> u64 {
    time.as_nanos() >> 6
}

/// The values that do not change.
#[derive(Clone, Debug)]
struct Settings {
    target: u64,
    update: Duration,
    /// The gains, in changes of the probability per unit of time.
    alpha: u64,
    beta: u64,
    burst: u64,
    /// The largest probability at which packets are marked.
    mark_limit: u64,
    /// Waiting bytes below which no packet is signalled.
    small: Bytes,
    /// The bytes of a measurement of the rate, if the delay is estimated from the rate of departures.
    threshold: Option<u64>,
}

/// The law.
#[derive(Clone, Debug)]
pub(crate) struct LinuxPie<C> {
    settings: Settings,
    coin: C,
    prob: u64,
    accu_prob: u64,
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    /// The last departure, or the begin of the measurement of the rate.
    dq_tstamp: Option<u64>,
    /// The bytes that have left since the measurement began.
    dq_count: Option<u64>,
    /// In 256ths of a byte per unit of time.
    avg_dq_rate: u32,
    next_update: Time,
}

/// Return the probability of a whole percentage, as Linux rounds it.
pub(crate) fn percent(share: Prob) -> u64 {
    ONE / 100 * whole(100.0 * share.get())
}

/// Return a tenth, as Linux rounds it.
pub(crate) fn tenth() -> u64 {
    ONE / 10
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers above zero")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Return a gain in Hz as Linux has it: in sixteenths, per unit of time.
fn gain(hertz: f64) -> u64 {
    let per_unit = ONE / units(Duration::from_secs(1));
    (whole(16.0 * hertz) * per_unit) >> 4
}

impl<C: Coin> LinuxPie<C> {
    /// Return a law that has seen no packet. It marks up to the probability `mark_limit`.
    pub(crate) fn new(config: &PieConfig, mark_limit: u64, coin: C) -> LinuxPie<C> {
        let settings = Settings {
            target: units(config.qdelay_ref),
            update: config.t_update,
            alpha: gain(config.alpha),
            beta: gain(config.beta),
            burst: units(config.max_burst),
            mark_limit,
            small: Bytes::new(2 * config.mean_packet.get()),
            threshold: (config.delay_from == DelayFrom::RateEstimate).then(|| config.dq_threshold.get()),
        };
        LinuxPie {
            coin,
            prob: 0,
            accu_prob: 0,
            qdelay: 0,
            qdelay_old: 0,
            burst_time: settings.burst,
            dq_tstamp: None,
            dq_count: None,
            avg_dq_rate: 0,
            next_update: timer::first_call(),
            settings,
        }
    }

    fn is_light(&self, qdelay: u64) -> bool {
        qdelay < self.settings.target / 2
    }

    /// Decide whether to signal a packet.
    fn drop_early(&mut self, queue: QueueState) -> bool {
        let is_quiet = self.is_light(self.qdelay) && self.prob < ONE / 5;
        if self.burst_time > 0 || is_quiet || queue.bytes < self.settings.small {
            return false;
        }
        self.accu_prob = if self.prob == 0 { 0 } else { self.accu_prob.wrapping_add(self.prob) };
        if self.accu_prob < ONE / 100 * 85 {
            return false;
        }
        if self.accu_prob >= ONE / 2 * 17 {
            return true;
        }
        let is_drawn = self.coin.toss() >> 8 < self.prob;
        if is_drawn {
            self.accu_prob = 0;
        }
        is_drawn
    }

    fn reduce_burst(&mut self, passed: u64) {
        self.burst_time = self.burst_time.saturating_sub(passed);
    }

    /// Measure the time from departure to departure, and the sojourn time as the delay.
    fn measure_sojourn(&mut self, sojourn: u64, queue: QueueState, now: u64) {
        self.qdelay = if queue.bytes > Bytes::ZERO { sojourn } else { 0 };
        if let Some(before) = self.dq_tstamp.replace(now) {
            self.reduce_burst(low_half(now - before).into());
        }
    }

    /// Measure the rate of departures.
    fn measure_rate(&mut self, threshold: u64, size: Bytes, queue: QueueState, now: u64) {
        let is_long = queue.bytes.get() >= threshold;
        if is_long && self.dq_count.is_none() {
            self.dq_tstamp = Some(now);
            self.dq_count = Some(0);
        }
        let (Some(count), Some(since)) = (&mut self.dq_count, self.dq_tstamp) else { return };
        *count += size.get();
        let time = low_half(now - since);
        if *count < threshold || time == 0 {
            return;
        }
        let rate = low_half(*count << 8) / time;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            average => average - (average >> 3) + (rate >> 3),
        };
        self.dq_count = is_long.then_some(0);
        if is_long {
            self.dq_tstamp = Some(now);
        }
        self.reduce_burst(time.into());
    }

    /// Return the change of the probability at an update with this delay.
    fn change(&self, qdelay: u64, qdelay_old: u64) -> i64 {
        let Settings { target, mut alpha, mut beta, .. } = self.settings;
        if self.prob < ONE / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while self.prob < ONE / power && power <= 1_000_000 {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        let distance = alpha.wrapping_mul(qdelay.wrapping_sub(target));
        let change = beta.wrapping_mul(qdelay.wrapping_sub(qdelay_old));
        let mut delta = distance.wrapping_add(change).cast_signed();
        if delta > (ONE / 50).cast_signed() && self.prob >= ONE / 10 {
            delta = (ONE / 100 * 2).cast_signed();
        }
        let is_long = qdelay > units(Duration::from_millis(250));
        if is_long { delta.wrapping_add((ONE / 50).cast_signed()) } else { delta }
    }

    /// Update the probability.
    fn update(&mut self, queue: QueueState) {
        let estimated = self.settings.threshold.map(|_| {
            self.qdelay_old = self.qdelay;
            let backlog = low_half(queue.bytes.get() << 8);
            u64::from(backlog.checked_div(self.avg_dq_rate).unwrap_or(0))
        });
        let (qdelay, qdelay_old) = (estimated.unwrap_or(self.qdelay), self.qdelay_old);
        let delta = self.change(qdelay, qdelay_old);
        let before = self.prob;
        self.prob = before.wrapping_add_signed(delta);
        let is_above_one = delta > 0 && self.prob < before;
        if is_above_one {
            self.prob = ONE;
        } else if delta <= 0 && self.prob > before {
            self.prob = 0;
        }
        // A delay of zero with a backlog is that of a short queue, and says nothing.
        let is_unknown = qdelay == 0 && queue.bytes > Bytes::ZERO;
        if qdelay == 0 && qdelay_old == 0 && !is_unknown && !is_above_one {
            self.prob -= self.prob / 64;
        }
        self.qdelay = qdelay;
        let has_delay = self.settings.threshold.is_none() || self.avg_dq_rate > 0;
        if self.is_light(qdelay) && self.is_light(qdelay_old) && self.prob == 0 && has_delay {
            self.start_again();
        }
        if estimated.is_none() {
            self.qdelay_old = qdelay;
        }
    }

    fn start_again(&mut self) {
        self.burst_time = self.settings.burst;
        self.accu_prob = 0;
        (self.dq_tstamp, self.dq_count, self.avg_dq_rate) = (None, None, 0);
    }
}

/// Linux keeps these numbers in 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "they wrap there too")]
fn low_half(number: u64) -> u32 {
    number as u32
}

impl<C: Coin> Aqm for LinuxPie<C> {
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        if !self.drop_early(queue) {
            return Verdict::Pass;
        }
        if self.prob <= self.settings.mark_limit && pkt.ecn.is_capable() {
            return Verdict::Mark;
        }
        self.accu_prob = 0;
        if self.prob <= self.settings.mark_limit { Verdict::Mark } else { Verdict::Drop }
    }

    fn on_overflow(&mut self, _pkt: &Packet, _queue: QueueState, _now: Time) {
        self.accu_prob = 0;
    }

    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, queue: QueueState, now: Time) -> Verdict {
        let now = units_at(now);
        match self.settings.threshold {
            None => self.measure_sojourn(now - units_at(enqueued_at), queue, now),
            Some(threshold) => self.measure_rate(threshold, pkt.size, queue, now),
        }
        Verdict::Pass
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if now >= self.next_update {
            self.update(queue);
            self.next_update = timer::call_after(now, self.settings.update);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        // Linux's number may exceed one; all of those signal every packet.
        out("p", self.prob.min(ONE) as f64 / ONE as f64);
        out("qdelay", Duration::from_nanos(self.qdelay << 6).as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    /// A coin that never signals by chance.
    #[derive(Clone)]
    struct Never;

    impl Coin for Never {
        fn toss(&mut self) -> u64 {
            u64::MAX
        }
    }

    const PACKET: Packet = Packet { size: Bytes::new(1500), ecn: Ecn::Ect0, flow: 0 };

    const LONG: QueueState = QueueState { packets: 100, bytes: Bytes::new(150_000) };

    /// A law after its burst allowance, with this delay and a probability of 1/20.
    fn law(delay: Duration) -> LinuxPie<Never> {
        let law = LinuxPie::new(&PieConfig::default(), tenth(), Never);
        LinuxPie { burst_time: 0, qdelay: units(delay), prob: ONE / 20, ..law }
    }

    #[test]
    fn a_sum_of_probabilities_of_8_5_is_signalled_without_chance() {
        let mut law = law(Duration::from_millis(100));
        let first = (1..1000).find(|_| law.on_enqueue(&PACKET, LONG, Time::ZERO) == Verdict::Mark);
        assert_eq!(first, Some(171), "8.5 times 20, with a probability that is rounded down");
    }

    #[test]
    fn short_delays_and_short_queues_have_no_signal() {
        let short = QueueState { packets: 1, bytes: Bytes::new(1500) };
        for (delay, queue) in [(7, LONG), (100, short)] {
            let mut law = law(Duration::from_millis(delay));
            assert!((1..1000).all(|_| law.on_enqueue(&PACKET, queue, Time::ZERO) == Verdict::Pass));
        }
    }

    #[test]
    fn a_number_above_one_is_shown_as_the_probability_one() {
        let mut law = LinuxPie { prob: ONE, ..law(Duration::from_millis(200)) };
        law.on_timeout(LONG, law.next_update);
        assert!(law.prob > ONE, "as in Linux");
        let mut shown = None;
        law.probe(&mut |name, value| shown = shown.or((name == "p").then_some(value)));
        assert_eq!(shown, Some(1.0));
    }

    #[test]
    fn updates_from_a_tenth_on_add_at_most_two_percent() {
        let mut law = LinuxPie { prob: tenth(), ..law(Duration::from_millis(200)) };
        law.on_timeout(LONG, law.next_update);
        assert_eq!(law.prob, tenth() + ONE / 100 * 2);
        assert_eq!(law.next_update, Time::from_nanos(520_000_000));
    }
}
