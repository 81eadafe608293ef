//! Choice of the next segment, new data or a retransmission (RFC 6675 §4, `NextSeg`), and pacing.

use aqmlab_units::{Bytes, Time};

use super::{FirstRetransmission, Modern, Phase};
use crate::congestion::CongestionControl;
use crate::core::{Core, Departure, Status};
use crate::ecn::policy::PacketKind;
use crate::options::timestamp;
use crate::timer::Timer;
use crate::{Flags, LimitedBy, Profile};

/// The next segment to send.
#[derive(Clone, Copy, Debug)]
enum NextSeg {
    /// Retransmission of the record with this index.
    Retransmit(usize),
    /// New data of this length, or a FIN.
    New(u16, Flags),
}

impl<C: CongestionControl> Modern<C> {
    #[inline(always)]
    pub(super) fn next_by_scoreboard(
        &mut self,
        core: &mut Core,
        now: Time,
        profile: &Profile,
    ) -> Option<Departure> {
        // The common case of a transfer's receiver, which sends only acknowledgements.
        let all_sent =
            core.snd_nxt == core.snd_end && !core.status.any(Status::RETRANSMIT_DUE | Status::CLOSED);
        if core.is_unsynchronised() || all_sent {
            return None;
        }
        self.pacing_timer = Timer::OFF;
        if core.snd_una == core.snd_max {
            if core.is_waiting_after_mark(profile) {
                return None;
            }
            if core.snd_nxt < core.snd_end && core.restarts_after_idle(now, profile) {
                self.classic.congestion.on_idle(profile.initial_window_bytes());
            }
        }
        let forced = self.take_forced_transmit(core, profile);
        let choice = match forced {
            Some(choice) => choice,
            None => self.next(core, now, profile)?,
        };
        let rate = self.classic.congestion.pacing_rate();
        let is_paced = now < self.release && self.burst == 0;
        // Retransmissions that the timers force are not paced: the path has been idle.
        if rate.is_some() && is_paced && forced.is_none() {
            self.pacing_timer = Timer::at(self.release);
            self.pacing_limited |= self.pipe() + unsent(core) >= self.classic.congestion.cwnd();
            return None;
        }
        let departure = self.send(core, choice, now, profile);
        if let Some(rate) = rate {
            self.note_paced(rate.time_to_send(Bytes::new(u64::from(departure.len))), now, profile);
        }
        Some(departure)
    }

    /// Take a segment that may leave even if the congestion window is full: the first one after a timeout, or the
    /// loss probe, which is new data if possible and else the last segment (RFC 8985 §7.3).
    #[inline(always)]
    fn take_forced_transmit(&mut self, core: &mut Core, profile: &Profile) -> Option<NextSeg> {
        if let Phase::Loss { retransmit_first, .. } = &mut self.phase
            && std::mem::take(retransmit_first)
            && !self.board.is_empty()
        {
            return Some(NextSeg::Retransmit(0));
        }
        if self.probe.is_due { self.loss_probe(core, profile) } else { None }
    }

    #[inline(never)]
    fn loss_probe(&mut self, core: &mut Core, profile: &Profile) -> Option<NextSeg> {
        let new = self
            .new_data(core)
            .filter(|&(len, _)| self.peer_permits(core, len) && self.is_buffered(core, len, profile));
        let choice = match new {
            Some((len, fin)) => NextSeg::New(len, fin),
            None => NextSeg::Retransmit(self.board.last_outstanding()?),
        };
        let (end, is_retransmission) = match choice {
            NextSeg::New(len, fin) => (core.snd_max + u32::from(len) + u32::from(fin == Flags::FIN), false),
            NextSeg::Retransmit(_) => (core.snd_max, true),
        };
        self.probe.note_sent(end, is_retransmission);
        self.update_retransmit_due(core);
        Some(choice)
    }

