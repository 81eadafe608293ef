//! Packets of several segments, as Linux builds them for TCP segmentation offload: they grow with the rate
//! (`tcp_tso_autosize`), wait for room for a whole one (`tcp_tso_should_defer`), and carry PSH on their last segment
//! (`__tcp_transmit_skb`), which a receiver acknowledges as soon as the application has read it.
//!
//! A control that paces has packets of two segments, and its pacing alone decides when they leave.
//!
//! Differs from Linux: packets begin where a departure does and not where the application's write did.

use aqmlab_units::{Duration, Time};

use super::Modern;
use crate::Profile;
use crate::congestion::CongestionControl;
use crate::core::{Core, Status};

/// The most bytes of a packet (`sk_gso_max_size`).
const MAX_PACKET: u64 = 65_215;

/// The fewest segments of a packet (`tcp_min_tso_segs`).
const MIN_SEGMENTS: u32 = 2;

/// A packet takes at most this time at the estimated rate, in microseconds: 2^-10 s (`sk_pacing_shift`).
const PACKET_MICROS: u64 = 977;

/// The estimated rate is a window per round trip, times this in percent: in slow start (`tcp_pacing_ss_ratio`) ...
const SLOW_START_RATIO: u64 = 200;

/// ... and afterwards (`tcp_pacing_ca_ratio`).
const AVOIDANCE_RATIO: u64 = 120;

/// A packet waits only within this time of the last departure, and this time before the next acknowledgement is expected.
const RECENT: Duration = Duration::from_millis(1);

/// A packet does not wait if the room is this part of the window (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u32 = 3;

/// The packet whose segments leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// The last departure.
    at: Time,
    /// Its segments that have not left.
    left: u32,
    has_several: bool,
}

impl Burst {
    /// True if a segment that leaves now belongs to it.
    #[inline]
    fn continues(&self, now: Time) -> bool {
        self.left > 0 && self.at == now
    }

    /// Add a segment of new data that leaves now. Returns true if it is the last one of several.
    #[inline]
    pub(super) fn completes(&mut self, now: Time) -> bool {
        self.at = now;
        self.left = self.left.saturating_sub(1);
        self.left == 0 && self.has_several
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Begin a packet with `unsent` bytes of new data, unless one continues. Returns false if it should wait for room.
    #[inline]
    pub(super) fn begin_packet(&mut self, core: &Core, unsent: u32, now: Time, profile: &Profile) -> bool {
        if self.send_burst.continues(now) {
            return true;
        }
        let mss = self.segment_size();
        if unsent <= mss {
            // The last segment of what was written, as in most short transfers: a packet of its own, which never waits.
            self.send_burst = Burst { at: now, left: 1, has_several: false };
            return true;
        }
        let is_paced = self.classic.congestion.pacing_rate().is_some();
        let packet = if is_paced { MIN_SEGMENTS } else { self.packet_segments(core) };
        let window = self.congestion_window().saturating_sub(self.pipe());
        let room = window.min(self.peer_window(core).saturating_sub(core.snd_nxt - core.snd_una));
        if room < packet * mss && !is_paced && self.should_wait(core, room, unsent, now) {
            return false;
        }
        let written =
            if profile.send_buffer > 0 { unsent.min(self.send_buffer.end - core.snd_nxt) } else { unsent };
        let segments = packet.min(room / mss).min(written.div_ceil(mss)).max(1);
        self.send_burst = Burst { at: now, left: segments, has_several: segments > 1 };
        true
    }

    /// The segments of a whole packet (`tcp_tso_autosize`): those of a millisecond at the estimated rate, and more on paths of
    /// less than 16 ms.
    #[inline]
    pub(super) fn packet_segments(&self, core: &Core) -> u32 {
        let Some(srtt) = core.rtt.srtt() else { return MIN_SEGMENTS };
        let control = &self.classic.congestion;
        let cwnd = control.cwnd();
        let ratio = if cwnd < control.ssthresh() / 2 { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
        let paced = u64::from(cwnd.max(self.pipe())) * ratio * PACKET_MICROS / (srtt.as_micros() * 100);
        // `tcp_tso_rtt_log`: halved for each 512 us of the shortest round trip.
        // Before the first acknowledgement of data, the shortest is that of the handshake.
        let min_rtt = self.rack.measured_min_rtt().unwrap_or(srtt);
        let halvings = (min_rtt.as_micros() >> 9).min(63);
        let bytes = (paced + (MAX_PACKET >> halvings)).min(MAX_PACKET);
        u32::try_from(bytes).unwrap_or(u32::MAX).div_euclid(self.segment_size()).max(MIN_SEGMENTS)
    }

    /// True if a packet should wait for more than the `room` (`tcp_tso_should_defer`): an acknowledgement is expected soon, and
    /// the window is not small.
    fn should_wait(&self, core: &Core, room: u32, unsent: u32, now: Time) -> bool {
        let ends_stream = core.status.any(Status::CLOSED) && unsent < room;
        let window = self.classic.congestion.cwnd().min(self.peer_window(core));
        if !self.phase.is_open()
            || ends_stream
            || self.send_burst.at + RECENT < now
            || window / WINDOW_DIVISOR <= room
        {
            return false;
        }
        let srtt = core.rtt.srtt().unwrap_or(Duration::ZERO);
        let near = RECENT.min(Duration::from_nanos(srtt.as_nanos() / 2));
        !self.board.is_empty() && self.board.record(0).sent_at + srtt <= now + near
    }
}
