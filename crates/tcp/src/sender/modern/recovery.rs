//! Loss recovery: detection of losses, start and end of recoveries, and undo of spurious ones.

use aqmlab_units::{Duration, Time};

use super::acknowledge::AckInfo;
use super::{FirstRetransmission, Frto, Modern, Phase, TIMEOUT_MARGIN};
use crate::Profile;
use crate::congestion::CongestionControl;
use crate::core::{Core, increment};
use crate::options::is_earlier;
use crate::recovery::{DUP_THRESH, Progress, Prr};
use crate::timer::Timer;

/// Detection of losses.
impl<C: CongestionControl> Modern<C> {
    /// Find segments that this acknowledgement shows to be lost. Returns true if there are any.
    pub(super) fn detect_losses(
        &mut self,
        core: &Core,
        info: &AckInfo,
        now: Time,
        profile: &Profile,
    ) -> bool {
        if !self.negotiated.sack {
            return self.detect_loss_by_duplicates(core, info, profile);
        }
        if profile.rack {
            return self.detect_losses_by_time(core, now);
        }
        info.has_new_sack && self.board.lose_by_threshold()
    }

    /// Find the loss that duplicates indicate: the first segment at the third one (RFC 5681 §3.2), the next
    /// segment at a partial acknowledgement (RFC 6582 §3.2). As in the classic endpoint, an acknowledgement of
    /// exactly `recover` counts.
    fn detect_loss_by_duplicates(&mut self, core: &Core, info: &AckInfo, profile: &Profile) -> bool {
        let lost = match self.phase {
            Phase::Open => {
                info.is_duplicate_ack
                    && usize::from(core.dup_acks) == DUP_THRESH
                    && core.recover <= core.snd_una
            }
            Phase::Recovery { .. } => info.is_new_ack && profile.newreno && core.snd_una < core.recover,
            // Duplicates after a timeout stem from retransmissions (RFC 6582 §3.2 step 4).
            Phase::Loss { .. } => false,
        };
        lost && self.board.lose_first()
    }

    /// RFC 8985 §6.2 step 5.
    #[inline]
    fn detect_losses_by_time(&mut self, core: &Core, now: Time) -> bool {
        let srtt = core.rtt.srtt().unwrap_or(Duration::ZERO);
        let (is_lost, next_check) = self.rack.detect(&mut self.board, !self.phase.is_open(), srtt, now);
        self.reorder_timer = next_check.map_or(Timer::OFF, |due| Timer::at(due + TIMEOUT_MARGIN));
        is_lost
    }

    /// Handle the reordering timer (RFC 8985 §6.2 step 5).
    pub(super) fn on_reordering_timer(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        let undelivered = self.undelivered(core);
        if self.detect_losses_by_time(core, now) && self.phase.is_open() {
            self.enter_recovery(core, undelivered, now, profile);
            self.update_prr(&AckInfo::default(), true);
        }
    }

    /// Bytes in flight that are not known to have arrived.
    pub(super) fn undelivered(&self, core: &Core) -> u32 {
        let flight = core.in_flight();
        flight - self.board.known_delivered().min(flight)
    }
}

/// Start and end of recoveries.
impl<C: CongestionControl> Modern<C> {
    /// Start, continue or end a recovery.
    pub(super) fn next_phase(
        &mut self,
        core: &mut Core,
        info: &AckInfo,
        lost: bool,
        now: Time,
        profile: &Profile,
    ) {
        if !self.phase.is_open() && self.has_recovered(core, info, profile) {
            self.leave_recovery(core);
        }
        if self.phase.is_open() && self.board.has_lost() {
            self.enter_recovery(core, info.undelivered, now, profile);
        }
        if self.phase.is_recovery() {
            self.update_prr(info, lost);
        }
    }

    /// True if all data in flight at its start are acknowledged (RFC 6675 §5, RFC 6582 §3.2). Reno without SACK
    /// ends at the first new acknowledgement (RFC 2581 §3.2).
    fn has_recovered(&self, core: &Core, info: &AckInfo, profile: &Profile) -> bool {
        let is_reno = !profile.newreno && !self.negotiated.sack && self.phase.is_recovery();
        info.is_new_ack && (core.recover <= core.snd_una || is_reno)
    }

    fn enter_recovery(&mut self, core: &mut Core, undelivered: u32, now: Time, profile: &Profile) {
        self.reduce_for_loss(core);
        core.recover = core.snd_max;
        self.enter_phase(core, Phase::Recovery { prr: Prr::new(undelivered), rescue_sent: false });
        self.first_retransmission = FirstRetransmission::Awaited;
        self.probe.end = None;
        core.arm_retransmit_timer(now, profile);
    }

