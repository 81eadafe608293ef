//! Classic feedback (RFC 3168 §6.1.3): a mark is echoed until the sender says that it has answered.

use crate::core::{Core, Status};
use crate::{Flags, Profile, Segment};

impl Core {
    /// Whether a mark came while none was echoed, after which some receivers acknowledge at once.
    pub(super) fn echo_until_cwr<O>(&mut self, segment: &Segment<O>, profile: &Profile) -> bool {
        self.stop_echo_at_cwr(segment, profile);
        let begins = segment.flags.contains(Flags::CE) && !self.status.any(Status::ECHO);
        if begins {
            self.status.set(Status::ECHO);
        }
        begins
    }

    /// CWR is heard before CE (RFC 8257 §3.2 too). It comes of a sender that may have room for one segment alone, which
    /// some receivers heed.
    pub(super) fn stop_echo_at_cwr<O>(&mut self, segment: &Segment<O>, profile: &Profile) {
        if segment.flags.contains(Flags::CWR) {
            self.status.clear(Status::ECHO);
            if segment.len > 0 && profile.quick_acks_after_mark > 0 {
                self.status.set(Status::ACK_DUE);
            }
        }
    }
}
