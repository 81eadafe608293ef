//! A sender like 4.4BSD's: it goes back to the oldest byte, times one segment, and keeps no record of segments
//! sent.

use aqmlab_units::Time;

use super::{Scaling, Sender};
use crate::congestion::{Ack, CongestionControl};
use crate::core::{Core, Departure, Limits, Status, increment};
use crate::ecn::carries_ecn;
use crate::ecn::policy::PacketKind;
use crate::options::WindowScale;
use crate::timer::TimerKind;
use crate::{CongestionState, Flags, LimitedBy, Profile, Segment, SenderInfo, Seq};

/// The two windows of a sender. Its other state is in the [`Core`].
#[derive(Debug)]
pub struct Classic<C, W> {
    pub(super) congestion: C,
    pub(super) scaling: W,
}

/// Duplicate acknowledgements that start fast retransmit (RFC 5681 §3.2).
const DUP_THRESH: u8 = 3;

impl<C: CongestionControl, W: Scaling> Sender for Classic<C, W> {
    type Congestion = C;
    type Options = WindowScale;
    const HOT: usize = size_of::<Self>().next_multiple_of(align_of::<Core>()) + Core::COLD_FROM;
    const TIMERS: &[TimerKind] = &[];

    fn new(profile: &Profile, _now: Time) -> Classic<C, W> {
        Classic { congestion: C::new(profile), scaling: W::default() }
    }

    #[inline]
    fn congestion(&self) -> &C {
        &self.congestion
    }

    #[inline(always)]
    fn offer(&self, core: &Core, _now: Time, profile: &Profile) -> WindowScale {
        WindowScale::from_offer(self.scaling.offer(core.is_responder(), profile))
    }

    #[inline]
    fn negotiate(&mut self, core: &mut Core, segment: &Segment, profile: &Profile) -> (&mut C, Limits) {
        if segment.flags.contains(Flags::SYN) {
            self.scaling = W::negotiate(segment.options.shift(), profile);
            core.snd_wnd = self.scaling.field_from_syn(segment.window);
        }
        let limits = self.limits(core, profile);
        (&mut self.congestion, limits)
    }

    #[inline(always)]
    fn on_segment(&mut self, core: &mut Core, segment: &Segment, now: Time, profile: &Profile) {
        if carries_ecn(segment.flags, profile) {
            self.on_ecn_segment(core, segment, profile);
        }
        self.handle_segment(core, segment, now, profile);
    }

    #[inline(always)]
    fn on_data(&mut self, core: &mut Core, from: Seq, to: Seq) -> bool {
        let in_order = core.take_in_order(from, to);
        if !in_order {
            core.reassemble(from, to);
        }
        !in_order
    }

    #[inline(always)]
    fn on_write(&mut self, _core: &Core) {}

    #[inline(always)]
    fn next_segment(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Segment> {
        let next = self.next(core, now, profile);
        let (window, options) =
            (self.scaling.own_window(profile.receive_window, profile), WindowScale::default());
        // Two exits, not one for both cases: data cost four instructions less.
        match next {
            Some(data) => Some(core.segment(data, window, options)),
            None => core.due_ack(&self.congestion, profile).map(|ack| core.segment(ack, window, options)),
        }
    }

    fn limited_by(&self, core: &Core, profile: &Profile) -> LimitedBy {
        // Some data in flight at the last loss are still unacknowledged.
        if core.status.any(Status::IN_RECOVERY) || core.snd_una < core.recover {
            return LimitedBy::Recovery;
        }
        let (len, _) = extent(core, core.snd_nxt, profile);
        let end = core.snd_nxt - core.snd_una + u32::from(len);
        match len {
            0 => LimitedBy::Application,
            _ if end > self.scaling.peer_window(core.snd_wnd) => LimitedBy::ReceiveWindow,
            _ if end > self.congestion.cwnd() => LimitedBy::CongestionWindow,
            _ => LimitedBy::Application,
        }
    }

    fn info(&self, core: &Core) -> SenderInfo {
        let state = if core.status.any(Status::IN_RECOVERY) {
            CongestionState::Recovery
        } else if core.snd_una < core.recover {
            CongestionState::Loss
        } else if core.dup_acks > 0 {
            CongestionState::Disorder
        } else {
            CongestionState::Open
        };
        SenderInfo {
            state,
            in_flight: core.in_flight(),
            delivered: core.data_acknowledged(),
            receive_window: self.scaling.peer_window(core.snd_wnd),
            ..SenderInfo::default()
        }
    }

    #[inline(always)]
    fn deadline(&self, _timer: TimerKind) -> Time {
        Time::MAX
    }

    #[inline(always)]
    fn on_timeout(&mut self, timer: TimerKind, core: &mut Core, _now: Time, profile: &Profile) {
        if matches!(timer, TimerKind::Retransmission) {
            self.go_back(core, profile);
        }
    }
}

/// The part that does not depend on options of segments, which a modern sender with a classic profile shares.
impl<C: CongestionControl, W: Scaling> Classic<C, W> {
    #[inline]
    fn send_window(&self, core: &Core) -> u32 {
        self.congestion.cwnd().min(self.scaling.peer_window(core.snd_wnd))
    }