    fn leave_recovery(&mut self, core: &mut Core) {
        if self.phase.is_recovery() {
            let mss = self.segment_size();
            self.classic.congestion.on_recovered(self.board.pipe(), mss);
        }
        self.board.clear_presumed();
        self.rack.on_recovered();
        core.dup_acks = 0;
        self.enter_phase(core, Phase::Open);
    }

    /// Update the window of fast recovery (RFC 9937 §6.2).
    fn update_prr(&mut self, info: &AckInfo, lost: bool) {
        let progress = Progress {
            delivered: info.delivered,
            pipe: self.board.pipe(),
            ssthresh: self.classic.congestion.ssthresh(),
            mss: self.segment_size(),
            safe: info.is_new_ack && !lost,
        };
        if let Phase::Recovery { prr, .. } = &mut self.phase {
            prr.on_ack(progress);
        }
    }

    fn reduce_for_loss(&mut self, core: &mut Core) {
        let mss = self.segment_size();
        let window = core.window_before_loss(&self.classic.congestion, self.send_window(core));
        self.classic.congestion.on_fast_retransmit(window, mss);
        core.note_reduction();
        increment(&mut core.recovery.fast_retransmits);
    }

    /// Reduce the window for a loss that only the loss probe has shown, and repaired (RFC 8985 §7.4.2).
    pub(super) fn reduce_for_repaired_loss(&mut self, core: &mut Core) {
        self.reduce_for_loss(core);
        let mss = self.segment_size();
        self.classic.congestion.on_recovered(self.board.pipe(), mss);
    }

    /// Handle a timeout (RFC 6298 §5.4-5.6): one segment, and slow start over the lost data. Those are all (RFC
    /// 6675 §5.1), or those that RACK finds (RFC 8985 §6.3).
    pub(super) fn enter_loss(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        // The threshold stays when the timer expires again for the same data (RFC 5681 §3.1).
        let is_repeated = matches!(self.phase, Phase::Loss { start, .. } if start == core.snd_una);
        if !is_repeated {
            let window = self.send_window(core);
            let mss = self.segment_size();
            self.classic.congestion.on_timeout(window, mss);
            core.note_reduction();
            self.first_retransmission = FirstRetransmission::Awaited;
        }
        let frto = self.begin_frto(profile);
        self.enter_phase(core, Phase::Loss { start: core.snd_una, retransmit_first: true, frto });
        self.board.clear_presumed();
        if profile.rack && self.negotiated.sack {
            let srtt = core.rtt.srtt().unwrap_or(Duration::ZERO);
            self.rack.on_timeout(&mut self.board, srtt, now);
        } else {
            self.board.lose_where(usize::MAX, |_| true);
        }
        self.probe.stop();
        self.reorder_timer = Timer::OFF;
        core.recover = core.snd_max;
        core.dup_acks = 0;
    }
}

/// Evidence of a spurious retransmission, the argument of [`Modern::undo`].
#[must_use]
pub(super) struct SpuriousRetransmission;

/// Spurious retransmissions.
impl<C: CongestionControl> Modern<C> {
    /// The Eifel algorithm (RFC 3522 §3.2). If the first acknowledgement of new data in a recovery echoes a
    /// timestamp from before the first retransmission, the original has arrived and nothing was lost. An echo of
    /// the retransmission proves a loss and stops F-RTO. One comparison covers timeouts and fast retransmits;
    /// without timestamps, F-RTO judges timeouts only.
    pub(super) fn advance_eifel(&mut self, info: &AckInfo) -> Option<SpuriousRetransmission> {
        let FirstRetransmission::SentAt(retransmitted_at) = self.first_retransmission else { return None };
        if !info.is_new_ack {
            return None;
        }
        self.first_retransmission = FirstRetransmission::Settled;
        let echo = info.echo.filter(|_| !self.phase.is_open())?;
        if is_earlier(echo, retransmitted_at) {
            return Some(SpuriousRetransmission);
        }
        // The echo belongs to the retransmission: the loss was real, and F-RTO is not needed.
        self.phase.set_frto(Frto::Idle);
        None
    }

    /// Undo a spurious loss or timeout (RFC 4015): restore the window, and send no more retransmissions. Further
    /// losses may start fast retransmit (RFC 5682 §2.1 step 3b).
    pub(super) fn undo(&mut self, core: &mut Core, _: SpuriousRetransmission) {
        self.board.restore_all();
        self.leave_recovery(core);
        core.recover = core.snd_una;
        self.classic.congestion.on_spurious();
    }
}
