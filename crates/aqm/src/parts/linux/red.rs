//! RED as Linux computes it: a queue in bytes, an average as a whole number, and one draw for each gap between signals.
//!
//! An idle period ages the average by a table. `tc` computes the table from the time to send a mean packet, in units of
//! 64 ns; the kernel looks it up with microseconds. So the average of an idle queue decays 16 times too slowly.

use aqmlab_units::{BitRate, Bytes, Time};

use crate::parts::linux::coin::Coin;
use crate::{Aqm, EcnAboveMax, LinkContext, Packet, QueueState, RedConfig, Verdict};

/// The law, with a queue in bytes, or in packets for CHOKe.
#[derive(Clone, Debug)]
pub(crate) struct LinuxRed<C> {
    min_th: u64,
    max_th: u64,
    /// `w_q` is 2 to the power of minus this.
    weight_log: u32,
    /// The rise of the probability per byte or packet, as a fraction of 2^32.
    slope: u32,
    drops_above_max: bool,
    table: IdleTable,
    coin: C,
    /// The average over the weight.
    avg: u64,
    /// Packets since the last signal; `None` while no packet may be signalled.
    count: Option<u32>,
    /// The gap between signals that is drawn, in packets times the average above `min_th`.
    gap: u32,
    idle_since: Option<Time>,
}

/// Return the exponent of a weight that is a power of two.
#[expect(clippy::float_cmp, reason = "powers of two are exact")]
pub(crate) fn weight_log(w_q: f64) -> Option<u32> {
    (1..32).find(|&log| w_q == f64::from(1_u32 << log).recip())
}

/// Return a threshold in bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length in bytes")]
pub(crate) fn threshold(packets: f64, mean_packet: Bytes) -> u64 {
    (packets * mean_packet.as_f64()).round() as u64
}

impl<C: Coin> LinuxRed<C> {
    /// Return a law that has seen only an empty queue. `config` must have passed [`RedConfig::resolve`].
    pub(crate) fn new(config: &RedConfig, link: &LinkContext, coin: C) -> LinuxRed<C> {
        LinuxRed::with_unit(config, config.mean_packet, link, coin)
    }

    /// Return a law whose queue is measured in packets.
    pub(crate) fn of_packets(config: &RedConfig, link: &LinkContext, coin: C) -> LinuxRed<C> {
        LinuxRed::with_unit(config, Bytes::new(1), link, coin)
    }

    /// Return a law for which a packet of the thresholds is this long.
    fn with_unit(config: &RedConfig, packet: Bytes, link: &LinkContext, coin: C) -> LinuxRed<C> {
        let weight_log = weight_log(config.w_q).expect("it is checked");
        let min_th = threshold(config.min_th, packet);
        let max_th = threshold(config.max_th, packet);
        LinuxRed {
            min_th,
            max_th,
            weight_log,
            slope: slope(config.max_p.get(), max_th - min_th),
            drops_above_max: config.ecn_policy == EcnAboveMax::DropAboveMax,
            table: IdleTable::new(weight_log, config.mean_packet, link.rate),
            coin,
            avg: 0,
            count: None,
            gap: 0,
            idle_since: Some(Time::ZERO),
        }
    }

    /// Update the average for the queue that an arriving packet finds.
    pub(crate) fn sample(&mut self, backlog: u64, now: Time) {
        self.avg = match self.idle_since.take() {
            Some(since) => self.table.age(self.avg, now.saturating_since(since).as_nanos() / 1000),
            // avg = (1 - w_q) avg + w_q q
            None => self.avg + backlog - (self.avg >> self.weight_log),
        };
    }

    /// True if the average is above `min_th`. Otherwise no packet may be signalled.
    pub(crate) fn is_above_min(&mut self) -> bool {
        let is_above = self.avg > self.min_th << self.weight_log;
        if !is_above {
            self.count = None;
        }
        is_above
    }

