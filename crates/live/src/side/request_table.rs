//! The requests in flight. As in the simulator their bytes have no content: browsers pass it to servers by this table.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aqmlab_sim::StackId;
use aqmlab_workload::Exchange;

use crate::packet::addresses::BrowserEnd;

/// The content of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingRequest {
    pub(crate) exchange: Exchange,
    /// The stack of the server.
    pub(crate) stack: StackId,
}

/// The request in flight of each connection, from its write to its arrival.
#[derive(Debug, Default)]
pub(crate) struct RequestTable {
    requests: Mutex<HashMap<BrowserEnd, PendingRequest>>,
}

impl RequestTable {
    /// Adds a request that a browser is about to write.
    pub(crate) fn insert(&self, browser: BrowserEnd, request: PendingRequest) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).insert(browser, request);
    }

    /// Removes and returns the request whose first bytes have arrived at a server.
    pub(crate) fn take(&self, browser: BrowserEnd) -> Option<PendingRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).remove(&browser)
    }
}
