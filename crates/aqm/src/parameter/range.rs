//! Ranges of values, with or without their ends.

use std::ops::Bound;
use std::ops::RangeBounds;

/// The values from one end to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range<T> {
    /// Where it begins.
    pub least: Bound<T>,
    /// Where it ends.
    pub most: Bound<T>,
}

impl<T> Default for Range<T> {
    /// Everything.
    fn default() -> Range<T> {
        Range { least: Bound::Unbounded, most: Bound::Unbounded }
    }
}

/// From `least` on.
pub(crate) const fn from<T: Copy>(least: T) -> Range<T> {
    Range { least: Bound::Included(least), most: Bound::Unbounded }
}

/// More than `bound`.
pub(crate) const fn above<T: Copy>(bound: T) -> Range<T> {
    Range { least: Bound::Excluded(bound), most: Bound::Unbounded }
}

/// Up to `most`.
pub(crate) const fn up_to<T: Copy>(most: T) -> Range<T> {
    Range { least: Bound::Unbounded, most: Bound::Included(most) }
}

impl<T: Copy> Range<T> {
    /// The same, but `most` at most.
    pub(crate) const fn up_to(self, most: T) -> Range<T> {
        Range { least: self.least, most: Bound::Included(most) }
    }

    /// The same, but less than `bound`.
    pub(crate) const fn below(self, bound: T) -> Range<T> {
        Range { least: self.least, most: Bound::Excluded(bound) }
    }

    /// The same, with these ends where it has none.
    pub(crate) fn within(self, least: T, most: T) -> Range<T> {
        let or = |end, other| if matches!(end, Bound::Unbounded) { Bound::Included(other) } else { end };
        Range { least: or(self.least, least), most: or(self.most, most) }
    }

    /// The same range of another kind of value.
    pub(crate) fn map<U>(self, each: impl Fn(T) -> U) -> Range<U> {
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
    /// What a value must be: `above 0 and at most 1000 Hz`.
    pub(crate) fn told(&self, unit: &str) -> String {
        let told = match (&self.least, &self.most) {
            (Bound::Included(least), Bound::Included(most)) => format!("between {least} and {most}"),
            (Bound::Unbounded, most) => told_most(most),
            (least, Bound::Unbounded) => told_least(least),
            (least, most) => format!("{} and {}", told_least(least), told_most(most)),
        };
        match unit.strip_suffix('s') {
            _ if !unit.starts_with(char::is_alphabetic) => told,
            Some(one) if told.ends_with(" 1") => format!("{told} {one}"),
            _ => format!("{told} {unit}"),
        }
    }
}

fn told_least(least: &Bound<String>) -> String {
    match least {
        Bound::Included(least) => format!("at least {least}"),
        Bound::Excluded(bound) => format!("above {bound}"),
        Bound::Unbounded => "anything".to_owned(),
    }
}

fn told_most(most: &Bound<String>) -> String {
    match most {
        Bound::Included(most) => format!("at most {most}"),
        Bound::Excluded(bound) => format!("below {bound}"),
        Bound::Unbounded => "anything".to_owned(),
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
}
