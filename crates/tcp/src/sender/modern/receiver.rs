//! What a modern receiver tells beside its acknowledgements: timestamps, what has arrived beyond a gap, marks by the byte.

use aqmlab_units::Time;

use super::Modern;
use super::window::ReceiveWindow;
use crate::core::Core;
use crate::ecn::byte_counts;
use crate::options::{Options, Timestamps, is_earlier};
use crate::recovery::Reporter;
use crate::{Profile, Segment, Seq};

#[derive(Debug)]
pub(super) struct Receiver {
    /// SACK blocks to come.
    pub(super) reports: Reporter,
    /// The timestamp to echo (RFC 7323's `TS.Recent`).
    pub(super) ts_recent: u32,
    pub(super) last_ack_sent: Seq,
    /// What came in which ECN codepoint.
    pub(super) ecn_counts: byte_counts::ByteCounters,
    pub(super) window: ReceiveWindow,
    /// How many segments are still acknowledged at once.
    quick_acks: u8,
}

impl Receiver {
    pub(super) fn new(profile: &Profile, now: Time) -> Receiver {
        Receiver {
            reports: Reporter::default(),
            ts_recent: 0,
            last_ack_sent: Seq::ZERO,
            ecn_counts: byte_counts::ByteCounters::new(),
            window: ReceiveWindow::new(profile, now),
            quick_acks: profile.quick_acks,
        }
    }

    /// RFC 7323 §4.3: the timestamp to echo is that of the earliest segment not yet acknowledged, so that the sender's
    /// sample includes the wait of a held-back acknowledgement. Segments with timestamps from the past are not refused
    /// (PAWS, §5): sequence numbers do not come round within a segment's life here.
    pub(super) fn note_timestamp(&mut self, segment: &Segment<Options>) {
        if let Some(Timestamps { value, .. }) = segment.options.timestamps()
            && segment.seq <= self.last_ack_sent
            && !is_earlier(value, self.ts_recent)
        {
            self.ts_recent = value;
        }
    }

    /// Use up one of the quick acknowledgements. Returns false if none is left.
    pub(super) fn take_quick_ack(&mut self) -> bool {
        let quick = self.quick_acks > 0;
        self.quick_acks -= u8::from(quick);
        quick
    }

    pub(super) fn grant_quick_acks(&mut self, segments: u8) {
        self.quick_acks = self.quick_acks.max(segments);
    }
}

impl<C> Modern<C> {
    /// Data `from..to` have arrived that repeat, overlap or lie beyond a gap.
    pub(super) fn note_disorder(&mut self, core: &mut Core, from: Seq, to: Seq) {
        // A FIN without data that came too early is dropped, and leaves nothing to report.
        if from == to && !self.is_classic {
            return;
        }
        if !self.negotiated.sack {
            return core.reassemble(from, to);
        }
        self.receiver.reports.note_duplicate(from, to, core.rcv_nxt, &core.reassembly);
        core.reassemble(from, to);
        self.receiver.reports.note_kept(from, core.rcv_nxt, &core.reassembly);
    }
}
