//! Losses: how they are found, what they begin, what ends it, and what takes it back.

use aqmlab_units::{Duration, Time};

use super::acknowledge::News;
use super::{FirstRepeat, Frto, ModernStack, Phase};
use crate::Profile;
use crate::congestion::CongestionControl;
use crate::endpoint::{Endpoint, count};
use crate::options::is_earlier;
use crate::prr::{Progress, Prr};
use crate::scoreboard::DUP_THRESH;
use crate::timer::Timer;

impl<S: ModernStack> Endpoint<S> {
    /// Look for segments that this acknowledgement shows to be lost. Whether there are any.
    pub(super) fn find_losses(&mut self, news: &News, now: Time, profile: &Profile) -> bool {
        if !self.extension.agreed.sack {
            return self.find_loss_by_duplicates(news, profile);
        }
        if profile.rack {
            return self.find_losses_by_time(now);
        }
        news.selects && self.extension.board.lose_by_threshold()
    }

    /// RFC 5681 §3.2 and RFC 6582 §3.2: the third duplicate tells that the first segment is lost, and a partial
    /// acknowledgement that the next is. As in the classic endpoint an acknowledgement of exactly `recover` counts.
    fn find_loss_by_duplicates(&mut self, news: &News, profile: &Profile) -> bool {
        let this = &mut self.extension;
        let third = this.phase == Phase::Open
            && news.repeats
            && usize::from(self.dup_acks) == DUP_THRESH
            && self.recover <= self.snd_una;
        let partial =
            this.phase == Phase::Recovery && news.advances && profile.newreno && self.snd_una < self.recover;
        (third || partial) && this.board.lose_first()
    }

    /// RFC 8985 §6.2 step 5.
    fn find_losses_by_time(&mut self, now: Time) -> bool {
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let this = &mut self.extension;
        let (found, again) = this.rack.detect(&mut this.board, this.phase != Phase::Open, srtt, now);
        this.reorder_timer = again.map_or(Timer::OFF, Timer::at);
        found
    }

    /// The reordering timer has expired (RFC 8985 §6.2 step 5).
    pub(super) fn look_for_reordered_losses(&mut self, now: Time, profile: &Profile) {
        let undelivered = self.undelivered();
        if self.find_losses_by_time(now) && self.extension.phase == Phase::Open {
            self.enter_recovery(undelivered, now, profile);
            self.reduce(&News::default(), true, profile);
        }
    }

    /// Bytes in flight that are not known to have arrived.
    pub(super) fn undelivered(&self) -> u32 {
        let flight = self.in_flight();
        flight - self.extension.board.known_delivered().min(flight)
    }

    /// Begin, continue or end a recovery.
    pub(super) fn recover(&mut self, news: &News, lost: bool, now: Time, profile: &Profile) {
        if self.extension.phase != Phase::Open && self.has_recovered(news, profile) {
            self.leave_recovery(profile);
        }
        if self.extension.phase == Phase::Open && self.extension.board.has_lost() {
            self.enter_recovery(news.undelivered, now, profile);
        }
        if self.extension.phase == Phase::Recovery {
            self.reduce(news, lost, profile);
        }
    }

    /// All that was in flight when it began is acknowledged (RFC 6675 §5, RFC 6582 §3.2); Reno without SACK does not wait
    /// so long (RFC 2581 §3.2).
    fn has_recovered(&self, news: &News, profile: &Profile) -> bool {
        let this = &self.extension;
        let reno = !profile.newreno && !this.agreed.sack && this.phase == Phase::Recovery;
        news.advances && (self.recover <= self.snd_una || reno)
    }

    fn enter_recovery(&mut self, undelivered: u32, now: Time, profile: &Profile) {
        let mss = self.mss(profile);
        self.congestion.on_fast_retransmit(self.window_before_loss(), mss);
        self.note_reduction();
        self.recover = self.snd_max;
        self.extension.prr = Prr::new(undelivered);
        self.extension.rescued = false;
        self.extension.first_repeat = FirstRepeat::Awaited;
        self.extension.probe.end = None;
        self.set_phase(Phase::Recovery);
        count(&mut self.recovery.fast_retransmits);
        self.arm_retransmit_timer(now, profile);
    }

