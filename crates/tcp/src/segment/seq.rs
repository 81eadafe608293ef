//! Sequence numbers: 32 bits that wrap (RFC 9293 §3.4).

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number. Two numbers compare by the shorter way around the circle, so compared numbers must lie
/// within 2^31 of each other, as those of one connection's windows do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(u32);

impl Seq {
    /// The origin of a connection's sequence numbers.
    pub const ZERO: Seq = Seq(0);

    /// The sequence number `n`.
    pub const fn new(n: u32) -> Seq {
        Seq(n)
    }

    /// The number in a header.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The later of two.
    #[inline]
    #[must_use]
    pub fn max(self, other: Seq) -> Seq {
        if self < other { other } else { self }
    }

    /// The earlier of two.
    #[inline]
    #[must_use]
    pub fn min(self, other: Seq) -> Seq {
        if other < self { other } else { self }
    }
}

impl PartialOrd for Seq {
    #[inline]
    fn partial_cmp(&self, other: &Seq) -> Option<Ordering> {
        Some(0.cmp(&(other.0.wrapping_sub(self.0).cast_signed())))
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    #[inline]
    fn add(self, bytes: u32) -> Seq {
        Seq(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for Seq {
    #[inline]
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub for Seq {
    type Output = u32;
    /// Bytes from an earlier number to a later one.
    #[inline]
    fn sub(self, earlier: Seq) -> u32 {
        debug_assert!(earlier <= self, "sequence space ran backwards from {earlier:?} to {self:?}");
        self.0.wrapping_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_across_the_wrap() {
        let before = Seq::new(u32::MAX - 10);
        let after = before + 20;
        assert!(before < after);
        assert_eq!(after - before, 20);
        assert_eq!(before.max(after), after);
    }
}
