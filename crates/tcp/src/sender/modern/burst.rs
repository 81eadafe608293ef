//! Bursts of segments: Linux hands those that leave together to the device in packets of at least two segments, and sets PSH
//! on the last one (`tcp_min_tso_segs`, `__tcp_transmit_skb`). A receiver acknowledges that one as soon as the application
//! has read it.
//!
//! Differs from Linux: packets do not grow with the rate (`tcp_tso_autosize`), begin where a departure does and not where the
//! application's write did, and do not wait for room for a second segment (`tcp_tso_should_defer`).

use aqmlab_units::Time;

/// The last departure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    at: Time,
    /// It was the first segment of a pair.
    is_first: bool,
}

impl Burst {
    /// Add a segment of new data that leaves now. Returns true if it completes a pair.
    #[inline]
    pub(super) fn completes_pair(&mut self, now: Time) -> bool {
        let completes = self.is_first && self.at == now;
        *self = Burst { at: now, is_first: !completes };
        completes
    }
}
