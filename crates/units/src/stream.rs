//! Named random streams.
//!
//! Every user, connection and queue draws from a stream of its own, found by name and number from the seed of the
//! run. So one more draw in one place, a packet dropped by another queue discipline say, shifts no other draw:
//! schemes are compared under common random numbers.
//!
//! The generator is PCG XSL 128/64 (MCG) of O'Neill (2014), by name, so that its draws stay the same for ever; the
//! tests hold golden values.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::Prob;

/// A deterministic source of random numbers.
///
/// ```
/// use aqmlab_units::{Prob, Stream};
///
/// // One family for all users, and a stream for each: what one draws moves no draw of another's.
/// let users = Stream::key(1, "users");
/// let (mut first, mut second) = (Stream::numbered(users, 0), Stream::numbered(users, 1));
/// assert_ne!(first.next_u64(), second.next_u64());
/// assert!(first.uniform() < 1.0 && first.below(6) < 6 && !second.chance(Prob::ZERO));
/// ```
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream called `name` of the run `seed`.
    ///
    /// ```
    /// use aqmlab_units::Stream;
    /// let mut a = Stream::named(1, "queue/0");
    /// let mut b = Stream::named(1, "queue/0");
    /// assert_eq!(a.next_u64(), b.next_u64());
    /// ```
    pub fn named(seed: u64, name: &str) -> Stream {
        Stream::numbered(Stream::key(seed, name), 0)
    }

    /// Returns the number of `name` in the run `seed`: the first argument of [`Stream::numbered`] for a family
    /// of streams, one per user say.
    pub fn key(seed: u64, name: &str) -> u64 {
        name.bytes().fold(mix(seed), |key, byte| mix(key ^ u64::from(byte)))
    }

    /// Stream number `number` of the family `key`. Cheap: a few nanoseconds.
    #[inline]
    pub fn numbered(key: u64, number: u64) -> Stream {
        let low = mix(key ^ mix(number));
        let high = mix(low ^ key);
        Stream(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform draw from \[0, 1): a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform whole number below `n`, which is above zero. (Lemire's multiplication; its bias is below 2^-32
    /// for the small `n` used here.)
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "there is no number below zero");
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: Prob) -> bool {
        self.uniform() < p.get()
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood 2014) after its odd increment: spreads neighbouring
/// numbers over all 64 bits.
#[inline]
fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_never_change() {
        let mut stream = Stream::named(1, "queue/0");
        let drawn = [stream.next_u64(), stream.next_u64(), stream.below(1000)];
        assert_eq!(drawn, GOLDEN, "golden draws: changing them changes every published result");
    }
    const GOLDEN: [u64; 3] = [14_124_674_512_140_866_598, 11_348_788_666_130_341_893, 508];

    #[test]
    fn streams_of_different_names_seeds_and_numbers_differ() {
        let firsts = [
            Stream::named(1, "queue/0").next_u64(),
            Stream::named(1, "queue/1").next_u64(),
            Stream::named(2, "queue/0").next_u64(),
            Stream::numbered(7, 1).next_u64(),
            Stream::numbered(7, 2).next_u64(),
        ];
        for (i, a) in firsts.iter().enumerate() {
            assert!(firsts[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn the_first_draws_of_neighbouring_streams_are_uniform() {
        // Each connection draws only a few numbers from a stream of its own, so the first draws must be uniform
        // across streams: a chi-square over 64 cells, 63 degrees of freedom, 0.1 % and 99.9 % points 33 and 104.
        let mut cells = [0u32; 64];
        for number in 0..64_000 {
            cells[usize::try_from(Stream::numbered(42, number).below(64)).expect("small")] += 1;
        }
        let chi2: f64 = cells.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(33.0 < chi2 && chi2 < 104.0, "chi-square {chi2}");
    }

    #[test]
    fn uniform_draws_lie_in_the_half_open_unit_interval() {
        let mut stream = Stream::named(3, "test");
        for _ in 0..10_000 {
            let u = stream.uniform();
            assert!((0.0..1.0).contains(&u));
        }
    }
}
