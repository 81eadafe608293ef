//! Fields that several kinds of source have: their defaults, and what they may be.

use aqmlab_units::range::{from, up_to};
use aqmlab_units::{Bytes, Duration, Range};

use crate::config::{ConfigError, refuse};
use crate::sources::draws::distribution::{MAX_SIZE, MAX_TIME};

/// Connections, flows or users of one source.
pub(super) const FLOWS: Range<u32> = from(1).up_to(1_000_000);

/// The side of the link that something is on.
pub(super) const SIDE: Range<u8> = up_to(1);

/// The range of sizes that are sent at once.
pub(super) const SIZES: Range<Bytes> = from(Bytes::new(1)).up_to(MAX_SIZE);

/// The range of instants and lengths of time.
pub(super) const TIMES: Range<Duration> = up_to(MAX_TIME);

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

pub(super) fn check_stop(start: Duration, stop: Option<Duration>) -> Result<(), ConfigError> {
    match stop {
        Some(stop) if stop <= start => refuse("stop", format!("must be above start = {start}, got {stop}")),
        _ => Ok(()),
    }
}
