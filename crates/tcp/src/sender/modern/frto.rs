//! F-RTO (RFC 5682): whether a timeout was right, from the two acknowledgements that follow it.
//!
//! The first segment is sent again and nothing else. If that is acknowledged but not everything, up to two new segments
//! leave in place of repairs. Should the next acknowledgement tell of data that were sent once, before the timeout, they
//! were late and not lost: the timeout is taken back. §2.1 without SACK, §3.1 with it.
//!
//! With timestamps the Eifel algorithm (RFC 3522) knows at the first acknowledgement which copy it answers, either way.
//! Where it says so its word is taken, and F-RTO goes on only without it.
//!
//! Differs from §2.1 step 1: without SACK, too, it does not begin in a fast recovery, as §3.1 has it, so that what is taken
//! back is the timeout alone. From §3.1 step 3b: data that were ever sent again prove nothing, since a loss probe may have
//! been what arrived. From step 3a: the window is not set to three segments; without SACK too, the segment that a duplicate
//! tells of is out of the network, so that the next repair leaves for it.

use super::acknowledge::AckInfo;
use super::recovery::SpuriousRetransmission;
use super::{Modern, Phase};
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::options::Options;
use crate::{Profile, Segment, Seq};

/// Where the algorithm stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frto {
    /// Not at work: recovery is the conventional one.
    Idle,
    /// Step 2 awaits the acknowledgement of the segment sent again, all of it, before `end`.
    Repeated { end: Seq },
    /// Step 3 awaits the one after that, with so many new segments still to send.
    Probing { recovery_point: Seq, new_segments: u8 },
}

/// What step 2b sends at most.
const NEW_SEGMENTS: u8 = 2;

impl Frto {
    /// How many new segments may leave, and no repairs; `None`: it has no say.
    pub(super) fn allows(self) -> Option<u8> {
        match self {
            Frto::Idle => None,
            Frto::Repeated { .. } => Some(0),
            Frto::Probing { new_segments, .. } => Some(new_segments),
        }
    }

    /// A new segment leaves.
    pub(super) fn note_new(&mut self) {
        if let Frto::Probing { new_segments, .. } = self {
            *new_segments = new_segments.saturating_sub(1);
        }
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Step 1: a timeout has expired, and its first segment is about to be sent again. When it expires once more before
    /// anything is acknowledged, this is that step again; in any other recovery the algorithm does not begin.
    pub(super) fn begin_frto(&self, profile: &Profile) -> Frto {
        let begins = self.phase.is_open() || matches!(self.phase.frto(), Frto::Repeated { .. });
        if profile.frto && begins && !self.board.is_empty() {
            Frto::Repeated { end: self.board.record(0).end }
        } else {
            Frto::Idle
        }
    }

    /// Steps 2 and 3, once `snd_una` includes `segment`: advance the state machine, and return evidence of a spurious
    /// timeout.
    pub(super) fn advance_frto(
        &mut self,
        core: &Core,
        segment: &Segment<Options>,
        info: &AckInfo,
    ) -> Option<SpuriousRetransmission> {
        let Phase::Loss { frto, .. } = self.phase else { return None };
        let sack = self.negotiated.sack;
        let next = match frto {
            Frto::Idle => return None,
            Frto::Repeated { end } if info.advances => {
                // An acknowledgement of everything ends the recovery in any case.
                let can_send = self.new_data(core).is_some_and(|(len, _)| self.peer_permits(core, len));
                if end <= core.snd_una && can_send {
                    Frto::Probing { recovery_point: core.snd_max, new_segments: NEW_SEGMENTS }
                } else {
                    Frto::Idle
                }
            }
            // §2.1 step 2a; with SACK it waits on.
            Frto::Repeated { .. } if info.repeats && !sack => Frto::Idle,
            Frto::Repeated { .. } => frto,
            Frto::Probing { recovery_point, .. } => {
                let tells_of_new = sack
                    && (recovery_point < core.snd_una
                        || segment.options.sack().any(|(_, to)| recovery_point < to));
                if !tells_of_new && info.acks_unretransmitted() {
                    return Some(SpuriousRetransmission);
                }
                let says_something = info.advances || info.selects || segment.span() == 0;
                if says_something { Frto::Idle } else { frto }
            }
        };
        self.phase.set_frto(next);
        None
    }
}
