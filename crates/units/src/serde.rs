//! Quantities in JSON and TOML: the texts of [`std::fmt::Display`] and [`std::str::FromStr`]; probabilities are
//! numbers.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::{Notation, ParseError};
use crate::{BitRate, Bytes, Duration, Prob};

/// A quantity that is written with a unit.
trait Quantity: FromStr<Err = ParseError> {
    const NOTATION: Notation;
}

struct Text<Q>(PhantomData<Q>);

impl<Q: Quantity> Text<Q> {
    fn refuse<T, E: Error>(number: impl fmt::Display) -> Result<T, E> {
        let number = number.to_string();
        Err(E::custom(Q::NOTATION.without_unit(&number, &number)))
    }
}

impl<Q: Quantity> Visitor<'_> for Text<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text with a unit, such as \"5 {}\"", Q::NOTATION.units[0].0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Q, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Q, E> {
        Self::refuse(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Q, E> {
        Self::refuse(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Q, E> {
        Self::refuse(number)
    }
}

macro_rules! as_text {
    ($($quantity:ident),*) => {$(
        impl Quantity for $quantity {
            const NOTATION: Notation = $quantity::NOTATION;
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$quantity, D::Error> {
                deserializer.deserialize_any(Text(PhantomData))
            }
        }
    )*};
}

as_text!(BitRate, Bytes, Duration);

impl Serialize for Prob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl<'de> Deserialize<'de> for Prob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Prob, D::Error> {
        let p = f64::deserialize(deserializer)?;
        Prob::new(p).ok_or_else(|| D::Error::custom(format!("{p}: must lie between 0 and 1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_texts_and_probabilities_numbers() {
        let shown = serde_json::to_string(&(
            Duration::from_millis(2),
            BitRate::from_mbit_per_sec(100),
            Bytes::new(1500),
            Prob::clamped(0.1),
        ));
        assert_eq!(shown.unwrap(), r#"["2 ms","100 Mbit/s","1500 B",0.1]"#);
        assert_eq!(serde_json::from_str::<Duration>(r#""0.5 s""#).unwrap(), Duration::from_millis(500));
        assert_eq!(serde_json::from_str::<Prob>("1").unwrap(), Prob::ONE);
    }

    #[test]
    fn bare_numbers_and_impossible_probabilities_are_refused() {
        let refusal = |json| serde_json::from_str::<Duration>(json).unwrap_err().to_string();
        assert!(refusal("5").starts_with(r#""5": write a unit, such as "5 ms""#));
        assert!(refusal("2.5").starts_with(r#""2.5": write a unit, such as "2.5 ms""#));
        assert!(refusal("[]").contains(r#"expected a text with a unit, such as "5 ms""#));
        let refusal = serde_json::from_str::<Prob>("1.5").unwrap_err().to_string();
        assert!(refusal.starts_with("1.5: must lie between 0 and 1"));
    }
}
