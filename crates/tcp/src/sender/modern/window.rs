//! A receive window that grows with what arrives, as Linux tunes it (`tcp_moderate_rcvbuf`, `tcp_rcvbuf_grow` of 6.18).
//!
//! Time is cut into rounds of a round trip. A round in which more was read than in any before it says how much the sender may
//! have in flight two rounds later: twice as much, and where the sender grows, twice that growth again.
//!
//! Differs from Linux: a round ends with the first data that echo a timestamp of it, a millisecond or more after its beginning,
//! not after an estimate of the round trip that the same echoes give; all that a buffer holds is window.

use aqmlab_units::Time;

use crate::options::{is_earlier, timestamp};
use crate::{Profile, Seq};

/// The window, and what has arrived in the current round.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    bytes: u32,
    /// When the round began.
    began: u32,
    /// The first byte of the round.
    first: Seq,
    /// The most bytes of any round.
    most: u32,
}

/// The segments that a sender is taken to begin with (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;

impl ReceiveWindow {
    pub(super) fn new(profile: &Profile, now: Time) -> ReceiveWindow {
        let bytes = profile.first_receive_window();
        let most = bytes.min(INITIAL_WINDOW * u32::from(profile.mss));
        ReceiveWindow { bytes, began: timestamp(now), first: Seq::new(1), most }
    }

    pub(super) fn bytes(self) -> u32 {
        self.bytes
    }

    #[inline]
    pub(super) fn may_grow(self, profile: &Profile) -> bool {
        self.bytes < profile.receive_window
    }

    /// Data have arrived that carry `echo`, where the connection has timestamps, and `next` has been read up to before.
    #[inline(never)]
    pub(super) fn on_data(&mut self, next: Seq, echo: Option<u32>, now: Time, profile: &Profile) {
        let read = next - self.first;
        let is_over = match echo {
            Some(echo) => !is_earlier(echo, self.began) && is_earlier(self.began, timestamp(now)),
            // No clock but the window itself (`tcp_rcv_rtt_measure`).
            None => read >= self.bytes,
        };
        if !is_over {
            return;
        }
        if read > self.most {
            let twice = 2 * u64::from(read);
            let grown = twice + 2 * twice * u64::from(read - self.most) / u64::from(self.most);
            let largest = profile.receive_window;
            self.bytes = self.bytes.max(u32::try_from(grown).unwrap_or(largest).min(largest));
            self.most = read;
        }
        self.began = timestamp(now);
        self.first = next;
    }
}
