//! DCTCP's feedback (RFC 8257 §3.2): each acknowledgement says whether what it acknowledges came marked.

use crate::core::{Core, Status};
use crate::{Flags, Profile, Segment};

impl Core {
    /// A change is told at once; what was held back is told with it.
    pub(super) fn echo_changes<O>(&mut self, segment: &Segment<O>, profile: &Profile) {
        self.stop_echo_at_cwr(segment, profile);
        if segment.span() > 0 && segment.flags.contains(Flags::CE) != self.status.any(Status::ECHO) {
            self.status.flip(Status::ECHO);
            self.status.set(Status::ACK_DUE);
        }
    }
}
