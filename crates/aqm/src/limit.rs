//! The limit of a queue.

use std::fmt;
use std::str::FromStr;

use aqmlab_units::Bytes;

use crate::QueueState;

/// The maximum that may wait in a queue: `240 packets` or `30 kB`.
///
/// ```
/// use aqmlab_aqm::{Limit, QueueState};
/// use aqmlab_units::Bytes;
///
/// let limit: Limit = "30 kB".parse()?;
/// let queue = QueueState { packets: 20, bytes: Bytes::new(29_000) };
/// assert!(limit.admits(Bytes::new(1000), queue));
/// assert!(!limit.admits(Bytes::new(1500), queue));
/// # Ok::<(), aqmlab_aqm::ParseLimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
}

impl Limit {
    /// True if there is room for one more packet of `size`.
    #[inline]
    pub fn admits(self, size: Bytes, queue: QueueState) -> bool {
        match self {
            Limit::Packets(packets) => queue.packets < packets,
            Limit::Bytes(bytes) => queue.bytes + size <= bytes,
        }
    }

    /// True if a queue of this length is within the limit.
    pub(crate) fn holds(self, queue: QueueState) -> bool {
        match self {
            Limit::Packets(packets) => queue.packets <= packets,
            Limit::Bytes(bytes) => queue.bytes <= bytes,
        }
    }

    /// True if it admits no packet, ever.
    pub(crate) fn is_zero(self) -> bool {
        matches!(self, Limit::Packets(0) | Limit::Bytes(Bytes::ZERO))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(packets) => write!(f, "{packets} packets"),
            Limit::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

/// A text that is not a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: write packets or a size, such as \"240 packets\" or \"30 kB\"")]
pub struct ParseLimitError(String);

impl FromStr for Limit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Limit, ParseLimitError> {
        let trimmed = text.trim();
        let packets = trimmed.strip_suffix("packets").or_else(|| trimmed.strip_suffix("packet"));
        let limit = match packets {
            Some(number) => number.trim_end().parse().ok().map(Limit::Packets),
            None => trimmed.parse().ok().map(Limit::Bytes),
        };
        limit.ok_or_else(|| ParseLimitError(text.to_owned()))
    }
}

#[cfg(feature = "serde")]
mod serial {
    use std::fmt;

    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Limit;

    impl Serialize for Limit {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Limit {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
            deserializer.deserialize_any(NumberOrText)
        }
    }

    struct NumberOrText;

    impl Visitor<'_> for NumberOrText {
        type Value = Limit;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a number of packets or a text such as \"240 packets\" or \"30 kB\"")
        }

        fn visit_u64<E: Error>(self, packets: u64) -> Result<Limit, E> {
            let count = u32::try_from(packets);
            count.map(Limit::Packets).map_err(|_| E::invalid_value(Unexpected::Unsigned(packets), &self))
        }

        // TOML has signed integers only.
        fn visit_i64<E: Error>(self, packets: i64) -> Result<Limit, E> {
            let count = u32::try_from(packets);
            count.map(Limit::Packets).map_err(|_| E::invalid_value(Unexpected::Signed(packets), &self))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Limit, E> {
            text.parse().map_err(E::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_printed_as_they_are_read() {
        for text in ["240 packets", "30000 B"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
        assert_eq!("30 kB".parse(), Ok(Limit::Bytes(Bytes::new(30_000))));
        assert_eq!("1 packet".parse(), Ok(Limit::Packets(1)));
    }

    #[test]
    fn a_text_that_is_no_limit_is_refused_with_examples() {
        for text in ["240", "-1 packets", "2.5 packets", "30 ms", ""] {
            let refusal = text.parse::<Limit>().unwrap_err().to_string();
            assert_eq!(
                refusal,
                format!("\"{text}\": write packets or a size, such as \"240 packets\" or \"30 kB\"")
            );
        }
    }

    #[test]
    fn a_limit_in_bytes_admits_packets_that_still_fit() {
        let limit = Limit::Bytes(Bytes::new(3000));
        let queue = QueueState { packets: 2, bytes: Bytes::new(2000) };
        assert!(limit.admits(Bytes::new(1000), queue));
        assert!(!limit.admits(Bytes::new(1001), queue));
    }
}