    /// Decide about a packet that CHOKe does not match.
    pub(crate) fn judge_unmatched(&mut self) -> Verdict {
        if !self.is_above_min() {
            return Verdict::Pass;
        }
        if self.avg > self.max_th << self.weight_log {
            return self.signal_above_max();
        }
        if self.draw_signal() { Verdict::Mark } else { Verdict::Pass }
    }

    fn signal_above_max(&mut self) -> Verdict {
        self.count = None;
        if self.drops_above_max { Verdict::Drop } else { Verdict::Mark }
    }

    /// Draw a number below `ceiling`.
    pub(crate) fn draw_below(&mut self, ceiling: u32) -> u32 {
        let drawn = u64::from(ceiling) * (self.coin.toss() >> 32);
        u32::try_from(drawn >> 32).expect("below the ceiling")
    }

    fn draw_gap(&mut self) {
        self.gap = u32::try_from(self.coin.toss() >> 32).expect("32 bits") / self.slope;
    }

    /// Decide whether to signal a packet while the average is between the thresholds.
    fn draw_signal(&mut self) -> bool {
        let Some(count) = self.count else {
            self.count = Some(0);
            self.draw_gap();
            return false;
        };
        let above_min = (self.avg - (self.min_th << self.weight_log)) >> self.weight_log;
        let count = count + 1;
        let is_signalled = above_min * u64::from(count) >= u64::from(self.gap);
        if is_signalled {
            self.draw_gap();
        }
        self.count = Some(if is_signalled { 0 } else { count });
        is_signalled
    }
}

/// Return the probability `max_p` over the distance of the thresholds, as a fraction of 2^32 and at least 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a probability")]
fn slope(max_p: f64, distance: u64) -> u32 {
    let whole = (max_p * f64::from(u32::MAX) + max_p) as u32;
    u32::try_from(u64::from(whole) / distance.max(1)).expect("a fraction").max(1)
}

impl<C: Coin> Aqm for LinuxRed<C> {
    fn on_enqueue(&mut self, _pkt: &Packet, queue: QueueState, now: Time) -> Verdict {
        self.sample(queue.bytes.get(), now);
        if self.avg < self.min_th << self.weight_log {
            self.count = None;
            return Verdict::Pass;
        }
        if self.avg >= self.max_th << self.weight_log {
            return self.signal_above_max();
        }
        if self.draw_signal() { Verdict::Mark } else { Verdict::Pass }
    }

    fn on_empty(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", (self.avg >> self.weight_log) as f64);
    }
}

/// The halvings of the average by the length of an idle period.
#[derive(Clone, Debug)]
struct IdleTable {
    /// An entry for each 2 to the power of this microseconds.
    cell_log: u32,
    halvings: Vec<u32>,
}

impl IdleTable {
    const LENGTH: u32 = 256;

    /// The largest number of halvings.
    const MOST: f64 = 31.0;

    fn new(weight_log: u32, mean_packet: Bytes, rate: BitRate) -> IdleTable {
        let weight = f64::from(1_u32 << weight_log).recip();
        let decay = -libm::log(1.0 - weight) / units_to_send(mean_packet, rate);
        let longest = Self::MOST / decay;
        let is_short = |log: &u32| longest / f64::from(1_u32 << log) < 2.0 * f64::from(Self::LENGTH);
        let cell_log = (0..31).find(is_short).unwrap_or(31);
        let halvings = (0..Self::LENGTH).map(|cell| match cell {
            255 => Self::MOST,
            cell => (f64::from(cell) * f64::from(1_u32 << cell_log) * decay).min(Self::MOST),
        });
        IdleTable { cell_log, halvings: halvings.map(whole).collect() }
    }

    /// Return the average after an idle period of this many microseconds.
    fn age(&self, avg: u64, micros: u64) -> u64 {
        let longest = u64::from(Self::LENGTH - 1) << self.cell_log;
        let micros = micros.min(longest);
        let cell = usize::try_from(micros >> self.cell_log).expect("within the table");
        match self.halvings[cell] {
            // The first part of the decay is linear.
            0 => {
                let decay = (avg * micros) >> self.cell_log;
                if decay < avg >> 1 { avg - decay } else { avg >> 1 }
            }
            halvings => avg >> halvings,
        }
    }
}

