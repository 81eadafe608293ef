//! What servers are asked for: requests carry no content of their own, as in the simulator, so browsers write it here.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aqmlab_workload::Exchange;

use crate::addresses::BrowserEnd;

/// The exchange under way on each connection, between the write of a request and its arrival.
#[derive(Debug, Default)]
pub(crate) struct Book {
    exchanges: Mutex<HashMap<BrowserEnd, Exchange>>,
}

impl Book {
    /// A browser is about to write a request.
    pub(crate) fn ask(&self, browser: BrowserEnd, exchange: Exchange) {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).insert(browser, exchange);
    }

    /// A server sees the first of a request.
    pub(crate) fn asked_for(&self, browser: BrowserEnd) -> Option<Exchange> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).remove(&browser)
    }
}
