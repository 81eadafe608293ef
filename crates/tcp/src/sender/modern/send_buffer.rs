//! The send buffer of Linux: it grows with the congestion window up to the maximum of `tcp_wmem`, and counts the overhead of
//! packets. An application that found it full writes again when a third of it is free (`sk_stream_write_space`).

use super::Modern;
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::{Profile, Seq};

/// Memory of a packet beside its data in bytes: `sk_buff`, headers and `skb_shared_info` of 64-bit machines (`SKB_TRUESIZE`).
const OVERHEAD: u64 = 960;

/// Memory for each segment of the window in bytes: twice that of a packet with one segment (`tcp_sndbuf_expand`).
const PER_SEGMENT: u32 = 2 * 4_352;

/// The first size, for a window of ten segments.
const INITIAL: u32 = 10 * PER_SEGMENT;

/// The size of the send buffer, and the bytes that it has taken from an application that always has more.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    /// One past its last byte.
    pub(super) end: Seq,
    /// Its size in bytes of memory.
    size: u32,
}

impl SendBuffer {
    pub(super) fn new(profile: &Profile) -> SendBuffer {
        let size = profile.send_buffer.min(INITIAL);
        // In packets of two segments, a quarter is overhead.
        SendBuffer { end: Seq::new(1) + size / 4 * 3, size }
    }

    /// One past its last byte, if there is a buffer.
    pub(super) fn taken(self) -> Option<Seq> {
        (self.size > 0).then_some(self.end)
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Let the application write what the send buffer takes, after an acknowledgement.
    #[inline]
    pub(super) fn refill_send_buffer(&mut self, core: &Core, profile: &Profile) {
        if profile.send_buffer == 0 {
            return;
        }
        let buffer = &mut self.send_buffer;
        if buffer.size < profile.send_buffer {
            let segments = self.classic.congestion.cwnd() / u32::from(self.negotiated.mss);
            buffer.size = segments.saturating_mul(PER_SEGMENT).clamp(buffer.size, profile.send_buffer);
        }
        if buffer.end <= core.snd_una + buffer.size / 3 * 2 {
            self.refill(core);
        }
    }

    #[inline(never)]
    fn refill(&mut self, core: &Core) {
        let packet = u64::from(self.packet_segments(core) * self.segment_size());
        let data = u64::from(self.send_buffer.size) * packet / (packet + OVERHEAD);
        let data = u32::try_from(data).expect("less than the buffer");
        if self.send_buffer.end <= core.snd_una + data / 3 * 2 {
            self.send_buffer.end = core.snd_una + data;
        }
    }

    /// True if the send buffer has taken the next `len` bytes.
    pub(super) fn is_buffered(&self, core: &Core, len: u16, profile: &Profile) -> bool {
        profile.send_buffer == 0 || core.snd_nxt + u32::from(len) <= self.send_buffer.end
    }
}