/// Return the time to send a mean packet in units of 64 ns, from whole microseconds.
fn units_to_send(mean_packet: Bytes, rate: BitRate) -> f64 {
    let micros = rate.time_to_send(mean_packet).as_nanos() / 1000;
    ((micros * 1000 / 64) as f64).max(1.0)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 31")]
fn whole(halvings: f64) -> u32 {
    halvings as u32
}

#[cfg(test)]
mod tests {
    use aqmlab_units::Prob;

    use super::*;
    use crate::Ecn;

    /// A coin that always gives one half.
    #[derive(Clone)]
    struct Half;

    impl Coin for Half {
        fn toss(&mut self) -> u64 {
            1 << 63
        }
    }

    const LINK: LinkContext = LinkContext {
        rate: BitRate::from_mbit_per_sec(10),
        header: Bytes::ZERO,
        overhead: Bytes::ZERO,
        peak: None,
    };

    /// A law with thresholds of 5,000 and 15,000 bytes, whose average is this many bytes.
    fn law(avg: u64) -> LinuxRed<Half> {
        let config = RedConfig {
            w_q: 0.0625,
            max_p: Prob::clamped(0.1),
            mean_packet: Bytes::new(1000),
            ..RedConfig::default()
        };
        LinuxRed { avg: avg << 4, idle_since: None, ..LinuxRed::new(&config, &LINK, Half) }
    }

    /// The verdicts about packets that find a queue of the length of the average.
    fn verdicts(law: &mut LinuxRed<Half>, packets: usize) -> Vec<Verdict> {
        let packet = Packet { size: Bytes::new(1000), ecn: Ecn::Ect0, flow: 0 };
        let queue = QueueState { packets: 10, bytes: Bytes::new(law.avg >> 4) };
        (0..packets).map(|_| law.on_enqueue(&packet, queue, Time::ZERO)).collect()
    }

    #[test]
    fn a_gap_is_a_draw_from_one_to_the_inverse_of_the_probability() {
        // Halfway between the thresholds the probability is 0.05: a draw of one half is a gap of ten packets.
        let verdicts = verdicts(&mut law(10_000), 31);
        let signalled: Vec<usize> = (0..31).filter(|&number| verdicts[number] == Verdict::Mark).collect();
        assert_eq!(signalled, [10, 20, 30], "the first packet starts the count");
    }

    #[test]
    fn outside_the_thresholds_no_coin_decides() {
        assert_eq!(verdicts(&mut law(4_999), 2), [Verdict::Pass; 2]);
        assert_eq!(verdicts(&mut law(15_000), 2), [Verdict::Drop; 2]);
        let mut marking = LinuxRed { drops_above_max: false, ..law(15_000) };
        assert_eq!(verdicts(&mut marking, 2), [Verdict::Mark; 2]);
    }

    #[test]
    fn a_short_idle_period_takes_at_most_the_larger_half() {
        let table = IdleTable { cell_log: 3, halvings: vec![0; 256] };
        assert_eq!([0, 3, 4, 8].map(|micros| table.age(5, micros)), [5, 4, 2, 2]);
    }

    #[test]
    fn an_idle_period_halves_the_average_as_often_as_the_table_says() {
        let table = IdleTable::new(4, Bytes::new(1000), LINK.rate);
        let lengths = [0, 1_000, 10_000, 100_000, 1_000_000, 100_000_000];
        let aged = lengths.map(|micros| table.age(1 << 20, micros));
        assert!(aged.is_sorted_by(|a, b| a >= b) && aged[0] == 1 << 20, "{aged:?}");
        assert_eq!(aged[5], 0);
        // The decay per 800 us, in whose place the table has 12,500 units: ln(16/15).
        let cell = table.halvings.iter().position(|&halvings| halvings == 10).expect("ten halvings");
        let micros = (cell as f64) * f64::from(1_u32 << table.cell_log);
        assert!((micros / 12_500.0 * libm::log(16.0 / 15.0) / 10.0 - 1.0).abs() < 0.02);
    }
}
