//! At which end of a connection its round-trip time is spent.

use aqmlab_units::Duration;
use serde::{Deserialize, Serialize};

/// The ends at which the minimum round-trip time of a connection is added to packets: one end or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DelayAt {
    /// To what the end sends that opened it: a browser, as in the testbed of Le et al.; the initiator of a source.
    #[default]
    Browser,
    /// To what the other end sends.
    Server,
    /// Half to what each sends.
    Split,
}

impl DelayAt {
    /// Returns the delays of packets of the end that opened a connection, and of the other end: together `rtt`, in whole
    /// microseconds.
    pub(crate) fn shares(self, rtt: Duration) -> [Duration; 2] {
        let whole = rtt.as_micros();
        let browser = match self {
            DelayAt::Browser => whole,
            DelayAt::Server => 0,
            DelayAt::Split => whole / 2,
        };
        [browser, whole - browser].map(Duration::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_the_round_trip_whatever_its_last_microsecond() {
        let shares = |at: DelayAt, micros| at.shares(Duration::from_micros(micros)).map(Duration::as_micros);
        assert_eq!(shares(DelayAt::Browser, 80_001), [80_001, 0]);
        assert_eq!(shares(DelayAt::Server, 80_001), [0, 80_001]);
        assert_eq!(shares(DelayAt::Split, 80_001), [40_000, 40_001]);
    }
}
