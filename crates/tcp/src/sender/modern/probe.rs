//! Tail loss probes (RFC 8985 §7): when acknowledgements stay away, one segment asks for another.

use aqmlab_units::{Duration, Time};

use super::Modern;
use super::acknowledge::AckInfo;
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::options::Options;
use crate::timer::Timer;
use crate::{Profile, Segment, Seq};

/// What a receiver may hold back the acknowledgement of a single segment: §7.2 leaves it open, Linux takes its least
/// retransmission timeout.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// The wait before there is a round trip to go by (§7.2).
const INITIAL_PTO: Duration = Duration::from_secs(1);

/// RFC 8985 §7.1's variables.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) timer: Timer,
    /// The timer has expired: send one now.
    pub(super) is_due: bool,
    /// One past the last byte in flight when the probe was sent that is unanswered.
    pub(super) end: Option<Seq>,
    /// It repeated a segment.
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
    /// No probe is due or awaits an answer.
    pub(super) fn stop(&mut self) {
        self.timer = Timer::OFF;
        self.is_due = false;
        self.end = None;
    }

    /// A probe leaves, the last byte sent being before `end`.
    pub(super) fn note_sent(&mut self, end: Seq, is_retransmission: bool) {
        self.is_due = false;
        self.end = Some(end);
        self.is_retransmission = is_retransmission;
        self.has_sample = false;
    }
}

impl<C: CongestionControl> Modern<C> {
    /// §7.2: with each new segment and each acknowledgement of new data the timer starts anew, unless other means are at
    /// work: in a recovery, while something is selectively acknowledged, while a probe is unanswered.
    pub(super) fn schedule_probe(&mut self, core: &Core, now: Time, profile: &Profile, anew: bool) {
        let others_at_work = !self.phase.is_open() || self.board.sacked() > 0;
        if !profile.rack || !self.negotiated.sack || others_at_work || self.probe.end.is_some() {
            self.probe.timer = Timer::OFF;
        } else if anew && self.probe.has_sample {
            let deadline = (now + self.probe_timeout(core)).min(core.retransmit_timer.deadline());
            self.probe.timer = Timer::at(deadline);
        }
    }

    /// §7.2, `TLP_calc_PTO`.
    fn probe_timeout(&self, core: &Core) -> Duration {
        let lone = self.board.len() == 1;
        match core.rtt.srtt() {
            Some(srtt) if lone => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2,
            None => INITIAL_PTO,
        }
    }

    /// §7.3: the probe leaves next, and the retransmission timer starts anew.
    pub(super) fn send_probe(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        self.probe.timer = Timer::OFF;
        if core.snd_una < core.snd_max {
            self.probe.is_due = true;
            self.note_repairs(core);
            core.arm_retransmit_timer(now, profile);
        }
    }

    /// §7.4.2: an acknowledgement beyond a probe that repeated a segment tells of a loss that the probe has repaired,
    /// unless the peer says that it got that segment twice.
    pub(super) fn settle_probe(&mut self, core: &mut Core, segment: &Segment<Options>, info: &AckInfo) {
        let Some(end) = self.probe.end.filter(|&end| end <= segment.ack) else { return };
        let repeat = self.probe.is_retransmission;
        let reported =
            info.duplicate && segment.options.duplicate(segment.ack).is_some_and(|(_, to)| to == end);
        if repeat && !reported && end < segment.ack {
            self.reduce_for_repaired_loss(core);
        } else if repeat && !reported && !info.repeats {
            // It may still turn out which copy has arrived.
            return;
        }
        self.probe.end = None;
    }
}
