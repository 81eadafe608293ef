//! Sources as text: lines, the words of each, and mistakes named by their line.

use std::str::FromStr;

use crate::config::{ConfigError, refuse};

/// The lines that say something, with their numbers from 1, split into words.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
        (!words.is_empty()).then_some((i + 1, words))
    })
}

/// The words of a line, exactly as many as its form has.
pub(super) fn fields<'a, const N: usize>(
    line: usize,
    words: &[&'a str],
    form: &str,
) -> Result<[&'a str; N], ConfigError> {
    words.try_into().or_else(|_| fault(line, format!("must be `{form}`, got `{}`", words.join(" "))))
}

/// A number in its range.
pub(super) fn number<T: FromStr + PartialOrd + Copy + std::fmt::Display>(
    line: usize,
    name: &str,
    word: &str,
    min: T,
    max: T,
) -> Result<T, ConfigError> {
    match word.parse() {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => fault(line, format!("{name} must be a number between {min} and {max}, got `{word}`")),
    }
}

/// A mistake in a line of the text.
pub(super) fn fault<T>(line: usize, message: String) -> Result<T, ConfigError> {
    refuse(&format!("text, line {line}"), message)
}
