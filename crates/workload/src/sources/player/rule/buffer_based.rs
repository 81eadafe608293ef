//! By the buffer: BBA-0 (Huang et al. 2014).

/// The reservoir of Huang et al. 2014, and the level of the highest rate, as shares of the buffer.
const RESERVOIR: f64 = 90.0 / 240.0;
const UPPER: f64 = 216.0 / 240.0;

/// Algorithm 1: keep the rate until the map from buffer to rate crosses the next higher or lower one.
pub(super) fn choose(rates: &[f64], before: usize, filled: f64) -> usize {
    let highest = rates.len() - 1;
    let (higher, lower) = ((before + 1).min(highest), before.saturating_sub(1));
    if filled <= RESERVOIR {
        return 0;
    }
    if filled >= UPPER {
        return highest;
    }
    // f(B): linear from the lowest to the highest rate.
    let mapped = rates[0] + (rates[highest] - rates[0]) * (filled - RESERVOIR) / (UPPER - RESERVOIR);
    if mapped >= rates[higher] {
        rates.iter().rposition(|&rate| rate < mapped).unwrap_or(0)
    } else if mapped <= rates[lower] {
        rates.iter().position(|&rate| rate > mapped).unwrap_or(highest)
    } else {
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [f64; 5] = [1e6, 2e6, 3e6, 5e6, 9e6];

    #[test]
    fn bba_keeps_its_rate_between_its_neighbours() {
        // 40 % of the cushion is 4.2 Mbit/s: from 1 and 2 up to the highest below, from 9 down to the lowest above.
        let level = RESERVOIR + 0.4 * (UPPER - RESERVOIR);
        assert_eq!([0, 1, 2, 3, 4].map(|before| choose(&RATES, before, level)), [2, 2, 2, 3, 3]);
        assert_eq!((choose(&RATES, 4, RESERVOIR), choose(&RATES, 0, UPPER)), (0, 4));
    }
}
