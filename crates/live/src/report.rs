//! The report of a side, or of the sources, at the end of a run.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::network::counters;

/// The report of a side, or of the sources.
#[derive(Debug)]
pub(crate) struct SideReport {
    /// The lateness of wake-ups of users or sources, in microseconds.
    pub(crate) wake_lateness_us: Histogram<u64>,
    /// The number of failed connections by error.
    pub(crate) errors: BTreeMap<String, u64>,
    /// The number of connection ends by congestion control, as the kernel reports it.
    pub(crate) congestion: BTreeMap<String, u64>,
    /// Packets that the interface or a datagram socket dropped for lack of room.
    pub(crate) lost: u64,
    /// The kernel's TCP counters by name.
    pub(crate) tcp: BTreeMap<&'static str, u64>,
    /// The retransmissions of the side's hosts before the measurement window.
    pub(crate) retransmissions_before: u64,
    /// The exit code of the side's program, if it has ended.
    pub(crate) exit_code: Option<u8>,
}

impl SideReport {
    /// Returns the retransmissions of the side's hosts in the measurement window.
    pub(crate) fn retransmissions(&self) -> u64 {
        self.tcp.get(counters::RETRANSMISSIONS).map_or(0, |all| all - self.retransmissions_before)
    }
}
