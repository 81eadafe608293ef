//! Ranges of values, with or without their ends, and the fields of a table that have one.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

use crate::{BitRate, Bytes, Duration};

/// The values from one end to the other.
///
/// ```
/// use aqmlab_units::range::above;
///
/// let share = above(0.0).up_to(1.0);
/// assert!(share.contains(&1.0) && !share.contains(&0.0) && !share.contains(&f64::NAN));
/// assert_eq!(share.map(|end| end.to_string()).told("Hz"), "above 0 and at most 1 Hz");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Range<T> {
    /// The lower end.
    pub least: Bound<T>,
    /// The upper end.
    pub most: Bound<T>,
}

impl<T> Default for Range<T> {
    /// Everything.
    fn default() -> Range<T> {
        Range { least: Bound::Unbounded, most: Bound::Unbounded }
    }
}

/// From `least` on.
pub const fn from<T: Copy>(least: T) -> Range<T> {
    Range { least: Bound::Included(least), most: Bound::Unbounded }
}

/// More than `bound`.
pub const fn above<T: Copy>(bound: T) -> Range<T> {
    Range { least: Bound::Excluded(bound), most: Bound::Unbounded }
}

/// Up to `most`.
pub const fn up_to<T: Copy>(most: T) -> Range<T> {
    Range { least: Bound::Unbounded, most: Bound::Included(most) }
}

impl<T: Copy> Range<T> {
    /// The same, but `most` at most.
    pub const fn up_to(self, most: T) -> Range<T> {
        Range { least: self.least, most: Bound::Included(most) }
    }

    /// The same, but less than `bound`.
    pub const fn below(self, bound: T) -> Range<T> {
        Range { least: self.least, most: Bound::Excluded(bound) }
    }

    /// The same, with these ends where it has none.
    pub fn within(self, least: T, most: T) -> Range<T> {
        let or = |end, other| if matches!(end, Bound::Unbounded) { Bound::Included(other) } else { end };
        Range { least: or(self.least, least), most: or(self.most, most) }
    }

    /// The same range of another kind of value.
    pub fn map<U>(self, each: impl Fn(T) -> U) -> Range<U> {
        Range { least: self.least.map(&each), most: self.most.map(&each) }
    }
}

impl<T: PartialOrd> Range<T> {
    /// Does `value` lie in it? What is no number does not.
    pub fn contains(&self, value: &T) -> bool {
        (self.least.as_ref(), self.most.as_ref()).contains(value)
    }
}

impl Range<String> {
    /// Returns the condition on a value: `above 0 and at most 1000 Hz`; a unit that is no word is left out.
    pub fn told(&self, unit: &str) -> String {
        let told = match (&self.least, &self.most) {
            (Bound::Included(least), Bound::Included(most)) => format!("between {least} and {most}"),
            (Bound::Unbounded, most) => describe_max(most),
            (least, Bound::Unbounded) => describe_min(least),
            (least, most) => format!("{} and {}", describe_min(least), describe_max(most)),
        };
        match unit.strip_suffix('s') {
            _ if !unit.starts_with(char::is_alphabetic) => told,
            Some(one) if told.ends_with(" 1") => format!("{told} {one}"),
            _ => format!("{told} {unit}"),
        }
    }
}

fn describe_min(least: &Bound<String>) -> String {
    match least {
        Bound::Included(least) => format!("at least {least}"),
        Bound::Excluded(bound) => format!("above {bound}"),
        Bound::Unbounded => "anything".to_owned(),
    }
}

fn describe_max(most: &Bound<String>) -> String {
    match most {
        Bound::Included(most) => format!("at most {most}"),
        Bound::Excluded(bound) => format!("below {bound}"),
        Bound::Unbounded => "anything".to_owned(),
    }
}

/// A value that a range can be of, or one that may be left out.
pub trait Ranged {
    /// The type of the ends of its range.
    type Amount: PartialOrd + Copy + Display;

    /// It, if it is there.
    fn amount(&self) -> Option<Self::Amount>;

    /// An end of its range, as it is written.
    fn written(end: Self::Amount) -> Literal;
}

/// A value as it is written in a spec.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A quantity with its unit.
    Text(String),
}

macro_rules! ranged {
    ($($type:ty: $written:expr),+ $(,)?) => {$(
        impl Ranged for $type {
            type Amount = $type;

            fn amount(&self) -> Option<$type> {
                Some(*self)
            }

            fn written(end: $type) -> Literal {
                $written(end)
            }
        }
    )+};
}

ranged! {
    u8: |end: u8| Literal::Whole(end.into()),
    u16: |end: u16| Literal::Whole(end.into()),
    u32: |end: u32| Literal::Whole(end.into()),
    f64: Literal::Number,
    Duration: |end: Duration| Literal::Text(end.in_largest_unit()),
    Bytes: |end: Bytes| Literal::Text(end.in_largest_unit()),
    BitRate: |end: BitRate| Literal::Text(end.to_string()),
}

