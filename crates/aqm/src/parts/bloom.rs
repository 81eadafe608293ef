//! The bins of stochastic fair BLUE: a Bloom filter that counts packets and keeps a probability per bin.

use aqmlab_units::{Stream, Time};

/// Number of the bins, and steps of their probabilities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// L.
    pub(crate) levels: usize,
    /// N, on each level.
    pub(crate) bins: usize,
    /// The length from which a bin's probability rises with each arrival.
    pub(crate) bin_size: u32,
    /// d1.
    pub(crate) increment: f64,
    /// d2.
    pub(crate) decrement: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// Queued packets that are counted here.
    qlen: u32,
    /// `p_m`.
    p: f64,
}

/// State of a packet's bins on its arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BinSummary {
    /// The lowest of their probabilities, after the arrival.
    pub(crate) p_min: f64,
    /// The length of the shortest bin.
    pub(crate) shortest: u32,
    /// The length of the longest bin.
    pub(crate) longest: u32,
}

/// L levels of N bins, each level with its own hash function.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    rule: Rule,
    /// Identifies the hash functions.
    salt: u64,
    /// Packets that arrived before this time are not counted.
    start: Time,
    /// The bins, level after level.
    cells: Vec<Bin>,
}

impl Bins {
    /// Return empty bins, with hash functions that follow from `salt`, for packets that arrive from `start` on.
    pub(crate) fn new(rule: Rule, salt: u64, start: Time) -> Bins {
        Bins { rule, salt, start, cells: vec![Bin::default(); rule.levels * rule.bins] }
    }

    /// Return the indices of a flow's bins. The hash functions are the first L draws of a stream with the flow's
    /// number.
    fn indices(&self, flow: u32) -> impl Iterator<Item = usize> + use<> {
        let Rule { levels, bins, .. } = self.rule;
        let mut hash = Stream::numbered(self.salt, u64::from(flow));
        (0..levels).map(move |level| {
            level * bins + usize::try_from(hash.below(bins as u64)).expect("below the number of bins")
        })
    }

    /// Update the probabilities of the bins of an arriving packet's flow.
    pub(crate) fn update(&mut self, flow: u32) -> BinSummary {
        let mut summary = BinSummary { p_min: 1.0, shortest: u32::MAX, longest: 0 };
        for index in self.indices(flow) {
            let bin = &mut self.cells[index];
            // p_m = p_m + d1 when qlen >= bin_size, p_m - d2 when qlen = 0
            if bin.qlen >= self.rule.bin_size {
                bin.p = (bin.p + self.rule.increment).min(1.0);
            } else if bin.qlen == 0 {
                bin.p = (bin.p - self.rule.decrement).max(0.0);
            }
            summary = BinSummary {
                p_min: summary.p_min.min(bin.p),
                shortest: summary.shortest.min(bin.qlen),
                longest: summary.longest.max(bin.qlen),
            };
        }
        summary
    }

    /// Count a packet of this flow that starts to wait.
    pub(crate) fn count(&mut self, flow: u32) {
        for index in self.indices(flow) {
            self.cells[index].qlen += 1;
        }
    }

    /// Uncount a packet of this flow, which arrived at `enqueued_at` and no longer waits.
    pub(crate) fn uncount(&mut self, flow: u32, enqueued_at: Time) {
        // Bins that warm up have not counted older packets.
        if enqueued_at >= self.start {
            for index in self.indices(flow) {
                self.cells[index].qlen -= 1;
            }
        }
    }

    /// The largest probability of a bin.
    pub(crate) fn p_max(&self) -> f64 {
        self.cells.iter().fold(0.0, |max, bin| bin.p.max(max))
    }

    /// The length of the longest bin.
    pub(crate) fn longest(&self) -> u32 {
        self.cells.iter().map(|bin| bin.qlen).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(levels: usize, bins: usize) -> Rule {
        Rule { levels, bins, bin_size: 2, increment: 0.1, decrement: 0.01 }
    }

    #[test]
    fn the_levels_hash_flows_evenly_and_independently() {
        let bins = Bins::new(rule(2, 8), 42, Time::ZERO);
        // Flow by flow the pair of bins, of 64: chi-square, 63 degrees of freedom, 0.1 % and 99.9 % points 33 and 104.
        let mut pairs = [0_u32; 64];
        for flow in 0..64_000 {
            let indices: Vec<usize> = bins.indices(flow).collect();
            assert!(indices[0] < 8 && (8..16).contains(&indices[1]));
            pairs[indices[0] * 8 + indices[1] - 8] += 1;
        }
        let chi2: f64 = pairs.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(33.0 < chi2 && chi2 < 104.0, "chi-square {chi2}");
    }

    #[test]
    fn another_salt_maps_flows_otherwise() {
        let (one, other) = (Bins::new(rule(2, 23), 1, Time::ZERO), Bins::new(rule(2, 23), 2, Time::ZERO));
        let same = (0..10_000).filter(|&flow| one.indices(flow).eq(other.indices(flow))).count();
        // One in 529: 19 expected, with a standard deviation of 4.3.
        assert!(same < 40, "{same} of 10,000 flows keep their bins");
    }

    #[test]
    fn a_packet_from_before_the_bins_is_not_taken_out_of_them() {
        let mut bins = Bins::new(rule(3, 5), 7, Time::from_nanos(100));
        bins.count(9);
        bins.uncount(9, Time::from_nanos(99));
        assert_eq!(bins.longest(), 1);
        bins.uncount(9, Time::from_nanos(100));
        assert_eq!(bins.longest(), 0);
    }
}