    fn limits(&self, core: &Core, profile: &Profile) -> Limits {
        Limits { window: self.send_window(core), mss: profile.mss.into() }
    }

    // Not inlined, to keep it off the path of other segments.
    #[inline(never)]
    fn on_ecn_segment(&mut self, core: &mut Core, segment: &Segment, profile: &Profile) {
        let feedback = core.on_ecn_segment(segment, profile);
        core.ecn.note_marks(feedback.new_marks.unwrap_or(0));
        self.respond_to_undelivered_marks(core, segment, profile);
    }

    /// Respond to marks that a segment reports which acknowledges no new data.
    pub(super) fn respond_to_undelivered_marks<O>(
        &mut self,
        core: &mut Core,
        segment: &Segment<O>,
        profile: &Profile,
    ) {
        if segment.ack <= core.snd_una && core.reports_marks(segment.flags) {
            self.respond_to_marks(core, segment.ack, profile);
        }
    }

    fn respond_to_marks(&mut self, core: &mut Core, ack: Seq, profile: &Profile) {
        if !core.status.any(Status::IN_RECOVERY) {
            let limits = self.limits(core, profile);
            core.respond_to_marks(&mut self.congestion, ack, limits);
        }
    }

    #[inline(always)]
    pub(super) fn handle_segment<O>(
        &mut self,
        core: &mut Core,
        segment: &Segment<O>,
        now: Time,
        profile: &Profile,
    ) {
        core.snd_wnd = self.scaling.updated_field(core.snd_wnd, segment.window);
        let ack = segment.ack;
        if core.snd_una < ack {
            if core.snd_max < ack {
                debug_assert!(false, "the peer acknowledged what was never sent");
                return;
            }
            self.handle_new_ack(core, segment, now, profile);
        } else if ack == core.snd_una {
            // RFC 5681 §2: a duplicate has no data, and data are outstanding.
            if segment.span() == 0 && core.snd_una < core.snd_max {
                self.handle_duplicate_ack(core, now, profile);
            } else {
                core.dup_acks = 0;
            }
        }
    }

    #[inline(always)]
    fn handle_new_ack<O>(&mut self, core: &mut Core, segment: &Segment<O>, now: Time, profile: &Profile) {
        let bytes = segment.ack - core.snd_una;
        core.take_sample(segment.ack, now, profile);
        core.snd_una = segment.ack;
        core.snd_nxt = core.snd_nxt.max(segment.ack);
        let mss = u32::from(profile.mss);
        let has_marks = carries_ecn(segment.flags, profile) && core.reports_marks(segment.flags);
        let marked = if has_marks { core.take_marked_bytes(bytes, mss) } else { 0 };
        let ack = Ack { now, bytes, mss, marked, ..Ack::default() };
        self.congestion.on_delivery(&ack);
        if has_marks {
            self.respond_to_marks(core, segment.ack, profile);
        }
        if core.status.any(Status::IN_RECOVERY) {
            self.continue_recovery(core, ack, profile);
        } else {
            core.dup_acks = 0;
            if !has_marks || core.may_grow_after_mark(&self.congestion, &ack) {
                self.congestion.on_ack(&ack);
            }
        }
        if core.snd_una == core.snd_max {
            core.note_all_acknowledged(now);
        } else {
            core.arm_retransmit_timer(now, profile);
        }
    }

    /// Continue or end fast recovery (RFC 6582 §3.2): a partial acknowledgement indicates the next loss, a full
    /// one ends it. For Reno (RFC 2581 §3.2) any new acknowledgement ends it.
    fn continue_recovery(&mut self, core: &mut Core, ack: Ack, profile: &Profile) {
        if core.snd_una < core.recover && profile.newreno {
            self.congestion.on_partial_ack(&ack);
            core.status.set(Status::RETRANSMIT_DUE);
        } else {
            self.congestion.on_recovered(core.in_flight(), ack.mss);
            core.status.clear(Status::IN_RECOVERY);
            core.dup_acks = 0;
        }
    }

