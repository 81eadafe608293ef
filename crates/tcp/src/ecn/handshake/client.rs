//! The client's part of the handshake: the SYN/ACK received.

use crate::congestion::CongestionControl;
use crate::core::{Core, Status};
use crate::ecn::Feedback::{Accurate, Classic};
use crate::ecn::negotiation::{ARRIVED_MARKED, arrival_code};
use crate::ecn::{AWAITS_SECOND_SYN_ACK, PacketKind};
use crate::{EcnPolicy, Flags, Profile, Segment};

impl Core {
    /// Handle the server's SYN/ACK. Returns true if the connection is open.
    pub(crate) fn on_syn_ack(
        &mut self,
        flags: Flags,
        control: &mut impl CongestionControl,
        mss: u32,
        profile: &Profile,
    ) -> bool {
        let policy = profile.ecn;
        if policy == EcnPolicy::Off {
            return true;
        }
        let grant = flags.ace();
        let feedback = policy.negotiation().client_accepts[usize::from(grant)];
        self.status.clear(Status::ECHO);
        self.negotiate_ecn(feedback);
        // After a SYN without a request, the client sends no ECT (RFC 3168 §6.1.1). RFC 9768 §3.1.5 permits it to
        // an accurate client.
        if feedback == Classic && self.ecn_fallback_active(profile) {
            self.status.clear(Status::ECT);
        }
        // ECN++, section 3.2.1: the SYN was marked, or the server cannot report whether it was.
        let may_be_marked = feedback != Accurate || grant == ARRIVED_MARKED;
        if policy.is_accurate() && policy.permits_ect(PacketKind::Syn) && self.timeouts == 0 && may_be_marked
        {
            control.on_idle(mss);
        }
        let marked = flags.contains(Flags::CE);
        match feedback {
            Accurate => {
                self.ecn.handshake = arrival_code(flags);
                self.ecn.received += u8::from(marked);
            }
            Classic if marked => {
                self.status.set(Status::ECHO);
                // RFC 5562 §3.1: the client waits for a SYN/ACK that is not ECN-capable.
                if policy == EcnPolicy::TryOnce {
                    self.ecn.flags |= AWAITS_SECOND_SYN_ACK;
                    return false;
                }
            }
            _ => {}
        }
        true
    }

    /// Handle a retransmitted SYN/ACK of an open connection: its acknowledgement reports the codepoint (RFC 9768
    /// §3.2.2.1).
    pub(crate) fn on_syn_ack_retransmit(&mut self, flags: Flags) {
        if self.ecn.is_accurate() && flags.contains(Flags::ACK) {
            self.ecn.handshake = arrival_code(flags);
        }
    }

    /// True if this segment shows that the server is open, although the client waited for another SYN/ACK.
    pub(crate) fn peer_proceeded<O>(&self, segment: &Segment<O>) -> bool {
        self.ecn.has(AWAITS_SECOND_SYN_ACK) && segment.ack == self.snd_max
    }
}
