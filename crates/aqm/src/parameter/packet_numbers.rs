//! Sets of packets by number: `4 10-12`.

use std::fmt;
use std::str::FromStr;

use super::{Allowed, ParameterError, Settable, Value};

/// Numbers of packets, from 1: single ones and spans.
///
/// ```
/// use aqmlab_aqm::PacketNumbers;
///
/// let numbers: PacketNumbers = "4 10-12".parse()?;
/// assert!(numbers.contains(4) && numbers.contains(11));
/// assert!(!numbers.contains(5));
/// # Ok::<(), aqmlab_aqm::ParsePacketNumbersError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketNumbers {
    /// First and last number of each span, in ascending order and apart from each other.
    spans: Vec<(u32, u32)>,
}

impl PacketNumbers {
    /// True if packet `number` is one of them.
    pub fn contains(&self, number: u32) -> bool {
        let after = self.spans.partition_point(|&(first, _)| first <= number);
        after > 0 && number <= self.spans[after - 1].1
    }
}

impl fmt::Display for PacketNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.spans.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(f, "{space}{first}")?;
            if first < last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

/// A text that is not a set of packet numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: write packet numbers and spans from 1 on in ascending order, such as \"4 10-12\"")]
pub struct ParsePacketNumbersError(String);

impl FromStr for PacketNumbers {
    type Err = ParsePacketNumbersError;

    fn from_str(text: &str) -> Result<PacketNumbers, ParsePacketNumbersError> {
        let refused = || ParsePacketNumbersError(text.to_owned());
        let mut spans: Vec<(u32, u32)> = Vec::new();
        for word in text.split_whitespace() {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let number = |text: &str| text.parse().map_err(|_| refused());
            let (first, last): (u32, u32) = (number(first)?, number(last)?);
            let before = spans.last().map_or(0, |&(_, last)| last);
            if first <= before || last < first {
                return Err(refused());
            }
            spans.push((first, last));
        }
        Ok(PacketNumbers { spans })
    }
}

impl Settable for PacketNumbers {
    type Range = ();
    const UNIT: &'static str = "packet numbers";

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn allowed((): ()) -> Allowed {
        Allowed::PacketNumbers
    }

    fn check(&self, (): (), _field: &'static str, _unit: &str) -> Result<(), ParameterError> {
        Ok(())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for PacketNumbers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PacketNumbers, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_spans_are_printed_as_they_are_read() {
        for text in ["", "4", "1 3-5 9"] {
            assert_eq!(text.parse::<PacketNumbers>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_set_contains_exactly_its_numbers() {
        let numbers: PacketNumbers = "2 4-6".parse().unwrap();
        let contained: Vec<u32> = (0..9).filter(|&number| numbers.contains(number)).collect();
        assert_eq!(contained, [2, 4, 5, 6]);
    }

    #[test]
    fn other_texts_are_refused_with_an_example() {
        for text in ["0", "3 2", "2 2", "5-4", "1,2", "-3", "x"] {
            let error = text.parse::<PacketNumbers>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?}: ")) && error.contains("4 10-12"), "{error}");
        }
    }
}
