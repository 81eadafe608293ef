//! Sources as text: lines, the words of each, and mistakes named by their line.

use std::str::FromStr;

use crate::config::{ConfigError, refuse};

/// Calls `read` with each line that says something: its number, from 1, and its words.
pub(super) fn each_line<'a>(
    text: &'a str,
    mut read: impl FnMut(usize, &[&'a str]) -> Result<(), ConfigError>,
) -> Result<(), ConfigError> {
    let mut words = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        // Byte by byte: lines are short, and a trace has very many.
        let said = line.bytes().position(|byte| byte == b'#').map_or(line, |comment| &line[..comment]);
        words.clear();
        words.extend(said.split_ascii_whitespace());
        if !words.is_empty() {
            read(number, &words)?;
        }
    }
    Ok(())
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
