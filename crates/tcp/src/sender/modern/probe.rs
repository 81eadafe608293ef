//! Tail loss probes (RFC 8985 §7): without acknowledgements, one segment elicits another.

use aqmlab_units::{Duration, Time};

use super::acknowledge::AckInfo;
use super::{Modern, TIMEOUT_MARGIN};
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::options::Options;
use crate::timer::Timer;
use crate::{Profile, Segment, Seq};

/// Maximum delay of the acknowledgement of a single segment. §7.2 leaves it open; Linux uses its minimum
/// retransmission timeout.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// The probe timeout without a round-trip time (§7.2).
const INITIAL_PTO: Duration = Duration::from_secs(1);

/// RFC 8985 §7.1's variables.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) timer: Timer,
    /// The timer has expired: send a probe now.
    pub(super) is_due: bool,
    /// One past the last byte in flight when the unacknowledged probe was sent.
    pub(super) end: Option<Seq>,
    /// The probe is a retransmission.
    is_retransmission: bool,
    /// A round trip was measured since the last probe.
    pub(super) has_sample: bool,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe { timer: Timer::OFF, is_due: false, end: None, is_retransmission: false, has_sample: true }
    }
}

impl Probe {
    /// Cancel the probe: none is due or unacknowledged.
    pub(super) fn stop(&mut self) {
        self.timer = Timer::OFF;
        self.is_due = false;
        self.end = None;
    }

    /// Record that a probe leaves, with `end` as one past the last byte sent.
    pub(super) fn note_sent(&mut self, end: Seq, is_retransmission: bool) {
        self.is_due = false;
        self.end = Some(end);
        self.is_retransmission = is_retransmission;
        self.has_sample = false;
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Restart the probe's timer with each new segment and each new acknowledgement (§7.2). It is off while other
    /// means recover: in a recovery, with selectively acknowledged data, or with an unacknowledged probe.
    pub(super) fn schedule_probe(&mut self, core: &Core, now: Time, profile: &Profile, restart: bool) {
        let is_recovering = !self.phase.is_open() || self.board.sacked_bytes() > 0;
        if !profile.rack || !self.negotiated.sack || is_recovering || self.probe.end.is_some() {
            self.probe.timer = Timer::OFF;
        } else if restart && self.probe.has_sample {
            // §7.2: a probe after the retransmission timeout would be useless.
            let deadline = (now + self.probe_timeout(core)).min(core.retransmit_timer.deadline());
            self.probe.timer = Timer::at(deadline);
        }
    }

    /// §7.2, `TLP_calc_PTO`.
    fn probe_timeout(&self, core: &Core) -> Duration {
        let is_single = self.board.len() == 1;
        match core.rtt.srtt() {
            Some(srtt) if is_single => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2 + TIMEOUT_MARGIN,
            None => INITIAL_PTO,
        }
    }

    /// §7.3: make the probe due, and restart the retransmission timer.
    pub(super) fn send_probe(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        self.probe.timer = Timer::OFF;
        if core.snd_una < core.snd_max {
            self.probe.is_due = true;
            self.update_retransmit_due(core);
            core.arm_retransmit_timer(now, profile);
        }
    }

    /// §7.4.2: handle the acknowledgement of a probe. If the probe was a retransmission, it has repaired a loss,
    /// unless the peer reports that segment as a duplicate.
    pub(super) fn settle_probe(&mut self, core: &mut Core, segment: &Segment<Options>, info: &AckInfo) {
        let Some(end) = self.probe.end.filter(|&end| end <= segment.ack) else { return };
        let is_retransmission = self.probe.is_retransmission;
        let reported =
            info.has_dsack && segment.options.duplicate(segment.ack).is_some_and(|(_, to)| to == end);
        if is_retransmission && !reported && end < segment.ack {
            self.reduce_for_repaired_loss(core);
        } else if is_retransmission && !reported && !info.is_duplicate_ack {
            // A later duplicate may still show that the original has arrived.
            return;
        }
        self.probe.end = None;
    }
}
