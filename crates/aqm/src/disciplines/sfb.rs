//! SFB, stochastic fair BLUE: a marking probability for each bin of a Bloom filter, and a penalty box.
//!
//! A flow hashes to one bin on each of L levels. A bin's probability rises when its packets fill it and falls
//! when it is empty. A packet is signalled with the lowest probability of its bins. Only an unresponsive flow
//! drives all of its bins to 1, and is then limited to a rate.
//!
//! Source: Feng, Kandlur, Saha and Shin, "Stochastic fair BLUE: a queue management algorithm for enforcing fairness",
//! INFOCOM 2001: the pseudocode, moving hash functions and double buffering. Defaults: Linux (`sch_sfb.c`).
//!
//! Differs from Linux: the hash functions change on a timer; Linux waits for the next arrival. All admitted
//! packets are counted in the bins that warm up, which start at 0; Linux counts only unresponsive flows. The
//! penalty box fills steadily; Linux fills it when it is found empty. Probabilities are no 16-bit fractions.
//! There is an option for each difference on which results depend: [`FullBins`], [`AboveHalf`], [`Hashing`].
//! [`Variant::Linux`] is Linux's discipline in every detail.

use aqmlab_units::{Duration, Prob, Stream, Time};

use crate::parameter::{above, check, from, parameters};
use crate::parts::bloom::{Bins, Rule};
use crate::parts::linux::sfb::{self, LinuxSfb};
use crate::parts::linux::with_linux_values;
use crate::parts::token_bucket::TokenBucket;
use crate::{
    AboveHalf, Aqm, DecidesAt, Discipline, Fifo, FullBins, Hashing, Limit, LinkContext, Packet,
    ParameterError, QueueState, Tc, TcWords, Variant, Verdict, Visitor,
};

parameters! {
    /// SFB's parameters. The paper's simulations have 2 levels of 23 bins, and bins 1.5 times as large as their
    /// share of the queue, 1.5 B / N.
    pub struct SfbConfig {
        /// L, the levels, each with its own hash function.
        levels: u32 = 8, in from(1).up_to(16), unit "levels", source "Linux";
        /// N, the bins on each level.
        bins: u32 = 16, in from(1).up_to(4096), unit "bins", source "Linux";
        /// The number of waiting packets from which a bin's probability rises.
        bin_size: u32 = 20, in from(1), unit "packets", source "Linux", tc TcWords::Value("target");
        /// The maximum number of packets in each of a flow's bins with `full_bins` = `all`.
        max: u32 = 25, unit "packets", source "Linux", tc TcWords::Value("max");
        /// The condition for dropping a packet because its bins are full.
        full_bins: FullBins = FullBins::All, source "Linux; Feng et al. 2001 has any";
        /// d1, the increase of a bin's probability when a packet arrives at a full bin.
        increment: Prob = Prob::clamped(0.001), in above(Prob::ZERO), source "Linux", tc TcWords::Value("increment");
        /// d2, the decrease of a bin's probability when a packet arrives at an empty bin.
        decrement: Prob = Prob::clamped(1.0 / 6000.0), source "Linux; Feng et al. 2001 has d2 = d1", tc TcWords::Value("decrement");
        /// Treatment of ECN-capable packets at a probability above one half.
        above_half: AboveHalf = AboveHalf::DropSome, source "Linux; Feng et al. 2001 has mark";
        /// The rate of all unresponsive flows together.
        penalty_rate: f64 = 10.0, in from(0.0).up_to(1e9), unit "packets/s", source "Linux", tc TcWords::Value("penalty_rate");
        /// The maximum number of packets of unresponsive flows that may pass at once.
        penalty_burst: u32 = 20, unit "packets", source "Linux", tc TcWords::Value("penalty_burst");
        /// Changes of the hash functions.
        hashing: Hashing = Hashing::DoubleBuffered, source "Linux";
        /// The time between two changes of the hash functions.
        rehash_interval: Duration = Duration::from_secs(600), in from(Duration::from_millis(1)).up_to(Duration::from_secs(1_000_000)), source "Linux", tc TcWords::Milliseconds("rehash");
        /// The time for which the next bins learn about unresponsive flows before they are used.
        warmup_time: Duration = Duration::from_secs(60), source "Linux", tc TcWords::Milliseconds("db");
        /// The description that the discipline follows.
        variant: Variant = Variant::Published, source "Feng et al. 2001; or Linux sch_sfb.c: linux", omit default;
        /// The maximum that may wait.
        limit: Limit = Limit::Packets(1000), source "Linux: the queue of an Ethernet device", tc TcWords::Value("limit");
    }
}

impl Discipline for SfbConfig {
    const FAMILY: &'static str = "flows";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "BLUE in the bins of a Bloom filter, which limits unresponsive flows to a rate";
    const TC: Option<Tc> =
        Some(Tc { names: &["sfb"], ecn: None, values: &[("variant", "linux")], accepted: &[], refused: &[] });

