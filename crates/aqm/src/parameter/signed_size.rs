//! Sizes that may be negative: `44 B`, `-14 B`.

use std::fmt;
use std::str::FromStr;

use aqmlab_units::{Bytes, ParseError, Range};

use super::{Allowed, ParameterError, Settable, Value, check};

/// A number of bytes to add to a size, or to take from it.
///
/// ```
/// use aqmlab_aqm::SignedSize;
///
/// assert_eq!("-14 B".parse(), Ok(SignedSize(-14)));
/// assert_eq!(SignedSize(44).to_string(), "44 B");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignedSize(pub i32);

impl fmt::Display for SignedSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl FromStr for SignedSize {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<SignedSize, ParseError> {
        let (size, sign) = text.trim().strip_prefix('-').map_or((text, 1), |size| (size, -1));
        let size: Bytes = size.parse()?;
        Ok(SignedSize(i32::try_from(size.get()).map_or(i32::MAX, |size| sign * size)))
    }
}

impl Settable for SignedSize {
    type Range = Range<SignedSize>;
    const UNIT: &'static str = "bytes";

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn allowed(range: Range<SignedSize>) -> Allowed {
        Allowed::SignedSize(range)
    }

    fn check(&self, range: Range<SignedSize>, field: &'static str, _: &str) -> Result<(), ParameterError> {
        let must = || range.map(|end| end.to_string()).told("");
        if range.contains(self) { Ok(()) } else { check(false, field, must(), self) }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for SignedSize {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SignedSize, D::Error> {
        super::serial::text_with_unit(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_sizes_are_printed_as_they_are_read() {
        for text in ["0 B", "44 B", "-14 B"] {
            assert_eq!(text.parse::<SignedSize>().unwrap().to_string(), text);
        }
        assert_eq!("-1 kB".parse(), Ok(SignedSize(-1000)));
    }

    #[test]
    fn a_number_without_a_unit_is_refused() {
        assert_eq!(
            "44".parse::<SignedSize>().unwrap_err().to_string(),
            "\"44\": write a unit, such as \"44 B\""
        );
    }
}
