//! Public state and counts of a connection.

use std::ops::{Add, Sub};

/// The state of a connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// Recoveries of a connection, which explain response times. Counts stop at 65,535.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// SYN and SYN/ACK retransmissions.
    pub syn_retransmits: u16,
    /// Expirations of the data retransmission timer.
    pub timeouts: u16,
    /// Fast retransmits.
    pub fast_retransmits: u16,
    /// Window reductions in response to ECN echoes.
    pub ecn_reductions: u16,
}

impl Add for RecoveryCounts {
    type Output = RecoveryCounts;
    fn add(self, other: RecoveryCounts) -> RecoveryCounts {
        RecoveryCounts {
            syn_retransmits: self.syn_retransmits + other.syn_retransmits,
            timeouts: self.timeouts + other.timeouts,
            fast_retransmits: self.fast_retransmits + other.fast_retransmits,
            ecn_reductions: self.ecn_reductions + other.ecn_reductions,
        }
    }
}

impl Sub for RecoveryCounts {
    type Output = RecoveryCounts;
    /// Return the counts added since `earlier`.
    fn sub(self, earlier: RecoveryCounts) -> RecoveryCounts {
        RecoveryCounts {
            syn_retransmits: self.syn_retransmits - earlier.syn_retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
            ecn_reductions: self.ecn_reductions - earlier.ecn_reductions,
        }
    }
}