    fn complete(&self, _link: &LinkContext) -> Result<SfbConfig, ParameterError> {
        let bin_size = format_args!("at least bin_size = {} packets", self.bin_size);
        check(self.max >= self.bin_size, "max", bin_size, &self.max)?;
        let below = format_args!("below rehash_interval = {}", self.rehash_interval);
        check(self.warmup_time < self.rehash_interval, "warmup_time", below, &self.warmup_time)?;
        if self.variant == Variant::Linux {
            self.check_linux()?;
        }
        with_linux_values(self, self.variant, |config| {
            config.levels = sfb::LEVELS;
            config.bins = sfb::BINS;
            config.full_bins = FullBins::All;
            config.above_half = AboveHalf::DropSome;
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match self.variant {
            Variant::Published => visitor.queue(|rng| Fifo::new(Sfb::new(self, link, rng), self.limit)),
            Variant::Linux => visitor.queue(|rng| LinuxSfb::new(self, rng)),
        }
    }
}

impl SfbConfig {
    /// Check the numbers that are whole ones in Linux.
    fn check_linux(&self) -> Result<(), ParameterError> {
        let whole = self.penalty_rate.fract() == 0.0;
        check(whole, "penalty_rate", "a whole number with variant = linux", &self.penalty_rate)?;
        for (name, time) in [("rehash_interval", self.rehash_interval), ("warmup_time", self.warmup_time)] {
            let is_whole = time.as_nanos() % sfb::TICK.as_nanos() == 0;
            check(is_whole, name, "a whole number of milliseconds with variant = linux", &time)?;
        }
        let in_packets = matches!(self.limit, Limit::Packets(1..));
        check(in_packets, "limit", "a number of packets with variant = linux", &self.limit)
    }
}

/// The SFB law.
#[derive(Clone, Debug)]
pub struct Sfb {
    max: u32,
    full_bins: FullBins,
    above_half: AboveHalf,
    rule: Rule,
    rng: Stream,
    penalty_box: TokenBucket,
    bins: Bins,
    /// The next bins, while they warm up.
    next_bins: Option<Bins>,
    /// The time at which the next bins take over; `None` with fixed hash functions.
    rehash_at: Option<Time>,
    rehash_interval: Duration,
    /// The time before that for which they warm up.
    warmup_time: Duration,
}

impl Sfb {
    /// Return a law that has seen no packet. `config` must have passed [`SfbConfig::resolve`].
    pub fn new(config: &SfbConfig, _link: &LinkContext, mut rng: Stream) -> Sfb {
        let rule = Rule {
            levels: config.levels as usize,
            bins: config.bins as usize,
            bin_size: config.bin_size,
            increment: config.increment.get(),
            decrement: config.decrement.get(),
        };
        let first = Bins::new(rule, rng.next_u64(), Time::ZERO);
        let warmup_time = match config.hashing {
            Hashing::DoubleBuffered => config.warmup_time,
            Hashing::Fixed | Hashing::Moving => Duration::ZERO,
        };
        Sfb {
            max: config.max,
            full_bins: config.full_bins,
            above_half: config.above_half,
            rule,
            rng,
            penalty_box: TokenBucket::new(config.penalty_rate, f64::from(config.penalty_burst)),
            bins: first,
            next_bins: None,
            rehash_at: (config.hashing != Hashing::Fixed).then_some(Time::ZERO + config.rehash_interval),
            rehash_interval: config.rehash_interval,
            warmup_time,
        }
    }

    fn judge(&mut self, flow: u32, now: Time) -> Verdict {
        let bins = self.bins.update(flow);
        let is_full = match self.full_bins {
            FullBins::All => bins.shortest >= self.max,
            FullBins::Any => bins.longest >= self.rule.bin_size,
        };
        if is_full {
            return Verdict::Drop;
        }
        let p_min = bins.p_min;
        // p_min = 1: an unresponsive flow, limited to the penalty box
        if p_min >= 1.0 {
            if let Some(next) = &mut self.next_bins {
                next.update(flow);
            }
            return if self.penalty_box.take(now) { Verdict::Pass } else { Verdict::Drop };
        }
        if p_min <= 0.0 {
            return Verdict::Pass;
        }
        let u = self.rng.uniform();
        if u >= p_min {
            Verdict::Pass
        // The more certain the signal, the more of it is a drop: the share of drops rises from 0 at 1/2 to all at
        // 1.
        } else if self.above_half == AboveHalf::DropSome && u < 2.0 * p_min - 1.0 {
            Verdict::Drop
        } else {
            Verdict::Mark
        }
    }

    /// The bins in which an admitted packet is counted.
    fn all_bins(&mut self) -> impl Iterator<Item = &mut Bins> {
        std::iter::once(&mut self.bins).chain(&mut self.next_bins)
    }

    /// The time at which the next bins start to warm up or take over.
    fn due(&self) -> Option<Time> {
        let rehash_at = self.rehash_at?;
        let begin = Time::from_nanos(rehash_at.as_nanos() - self.warmup_time.as_nanos());
        Some(if self.next_bins.is_none() { begin } else { rehash_at })
    }
}

impl Aqm for Sfb {
    fn on_enqueue(&mut self, pkt: &Packet, _queue: QueueState, now: Time) -> Verdict {
        let verdict = self.judge(pkt.flow, now);
        if verdict == Verdict::Pass || (verdict == Verdict::Mark && pkt.ecn.is_capable()) {
            self.all_bins().for_each(|bins| bins.count(pkt.flow));
        }
        verdict
    }

    fn on_dequeue(&mut self, pkt: &Packet, enqueued_at: Time, _queue: QueueState, _now: Time) -> Verdict {
        self.all_bins().for_each(|bins| bins.uncount(pkt.flow, enqueued_at));
        Verdict::Pass
    }

    fn on_overflow(&mut self, pkt: &Packet, _queue: QueueState, now: Time) {
        self.all_bins().for_each(|bins| bins.uncount(pkt.flow, now));
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.due()
    }

    fn on_timeout(&mut self, _queue: QueueState, now: Time) {
        let Some(due) = self.due().filter(|due| *due <= now) else { return };
        if self.next_bins.is_none() {
            self.next_bins = Some(Bins::new(self.rule, self.rng.next_u64(), due));
        }
        if self.rehash_at == Some(due)
            && let Some(next) = self.next_bins.take()
        {
            self.bins = next;
            self.rehash_at = Some(due + self.rehash_interval);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p_max", self.bins.p_max());
        out("longest_bin", f64::from(self.bins.longest()));
    }
}
