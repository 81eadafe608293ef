//! The tins of each mode: names, code points, thresholds, and quanta without a shaper.
//!
//! Source: tc-cake(8), "Priority queue parameters"; Linux `sch_cake.c`, whose man page and paper name the classes.

use super::options::Diffserv;

/// A tin, before it has packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TinPlan {
    /// Its threshold, in bytes per second, if the shaper has a rate.
    pub(crate) rate: Option<u64>,
    /// Its share in a round of the tins, without a shaper.
    pub(crate) quantum: i64,
}

impl Diffserv {
    /// The names of the tins, in the order in which `tc -s` shows them.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Diffserv::Besteffort => &["Best Effort"],
            Diffserv::Diffserv3 => &["Bulk", "Best Effort", "Voice"],
            Diffserv::Diffserv4 => &["Bulk", "Best Effort", "Video", "Voice"],
            Diffserv::Diffserv8 | Diffserv::Precedence => {
                &["Tin 0", "Tin 1", "Tin 2", "Tin 3", "Tin 4", "Tin 5", "Tin 6", "Tin 7"]
            }
        }
    }

    /// The tins by index, in the order in which `tc -s` shows them.
    pub(crate) fn order(self) -> &'static [usize] {
        match self {
            Diffserv::Besteffort => &[0],
            Diffserv::Diffserv3 => &[1, 0, 2],
            Diffserv::Diffserv4 => &[1, 0, 2, 3],
            Diffserv::Diffserv8 | Diffserv::Precedence => &[0, 1, 2, 3, 4, 5, 6, 7],
        }
    }

    /// The tins behind a shaper of `rate` bytes per second, by index.
    pub(crate) fn plans(self, rate: Option<u64>) -> Vec<TinPlan> {
        // Shares of the rate, as powers of two.
        let shares = |shifts: &[u32]| {
            let plan =
                |&shift: &u32| TinPlan { rate: rate.map(|rate| rate >> shift), quantum: 1024 >> shift };
            shifts.iter().map(plan).collect()
        };
        match self {
            Diffserv::Besteffort => vec![TinPlan { rate, quantum: 65_535 }],
            Diffserv::Diffserv3 => shares(&[0, 4, 2]),
            Diffserv::Diffserv4 => shares(&[0, 4, 1, 2]),
            // Each tin has seven eighths of the one before.
            Diffserv::Diffserv8 | Diffserv::Precedence => {
                let next = |plan: &TinPlan| {
                    Some(TinPlan {
                        rate: plan.rate.map(|rate| (rate * 7) >> 3),
                        quantum: (plan.quantum * 7) >> 3,
                    })
                };
                std::iter::successors(Some(TinPlan { rate, quantum: 256 }), next).take(8).collect()
            }
        }
    }

    /// The place of the tin of a code point in the order of `tc -s`.
    #[inline]
    pub(crate) fn place_of(self, dscp: u8) -> u8 {
        match (self, self.tin_of(dscp)) {
            // Bulk is shown before Best Effort.
            (Diffserv::Diffserv3 | Diffserv::Diffserv4, tin @ 0..=1) => 1 - tin,
            (_, tin) => tin,
        }
    }

    /// The index of the tin of a code point.
    #[inline]
    pub(crate) fn tin_of(self, dscp: u8) -> u8 {
        let (row, column) = (usize::from(dscp >> 3 & 7), usize::from(dscp & 7));
        match self {
            Diffserv::Besteffort => 0,
            Diffserv::Diffserv3 => DIFFSERV3[row][column] - b'0',
            Diffserv::Diffserv4 => DIFFSERV4[row][column] - b'0',
            Diffserv::Diffserv8 => DIFFSERV8[row][column] - b'0',
            Diffserv::Precedence => dscp >> 3,
        }
    }
}

/// The tins of the code points, a row for each class selector. Bulk is 1: CS1 and LE; Voice is 2: CS7, CS6, EF, VA and
/// TOS4.
const DIFFSERV3: [&[u8; 8]; 8] =
    [b"01002000", b"10000000", b"00000000", b"00000000", b"00000000", b"00002020", b"20000000", b"20000000"];

/// Bulk is 1: CS1 and LE; Video is 2: AF4, AF3, CS3, AF2, CS2 and TOS4; Voice is 3: CS7, CS6, EF, VA, CS5 and CS4.
const DIFFSERV4: [&[u8; 8]; 8] =
    [b"01002000", b"10000000", b"20202020", b"20202020", b"30202020", b"30003030", b"30000000", b"30000000"];

