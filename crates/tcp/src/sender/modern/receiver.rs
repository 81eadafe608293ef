//! Feedback of a modern receiver other than acknowledgements: timestamps, SACK blocks, counts of marked bytes.

use aqmlab_units::Time;

use super::Modern;
use super::quick_acks::QuickAcks;
use super::window::ReceiveWindow;
use crate::congestion::CongestionControl;
use crate::core::{Core, Status};
use crate::ecn::byte_counts;
use crate::options::{Options, Timestamps, is_earlier};
use crate::recovery::SackReporter;
use crate::sender::{Scale, Scaling};
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
    /// The field of segments that advertise it, which changes less often than segments leave.
    pub(super) window_field: u16,
    pub(super) quick_acks: QuickAcks,
}

impl Receiver {
    pub(super) fn new(profile: &Profile) -> Receiver {
        let window = ReceiveWindow::new(profile);
        Receiver {
            reports: SackReporter::default(),
            ts_recent: 0,
            last_ack_sent: Seq::ZERO,
            ecn_counts: byte_counts::ByteCounters::new(),
            window,
            window_field: Scale::default().own_window(window.advertised(profile), profile),
            quick_acks: QuickAcks::new(profile),
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

    /// Record that a segment acknowledges all data before `next`.
    #[inline(always)]
    pub(super) fn note_acknowledged(&mut self, next: Seq) {
        if next != self.last_ack_sent {
            self.last_ack_sent = next;
            self.quick_acks.on_acknowledged();
        }
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Handle the arrival of `len` bytes of data, before they are taken.
    pub(super) fn note_data(
        &mut self,
        core: &Core,
        segment: &Segment<Options>,
        now: Time,
        profile: &Profile,
    ) {
        self.receiver.quick_acks.on_data(segment.len, segment.flags, now, core.rtt.rto(), profile);
        if segment.seq + u32::from(segment.len) <= core.rcv_nxt {
            // The sender repeats what has arrived: acknowledgements are late or lost (`tcp_data_queue`).
            self.receiver.quick_acks.enforce(profile.quick_acks);
        }
        if !self.receiver.window.may_grow(profile) {
            return;
        }
        let held = core.reassembly.total();
        if self.receiver.window.grow(segment.len, self.segment_size(), held) {
            self.update_window_field(profile);
            self.receiver.quick_acks.on_growth();
        }
        let echo =
            segment.options.timestamps().filter(|_| self.negotiated.timestamps).map(|stamps| stamps.echo);
        let is_next = segment.seq == core.rcv_nxt && !core.status.any(Status::OUT_OF_ORDER);
        let next = core.rcv_nxt + if is_next { segment.len.into() } else { 0 };
        self.receiver.window.on_data(next, self.segment_size(), echo, now, profile);
    }

    /// The window or its scaling has changed.
    pub(super) fn update_window_field(&mut self, profile: &Profile) {
        let window = self.receiver.window.advertised(profile);
        self.receiver.window_field = self.classic.scaling.own_window(window, profile);
    }

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
