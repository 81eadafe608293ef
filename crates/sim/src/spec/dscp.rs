//! Code points of differentiated services, by the names of their classes.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A differentiated services code point (RFC 2474), from 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(u8);

/// The names beside those of class selectors and of assured forwarding (RFC 3246, 5865, 8622).
const NAMES: [(&str, u8); 4] = [("DF", 0), ("LE", 1), ("VA", 44), ("EF", 46)];

impl Dscp {
    /// The code point as a number.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, rest) = (self.0 / 8, self.0 % 8);
        match NAMES.iter().find(|&&(_, number)| number == self.0) {
            Some((name, _)) => f.write_str(name),
            None if rest == 0 => write!(f, "CS{class}"),
            None if (1..=4).contains(&class) && matches!(rest, 2 | 4 | 6) => {
                write!(f, "AF{class}{}", rest / 2)
            }
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Dscp, String> {
        let digits = |prefix: &str| text.strip_prefix(prefix).and_then(|digits| digits.parse::<u8>().ok());
        let class_selector = || digits("CS").filter(|class| *class < 8).map(|class| 8 * class);
        let assured = || {
            let (class, drop) = digits("AF").map(|digits| (digits / 10, digits % 10))?;
            ((1..=4).contains(&class) && (1..=3).contains(&drop)).then_some(8 * class + 2 * drop)
        };
        let named = NAMES.iter().find(|(name, _)| *name == text).map(|&(_, number)| number);
        let number = || text.parse().ok().filter(|number| *number < 64);
        named.or_else(class_selector).or_else(assured).or_else(number).map(Dscp).ok_or_else(|| {
            format!(
                "{text:?}: must be a code point such as \"EF\", \"CS1\" or \"AF41\", or a number up to \"63\""
            )
        })
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dscp, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_read_by_name_and_by_number() {
        for number in 0..64_u8 {
            let dscp: Dscp = number.to_string().parse().unwrap();
            assert_eq!(dscp.number(), number);
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
        }
        for (name, number) in [
            ("DF", 0),
            ("LE", 1),
            ("CS1", 8),
            ("AF11", 10),
            ("AF43", 38),
            ("VA", 44),
            ("EF", 46),
            ("CS7", 56),
        ] {
            let dscp: Dscp = name.parse().unwrap();
            assert_eq!((dscp.number(), dscp.to_string().as_str()), (number, name));
        }
        assert_eq!("CS0".parse(), Ok(Dscp(0)));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["64", "CS8", "AF14", "AF51", "ef", "", "-1"] {
            assert!(text.parse::<Dscp>().unwrap_err().contains("such as"), "{text}");
        }
    }
}