    /// Count a duplicate; the third one starts fast retransmit (RFC 5681 §3.2), unless it stems from segments
    /// sent before the last recovery or timeout (RFC 6582's `recover`). An acknowledgement of exactly those
    /// counts, as in FreeBSD 4; RFC 6582 requires one of more.
    fn handle_duplicate_ack(&mut self, core: &mut Core, now: Time, profile: &Profile) {
        let mss = u32::from(profile.mss);
        core.dup_acks = core.dup_acks.saturating_add(1);
        if core.status.any(Status::IN_RECOVERY) {
            self.congestion.on_duplicate_ack(mss);
        } else if core.dup_acks == DUP_THRESH && core.recover <= core.snd_una {
            let window = core.window_before_loss(&self.congestion, self.send_window(core));
            self.congestion.on_fast_retransmit(window, mss);
            core.note_reduction();
            core.recover = core.snd_max;
            core.status.clear(Status::TIMING);
            core.status.set(Status::IN_RECOVERY | Status::RETRANSMIT_DUE);
            increment(&mut core.recovery.fast_retransmits);
            core.arm_retransmit_timer(now, profile);
        }
    }

    /// Shrink to one segment, and go back to the oldest unacknowledged byte.
    pub(super) fn go_back(&mut self, core: &mut Core, profile: &Profile) {
        self.congestion.on_timeout(self.send_window(core), u32::from(profile.mss));
        core.note_reduction();
        core.snd_nxt = core.snd_una;
        // RFC 6582 §3.2 (4): duplicates caused by the coming retransmissions must not start fast retransmit.
        core.recover = core.snd_max;
        core.status.clear(Status::IN_RECOVERY | Status::RETRANSMIT_DUE);
        core.dup_acks = 0;
        core.status.clear(Status::TIMING);
    }

    /// Return the next segment: the oldest one if its retransmission is due, or new data, data after a timeout,
    /// or the FIN.
    #[inline(always)]
    pub(super) fn next(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Departure> {
        if core.status.any(Status::RETRANSMIT_DUE) {
            return Some(self.retransmit_oldest(core, profile));
        }
        let is_fin_due = core.status.any(Status::CLOSED) && core.snd_nxt <= core.snd_end;
        if !(core.snd_nxt < core.snd_end || is_fin_due) || core.is_unsynchronised() {
            return None;
        }
        if core.snd_una == core.snd_max {
            if core.is_waiting_after_mark(profile) {
                return None;
            }
            if core.restarts_after_idle(now, profile) {
                self.congestion.on_idle(profile.initial_window_bytes());
            }
        } else if core.snd_nxt - core.snd_una >= self.send_window(core) && core.snd_nxt < core.snd_end {
            return None;
        }
        let seq = core.snd_nxt;
        let (len, fin) = extent(core, seq, profile);
        if len > 0 && !self.has_room(core, len, profile) {
            return None;
        }
        let mut flags = fin;
        let is_new = core.snd_max <= seq;
        if is_new && len > 0 {
            flags |= core.ecn_of_new_data(&self.congestion);
        } else {
            flags |= core.ect_on(PacketKind::FinOrRetransmission, &self.congestion, profile);
        }
        if is_new {
            core.time_segment(seq, now);
        }
        core.note_sent(seq, len, fin);
        if core.retransmit_timer.is_off() {
            core.arm_retransmit_timer(now, profile);
        }
        Some(Departure { seq, len, flags })
    }

    #[inline(never)]
    fn retransmit_oldest(&mut self, core: &mut Core, profile: &Profile) -> Departure {
        core.status.clear(Status::RETRANSMIT_DUE);
        let seq = core.snd_una;
        let (len, fin) = extent(core, seq, profile);
        core.note_sent(seq, len, fin);
        let flags = fin | core.ect_on(PacketKind::FinOrRetransmission, &self.congestion, profile);
        Departure { seq, len, flags }
    }

    /// True if both windows have room for `len` bytes and the segment is no silly small one. A partial segment
    /// may leave only as the last of the data (RFC 9293 §3.8.6.2.1), and with Nagle only when no data are
    /// unacknowledged.
    #[inline(always)]
    fn has_room(&self, core: &Core, len: u16, profile: &Profile) -> bool {
        let in_flight = core.snd_nxt - core.snd_una;
        let held_by_nagle = profile.nagle
            && len < profile.mss
            && core.snd_una < core.snd_nxt
            && !core.status.any(Status::CLOSED);
        in_flight + u32::from(len) <= self.send_window(core) && !held_by_nagle
    }
}

/// Return the extent of a segment that starts at `seq`: up to one MSS of written data, and the FIN if it comes
/// next.
#[inline(always)]
fn extent(core: &Core, seq: Seq, profile: &Profile) -> (u16, Flags) {
    let unsent = if seq < core.snd_end { core.snd_end - seq } else { 0 };
    let len = u16::try_from(unsent).unwrap_or(u16::MAX).min(profile.mss);
    let reaches_end = u32::from(len) == unsent;
    let fin = reaches_end && core.status.any(Status::CLOSED);
    (len, if fin { Flags::FIN } else { Flags::NONE })
}
