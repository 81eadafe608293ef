//! Rows of an explained run.

use aqmlab_units::{Bytes, Time};
use aqmlab_workload::pages::PageLoad;

use super::Incidents;
use super::attribution::{Part, Parts};
use super::pages::{PageTrace, ResourceTrace};
use super::timeline::TimelineEvent;
use crate::engine::UserId;
use crate::packet::Owner;
use crate::record::{ExchangeRow, ExplainedPageTable, ExplanationTable, ResourceTable, TimelineTable};

/// Adds a row of parts to their columns.
fn push_parts(columns: &mut Vec<(&'static str, Vec<u64>)>, parts: &Parts) {
    if columns.is_empty() {
        *columns = Part::ALL.map(|part| (part.name(), Vec::new())).into();
    }
    for ((_, nanos), part) in columns.iter_mut().zip(Part::ALL) {
        nanos.push(parts.of(part).as_nanos());
    }
}

impl ExplanationTable {
    pub(super) fn push(&mut self, row: &ExchangeRow<'_>, owner: Owner, parts: &Parts, incidents: &Incidents) {
        let size = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        let ExchangeRow { exchange, side, recovery, .. } = row;
        self.start_ns.push(exchange.started.as_nanos());
        self.response_time_ns.push(exchange.response_time.as_nanos());
        self.request_bytes.push(size(exchange.request));
        self.response_bytes.push(size(exchange.response));
        self.source.push(owner.number());
        self.side.push(side.number());
        self.first_on_connection.push(exchange.first);
        push_parts(&mut self.parts, parts);
        self.losses.push(incidents.losses);
        self.marks.push(incidents.marks);
        self.syn_retransmits.push(recovery.syn_retransmits);
        self.timeouts.push(recovery.timeouts);
        self.fast_retransmits.push(recovery.fast_retransmits);
        self.ecn_reductions.push(recovery.ecn_reductions);
    }
}

impl ExplainedPageTable {
    pub(super) fn push(&mut self, user: UserId, load: &PageLoad, page: &PageTrace, parts: &Parts) {
        self.start_ns.push(page.epoch.start.as_nanos());
        self.load_ns.push(load.duration.as_nanos());
        self.first_render_ns.push(load.first_render.as_nanos());
        self.side.push(user.side().number());
        self.version.push(load.version.name());
        self.requests.push(load.requests);
        self.bytes.push(load.bytes);
        self.connections.push(page.connections());
        self.path_resources.push(u16::try_from(page.path().count()).unwrap_or(u16::MAX));
        push_parts(&mut self.parts, parts);
        self.losses.push(page.incidents.losses);
        self.marks.push(page.incidents.marks);
    }
}

impl ResourceTable {
    /// A resource of the page in row `page`, which began at `start`.
    pub(super) fn push(&mut self, page: u64, start: Time, resource: &ResourceTrace) {
        let fetched = &resource.fetched;
        let since_start = |time: Time| (time - start).as_nanos();
        self.page.push(page);
        self.resource.push(fetched.resource);
        self.parent.push(fetched.parent);
        self.kind.push(fetched.kind.name());
        self.version.push(fetched.version.name());
        self.connection.push(resource.connection);
        self.bytes.push(fetched.bytes);
        self.known_ns.push(since_start(fetched.known));
        self.requested_ns.push(since_start(fetched.requested));
        self.complete_ns.push(since_start(resource.complete));
        self.on_path.push(resource.is_on_path);
        push_parts(&mut self.parts, &resource.parts);
    }
}

impl TimelineTable {
    pub(super) fn push(&mut self, row: u64, event: &TimelineEvent) {
        self.row.push(row);
        self.connection.push(event.connection);
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
