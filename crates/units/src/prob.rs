//! Probabilities.

use std::fmt;

/// A probability in \[0, 1\].
///
/// ```
/// use aqmlab_units::Prob;
///
/// assert_eq!(Prob::new(1.2), None);
/// assert_eq!(Prob::clamped(1.2), Prob::ONE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Prob(f64);

impl Prob {
    /// Never.
    pub const ZERO: Prob = Prob(0.0);
    /// Always.
    pub const ONE: Prob = Prob(1.0);

    /// `p` itself, or `None` when it is not in \[0, 1\] or not a number.
    pub fn new(p: f64) -> Option<Prob> {
        (0.0..=1.0).contains(&p).then_some(Prob(p))
    }

    /// `p` brought into \[0, 1\]: what every control law does with its result.
    #[inline]
    pub fn clamped(p: f64) -> Prob {
        debug_assert!(!p.is_nan(), "a probability is a number");
        Prob(p.clamp(0.0, 1.0))
    }

    /// The number in \[0, 1\].
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Prob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_between_zero_and_one_are_probabilities() {
        assert_eq!(Prob::new(1.5), None);
        assert_eq!(Prob::new(f64::NAN), None);
        assert_eq!(Prob::clamped(1.5), Prob::ONE);
        assert_eq!(Prob::clamped(-0.1), Prob::ZERO);
    }
}
