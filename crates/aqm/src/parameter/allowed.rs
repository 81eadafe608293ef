//! Values of parameters, and the values that they accept.

use std::fmt::{self, Display};

use aqmlab_units::{BitRate, Bytes, Duration, Prob, Range};

use super::{Choice, ParameterError, SignedSize, check};
use crate::Limit;

/// A value in a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// It follows from the link, or from another parameter.
    Automatic,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(u32),
    /// A number.
    Number(f64),
    /// A quantity with its unit, or a name.
    Text(String),
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Automatic => f.write_str("automatic"),
            Value::Flag(flag) => flag.fmt(f),
            Value::Whole(number) => number.fmt(f),
            Value::Number(number) if number.abs() >= 1e6 => write!(f, "{number:e}"),
            // `Debug` writes 1.822e-5, `Display` 0.00001822.
            Value::Number(number) => {
                let text = format!("{number:?}");
                f.write_str(text.strip_suffix(".0").unwrap_or(&text))
            }
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// The values that a parameter accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Allowed {
    /// True or false.
    Flag,
    /// One of some names.
    Choice(&'static [Choice]),
    /// A whole number.
    Whole(Range<u32>),
    /// A number.
    Number(Range<f64>),
    /// A span of time.
    Time(Range<Duration>),
    /// A size in bytes.
    Size(Range<Bytes>),
    /// A size in bytes that may be negative.
    SignedSize(Range<SignedSize>),
    /// A bit rate.
    Rate(Range<BitRate>),
    /// One of some names, or another value.
    Named(&'static [Choice], Box<Allowed>),
    /// A number of packets or a size.
    Limit,
    /// Numbers of packets.
    PacketNumbers,
    /// The same, or no value: then it follows from the link or from another parameter.
    Automatic(Box<Allowed>),
}

/// A type that a parameter can have.
pub(crate) trait Settable {
    /// Restriction of its values; none by default.
    type Range: Default;
    /// Text in place of a unit, for types whose values have one unit or none.
    const UNIT: &'static str;

    /// This value as in a configuration.
    fn value(&self) -> Value;

    /// The accepted values.
    fn allowed(range: Self::Range) -> Allowed;

    /// Check that the parameter `field` has an accepted value.
    fn check(&self, range: Self::Range, field: &'static str, unit: &str) -> Result<(), ParameterError>;
}

/// Types with an order are restricted by a range.
macro_rules! ordered {
    ($($type:ident, unit $unit:literal: $value:expr, $allowed:expr;)+) => {$(
        impl Settable for $type {
            type Range = Range<$type>;
            const UNIT: &'static str = $unit;

            fn value(&self) -> Value {
                $value(*self)
            }

            fn allowed(range: Range<$type>) -> Allowed {
                $allowed(range)
            }

            fn check(&self, range: Range<$type>, field: &'static str, unit: &str) -> Result<(), ParameterError> {
                // A quantity in text form has its unit.
                let unit = if matches!(self.value(), Value::Text(_)) { "" } else { unit };
                let must = || range.map(|end| end.value().to_string()).told(unit);
                if range.contains(self) { Ok(()) } else { check(false, field, must(), self) }
            }
        }
    )+};
}

ordered! {
    u32, unit "": Value::Whole, Allowed::Whole;
    f64, unit "": Value::Number, Allowed::Number;
    Prob, unit "1": |p: Prob| Value::Number(p.get()), |range: Range<Prob>| Allowed::Number(range.map(Prob::get).within(0.0, 1.0));
    Duration, unit "time": |span: Duration| Value::Text(span.to_string()), Allowed::Time;
    Bytes, unit "bytes": |size: Bytes| Value::Text(size.to_string()), Allowed::Size;
    BitRate, unit "bit rate": |rate: BitRate| Value::Text(rate.to_string()), Allowed::Rate;
}

impl Settable for bool {
    type Range = ();
    const UNIT: &'static str = "true or false";

    fn value(&self) -> Value {
        Value::Flag(*self)
    }

    fn allowed((): ()) -> Allowed {
        Allowed::Flag
    }

    fn check(&self, (): (), _field: &'static str, _unit: &str) -> Result<(), ParameterError> {
        Ok(())
    }
}

impl Settable for Limit {
    type Range = ();
    const UNIT: &'static str = "packets or bytes";

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn allowed((): ()) -> Allowed {
        Allowed::Limit
    }

    fn check(&self, (): (), _field: &'static str, _unit: &str) -> Result<(), ParameterError> {
        Ok(())
    }
}

/// A value that may be left out, to follow from the link.
impl<T: Settable> Settable for Option<T> {
    type Range = T::Range;
    const UNIT: &'static str = T::UNIT;

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Automatic, T::value)
    }

    fn allowed(range: T::Range) -> Allowed {
        Allowed::Automatic(Box::new(T::allowed(range)))
    }

    fn check(&self, range: T::Range, field: &'static str, unit: &str) -> Result<(), ParameterError> {
        self.as_ref().map_or(Ok(()), |value| value.check(range, field, unit))
    }
}