    /// Choose by RFC 6675 §4: lost segments, then new data, then in fast recovery without RACK segments that may
    /// be lost. While F-RTO tests a timeout, choose only the new data that it needs, without Nagle (RFC 5682 §2.1
    /// step 2b).
    #[inline(always)]
    fn next(&mut self, core: &Core, now: Time, profile: &Profile) -> Option<NextSeg> {
        let frto = self.phase.frto().new_data_quota();
        if frto == Some(0) {
            // Without F-RTO, the window after a timeout would have held these segments back.
            self.window_limited |= self.board.has_lost();
            return None;
        }
        if frto.is_none()
            && let Some(lost) = self.board.next_lost()
        {
            let has_room = self.window_permits(self.board.record(lost).span());
            self.window_limited |= !has_room;
            return has_room.then_some(NextSeg::Retransmit(lost));
        }
        if let Some((len, fin)) = self.new_data(core)
            && self.peer_permits(core, len)
            && self.is_buffered(core, len, profile)
            && (frto.is_some() || !self.held_by_nagle(core, len, profile))
        {
            let may_leave = len == 0
                || self.window_permits(u32::from(len))
                    && (!profile.segmentation_offload || self.begin_packet(core, unsent(core), now, profile));
            self.window_limited |= !may_leave;
            return may_leave.then_some(NextSeg::New(len, fin));
        }
        if !self.phase.is_recovery() || profile.rack || !self.negotiated.sack {
            return None;
        }
        self.next_possibly_lost()
    }

    /// `NextSeg` (3) and (4): a hole that is not known to be lost; once per recovery, the last segment.
    #[inline(never)]
    fn next_possibly_lost(&mut self) -> Option<NextSeg> {
        let Phase::Recovery { prr, rescue_sent } = &mut self.phase else { return None };
        let board = &self.board;
        let rescue =
            || board.last_outstanding().filter(|&last| !*rescue_sent && !board.record(last).repair_in_flight);
        let hole = board.next_hole();
        let index = hole.or_else(rescue)?;
        if board.pipe() + board.record(index).span() > prr.window() {
            return None;
        }
        *rescue_sent |= hole.is_none();
        Some(NextSeg::Retransmit(index))
    }

    /// Return the next new segment: its length, and the FIN if it is included.
    pub(super) fn new_data(&self, core: &Core) -> Option<(u16, Flags)> {
        let unsent = unsent(core);
        let fin_due = core.status.any(Status::CLOSED) && core.snd_nxt <= core.snd_end;
        if unsent == 0 && !fin_due {
            return None;
        }
        let len = u16::try_from(unsent).unwrap_or(u16::MAX).min(self.room_for_data());
        let fin = fin_due && u32::from(len) == unsent;
        Some((len, if fin { Flags::FIN } else { Flags::NONE }))
    }

    /// True if the congestion window has room for `bytes`.
    fn window_permits(&self, bytes: u32) -> bool {
        self.pipe() + bytes <= self.congestion_window()
    }

    /// True if the peer's window has room for `len` bytes of new data.
    pub(super) fn peer_permits(&self, core: &Core, len: u16) -> bool {
        core.snd_nxt - core.snd_una + u32::from(len) <= self.peer_window(core)
    }

    /// The reason why no segment leaves. If neither window has room, it is the peer's: the congestion window does
    /// not grow then.
    pub(super) fn limit(&self, core: &Core, profile: &Profile) -> LimitedBy {
        if !self.phase.is_open() {
            return LimitedBy::Recovery;
        }
        match self.new_data(core) {
            Some((len, _)) if !self.peer_permits(core, len) => LimitedBy::ReceiveWindow,
            Some((len, _)) if !self.window_permits(u32::from(len)) => LimitedBy::CongestionWindow,
            Some((len, _)) if !self.is_buffered(core, len, profile) => LimitedBy::SendBuffer,
            Some(_) if !self.pacing_timer.is_off() => LimitedBy::Pacing,
            Some((len, _)) if self.held_by_nagle(core, len, profile) => LimitedBy::Application,
            Some(_) if profile.segmentation_offload => self.limit_of_packet(core),
            None | Some(_) => LimitedBy::Application,
        }
    }

    /// The window that has too little room for a whole packet.
    fn limit_of_packet(&self, core: &Core) -> LimitedBy {
        let congestion_window = self.congestion_window().saturating_sub(self.pipe());
        let receive_window = self.peer_window(core).saturating_sub(core.snd_nxt - core.snd_una);
        if receive_window <= congestion_window {
            LimitedBy::ReceiveWindow
        } else {
            LimitedBy::CongestionWindow
        }
    }

