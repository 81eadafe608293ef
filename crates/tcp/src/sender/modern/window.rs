//! The receive window: it grows with each segment up to a limit, and the limit grows by the data that arrive in a round
//! trip, as in Linux 6.12 (`tcp_grow_window`, `tcp_rcv_space_adjust`).
//!
//! Time is divided into rounds of a round trip, which timestamps measure. A round in which more was read than in any before
//! it sets the limit: twice as much, and if the sender grows, twice that growth in addition. The sender may have that in
//! flight two rounds later.
//!
//! Differs from Linux: beyond the first limit the whole buffer is window; Linux reserves a part for the packets' overhead.
//! Without timestamps, the time in which a window of data arrives is the round trip, and in Linux at most that.

use aqmlab_units::{Duration, Time};

use crate::options::timestamp;
use crate::{Profile, Seq};

/// The window, and what has arrived in the current round.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    bytes: u32,
    limit: u32,
    /// `None` before the first data.
    round_start: Option<Time>,
    /// The first byte of the round.
    round_first: Seq,
    /// The bytes of the longest round.
    longest_round: u32,
    round_trip: RoundTrip,
}

/// The smoothed round-trip time as the receiver sees it.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrip {
    /// In eighths of a microsecond; 0 before the first sample.
    eighths: u64,
    last_echo: u32,
}

impl RoundTrip {
    /// Take a sample from the echo of a timestamp, in whole milliseconds.
    fn sample(&mut self, echo: u32, now: Time) {
        if std::mem::replace(&mut self.last_echo, echo) == echo {
            return;
        }
        let sample = u64::from(timestamp(now).wrapping_sub(echo)) * 1000;
        if sample == 0 {
            return;
        }
        let is_shorter = self.eighths == 0 || sample * 8 < self.eighths;
        self.eighths = if is_shorter { sample * 8 } else { self.eighths - self.eighths / 8 + sample };
    }

    fn get(self) -> Option<Duration> {
        (self.eighths > 0).then(|| Duration::from_micros(self.eighths / 8))
    }
}

/// Initial window that is assumed for the sender, in segments (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;

/// The first limit: the part of a buffer of 131,072 bytes (`tcp_rmem`) that is payload, if full segments of 1,448 bytes take
/// 2,176 bytes of it as in the kernel's world (`scaling_ratio` of 170/256).
const FIRST_LIMIT: u32 = 87_040;

/// Data of a segment that lets the window grow.
const SUBSTANTIAL: u16 = 128;

impl ReceiveWindow {
    pub(super) fn new(profile: &Profile) -> ReceiveWindow {
        let bytes = profile.initial_receive_window();
        let longest_round = bytes.min(INITIAL_WINDOW * u32::from(profile.mss));
        let limit =
            if profile.receive_window_tuning { FIRST_LIMIT.min(profile.receive_window) } else { bytes };
        ReceiveWindow {
            bytes,
            limit,
            round_start: None,
            round_first: Seq::new(1),
            longest_round,
            round_trip: RoundTrip::default(),
        }
    }

    /// Return the bytes to advertise. A window that grows is rounded up to what its field can say.
    pub(super) fn advertised(self, profile: &Profile) -> u32 {
        if profile.receive_window_tuning {
            self.bytes.next_multiple_of(1 << profile.window_shift())
        } else {
            self.bytes
        }
    }

    #[inline]
    pub(super) fn may_grow(self, profile: &Profile) -> bool {
        self.bytes < profile.receive_window
    }

    /// Grow by two segments when one with `len` bytes arrives. Returns true if there was room, beside the segment itself and the
    /// `held` bytes beyond a gap.
    pub(super) fn grow(&mut self, len: u16, mss: u32, held: u32) -> bool {
        let room = self.limit.saturating_sub(mss + held);
        let grows = self.bytes < room && len >= SUBSTANTIAL;
        if grows {
            self.bytes = room.min(self.bytes + 2 * mss);
        }
        grows
    }

    /// Handle the arrival of data up to `next`, with `echo` if the connection has timestamps.
    #[inline(never)]
    pub(super) fn on_data(&mut self, next: Seq, mss: u32, echo: Option<u32>, now: Time, profile: &Profile) {
        let read = next - self.round_first;
        let is_over = match echo {
            Some(echo) => {
                self.round_trip.sample(echo, now);
                let start = *self.round_start.get_or_insert(now);
                self.round_trip.get().is_some_and(|rtt| now - start >= rtt)
            }
            None => read >= self.bytes,
        };
        if !is_over {
            return;
        }
        if read > self.longest_round {
            self.limit = self.limit.max(self.limit_after(read, mss).min(profile.receive_window));
            self.longest_round = read;
        }
        self.round_start = Some(now);
        self.round_first = next;
    }

    /// Return the limit after a round of `read` bytes: twice as much and a cushion of 16 segments, and twice that times the
    /// growth since the longest round.
    fn limit_after(self, read: u32, mss: u32) -> u32 {
        let base = 2 * u64::from(read) + 16 * u64::from(mss);
        let grown = base + 2 * (base * u64::from(read - self.longest_round) / u64::from(self.longest_round));
        u32::try_from(grown).unwrap_or(u32::MAX)
    }
}
