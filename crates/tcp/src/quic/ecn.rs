//! ECN of a connection: codepoints, and validation of the path (RFC 9000 §13.4, Appendix A.4).
//!
//! Packets with the 1-RTT keys are ECN-capable; those of the handshake are not.

use crate::congestion::{CongestionControl, Marks};
use crate::{EcnPolicy, Flags, Profile};

/// Packets that test the path (Appendix A.4).
const TESTED: u32 = 10;

/// The state of validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Testing,
    /// Enough packets were sent, and none is acknowledged yet.
    Unknown,
    Capable,
    Failed,
}

/// Validation of the path for ECN.
#[derive(Debug)]
pub(super) struct Validation {
    state: State,
    sent: u32,
    /// The last counts of ECT(0), ECT(1) and CE.
    counts: [u32; 3],
}

impl Validation {
    pub(super) fn new(profile: &Profile) -> Validation {
        let state = if profile.ecn == EcnPolicy::Off { State::Failed } else { State::Testing };
        Validation { state, sent: 0, counts: [0; 3] }
    }

    /// True if the peer reports counts that are right.
    pub(super) fn is_capable(&self) -> bool {
        self.state == State::Capable
    }

    /// Return the codepoint of the next packet.
    pub(super) fn codepoint(&mut self, control: &impl CongestionControl) -> Flags {
        if !matches!(self.state, State::Testing | State::Capable) {
            return Flags::NONE;
        }
        self.sent += 1;
        if self.state == State::Testing && self.sent == TESTED {
            self.state = State::Unknown;
        }
        if control.marks() == Marks::L4s { Flags::ECT1 } else { Flags::ECT }
    }

    /// Handle the counts of an acknowledgement that is the newest and covers `newly_acked` ECN-capable packets (§13.4.2.1).
    /// Return the packets newly marked.
    pub(super) fn on_ack(
        &mut self,
        counts: Option<[u32; 3]>,
        newly_acked: u32,
        control: &impl CongestionControl,
    ) -> u32 {
        if self.state == State::Failed || (newly_acked == 0 && counts.is_none()) {
            return 0;
        }
        let Some(counts) = counts else {
            self.state = State::Failed;
            return 0;
        };
        let grown: [u32; 3] = std::array::from_fn(|index| counts[index].saturating_sub(self.counts[index]));
        let (used, other) = if control.marks() == Marks::L4s { (1, 0) } else { (0, 1) };
        let total = counts[used] + counts[2];
        if grown[used] + grown[2] < newly_acked || total > self.sent || counts[other] > 0 {
            self.state = State::Failed;
            return 0;
        }
        if newly_acked > 0 {
            self.state = State::Capable;
        }
        self.counts = counts;
        grown[2]
    }

    /// All packets so far are lost (Appendix A.4).
    pub(super) fn on_all_lost(&mut self) {
        if matches!(self.state, State::Testing | State::Unknown) {
            self.state = State::Failed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Reno;

    fn after(packets: u32) -> (Validation, Reno) {
        let profile = Profile { ecn: EcnPolicy::Rfc3168, ..Profile::quic() };
        let control = Reno::new(&profile);
        let mut validation = Validation::new(&profile);
        for _ in 0..packets {
            assert_eq!(validation.codepoint(&control), Flags::ECT);
        }
        (validation, control)
    }

    #[test]
    fn right_counts_validate_the_path_and_report_marks() {
        let (mut validation, control) = after(TESTED);
        assert_eq!(validation.codepoint(&control), Flags::NONE, "ten packets test the path");
        assert_eq!(validation.on_ack(Some([3, 0, 1]), 4, &control), 1);
        assert_eq!(validation.codepoint(&control), Flags::ECT);
        assert_eq!(validation.on_ack(Some([4, 0, 3]), 3, &control), 2);
    }

    #[test]
    fn a_path_that_bleaches_or_remarks_fails() {
        for counts in [None, Some([1, 0, 0]), Some([2, 1, 0]), Some([9, 0, 0])] {
            let (mut validation, control) = after(4);
            assert_eq!(validation.on_ack(counts, 2, &control), 0);
            assert_eq!(validation.codepoint(&control), Flags::NONE, "{counts:?}");
        }
    }
}
