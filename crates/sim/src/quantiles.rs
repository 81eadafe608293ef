//! Quantiles of a histogram, defined as in `aqmlab.stats.quantiles`.

/// A bin that holds something: `count` values from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bin {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) count: u64,
}

/// The value below which the share `fraction` of all lies. The values of a bin are taken as spread evenly over it; at the
/// end of one the quantile is the beginning of the next. `None` where there is nothing.
pub(crate) fn quantile(bins: &[Bin], fraction: f64) -> Option<f64> {
    let total = bins.iter().map(|bin| bin.count).sum::<u64>() as f64;
    let mut below = 0;
    for bin in bins {
        let (before, after) = (below as f64 / total, (below + bin.count) as f64 / total);
        if fraction < after {
            return Some(bin.low + (bin.high - bin.low) * (fraction - before) / (after - before));
        }
        below += bin.count;
    }
    bins.last().map(|bin| bin.high)
}

/// `part / whole`; `None` when there is nothing to divide by.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "halves and quarters")]
mod tests {
    use super::*;

    #[test]
    fn values_are_even_over_their_bin_and_none_is_in_a_gap() {
        let bins = [Bin { low: 0.0, high: 2.0, count: 1 }, Bin { low: 4.0, high: 8.0, count: 3 }];
        let at = |fraction| quantile(&bins, fraction).expect("there are values");
        assert_eq!([0.0, 0.125, 0.25, 0.625, 1.0].map(at), [0.0, 1.0, 4.0, 6.0, 8.0]);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn nothing_over_nothing_is_nothing() {
        assert_eq!((ratio(0.0, 0.0), ratio(1.0, 4.0)), (None, Some(0.25)));
    }
}
