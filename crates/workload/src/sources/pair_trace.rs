//! A trace as text, with pairs of hosts instead of round-trip times.
//!
//! One transfer a line, `t dir pair size`: when its connection is opened, in seconds; the side that opens it, 0 or 1;
//! the pair of hosts, which stands for a minimum round-trip time; the bytes of the response. Empty lines and what
//! follows a `#` mean nothing.

use std::str::FromStr;

use aqmlab_units::{Bytes, Duration, Time};
use serde::{Deserialize, Serialize};

use super::bulk::default_request;
use super::distribution::{MAX_SIZE, MAX_TIME, check_size};
use super::recorded::Recorded;
use super::rtt::check_rtt;
use crate::config::{ConfigError, refuse};

/// Transfers between pairs of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairTraceConfig {
    /// What to call the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The trace, line by line: `t dir pair size`.
    pub text: String,
    /// The minimum round-trip time of each pair, from pair 0 on.
    pub rtt: Vec<Duration>,
    /// The size of every request; default 300 B, ours.
    #[serde(default = "default_request")]
    pub request: Bytes,
}

impl PairTraceConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_size("request", self.request)?;
        for (pair, &rtt) in self.rtt.iter().enumerate() {
            check_rtt(&format!("rtt[{pair}]"), rtt)?;
        }
        self.record().map(drop)
    }

    pub(crate) fn record(&self) -> Result<Recorded, ConfigError> {
        let mut recorded = Recorded::default();
        for (line, text) in lines(&self.text) {
            let [t, dir, pair, size] = fields(line, &text, "t dir pair size")?;
            let t = number(line, "t", t, 0.0, MAX_TIME.as_secs_f64())?;
            let dir: u8 = number(line, "dir", dir, 0, 1)?;
            let size = number(line, "size", size, 1, MAX_SIZE.get())?;
            let Some(last) = self.rtt.len().checked_sub(1) else {
                return refuse("rtt", "must have a round-trip time for each pair, got none".into());
            };
            let pair = number(line, "pair", pair, 0, last)?;
            recorded.push_exchange(
                (Time::from_secs_f64(t), dir, Some(self.rtt[pair])),
                self.request,
                Bytes::new(size),
            );
        }
        Ok(recorded.sorted())
    }
}

/// The lines that say something, with their numbers from 1, split into words.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
        (!words.is_empty()).then_some((i + 1, words))
    })
}

/// The words of a line, exactly as many as its form has.
pub(crate) fn fields<'a, const N: usize>(
    line: usize,
    words: &[&'a str],
    form: &str,
) -> Result<[&'a str; N], ConfigError> {
    words.try_into().or_else(|_| fault(line, format!("must be `{form}`, got `{}`", words.join(" "))))
}

/// A number in its range.
pub(crate) fn number<T: FromStr + PartialOrd + Copy + std::fmt::Display>(
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
pub(crate) fn fault<T>(line: usize, message: String) -> Result<T, ConfigError> {
    refuse(&format!("text, line {line}"), message)
}
