//! Classic feedback (RFC 3168 §6.1.3): the receiver echoes a mark until the sender confirms its response.

use crate::core::{Core, Status};
use crate::{Flags, Profile, Segment};

impl Core {
    /// Start and stop the echo. Returns true if the segment starts it, after which some receivers acknowledge at
    /// once.
    pub(super) fn echo_until_cwr<O>(&mut self, segment: &Segment<O>, profile: &Profile) -> bool {
        self.stop_echo_at_cwr(segment, profile);
        let starts_echo = segment.flags.contains(Flags::CE) && !self.status.any(Status::ECHO);
        if starts_echo {
            self.status.set(Status::ECHO);
        }
        starts_echo
    }

    /// Stop the echo at CWR, before CE of the same segment is read (RFC 8257 §3.2 too).
    pub(super) fn stop_echo_at_cwr<O>(&mut self, segment: &Segment<O>, profile: &Profile) {
        if segment.flags.contains(Flags::CWR) {
            self.status.clear(Status::ECHO);
            // The reduced window may be one segment, which a delayed acknowledgement would hold up; some stacks
            // avoid that.
            if segment.len > 0 && profile.quick_acks_after_mark > 0 {
                self.status.set(Status::ACK_DUE);
            }
        }
    }
}
