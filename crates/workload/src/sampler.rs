//! Fast draws from a [`Quantile`] function.
//!
//! The exact function costs a logarithm and an exponential for each draw. Here the body is a table of equiprobable
//! bins with linear interpolation inside a bin; the first and the last 1/32 of the draws, where values change
//! fastest and a table would be coarse, are exact. Against the exact function each quantile is within 0.5 % and the mean within 0.2 %;
//! the tests check both for every shipped table.

use aqmlab_units::Stream;

use crate::quantile::Quantile;

/// Equiprobable bins over the whole of \[0, 1).
const BINS: usize = 1024;
/// Bins at either end whose draws are exact.
const ENDS: usize = BINS / 32;

/// A quantile function made fast.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    /// Quantiles at i/1024. Single precision keeps a table at 4 kB.
    edges: Box<[f32]>,
    exact: Quantile,
}

impl Sampler {
    #[expect(clippy::cast_possible_truncation, reason = "six digits are enough for an interpolated value")]
    pub(crate) fn new(exact: Quantile) -> Sampler {
        let edges = (0..=BINS - ENDS).map(|i| exact.value(i as f64 / BINS as f64) as f32).collect();
        Sampler { edges, exact }
    }

    /// A draw.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> f64 {
        self.value(stream.uniform())
    }

    /// A draw given that it falls in the lowest `fraction` of the distribution: what redrawing until it does gives.
    #[inline]
    pub(crate) fn draw_lowest(&self, fraction: f64, stream: &mut Stream) -> f64 {
        self.value(stream.uniform() * fraction)
    }

    /// The quantile function, approximately; `u` in \[0, 1).
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "u BINS lies in [0, BINS)")]
    pub(crate) fn value(&self, u: f64) -> f64 {
        let place = u * BINS as f64;
        let bin = place as usize;
        if !(ENDS..BINS - ENDS).contains(&bin) {
            return self.exact.value(u);
        }
        let (low, high) = (f64::from(self.edges[bin]), f64::from(self.edges[bin + 1]));
        low + (high - low) * (place - bin as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{RttConfig, RttDistribution, WebConfig};

    /// Every table that ships, by name.
    fn shipped() -> Vec<(String, Vec<[f64; 2]>)> {
        let web = WebConfig::shipped("unc-2001").expect("shipped");
        let mut tables: Vec<_> =
            web.tables().into_iter().map(|(name, table)| (name.to_owned(), table.nodes.clone())).collect();
        for name in ["general", "general-moderate"] {
            let RttDistribution::QuantilesMs(nodes) = RttConfig::shipped(name).expect("shipped").distribution
            else {
                panic!("{name} is given by quantiles");
            };
            tables.push((name.to_owned(), nodes));
        }
        tables
    }

    #[test]
    fn quantiles_are_exact_to_half_a_percent_the_mean_to_a_fifth() {
        for (name, nodes) in shipped() {
            let sampler = Sampler::new(Quantile::new(&nodes));
            let n = 400_000;
            let (mut sum, mut exact_sum) = (0.0, 0.0);
            for i in 0..n {
                let u = (f64::from(i) + 0.5) / f64::from(n);
                let (value, exact) = (sampler.value(u), sampler.exact.value(u));
                assert!((value / exact - 1.0).abs() < 0.005, "{name} at {u}: {value} for {exact}");
                sum += value;
                exact_sum += exact;
            }
            assert!((sum / exact_sum - 1.0).abs() < 0.002, "{name}: mean {sum} for {exact_sum}");
        }
    }

    #[test]
    fn draws_follow_the_nodes() {
        // The fraction of draws at or below a node is its u, within 4 standard errors.
        for (name, nodes) in shipped() {
            let sampler = Sampler::new(Quantile::new(&nodes));
            let mut stream = Stream::named(11, &name);
            let mut draws: Vec<f64> = (0..200_000).map(|_| sampler.draw(&mut stream)).collect();
            draws.sort_by(f64::total_cmp);
            for &[u, value] in &nodes[1..nodes.len() - 1] {
                let share = draws.partition_point(|&d| d <= value) as f64 / draws.len() as f64;
                let error = 4.0 * (u * (1.0 - u) / draws.len() as f64).sqrt() + 1e-4;
                assert!(
                    (share - u).abs() < error,
                    "{name}: {share} of the draws at or below {value}, not {u}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn a_table_is_refused_or_draws_between_its_first_and_last_value(
            mut nodes in prop::collection::vec((0.0..1.1f64, -1.0..9.0f64), 1..6), sort: bool, u in 0.0..1.0f64,
        ) {
            if sort {
                nodes[0].0 = 0.0;
                nodes.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            let nodes: Vec<[f64; 2]> = nodes.iter().map(|&(u, e)| [u, libm::exp10(e)]).collect();
            let config = RttConfig { source: String::new(), distribution: RttDistribution::QuantilesMs(nodes.clone()) };
            if config.check().is_ok() {
                let (first, last) = (nodes[0][1], nodes[nodes.len() - 1][1]);
                let value = Sampler::new(Quantile::new(&nodes)).value(u);
                prop_assert!(0.999_999 * first <= value && value <= 1.000_001 * last, "{value}");
            }
        }
    }

    #[test]
    fn a_draw_of_the_lowest_fraction_never_exceeds_its_quantile() {
        let sampler = Sampler::new(Quantile::new(&[[0.0, 1.0], [0.9999, 100.0]]));
        let mut stream = Stream::named(1, "test");
        let fraction = sampler.exact.fraction_below(10.0);
        let largest = (0..100_000).map(|_| sampler.draw_lowest(fraction, &mut stream)).fold(0.0, f64::max);
        assert!(9.9 < largest && largest <= 10.0, "largest {largest}");
    }
}