    fn leave_recovery(&mut self, profile: &Profile) {
        if self.extension.phase == Phase::Recovery {
            let mss = self.mss(profile);
            self.congestion.on_recovered(self.pipe(), mss);
        }
        self.extension.board.forget_presumed();
        self.extension.rack.on_recovered();
        self.extension.repeat_first = false;
        self.extension.frto = Frto::Idle;
        self.dup_acks = 0;
        self.set_phase(Phase::Open);
    }

    /// RFC 9937 §6.2.
    fn reduce(&mut self, news: &News, lost: bool, profile: &Profile) {
        let progress = Progress {
            delivered: news.delivered,
            pipe: self.pipe(),
            ssthresh: self.congestion.ssthresh(),
            mss: self.mss(profile),
            safe: news.advances && !lost,
        };
        self.extension.prr.on_ack(progress);
    }

    /// RFC 6298 §5.4-5.6: one segment, and slow start over what is lost: all (RFC 6675 §5.1), or what RACK says (RFC 8985
    /// §6.3). The threshold stays when the timer expires again for the same data (RFC 5681 §3.1).
    pub(super) fn enter_loss(&mut self, now: Time, profile: &Profile) {
        let again = self.extension.phase == Phase::Loss && self.extension.timed_out_at == self.snd_una;
        if !again {
            let mss = self.mss(profile);
            self.congestion.on_timeout(self.send_window(), mss);
            self.note_reduction();
            self.extension.first_repeat = FirstRepeat::Awaited;
        }
        self.begin_frto(profile);
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let this = &mut self.extension;
        this.board.forget_presumed();
        if profile.rack && this.agreed.sack {
            this.rack.on_timeout(&mut this.board, srtt, now);
        } else {
            this.board.lose_where(usize::MAX, |_| true);
        }
        this.timed_out_at = self.snd_una;
        this.repeat_first = true;
        this.probe.end = None;
        this.stop_probing();
        this.reorder_timer = Timer::OFF;
        self.recover = self.snd_max;
        self.dup_acks = 0;
        self.set_phase(Phase::Loss);
    }

    /// The Eifel algorithm (RFC 3522 §3.2): the first acknowledgement of new data in a recovery echoes a timestamp from
    /// before the first segment was sent again, so what was sent first has arrived and nothing was lost. An echo of the
    /// repeated segment says the contrary, and F-RTO has nothing to find out. One comparison covers timeouts and fast
    /// retransmits alike; without timestamps F-RTO judges timeouts alone.
    pub(super) fn undo_if_spurious(&mut self, news: &News, profile: &Profile) {
        let FirstRepeat::SentAt(repeated) = self.extension.first_repeat else { return };
        if !news.advances {
            return;
        }
        self.extension.first_repeat = FirstRepeat::Settled;
        let Some(echo) = news.echo.filter(|_| self.extension.phase != Phase::Open) else { return };
        if is_earlier(echo, repeated) {
            self.take_back(profile);
        } else {
            self.extension.frto = Frto::Idle;
        }
    }

    /// The response to a loss or timeout that was none (RFC 4015): what it did to the window is undone, and nothing more is
    /// sent again. What is lost now may start fast retransmit (RFC 5682 §2.1 step 3b).
    pub(super) fn take_back(&mut self, profile: &Profile) {
        self.extension.board.forgive();
        self.leave_recovery(profile);
        self.recover = self.snd_una;
        self.congestion.on_spurious();
    }

    /// The loss probe has repaired a loss that nothing else has told of: the window is reduced as for any (RFC 8985 §7.4.2).
    pub(super) fn reduce_for_repaired_loss(&mut self, profile: &Profile) {
        let mss = self.mss(profile);
        self.congestion.on_fast_retransmit(self.window_before_loss(), mss);
        self.note_reduction();
        self.congestion.on_recovered(self.pipe(), mss);
        count(&mut self.recovery.fast_retransmits);
    }
}
