//! The report of a side, or of the sources, at the end.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::network::counters;

/// The report of a side, or of the sources.
#[derive(Debug)]
pub(crate) struct SideReport {
    /// The lateness of wake-ups of users or sources, in microseconds.
    pub(crate) wake_lateness_us: Histogram<u64>,
    /// Connections that broke, by the error.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Ends of connections, by the congestion control that the kernel says they have.
    pub(crate) congestion: BTreeMap<String, u64>,
    /// Packets that the interface or a socket for datagrams had no room for.
    pub(crate) lost: u64,
    /// The kernel's counters of TCP, by their names.
    pub(crate) tcp: BTreeMap<&'static str, u64>,
    /// Segments that its hosts had sent again when the measured window began.
    pub(crate) repeats_before: u64,
    /// The exit code of its program, if that has ended.
    pub(crate) exit_code: Option<u8>,
}

impl SideReport {
    /// Segments that its hosts sent again in the measured window.
    pub(crate) fn repeats(&self) -> u64 {
        self.tcp.get(counters::REPEATS).map_or(0, |all| all - self.repeats_before)
    }
}
