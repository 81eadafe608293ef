//! ATM: a line that sends each frame in cells of 53 bytes, as ADSL does.
//!
//! Source: ITU-T I.363.5 (AAL5), as tc-cake(8) counts it with `atm`: a frame takes whole cells, each with 48 bytes of it.
//!
//! ```text
//!   time to send a packet = ceil((size + overhead) / 48) 53 / rate
//! ```
//!
//! The overhead is that of the link: 40 bytes beyond an IP packet for an ADSL line with `pppoe-llcsnap`, less the header that
//! its discipline counts.

use aqmlab_aqm::LinkContext;
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{BitRate, Bytes, Time, ranges};
use serde::{Deserialize, Serialize};

use super::{BoxedCapacity, Capacity, CapacityKind, Streams};
use crate::link::Transmitter;
use crate::spec::{RATES, SpecError};

/// The bytes of a cell, and those of them that carry a frame.
const CELL: u64 = 53;
const PAYLOAD: u64 = 48;

/// ATM cells, as ADSL has them: a frame takes whole cells of 53 bytes, each with 48 bytes of it. The link's discipline knows
/// the rate of cells, and packets need up to a half more of it than their bytes and `link.overhead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Atm", transform = with_ranges::<AtmSpec>))]
#[serde(deny_unknown_fields)]
pub struct AtmSpec {
    /// The rate at which cells are sent, which a modem shows as that of its synchronization.
    pub rate: BitRate,
}

ranges! {
    AtmSpec { rate: RATES }
}

impl CapacityKind for AtmSpec {
    fn rate(&self) -> BitRate {
        self.rate
    }

    fn check(&self, _frame: Bytes) -> Result<(), SpecError> {
        Ok(())
    }

    fn capacity(&self, link: &LinkContext, _streams: &Streams) -> BoxedCapacity {
        Box::new(Atm { overhead: link.overhead, line: Transmitter::new(self.rate, Bytes::ZERO) })
    }
}

/// The line.
#[derive(Debug)]
struct Atm {
    overhead: Bytes,
    line: Transmitter,
}

impl Capacity for Atm {
    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let frame = size + self.overhead;
        self.line.send(frame + self.padding(size), now)
    }

    fn is_padded(&self) -> bool {
        true
    }

    fn padding(&self, size: Bytes) -> Bytes {
        let frame = size + self.overhead;
        Bytes::new(frame.get().div_ceil(PAYLOAD) * CELL) - frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::side::Direction;

    /// Returns the microseconds to send a packet with 40 bytes of overhead at 424 kbit/s, at which a cell takes a millisecond.
    fn micros(size: u64) -> u64 {
        let rate = BitRate::from_bits_per_sec(424_000).expect("it is above zero");
        let link = LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::new(40), peak: None };
        let streams = Streams { seed: 1, link: 0, direction: Direction::FORWARD };
        let (first, last) = AtmSpec { rate }.capacity(&link, &streams).send(Bytes::new(size), Time::ZERO);
        (last.saturating_since(first).as_nanos() + 500) / 1000
    }

    #[test]
    fn a_frame_takes_whole_cells() {
        // tc-cake(8), `pppoe-llcsnap`. A byte more than fills the second cell takes a third one.
        let cells = [(1, 1), (8, 1), (9, 2), (56, 2), (57, 3), (1500, 33)];
        for (size, cells) in cells {
            assert_eq!(micros(size), 1000 * cells, "{size} B");
        }
    }
}
