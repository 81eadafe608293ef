//! Negotiation of ECN in the handshake, and marks on the SYN and SYN/ACK: the part of both ends; `client` and `server`
//! have theirs.
//!
//! RFC 3168 §6.1.1; Kuzmanovic 2005 and RFC 5562 for marked SYN/ACKs; RFC 9768 §3.1 and §3.2.2.1. A retransmitted
//! SYN/ACK has no option of RFC 9768 (§3.2.3.2.2), which the modern sender ensures. Left out: a second
//! retransmission without ECN.

mod client;
mod server;

use super::Feedback::{Accurate, Classic, Dctcp};
use super::negotiation::GRANTS_CLASSIC;
use super::{Feedback, PacketKind};
use crate::congestion::CongestionControl;
use crate::core::{Core, Status};
use crate::{EcnPolicy, Flags, Profile, Seq};

/// Initial value of both counters of marks (RFC 9768 §3.2.1).
const FIRST_COUNT: u8 = 5;

impl Core {
    fn negotiate_ecn(&mut self, feedback: Feedback) {
        self.ecn.feedback = feedback;
        (self.ecn.received, self.ecn.reported) = (FIRST_COUNT, FIRST_COUNT);
        match feedback {
            Feedback::None => {}
            // Every segment carries the count.
            Accurate => self.status.set(Status::ECT | Status::ECHO),
            Classic | Dctcp => self.status.set(Status::ECT),
        }
    }

    /// True if SYNs no longer request ECN: from the first retransmission on (RFC 3168 §6.1.1.1, if the profile
    /// does so), or from the second on with accurate feedback (RFC 9768 §3.1.4.1).
    fn ecn_fallback_active(&self, profile: &Profile) -> bool {
        profile.ecn_fallback && self.timeouts > u8::from(profile.ecn.is_accurate())
    }

    /// Return the ECN flags of a SYN or SYN/ACK.
    pub(crate) fn handshake_flags(&self, control: &impl CongestionControl, profile: &Profile) -> Flags {
        let policy = profile.ecn;
        if policy == EcnPolicy::Off {
            return Flags::NONE;
        }
        let (ace, kind, is_negotiated) = if self.is_responder() {
            let grant = match self.ecn.feedback {
                Feedback::None => 0,
                Classic | Dctcp => GRANTS_CLASSIC,
                Accurate => self.ecn.handshake,
            };
            (grant, PacketKind::SynAck, self.status.any(Status::ECT))
        } else {
            let request = if self.ecn_fallback_active(profile) { 0 } else { policy.negotiation().request };
            (request, PacketKind::Syn, true)
        };
        let is_retransmission = self.snd_max != Seq::ZERO;
        let is_capable = ace != 0
            && is_negotiated
            && policy.permits_ect(kind)
            && (!is_retransmission || policy.permits_ect_on_retransmit());
        let ect = if is_capable { self.ect(control) } else { Flags::NONE };
        Flags::with_ace(ace) | ect
    }
}
