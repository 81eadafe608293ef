//! The table of requests: as in the simulator their bytes have no content, so that browsers write it here.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aqmlab_sim::StackId;
use aqmlab_workload::Exchange;

use crate::packet::addresses::BrowserEnd;

/// The content of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingRequest {
    pub(crate) exchange: Exchange,
    /// The stack of its server.
    pub(crate) stack: StackId,
}

/// The request under way on each connection, between its write and its arrival.
#[derive(Debug, Default)]
pub(crate) struct RequestTable {
    requests: Mutex<HashMap<BrowserEnd, PendingRequest>>,
}

impl RequestTable {
    /// A browser is about to write a request.
    pub(crate) fn ask(&self, browser: BrowserEnd, asked: PendingRequest) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).insert(browser, asked);
    }

    /// A server sees the first of a request.
    pub(crate) fn asked_for(&self, browser: BrowserEnd) -> Option<PendingRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).remove(&browser)
    }
}
