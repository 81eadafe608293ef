//! The recorder of exchanges: their counts and rows, with an account for the web users and one for each source.

use aqmlab_units::Time;

use super::flow_recorder::FlowRecorder;
use crate::packet::{EndpointId, Owner};
use crate::record::{ExchangeRow, ResponseTimes, Tables};
use crate::spec::Spec;

/// The accounts so far.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Exchanges that end at or before this time are not counted.
    window_start: Time,
    /// A row for each exchange?
    exchanges: bool,
    /// There are web users: the run's exchanges are theirs.
    has_users: bool,
    /// By owner.
    accounts: Vec<OwnerTotals>,
    /// Segments that hosts sent again in the measured window.
    pub(super) repeats: u64,
    pub(super) tables: Tables,
    /// The recorder of flows, if any are recorded.
    pub(super) flows: Option<Box<FlowRecorder>>,
    /// Flows are recorded after each change.
    pub(super) follows_changes: bool,
}

/// The totals of one owner's exchanges in the measured window.
#[derive(Debug)]
pub(super) struct OwnerTotals {
    pub(super) completed: u64,
    pub(super) aborted: u64,
    pub(super) times: ResponseTimes,
}

impl Recorder {
    pub(super) fn new(spec: &Spec, flows: Option<Box<FlowRecorder>>) -> Recorder {
        let account = || OwnerTotals { completed: 0, aborted: 0, times: ResponseTimes::new() };
        Recorder {
            window_start: Time::ZERO + spec.protocol.warmup,
            exchanges: spec.record.exchanges,
            has_users: spec.users.per_side > 0,
            accounts: (0..=spec.sources.len()).map(|_| account()).collect(),
            repeats: 0,
            tables: Tables::default(),
            follows_changes: flows.as_ref().is_some_and(|flows| flows.follows_changes()),
            flows,
        }
    }

    /// Does what ends now count?
    pub(super) fn counts(&self, now: Time) -> bool {
        now > self.window_start
    }

    /// A segment of `end` with `bytes` of data is sent again at `now`.
    #[cold]
    pub(super) fn repeated(&mut self, end: EndpointId, bytes: u32, now: Time) {
        self.repeats += u64::from(self.counts(now));
        if let Some(flows) = &mut self.flows {
            flows.retransmitted(end, bytes);
        }
    }

    /// An exchange of `owner` is complete, and counts.
    pub(super) fn completed(&mut self, owner: Owner, row: &ExchangeRow<'_>) {
        let account = &mut self.accounts[owner.index()];
        account.completed += 1;
        account.times.record(row.exchange);
        if self.exchanges {
            self.tables.exchanges.push(row, owner);
        }
    }

    /// An exchange of `owner` ended at `now` without its response.
    pub(super) fn aborted(&mut self, owner: Owner, now: Time) {
        self.accounts[owner.index()].aborted += u64::from(self.counts(now));
    }

    pub(super) fn account(&self, owner: Owner) -> &OwnerTotals {
        &self.accounts[owner.index()]
    }

    /// Returns the totals of the run: of the web users, or without any of all sources.
    pub(super) fn total(&self) -> OwnerTotals {
        let (users, sources) = self.accounts.split_at(1);
        let whose = if self.has_users { users } else { sources };
        OwnerTotals {
            completed: whose.iter().map(|account| account.completed).sum(),
            aborted: whose.iter().map(|account| account.aborted).sum(),
            times: ResponseTimes::together(whose.iter().map(|account| &account.times)),
        }
    }
}