/// From 0 to 7: LE; CS1, AF1 and TOS2; all others; AF4, AF3 and CS3; AF2 and TOS4; CS2; CS5, CS4, EF and VA; CS6 and
/// CS7.
const DIFFSERV8: [&[u8; 8]; 8] =
    [b"20124222", b"12121212", b"52424242", b"32323232", b"62323232", b"62226262", b"72222222", b"72222222"];

#[cfg(test)]
mod tests {
    use super::*;

    /// Code points by the names of their classes (RFC 2474, 2597, 3246, 4594, 5865, 8622).
    fn dscp(class: &str) -> u8 {
        let digit = |at: usize| class.as_bytes()[at] - b'0';
        match class {
            "LE" => 1,
            "EF" => 46,
            "VA" => 44,
            "TOS2" => 2,
            "TOS4" => 4,
            _ if class.starts_with("CS") => 8 * digit(2),
            _ => 8 * digit(2) + 2 * digit(3),
        }
    }

    /// The name of the tin of each class.
    fn tins<'a>(mode: Diffserv, classes: &[&'a str]) -> Vec<(&'a str, &'static str)> {
        let name = |class: &str| {
            let index = usize::from(mode.tin_of(dscp(class)));
            mode.names()[mode.order().iter().position(|&tin| tin == index).expect("a tin of the mode")]
        };
        classes.iter().map(|&class| (class, name(class))).collect()
    }

    #[test]
    fn classes_have_the_tins_that_the_manual_names() {
        for (mode, tin, classes) in [
            (Diffserv::Diffserv3, "Bulk", &["CS1", "LE"][..]),
            (Diffserv::Diffserv3, "Voice", &["CS7", "CS6", "EF", "VA", "TOS4"]),
            (Diffserv::Diffserv3, "Best Effort", &["CS0", "CS2", "CS3", "CS4", "CS5", "AF11", "AF41"]),
            (Diffserv::Diffserv4, "Bulk", &["CS1", "LE"]),
            (Diffserv::Diffserv4, "Voice", &["CS7", "CS6", "EF", "VA", "CS5", "CS4"]),
            (
                Diffserv::Diffserv4,
                "Video",
                &[
                    "AF41", "AF42", "AF43", "AF31", "AF32", "AF33", "CS3", "AF21", "AF22", "AF23", "TOS4",
                    "CS2",
                ],
            ),
            (Diffserv::Diffserv4, "Best Effort", &["CS0", "AF11", "AF12", "AF13", "TOS2"]),
            (Diffserv::Diffserv8, "Tin 7", &["CS6", "CS7"]),
            (Diffserv::Diffserv8, "Tin 6", &["EF", "VA", "CS5", "CS4"]),
            (Diffserv::Diffserv8, "Tin 5", &["CS2"]),
            (Diffserv::Diffserv8, "Tin 4", &["AF21", "AF22", "AF23", "TOS4"]),
            (Diffserv::Diffserv8, "Tin 3", &["AF41", "AF42", "AF43", "AF31", "AF32", "AF33", "CS3"]),
            (Diffserv::Diffserv8, "Tin 2", &["CS0"]),
            (Diffserv::Diffserv8, "Tin 1", &["AF11", "AF12", "AF13", "TOS2", "CS1"]),
            (Diffserv::Diffserv8, "Tin 0", &["LE"]),
            (Diffserv::Precedence, "Tin 5", &["CS5", "EF", "VA"]),
        ] {
            let expected: Vec<_> = classes.iter().map(|&class| (class, tin)).collect();
            assert_eq!(tins(mode, classes), expected, "{mode}");
        }
    }

    #[test]
    fn thresholds_are_those_of_the_manual() {
        let percent = |mode: Diffserv| -> Vec<f64> {
            let plans = mode.plans(Some(16_000_000));
            mode.order().iter().map(|&tin| plans[tin].rate.expect("a rate") as f64 / 160_000.0).collect()
        };
        assert_eq!(percent(Diffserv::Besteffort), [100.0]);
        assert_eq!(percent(Diffserv::Diffserv3), [6.25, 100.0, 25.0]);
        assert_eq!(percent(Diffserv::Diffserv4), [6.25, 100.0, 50.0, 25.0]);
        for (index, share) in (0..).zip(percent(Diffserv::Diffserv8)) {
            assert!((share - 100.0 * 0.875_f64.powi(index)).abs() < 1e-4);
        }
        let quanta: Vec<i64> = Diffserv::Precedence.plans(None).iter().map(|plan| plan.quantum).collect();
        assert_eq!(quanta, [256, 224, 196, 171, 149, 130, 113, 98]);
    }
}