    /// True if a partial segment must wait for acknowledgements (RFC 896); the last one before a FIN need not.
    fn held_by_nagle(&self, core: &Core, len: u16, profile: &Profile) -> bool {
        profile.nagle
            && len < self.room_for_data()
            && core.snd_una < core.snd_nxt
            && !core.status.any(Status::CLOSED)
    }

    #[inline(always)]
    fn send(&mut self, core: &mut Core, choice: NextSeg, now: Time, profile: &Profile) -> Departure {
        // Arm this timer first, because it bounds the probe's.
        if core.retransmit_timer.is_off() {
            core.arm_retransmit_timer(now, profile);
        }
        let departure = match choice {
            NextSeg::Retransmit(index) => self.retransmit(core, index, now, profile),
            NextSeg::New(len, fin) => self.send_new(core, len, fin, now, profile),
        };
        if let Phase::Recovery { prr, .. } = &mut self.phase {
            prr.on_sent(u32::from(departure.len));
        }
        departure
    }

    /// Retransmit a segment with its old bounds.
    #[inline(never)]
    fn retransmit(&mut self, core: &Core, index: usize, now: Time, profile: &Profile) -> Departure {
        let before = self.board.record(index);
        let (extent, is_first_retransmission) = ((before.end, before.span()), !before.retransmitted);
        let delivered = self.rate.on_sent(now, extent, self.board.pipe(), self.board.lost_total());
        let record = self.board.resend(index, now, delivered);
        if !self.phase.is_open() && self.first_retransmission == FirstRetransmission::Awaited {
            // The next new acknowledgement is about the oldest segment only (RFC 3522 §3.2). After an earlier
            // retransmission of it, an older echo would not prove that the original has arrived.
            let is_conclusive = self.negotiated.timestamps && index == 0 && is_first_retransmission;
            self.first_retransmission = if is_conclusive {
                FirstRetransmission::SentAt(timestamp(now))
            } else {
                FirstRetransmission::Settled
            };
        }
        let fin = core.snd_end < record.end;
        let len = record.end - record.seq - u32::from(fin);
        let (seq, len) = (record.seq, u16::try_from(len).expect("a record is one segment"));
        let flags = if fin { Flags::FIN } else { Flags::NONE };
        let ect = core.ect_on(PacketKind::FinOrRetransmission, &self.classic.congestion, profile);
        Departure { seq, len, flags: flags | ect }
    }

    #[inline(always)]
    fn send_new(&mut self, core: &mut Core, len: u16, fin: Flags, now: Time, profile: &Profile) -> Departure {
        let seq = core.snd_nxt;
        let control = &self.classic.congestion;
        let ecn = if len > 0 {
            core.ecn_of_new_data(control)
        } else {
            core.ect_on(PacketKind::FinOrRetransmission, control, profile)
        };
        core.note_sent(seq, len, fin);
        if len > 0 {
            self.receiver.quick_acks.on_sent(now, profile);
        }
        let (pipe, lost) = (self.board.pipe(), self.board.lost_total());
        let delivered = self.rate.on_sent(now, (core.snd_nxt, core.snd_nxt - seq), pipe, lost);
        self.board.push(seq, core.snd_nxt, now, delivered);
        if let Phase::Loss { frto, .. } = &mut self.phase {
            frto.on_new_segment();
        }
        self.schedule_probe(core, now, profile, true);
        let pushes = len > 0 && profile.segmentation_offload && self.send_burst.completes(now);
        let push = if pushes { Flags::PSH } else { Flags::NONE };
        Departure { seq, len, flags: fin | ecn | push }
    }

    /// Before the application writes: record that it has left the window unused, if so (the rate draft's check).
    pub(super) fn note_app_limited(&mut self, core: &Core) {
        let idle = core.snd_end <= core.snd_nxt && !self.board.has_lost();
        let pipe = self.board.pipe();
        if idle && pipe < self.classic.congestion.cwnd() {
            self.rate.on_app_limited(pipe);
        }
    }
}

/// Return the bytes written and never sent.
fn unsent(core: &Core) -> u32 {
    if core.snd_nxt < core.snd_end { core.snd_end - core.snd_nxt } else { 0 }
}
