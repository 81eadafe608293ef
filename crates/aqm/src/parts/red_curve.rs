//! RED's probability as a function of the average queue.

/// `p_b` over `avg`: 0 below `min_th`, rising to `max_p` at `max_th`. From there it is 1 at once or, if gentle,
/// rises to 1 at twice `max_th`.
#[derive(Clone, Debug)]
pub(crate) struct RedCurve {
    min_th: f64,
    max_th: f64,
    /// Every packet is signalled from this average on.
    full_th: f64,
    max_p: f64,
    /// The rise of `p_b` per packet below `max_th`.
    slope: f64,
    /// The rise of `p_b` per packet in the gentle region.
    gentle_slope: f64,
}

impl RedCurve {
    pub(crate) fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> RedCurve {
        let full_th = if gentle { 2.0 * max_th } else { max_th };
        let mut curve = RedCurve { min_th, max_th, full_th, max_p: 0.0, slope: 0.0, gentle_slope: 0.0 };
        curve.set_max_p(max_p);
        curve
    }

    pub(crate) fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Set `max_p` and both slopes: the gentle one must start where the other ends. The slopes stay finite,
    /// because a threshold near zero would make of a zero distance and an infinite slope a NaN.
    pub(crate) fn set_max_p(&mut self, max_p: f64) {
        self.max_p = max_p;
        self.slope = (max_p / (self.max_th - self.min_th)).min(f64::MAX);
        self.gentle_slope = ((1.0 - max_p) / self.max_th).min(f64::MAX);
    }

    /// True if every packet is signalled at this average.
    #[inline]
    pub(crate) fn is_full(&self, avg: f64) -> bool {
        avg >= self.full_th
    }

    #[inline]
    pub(crate) fn p_b(&self, avg: f64) -> f64 {
        if avg < self.min_th {
            0.0
        } else if avg < self.max_th {
            // p_b = max_p (avg - min_th) / (max_th - min_th)
            self.slope * (avg - self.min_th)
        } else if avg < self.full_th {
            // p_b = max_p + (1 - max_p) (avg - max_th) / max_th
            self.max_p + self.gentle_slope * (avg - self.max_th)
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gentle_curve_has_no_jump_even_after_max_p_changed() {
        let mut curve = RedCurve::new(5.0, 15.0, 0.1, true);
        curve.set_max_p(0.3);
        for avg in [5.0, 15.0, 30.0] {
            let jump = curve.p_b(avg) - curve.p_b(avg - 1e-9);
            assert!(jump.abs() < 1e-9, "p_b jumps by {jump} at {avg} packets");
        }
        assert!((curve.p_b(15.0) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn the_classic_curve_jumps_from_max_p_to_one_at_max_th() {
        let curve = RedCurve::new(5.0, 15.0, 0.1, false);
        assert!(curve.p_b(14.999) < 0.1);
        assert!((curve.p_b(15.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn thresholds_next_to_zero_give_probabilities() {
        let smallest = f64::from_bits(1);
        for gentle in [false, true] {
            let curve = RedCurve::new(0.0, smallest, 0.1, gentle);
            for avg in [0.0, smallest, 1.0] {
                assert!((0.0..=1.0).contains(&curve.p_b(avg)), "{} at {avg}", curve.p_b(avg));
            }
        }
    }
}
