//! CoDel's control law: the next signal follows interval / sqrt(count) after a given time.
//!
//! Source: Nichols and Jacobson (2012); RFC 8289, section 3.3. The two approximations are those of Linux, bit for bit:
//! 1/sqrt(count) is stored as a fraction of 2^32 and corrected by one step of Newton's method whenever count
//! changes.
//! CoDel (`codel_impl.h`) keeps its upper 16 bits; COBALT (`sch_cake.c`) keeps all 32 and has a table below 16.
//!
//! Differs from Linux: CoDel's interval there is a multiple of 1024 ns.

use aqmlab_units::{Duration, Time};

use crate::parameter::choices;

choices! {
    /// Computation of 1/sqrt(count).
    pub enum Sqrt {
        /// Floating point. RFC 8289.
        Exact = "exact",
        /// One step of Newton's method in 16 bits from the previous value; 1 at count 1. CoDel in Linux and ns-3:
        /// the gap at count 2 is that of count 4, and the error fades as count grows.
        Newton16 = "newton16",
        /// A table below 16; above, one step of Newton's method in 32 bits from the previous value. COBALT in
        /// Linux and ns-3.
        Table32 = "table32",
        /// The same with exact values in the table. COBALT in Linux since 6.12.
        ExactTable32 = "exact_table32",
    }
}

/// interval / sqrt(count) for the current count.
#[derive(Clone, Debug)]
pub(crate) struct ControlLaw {
    sqrt: Sqrt,
    /// 1/sqrt(count) as a fraction of 2^32, if it is approximated.
    rec_inv_sqrt: u32,
    gap: Duration,
}

impl ControlLaw {
    /// Return the law at a count of 1.
    pub(crate) fn new(interval: Duration, sqrt: Sqrt) -> ControlLaw {
        let mut law = ControlLaw { sqrt, rec_inv_sqrt: u32::MAX, gap: interval };
        law.set_count(1, interval);
        law
    }

    /// Return the law before its first count, when the gap is zero, as COBALT's in Linux.
    pub(crate) fn without_count(sqrt: Sqrt) -> ControlLaw {
        ControlLaw { sqrt, rec_inv_sqrt: u32::MAX, gap: Duration::ZERO }
    }

    /// Update to a count that has risen or fallen a little or was reset to 1.
    pub(crate) fn set_count(&mut self, count: u32, interval: Duration) {
        self.gap = match self.sqrt {
            Sqrt::Exact => Duration::from_secs_f64(interval.as_secs_f64() / f64::from(count.max(1)).sqrt()),
            Sqrt::Newton16 => {
                let next = if count <= 1 { u32::MAX } else { newton_step(self.rec_inv_sqrt, count) };
                self.rec_inv_sqrt = next & 0xFFFF_0000;
                self.fraction_of(interval)
            }
            Sqrt::Table32 | Sqrt::ExactTable32 => {
                let table = if self.sqrt == Sqrt::Table32 { &TABLE } else { &EXACT_TABLE };
                let entry = usize::try_from(count).ok().and_then(|count| table.get(count).copied());
                self.rec_inv_sqrt = entry.unwrap_or_else(|| newton_step(self.rec_inv_sqrt, count));
                self.fraction_of(interval)
            }
        };
    }

    fn fraction_of(&self, interval: Duration) -> Duration {
        let product = u128::from(interval.as_nanos()) * u128::from(self.rec_inv_sqrt);
        Duration::from_nanos(u64::try_from(product >> 32).expect("less than the interval"))
    }

    /// t + interval / sqrt(count)
    pub(crate) fn after(&self, t: Time) -> Time {
        t + self.gap
    }
}

/// x/2 (3 - count x^2), a better approximation of 1/sqrt(count) than x; x is a fraction of 2^32.
#[expect(clippy::cast_possible_truncation, reason = "clipped to what fits")]
const fn newton_step(x: u32, count: u32) -> u32 {
    let x = x as u64;
    let x_squared = (x * x) >> 32;
    let factor = (3_u64 << 32).saturating_sub(count as u64 * x_squared);
    // Two bits less, so that the product fits into 64 bits.
    let next = ((factor >> 2) * x) >> 31;
    if next > u32::MAX as u64 { u32::MAX } else { next as u32 }
}

/// 1/sqrt(count) below 16, with 1 at a count of 0.
const TABLE: [u32; 16] = table(4);

/// The same after enough steps to be exact.
const EXACT_TABLE: [u32; 16] = table(8);

/// Return the table by this number of Newton's steps from each value to the next.
const fn table(steps_each: u32) -> [u32; 16] {
    let mut table = [u32::MAX; 16];
    let mut x = u32::MAX;
    let mut count = 1;
    while count < 16 {
        let mut steps = 0;
        while steps < steps_each {
            x = newton_step(x, count);
            steps += 1;
        }
        table[count as usize] = x;
        count += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    /// Return the gaps in milliseconds at each count from 1 on, in steps of one.
    fn gaps(sqrt: Sqrt, counts: u32) -> Vec<f64> {
        let mut law = ControlLaw::new(INTERVAL, sqrt);
        (1..=counts)
            .map(|count| {
                law.set_count(count, INTERVAL);
                (law.after(Time::ZERO) - Time::ZERO).as_millis_f64()
            })
            .collect()
    }

    #[test]
    fn exact_gaps_follow_the_square_root_to_the_nanosecond() {
        for (gap, count) in gaps(Sqrt::Exact, 1000).into_iter().zip(1..) {
            assert!((gap - 100.0 / f64::from(count).sqrt()).abs() <= 0.5e-6, "{gap} at {count}");
        }
    }

    #[test]
    fn in_16_bits_the_second_gap_is_the_fourths_and_the_error_fades() {
        let gaps = gaps(Sqrt::Newton16, 1000);
        assert!((gaps[0] - 100.0).abs() < 0.01);
        assert!((gaps[1] - 50.0).abs() < 0.01, "{} ms where 70.7 ms are exact", gaps[1]);
        for (gap, count) in gaps.iter().zip(1..).skip(6) {
            let exact = 100.0 / f64::from(count).sqrt();
            assert!((gap / exact - 1.0).abs() < 0.01, "{gap} at {count}, not {exact}");
        }
    }

    #[test]
    fn table_and_newton_steps_are_within_0_2_percent() {
        for (gap, count) in gaps(Sqrt::Table32, 1000).into_iter().zip(1..) {
            let exact = 100.0 / f64::from(count).sqrt();
            assert!((gap / exact - 1.0).abs() < 2e-3, "{gap} at {count}, not {exact}");
        }
    }

    #[test]
    fn an_exact_table_is_exact() {
        for (gap, count) in gaps(Sqrt::ExactTable32, 15).into_iter().zip(1..) {
            let exact = 100.0 / f64::from(count).sqrt();
            assert!((gap - exact).abs() < 2e-6, "{gap} ms at {count}, not {exact} ms");
        }
    }

    #[test]
    fn no_count_is_too_large() {
        for sqrt in [Sqrt::Exact, Sqrt::Newton16, Sqrt::Table32, Sqrt::ExactTable32] {
            let mut law = ControlLaw::new(INTERVAL, sqrt);
            for count in [1, 2, u32::MAX, 3, 1 << 31, 1] {
                law.set_count(count, INTERVAL);
            }
            assert!((law.after(Time::ZERO) - Time::ZERO).as_millis_f64() > 99.9, "a count of 1 resets it");
        }
    }
}
