//! Rows of an explained run.

use aqmlab_units::Bytes;

use super::attribution::{Attribution, Part};
use super::timeline::TimelineEvent;
use crate::record::{ExchangeRow, ExplanationTable, TimelineTable};

impl ExplanationTable {
    /// `disturbed`: packets lost and marked.
    pub(super) fn push(
        &mut self,
        row: &ExchangeRow<'_>,
        attribution: &Attribution,
        [losses, marks]: [u32; 2],
    ) {
        let size = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        let ExchangeRow { exchange, side, recovery, .. } = row;
        self.start_ns.push(exchange.started.as_nanos());
        self.response_time_ns.push(exchange.response_time.as_nanos());
        self.request_bytes.push(size(exchange.request));
        self.response_bytes.push(size(exchange.response));
        self.side.push(side.number());
        self.first_on_connection.push(exchange.first);
        if self.parts.is_empty() {
            self.parts = Part::ALL.map(|part| (part.name(), Vec::new())).into();
        }
        for ((_, nanos), part) in self.parts.iter_mut().zip(Part::ALL) {
            nanos.push(attribution.part(part).as_nanos());
        }
        self.losses.push(losses);
        self.marks.push(marks);
        self.syn_retransmits.push(recovery.syn_retransmits);
        self.timeouts.push(recovery.timeouts);
        self.fast_retransmits.push(recovery.fast_retransmits);
        self.ecn_reductions.push(recovery.ecn_reductions);
    }
}

impl TimelineTable {
    pub(super) fn push(&mut self, request: u64, event: &TimelineEvent) {
        self.request.push(request);
        self.time_ns.push(event.since_start.as_nanos());
        self.place.push(event.place.name());
        self.event.push(event.what.name());
        self.segment.push(event.segment.map_or("", |segment| segment.name()));
        self.sender.push(event.sender.name());
        self.offset.push(event.offset);
        self.bytes.push(event.bytes.into());
        self.waited_ns.push(event.waited.as_nanos());
        self.cwnd.push(event.cwnd);
    }
}
