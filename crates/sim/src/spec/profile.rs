//! Profiles of a wire: the delay of each packet in order, and the packets that are lost.

#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, ranges};
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Serialize};

use super::per_direction::OneDirection;
use super::{SpecError, fault};

/// Delays packet by packet, over and over, as the delay and error profiles of 3GPP TS 26.114 have them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Profile", transform = with_ranges::<ProfileSpec>))]
#[serde(deny_unknown_fields)]
pub struct ProfileSpec {
    /// The delay of each packet in milliseconds, beyond that of the link; -1 for one that is lost.
    pub delay_ms: Vec<f64>,
}

ranges! {
    ProfileSpec {}
}

/// The most packets of a profile; ours.
const MOST_PACKETS: usize = 1_000_000;

/// A minute, as of any link.
const MOST_DELAY_MS: f64 = 60_000.0;

/// A packet that is lost.
const LOST: f64 = -1.0;

impl ProfileSpec {
    /// Checks the profile at `path`.
    pub(super) fn check(&self, path: &str) -> Result<(), SpecError> {
        let path = format!("{path}.delay_ms");
        let packets = self.delay_ms.len();
        if packets == 0 || packets > MOST_PACKETS {
            return Err(fault(&path, format!("must have 1 to {MOST_PACKETS} packets, got {packets}")));
        }
        let is_sound = |delay: f64| delay == LOST || (0.0..=MOST_DELAY_MS).contains(&delay);
        match self.delay_ms.iter().position(|&delay| !is_sound(delay)) {
            Some(number) => {
                let message =
                    format!("must be -1 or from 0 to {MOST_DELAY_MS} ms, got {}", self.delay_ms[number]);
                Err(fault(&format!("{path}[{number}]"), message))
            }
            None => Ok(()),
        }
    }

    /// Returns true if it loses a packet.
    pub(crate) fn is_lossy(&self) -> bool {
        self.delay_ms.iter().any(|&delay| delay < 0.0)
    }

    /// Returns the additional delay of each packet; `None` for one that is lost.
    pub(crate) fn delays(&self) -> Vec<Option<Duration>> {
        let delay = |&delay: &f64| (delay >= 0.0).then(|| Duration::from_secs_f64(delay / 1e3));
        self.delay_ms.iter().map(delay).collect()
    }
}

impl OneDirection for ProfileSpec {
    const KEYS: &'static [&'static str] = &["up", "down", "delay_ms"];
    const EXPECTED: &'static str = "a table of delay_ms, or of up and down";

    fn from_table<'de, A: MapAccess<'de>>(table: A) -> Result<ProfileSpec, A::Error> {
        ProfileSpec::deserialize(MapAccessDeserializer::new(table))
    }
}
