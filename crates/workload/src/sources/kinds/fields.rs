//! Fields that several kinds of source have: their defaults, and what they may be.

use aqmlab_units::{Bytes, Duration};

use crate::config::{ConfigError, refuse};
use crate::sources::draws::distribution::check_time;

/// The most connections or flows of one source.
const MAX_FLOWS: u32 = 1_000_000;

/// The request for a transfer where nothing else is said, near the mean of web requests. Source: ours.
pub(super) fn default_request() -> Bytes {
    Bytes::new(300)
}

pub(super) fn no_time() -> Duration {
    Duration::ZERO
}

pub(super) fn one_second() -> Duration {
    Duration::from_secs(1)
}

pub(super) fn check_flows(path: &str, flows: u32) -> Result<(), ConfigError> {
    if (1..=MAX_FLOWS).contains(&flows) {
        return Ok(());
    }
    refuse(path, format!("must be between 1 and {MAX_FLOWS}, got {flows}"))
}

pub(super) fn check_side(side: u8) -> Result<(), ConfigError> {
    if side <= 1 { Ok(()) } else { refuse("side", format!("must be 0 or 1, got {side}")) }
}

pub(super) fn check_stop(start: Duration, stop: Option<Duration>) -> Result<(), ConfigError> {
    match stop {
        Some(stop) if stop <= start => refuse("stop", format!("must be above start = {start}, got {stop}")),
        Some(stop) => check_time("stop", stop),
        None => Ok(()),
    }
}
