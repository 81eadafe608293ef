//! Quantities some of whose values have names: `unlimited`, or `internet` for 100 ms.

use std::fmt;
use std::str::FromStr;

use aqmlab_units::{BitRate, Duration, ParseError, Range};

use super::{Allowed, Choice, ParameterError, Settable, Value};

/// The rate of a shaper.
///
/// ```
/// use aqmlab_aqm::Bandwidth;
///
/// assert_eq!("unlimited".parse(), Ok(Bandwidth::Unlimited));
/// assert_eq!("18 Mbit/s".parse::<Bandwidth>()?.to_string(), "18 Mbit/s");
/// # Ok::<(), aqmlab_units::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bandwidth {
    /// It does not shape.
    #[default]
    Unlimited,
    /// Its rate.
    Rate(BitRate),
}

const UNLIMITED: &str = "unlimited";

impl Bandwidth {
    /// The rate, if it shapes.
    pub fn rate(self) -> Option<BitRate> {
        match self {
            Bandwidth::Unlimited => None,
            Bandwidth::Rate(rate) => Some(rate),
        }
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bandwidth::Unlimited => f.write_str(UNLIMITED),
            Bandwidth::Rate(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for Bandwidth {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Bandwidth, ParseError> {
        if text == UNLIMITED { Ok(Bandwidth::Unlimited) } else { text.parse().map(Bandwidth::Rate) }
    }
}

impl Settable for Bandwidth {
    type Range = Range<BitRate>;
    const UNIT: &'static str = "bit rate";

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn allowed(range: Range<BitRate>) -> Allowed {
        const NAMES: &[Choice] = &[Choice { name: UNLIMITED, meaning: "The queue does not shape." }];
        Allowed::Named(NAMES, Box::new(Allowed::Rate(range)))
    }

    fn check(&self, range: Range<BitRate>, field: &'static str, unit: &str) -> Result<(), ParameterError> {
        self.rate().map_or(Ok(()), |rate| rate.check(range, field, unit))
    }
}

/// A round-trip time, which may be given by the name of a kind of path.
///
/// ```
/// use aqmlab_aqm::Rtt;
///
/// assert_eq!("internet".parse::<Rtt>()?.to_string(), "100 ms");
/// # Ok::<(), aqmlab_units::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt(pub Duration);

/// The names of tc-cake(8), and their round-trip times.
const PATHS: [(Choice, Duration); 8] = [
    (Choice { name: "datacentre", meaning: "100 us" }, Duration::from_micros(100)),
    (Choice { name: "lan", meaning: "1 ms" }, Duration::from_millis(1)),
    (Choice { name: "metro", meaning: "10 ms" }, Duration::from_millis(10)),
    (Choice { name: "regional", meaning: "30 ms" }, Duration::from_millis(30)),
    (Choice { name: "internet", meaning: "100 ms" }, Duration::from_millis(100)),
    (Choice { name: "oceanic", meaning: "300 ms" }, Duration::from_millis(300)),
    (Choice { name: "satellite", meaning: "1 s" }, Duration::from_secs(1)),
    (Choice { name: "interplanetary", meaning: "3600 s" }, Duration::from_secs(3600)),
];

/// The names alone.
const PATH_NAMES: &[Choice] =
    &[PATHS[0].0, PATHS[1].0, PATHS[2].0, PATHS[3].0, PATHS[4].0, PATHS[5].0, PATHS[6].0, PATHS[7].0];

impl fmt::Display for Rtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Rtt {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Rtt, ParseError> {
        let named = PATHS.iter().find(|(path, _)| path.name == text);
        named.map_or_else(|| text.parse(), |&(_, rtt)| Ok(rtt)).map(Rtt)
    }
}

impl Settable for Rtt {
    type Range = Range<Duration>;
    const UNIT: &'static str = "time";

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn allowed(range: Range<Duration>) -> Allowed {
        Allowed::Named(PATH_NAMES, Box::new(Allowed::Time(range)))
    }

    fn check(&self, range: Range<Duration>, field: &'static str, unit: &str) -> Result<(), ParameterError> {
        self.0.check(range, field, unit)
    }
}

#[cfg(feature = "serde")]
mod serial {
    use serde::{Deserialize, Deserializer};

    use super::{Bandwidth, Rtt};
    use crate::parameter::serial::text_with_unit;

    impl<'de> Deserialize<'de> for Bandwidth {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bandwidth, D::Error> {
            text_with_unit(deserializer)
        }
    }

    impl<'de> Deserialize<'de> for Rtt {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rtt, D::Error> {
            text_with_unit(deserializer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_round_trip_times_of_tc() {
        let us = |name: &str| name.parse::<Rtt>().unwrap().0.as_micros();
        let times = PATH_NAMES.iter().map(|path| us(path.name));
        assert!(times.eq([100, 1_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_600_000_000]));
        for path in PATH_NAMES {
            assert_eq!(path.name.parse::<Rtt>().unwrap().to_string(), path.meaning);
        }
        assert_eq!(us("80 ms"), 80_000);
    }

    #[test]
    fn a_rate_is_unlimited_or_has_a_unit() {
        assert_eq!("unlimited".parse::<Bandwidth>().unwrap().rate(), None);
        assert_eq!("2 Mbit/s".parse::<Bandwidth>().unwrap().rate(), Some(BitRate::from_mbit_per_sec(2)));
        assert!("2".parse::<Bandwidth>().unwrap_err().to_string().contains("write a unit"));
    }
}
