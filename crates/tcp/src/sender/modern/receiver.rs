//! Feedback of a modern receiver other than acknowledgements: timestamps, SACK blocks, counts of marked bytes.

use aqmlab_units::Time;

use super::Modern;
use super::window::ReceiveWindow;
use crate::core::Core;
use crate::ecn::byte_counts;
use crate::options::{Options, Timestamps, is_earlier};
use crate::recovery::SackReporter;
use crate::{Profile, Segment, Seq};

#[derive(Debug)]
pub(super) struct Receiver {
    /// The next SACK blocks.
    pub(super) reports: SackReporter,
    /// The timestamp to echo (RFC 7323's `TS.Recent`).
    pub(super) ts_recent: u32,
    pub(super) last_ack_sent: Seq,
    /// Bytes received in each ECN codepoint.
    pub(super) ecn_counts: byte_counts::ByteCounters,
    pub(super) window: ReceiveWindow,
    /// Segments that are still acknowledged at once.
    quick_acks: u8,
}

impl Receiver {
    pub(super) fn new(profile: &Profile, now: Time) -> Receiver {
        Receiver {
            reports: SackReporter::default(),
            ts_recent: 0,
            last_ack_sent: Seq::ZERO,
            ecn_counts: byte_counts::ByteCounters::new(),
            window: ReceiveWindow::new(profile, now),
            quick_acks: profile.quick_acks,
        }
    }

    /// Update the timestamp to echo (RFC 7323 §4.3): that of the earliest unacknowledged segment, so that the
    /// sender's sample includes the delay of the acknowledgement. Segments with old timestamps are not refused
    /// (PAWS, §5), since sequence numbers do not wrap within a segment's life here.
    pub(super) fn note_timestamp(&mut self, segment: &Segment<Options>) {
        if let Some(Timestamps { value, .. }) = segment.options.timestamps()
            && segment.seq <= self.last_ack_sent
            && !is_earlier(value, self.ts_recent)
        {
            self.ts_recent = value;
        }
    }

    /// Use up a quick acknowledgement. Returns false if none is left.
    pub(super) fn take_quick_ack(&mut self) -> bool {
        let has_quick_ack = self.quick_acks > 0;
        self.quick_acks -= u8::from(has_quick_ack);
        has_quick_ack
    }

    pub(super) fn grant_quick_acks(&mut self, segments: u8) {
        self.quick_acks = self.quick_acks.max(segments);
    }
}

impl<C> Modern<C> {
    /// Handle data `from..to` that repeat, overlap or lie beyond a gap.
    pub(super) fn on_out_of_order(&mut self, core: &mut Core, from: Seq, to: Seq) {
        // A FIN without data ahead of a gap is ignored, and has no bytes to report.
        if from == to && !self.is_classic {
            return;
        }
        if !self.negotiated.sack {
            return core.reassemble(from, to);
        }
        self.receiver.reports.note_duplicate(from, to, core.rcv_nxt, &core.reassembly);
        core.reassemble(from, to);
        self.receiver.reports.note_inserted(from, core.rcv_nxt, &core.reassembly);
    }
}