impl<T: Ranged> Ranged for Option<T> {
    type Amount = T::Amount;

    fn amount(&self) -> Option<T::Amount> {
        self.as_ref().and_then(T::amount)
    }

    fn written(end: T::Amount) -> Literal {
        T::written(end)
    }
}

/// A table some of whose fields have a range. [`ranges!`](crate::ranges) declares them: the check and the description of
/// what may be written are both made of that.
pub trait Ranges {
    /// The ranges by the names of their fields.
    fn ranges() -> Vec<(&'static str, Range<Literal>)>;

    /// That each of those fields, looked at alone, is what it may be.
    fn check_ranges(&self) -> Result<(), OutOfRange>;
}

/// A value that lies outside the range of its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The field's name.
    pub field: &'static str,
    /// The condition and the given value: `must be at least 1, got 0`.
    pub message: String,
}

/// Declares the ranges of a table's fields: `ranges! { LinkSpec { delay: up_to(MINUTE), mtu: up_to(LONGEST) } }`.
#[macro_export]
macro_rules! ranges {
    ($Table:ty { $($field:ident: $range:expr),* $(,)? }) => {
        impl $crate::range::Ranges for $Table {
            fn ranges() -> Vec<(&'static str, $crate::Range<$crate::range::Literal>)> {
                vec![$((stringify!($field), $crate::range::written(|table: &$Table| &table.$field, $range)),)*]
            }

            fn check_ranges(&self) -> Result<(), $crate::range::OutOfRange> {
                $($crate::range::check(stringify!($field), &self.$field, $range)?;)*
                Ok(())
            }
        }
    };
}

/// The range of the field that `of` names, its ends as they are written.
pub fn written<T, F: Ranged>(_of: impl Fn(&T) -> &F, range: Range<F::Amount>) -> Range<Literal> {
    range.map(F::written)
}

/// That `value` lies in `range`.
pub fn check<F: Ranged>(field: &'static str, value: &F, range: Range<F::Amount>) -> Result<(), OutOfRange> {
    match value.amount() {
        Some(amount) if !range.contains(&amount) => {
            let must = range.map(|end| end.to_string()).told("");
            Err(OutOfRange { field, message: format!("must be {must}, got {amount}") })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_told_with_its_ends_and_its_unit() {
        let told = |range: Range<f64>, unit| range.map(|end| end.to_string()).told(unit);
        assert_eq!(told(from(0.0).up_to(9.0), "packets"), "between 0 and 9 packets");
        assert_eq!(told(above(0.0).up_to(9.0), "Hz"), "above 0 and at most 9 Hz");
        assert_eq!(told(above(0.0).below(1.0), "1"), "above 0 and below 1");
        assert_eq!(told(from(1.0), "packets"), "at least 1 packet");
        assert_eq!(told(above(0.0), "1/packet"), "above 0");
        assert_eq!(told(up_to(2.0), "flows"), "at most 2 flows");
    }

    #[test]
    fn what_is_no_number_lies_in_no_range() {
        for range in [from(0.0), above(0.0), up_to(1.0), from(0.0).up_to(1.0)] {
            assert!(!range.contains(&f64::NAN));
        }
        assert!(!above(0.0).contains(&0.0) && from(0.0).contains(&0.0));
        assert!(up_to(1.0).contains(&1.0) && !from(0.0).below(1.0).contains(&1.0));
    }

    struct Table {
        flows: u32,
        jitter: f64,
        stop: Option<Duration>,
    }

    ranges! {
        Table { flows: from(1).up_to(9), jitter: above(0.0), stop: up_to(Duration::from_secs(60)) }
    }

    #[test]
    fn a_table_is_checked_against_the_ranges_that_it_tells_of() {
        let sound = || Table { flows: 9, jitter: 0.1, stop: None };
        assert_eq!(sound().check_ranges(), Ok(()));
        for (table, field, message) in [
            (Table { flows: 10, ..sound() }, "flows", "must be between 1 and 9, got 10"),
            (Table { jitter: 0.0, ..sound() }, "jitter", "must be above 0, got 0"),
            (Table { jitter: f64::NAN, ..sound() }, "jitter", "must be above 0, got NaN"),
            (
                Table { stop: Some(Duration::from_secs(61)), ..sound() },
                "stop",
                "must be at most 60 s, got 61 s",
            ),
        ] {
            assert_eq!(table.check_ranges(), Err(OutOfRange { field, message: message.into() }));
        }
        let whole = |number| Bound::Included(Literal::Whole(number));
        assert_eq!(Table::ranges()[0], ("flows", Range { least: whole(1), most: whole(9) }));
        assert_eq!(Table::ranges()[2].1.most, Bound::Included(Literal::Text("1 min".into())));
    }
}
