//! Losses: how they are found, what they begin, what ends it, and what takes it back.

use aqmlab_units::{Duration, Time};

use super::acknowledge::AckInfo;
use super::{FirstRetransmission, Frto, Modern, Phase};
use crate::Profile;
use crate::congestion::CongestionControl;
use crate::core::{Core, count};
use crate::options::is_earlier;
use crate::recovery::{DUP_THRESH, Progress, Prr};
use crate::timer::Timer;

/// How losses are found.
impl<C: CongestionControl> Modern<C> {
    /// Look for segments that this acknowledgement shows to be lost. Whether there are any.
    pub(super) fn find_losses(&mut self, core: &Core, info: &AckInfo, now: Time, profile: &Profile) -> bool {
        if !self.negotiated.sack {
            return self.find_loss_by_duplicates(core, info, profile);
        }
        if profile.rack {
            return self.find_losses_by_time(core, now);
        }
        info.selects && self.board.lose_by_threshold()
    }

    /// RFC 5681 §3.2 and RFC 6582 §3.2: the third duplicate tells that the first segment is lost, and a partial
    /// acknowledgement that the next is. As in the classic endpoint an acknowledgement of exactly `recover` counts.
    fn find_loss_by_duplicates(&mut self, core: &Core, info: &AckInfo, profile: &Profile) -> bool {
        let lost = match self.phase {
            Phase::Open => {
                info.repeats && usize::from(core.dup_acks) == DUP_THRESH && core.recover <= core.snd_una
            }
            Phase::Recovery { .. } => info.advances && profile.newreno && core.snd_una < core.recover,
            Phase::Loss { .. } => false,
        };
        lost && self.board.lose_first()
    }

    /// RFC 8985 §6.2 step 5.
    #[inline]
    fn find_losses_by_time(&mut self, core: &Core, now: Time) -> bool {
        let srtt = core.rtt.srtt().unwrap_or(Duration::ZERO);
        let (found, again) = self.rack.detect(&mut self.board, !self.phase.is_open(), srtt, now);
        self.reorder_timer = again.map_or(Timer::OFF, Timer::at);
        found
    }

    /// The reordering timer has expired (RFC 8985 §6.2 step 5).
    pub(super) fn on_reordering_timer(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        let undelivered = self.undelivered(core);
        if self.find_losses_by_time(core, now) && self.phase.is_open() {
            self.enter_recovery(core, undelivered, now, profile);
            self.reduce(&AckInfo::default(), true);
        }
    }

    /// Bytes in flight that are not known to have arrived.
    pub(super) fn undelivered(&self, core: &Core) -> u32 {
        let flight = core.in_flight();
        flight - self.board.known_delivered().min(flight)
    }
}

/// What they begin, and what ends it.
impl<C: CongestionControl> Modern<C> {
    /// Begin, continue or end a recovery.
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
            self.reduce(info, lost);
        }
    }

    /// All that was in flight when it began is acknowledged (RFC 6675 §5, RFC 6582 §3.2); Reno without SACK does not wait
    /// so long (RFC 2581 §3.2).
    fn has_recovered(&self, core: &Core, info: &AckInfo, profile: &Profile) -> bool {
        let reno = !profile.newreno && !self.negotiated.sack && self.phase.is_recovery();
        info.advances && (core.recover <= core.snd_una || reno)
    }

    fn enter_recovery(&mut self, core: &mut Core, undelivered: u32, now: Time, profile: &Profile) {
        self.reduce_for_loss(core);
        core.recover = core.snd_max;
        self.enter(core, Phase::Recovery { prr: Prr::new(undelivered), rescued: false });
        self.first_retransmission = FirstRetransmission::Awaited;
        self.probe.end = None;
        core.arm_retransmit_timer(now, profile);
    }

    fn leave_recovery(&mut self, core: &mut Core) {
        if self.phase.is_recovery() {
            let mss = self.segment_size();
            self.classic.congestion.on_recovered(self.board.pipe(), mss);
        }
        self.board.forget_presumed();
        self.rack.on_recovered();
        core.dup_acks = 0;
        self.enter(core, Phase::Open);
    }

    /// RFC 9937 §6.2: in fast recovery the acknowledgement says what may leave.
    fn reduce(&mut self, info: &AckInfo, lost: bool) {
        let progress = Progress {
            delivered: info.delivered,
            pipe: self.board.pipe(),
            ssthresh: self.classic.congestion.ssthresh(),
            mss: self.segment_size(),
            safe: info.advances && !lost,
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
        count(&mut core.recovery.fast_retransmits);
    }

    /// The loss probe has repaired a loss that nothing else has told of: the window is reduced as for any (RFC 8985 §7.4.2).
    pub(super) fn reduce_for_repaired_loss(&mut self, core: &mut Core) {
        self.reduce_for_loss(core);
        let mss = self.segment_size();
        self.classic.congestion.on_recovered(self.board.pipe(), mss);
    }

    /// RFC 6298 §5.4-5.6: one segment, and slow start over what is lost: all (RFC 6675 §5.1), or what RACK says (RFC 8985
    /// §6.3). The threshold stays when the timer expires again for the same data (RFC 5681 §3.1).
    pub(super) fn enter_loss(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        let again = matches!(self.phase, Phase::Loss { at, .. } if at == core.snd_una);
        if !again {
            let window = self.send_window(core);
            let mss = self.segment_size();
            self.classic.congestion.on_timeout(window, mss);
            core.note_reduction();
            self.first_retransmission = FirstRetransmission::Awaited;
        }
        let frto = self.begin_frto(profile);
        self.enter(core, Phase::Loss { at: core.snd_una, retransmit_first: true, frto });
        self.board.forget_presumed();
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

/// Evidence that a retransmission was spurious, which [`Modern::undo`] asks for.
#[must_use]
pub(super) struct SpuriousRetransmission;

/// Spurious retransmissions.
impl<C: CongestionControl> Modern<C> {
    /// The Eifel algorithm (RFC 3522 §3.2): the first acknowledgement of new data in a recovery echoes a timestamp from
    /// before the first retransmission, so the original segment has arrived and nothing was lost. An echo of the
    /// retransmission proves a loss and stops F-RTO. One comparison covers timeouts and fast
    /// retransmits alike; without timestamps F-RTO judges timeouts alone.
    pub(super) fn advance_eifel(&mut self, info: &AckInfo) -> Option<SpuriousRetransmission> {
        let FirstRetransmission::SentAt(repeated) = self.first_retransmission else { return None };
        if !info.advances {
            return None;
        }
        self.first_retransmission = FirstRetransmission::Settled;
        let echo = info.echo.filter(|_| !self.phase.is_open())?;
        if is_earlier(echo, repeated) {
            return Some(SpuriousRetransmission);
        }
        // The echo belongs to the retransmission: the loss was real, and F-RTO has nothing to find out.
        self.phase.set_frto(Frto::Idle);
        None
    }

    /// The response to a loss or timeout that was none (RFC 4015): what it did to the window is undone, and nothing more is
    /// sent again. What is lost now may start fast retransmit (RFC 5682 §2.1 step 3b).
    pub(super) fn undo(&mut self, core: &mut Core, _: SpuriousRetransmission) {
        self.board.restore_all();
        self.leave_recovery(core);
        core.recover = core.snd_una;
        self.classic.congestion.on_spurious();
    }
}
