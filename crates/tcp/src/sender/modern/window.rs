//! Tuning of the receive window by the data that arrive, as in Linux (`tcp_moderate_rcvbuf`, `tcp_rcvbuf_grow` of
//! 6.18).
//!
//! Time is divided into rounds of a round trip. A round in which more was read than in any before it sets the
//! window: twice as much, and if the sender grows, twice that growth in addition. The sender may have that in
//! flight two rounds later.
//!
//! Differs from Linux: a round ends with the first data that echo a timestamp of it, a millisecond or more after
//! its start. Linux uses an estimate of the round-trip time from the same echoes. The whole buffer is window.

use aqmlab_units::Time;

use crate::options::{is_earlier, timestamp};
use crate::{Profile, Seq};

/// The window, and what has arrived in the current round.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    bytes: u32,
    /// Timestamp of the round's start.
    round_start: u32,
    /// The first byte of the round.
    round_first: Seq,
    /// The maximum number of bytes in a round.
    max_round_bytes: u32,
}

/// Initial window that is assumed for the sender, in segments (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;

impl ReceiveWindow {
    pub(super) fn new(profile: &Profile, now: Time) -> ReceiveWindow {
        let bytes = profile.initial_receive_window();
        let max_round_bytes = bytes.min(INITIAL_WINDOW * u32::from(profile.mss));
        ReceiveWindow { bytes, round_start: timestamp(now), round_first: Seq::new(1), max_round_bytes }
    }

    pub(super) fn bytes(self) -> u32 {
        self.bytes
    }

    #[inline]
    pub(super) fn may_grow(self, profile: &Profile) -> bool {
        self.bytes < profile.receive_window
    }

    /// Handle the arrival of data with `echo`, if the connection has timestamps; the data before `next` have been
    /// read.
    #[inline(never)]
    pub(super) fn on_data(&mut self, next: Seq, echo: Option<u32>, now: Time, profile: &Profile) {
        let read = next - self.round_first;
        let is_over = match echo {
            Some(echo) => !is_earlier(echo, self.round_start) && is_earlier(self.round_start, timestamp(now)),
            // Without timestamps, the window itself is the clock (`tcp_rcv_rtt_measure`).
            None => read >= self.bytes,
        };
        if !is_over {
            return;
        }
        if read > self.max_round_bytes {
            let twice = 2 * u64::from(read);
            let grown =
                twice + 2 * twice * u64::from(read - self.max_round_bytes) / u64::from(self.max_round_bytes);
            let largest = profile.receive_window;
            self.bytes = self.bytes.max(u32::try_from(grown).unwrap_or(largest).min(largest));
            self.max_round_bytes = read;
        }
        self.round_start = timestamp(now);
        self.round_first = next;
    }
}
