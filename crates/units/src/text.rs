//! Quantities as people write them: a decimal number and a unit, `2.5 ms` or `2.5e-3 s`.
//!
//! The arithmetic is exact, so what was printed is read back to the last nanosecond, byte or bit per second; a
//! number with more digits than that is rounded to the nearest one.

use std::fmt;

/// Why a text is not a quantity: the value, and what is allowed instead.
///
/// ```
/// use aqmlab_units::Duration;
///
/// let refused = "5".parse::<Duration>().unwrap_err();
/// assert_eq!(refused.to_string(), "\"5\": write a unit, such as \"5 ms\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

/// The notation of one kind of quantities.
pub(crate) struct Notation {
    /// Each unit and its size in the smallest one; the unit for an example comes first.
    pub(crate) units: &'static [(&'static str, u64)],
}

impl Notation {
    /// Returns the amount in `text`, in the smallest unit.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let refuse = |why: String| ParseError(format!("{text:?}: {why}"));
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(refuse("must not be negative".into()));
        }
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let power = exponent(&trimmed[digits..]);
        let (number, unit) = trimmed.split_at(digits + power.map_or(0, |(length, _)| length));
        let unit = unit.trim_start();
        let Some((whole, fraction)) = decimal(&number[..digits]) else {
            return Err(refuse(format!("write a number and a unit, such as \"5 {}\"", self.units[0].0)));
        };
        if unit.is_empty() {
            return Err(self.without_unit(text, number.trim_end()));
        }
        let Some(&(_, size)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let known: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
            return Err(refuse(format!("the unit must be one of {}", known.join(", "))));
        };
        let (whole, fraction) = shifted(whole, fraction, power.map_or(0, |(_, power)| power));
        amount(&whole, &fraction, size).ok_or_else(|| refuse("is too large".into()))
    }

    /// `amount` in the largest unit of which it is a whole number, if it is anything.
    pub(crate) fn whole_in(&self, amount: u64) -> Option<String> {
        let whole = self.units.iter().filter(|(_, size)| amount > 0 && amount.is_multiple_of(*size));
        whole.max_by_key(|(_, size)| size).map(|(unit, size)| format!("{} {unit}", amount / size))
    }

    /// The refusal of a bare number: `"5": write a unit, such as "5 ms"`.
    pub(crate) fn without_unit(&self, text: &str, number: &str) -> ParseError {
        ParseError(format!("{text:?}: write a unit, such as \"{number} {}\"", self.units[0].0))
    }
}

/// The refusal of a rate of nothing, which no link has.
pub(crate) fn above_zero(text: &str) -> ParseError {
    ParseError(format!("{text:?}: must be above zero"))
}

/// Write `amount` as a decimal number of a unit that is `size`, a power of ten.
pub(crate) fn write_amount(f: &mut fmt::Formatter<'_>, amount: u64, size: u64, unit: &str) -> fmt::Result {
    let (whole, rest) = (amount / size, amount % size);
    if rest == 0 {
        return write!(f, "{whole} {unit}");
    }
    let digits = format!("{rest:0width$}", width = size.ilog10() as usize);
    write!(f, "{whole}.{} {unit}", digits.trim_end_matches('0'))
}

/// The digits before and after the decimal point; `None` when there is no digit or more than one point.
fn decimal(number: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let without_digits = whole.is_empty() && fraction.is_empty();
    if without_digits || fraction.contains('.') { None } else { Some((whole, fraction)) }
}

/// The exponent that `text` begins with, as `-3` in `e-3 s`: its length in the text, and its value; beyond a thousand
/// everything is too large or nothing.
fn exponent(text: &str) -> Option<(usize, i32)> {
    let power = text.strip_prefix(['e', 'E'])?;
    let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let value = unsigned[..digits].parse().unwrap_or(1_000).min(1_000);
    let length = text.len() - unsigned.len() + digits;
    (digits > 0).then_some((length, if power.starts_with('-') { -value } else { value }))
}

/// The digits before and after the point when it is moved `power` places to the right.
fn shifted(whole: &str, fraction: &str, power: i32) -> (String, String) {
    let zeros = "0".repeat(power.unsigned_abs() as usize);
    let (left, right) = if power < 0 {
        (zeros + whole, fraction.to_owned())
    } else {
        (whole.to_owned(), fraction.to_owned() + &zeros)
    };
    let point = left.len().saturating_add_signed(power as isize);
    let digits = left + &right;
    (digits[..point].to_owned(), digits[point..].to_owned())
}

/// `whole.fraction` times `size`, to the nearest whole number; `None` above 2^64 - 1.
fn amount(whole: &str, fraction: &str, size: u64) -> Option<u64> {
    // Eighteen digits after the point resolve a millionth of a nanosecond in an hour.
    let fraction = &fraction[..fraction.len().min(18)];
    let parse = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let size = u128::from(size);
    let rest = (u128::from(parse(fraction)?) * size + scale / 2) / scale;
    u64::try_from(u128::from(parse(whole)?) * size + rest).ok()
}
