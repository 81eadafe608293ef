//! Quantile functions with heavy tails: a few quantiles, joined by pieces of Pareto distributions.
//!
//! A node says that a fraction `u` of all draws lies at or below `value`. Between nodes, ln(value) is linear in
//! e = -ln(1 - u), the exponential scale. A straight piece there is exactly a Pareto piece of index
//! Δe / Δln(value), so that a heavy tail needs few nodes. Above the last node the last value is returned: an atom at
//! the maximum.

/// The exact quantile function; the fast one is [`crate::sampler::Sampler`].
#[derive(Clone, Debug)]
pub(crate) struct Quantile {
    pieces: Vec<Piece>,
    /// The largest value, taken by all draws above the last node.
    max: f64,
    /// e of the last node.
    e_max: f64,
}

/// One straight piece: ln(value) = `ln_value` + `slope` (e - `e`) up to the next piece.
#[derive(Clone, Copy, Debug)]
struct Piece {
    e: f64,
    /// Δe to the next node.
    width: f64,
    ln_value: f64,
    /// Δln(value) / Δe, the inverse of the local Pareto index.
    slope: f64,
}

impl Quantile {
    /// From nodes `[u, value]`, checked before: at least two, u from 0 increasing below 1, values above zero and
    /// never decreasing.
    pub(crate) fn new(nodes: &[[f64; 2]]) -> Quantile {
        let scaled: Vec<(f64, f64)> = nodes.iter().map(|&[u, v]| (-libm::log1p(-u), libm::log(v))).collect();
        let pieces = scaled
            .windows(2)
            .map(|w| {
                let ((e, ln_value), (e_next, ln_next)) = (w[0], w[1]);
                Piece { e, width: e_next - e, ln_value, slope: (ln_next - ln_value) / (e_next - e) }
            })
            .collect();
        let (&[_, max], &(e_max, _)) =
            nodes.last().zip(scaled.last()).expect("a checked table has at least two nodes");
        Quantile { pieces, max, e_max }
    }

    /// The value below which a fraction `u` of all draws lies; `u` in \[0, 1).
    pub(crate) fn value(&self, u: f64) -> f64 {
        // e = -ln(1 - u);  value = exp(ln_value_i + slope_i (e - e_i))
        let e = -libm::log1p(-u);
        if e >= self.e_max {
            return self.max;
        }
        let next = self.pieces.partition_point(|piece| piece.e <= e);
        let piece = &self.pieces[next.saturating_sub(1)];
        libm::exp(piece.ln_value + piece.slope * (e - piece.e))
    }

    /// The fraction of draws at or below `value`.
    pub(crate) fn fraction_below(&self, value: f64) -> f64 {
        if value >= self.max {
            return 1.0;
        }
        let ln_value = libm::log(value);
        let Some(piece) = self.pieces.iter().rfind(|piece| piece.ln_value <= ln_value) else {
            return 0.0;
        };
        // On a flat piece every draw equals the value.
        let e = if piece.slope > 0.0 { (ln_value - piece.ln_value) / piece.slope } else { piece.width };
        -libm::expm1(-(piece.e + e))
    }

    /// The mean.
    pub(crate) fn mean(&self) -> f64 {
        self.pieces.iter().map(Piece::mass).sum::<f64>() + self.max_mass()
    }

    /// A draw from the length-biased distribution, of density x f(x) / mean: the interval that contains a random
    /// instant. `u` and `v` are uniform draws: the piece and the place in it.
    pub(crate) fn length_biased(&self, u: f64, v: f64) -> f64 {
        let mut left = u * self.mean();
        for piece in &self.pieces {
            let mass = piece.mass();
            if left < mass {
                return piece.length_biased(v);
            }
            left -= mass;
        }
        self.max
    }

    /// The part of the mean at the atom.
    fn max_mass(&self) -> f64 {
        self.max * libm::exp(-self.e_max)
    }
}

impl Piece {
    /// The part of the mean on this piece, ∫ value(e) exp(-e) de.
    fn mass(&self) -> f64 {
        // With c = 1 - slope:  value_i exp(-e_i) (1 - exp(-c width)) / c
        let c = 1.0 - self.slope;
        let integral = if c.abs() < 1e-9 { self.width } else { -libm::expm1(-c * self.width) / c };
        libm::exp(self.ln_value - self.e) * integral
    }

    /// The value at which a fraction `v` of this piece's mass is reached.
    fn length_biased(&self, v: f64) -> f64 {
        // Solve (1 - exp(-c x)) = v (1 - exp(-c width)) for x = e - e_i.
        let c = 1.0 - self.slope;
        let x =
            if c.abs() < 1e-9 { v * self.width } else { -libm::log1p(v * libm::expm1(-c * self.width)) / c };
        libm::exp(self.ln_value + self.slope * x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_units::Stream;

    fn pareto() -> Quantile {
        // Index 2 from 1 to 100: S(x) = x^-2.
        Quantile::new(&[[0.0, 1.0], [0.75, 2.0], [0.9999, 100.0]])
    }

    fn near(a: f64, b: f64, relative: f64) -> bool {
        (a / b - 1.0).abs() < relative
    }

    #[test]
    fn nodes_are_returned_as_written_and_a_straight_piece_is_pareto() {
        let q = pareto();
        assert!(near(q.value(0.75), 2.0, 1e-12));
        assert!(near(q.value(0.99), 10.0, 1e-12), "S(10) = 1/100, got {}", q.value(0.99));
        assert!(near(q.value(0.999_999), 100.0, 1e-12), "an atom at the maximum");
        assert!(near(q.value(0.0), 1.0, 1e-12));
    }

    #[test]
    fn the_mean_of_a_capped_pareto_is_the_textbook_one() {
        // E min(X, m) = 1 + ∫_1^m x^-2 dx = 2 - 1/m
        assert!(near(pareto().mean(), 2.0 - 0.01, 1e-12));
    }

    #[test]
    fn the_distribution_function_inverts_the_quantile_function() {
        let q = pareto();
        for u in [0.0, 0.1, 0.5, 0.75, 0.9, 0.999] {
            assert!((q.fraction_below(q.value(u)) - u).abs() < 1e-9);
        }
        assert!(near(q.fraction_below(100.0), 1.0, 1e-12));
        assert!(q.fraction_below(0.5) < 1e-12);
    }

    #[test]
    fn a_flat_table_is_a_constant() {
        let q = Quantile::new(&[[0.0, 7.0], [0.5, 7.0]]);
        assert!(
            near(q.value(0.3), 7.0, 1e-12) && near(q.value(0.9), 7.0, 1e-12) && near(q.mean(), 7.0, 1e-12)
        );
        assert!(near(q.length_biased(0.2, 0.7), 7.0, 1e-12));
    }

    #[test]
    fn length_biased_draws_have_the_length_biased_mean() {
        // E[X^2] / E[X] with E min(X, m)^2 = 1 + 2 ln m for index 2.
        let (q, mut stream, n) = (pareto(), Stream::named(1, "test"), 400_000);
        let sum: f64 = (0..n).map(|_| q.length_biased(stream.uniform(), stream.uniform())).sum();
        let expected = (1.0 + 2.0 * libm::log(100.0)) / (2.0 - 0.01);
        assert!(near(sum / f64::from(n), expected, 0.01), "{} against {expected}", sum / f64::from(n));
    }
}
