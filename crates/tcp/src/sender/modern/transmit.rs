//! What leaves next (RFC 6675 §4, `NextSeg`), and how fast.

use aqmlab_units::{Bytes, Time};

use super::{FirstRetransmission, Modern, Phase};
use crate::congestion::CongestionControl;
use crate::core::{Core, Departure, Status};
use crate::ecn::policy::PacketKind;
use crate::options::timestamp;
use crate::timer::Timer;
use crate::{Flags, LimitedBy, Profile};

/// A segment that may leave.
#[derive(Clone, Copy, Debug)]
enum NextSeg {
    /// The record with this index once more.
    Again(usize),
    /// Data or a FIN never sent: how much.
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
        // As at the receiver of a transfer, which has nothing to send but acknowledgements.
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
        let forced = self.take_forced_transmit(core);
        let choice = match forced {
            Some(choice) => choice,
            None => self.next(core, profile)?,
        };
        let rate = self.classic.congestion.pacing_rate();
        let waits = now < self.release && self.burst == 0;
        if rate.is_some() && waits && forced.is_none() {
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

    /// What leaves whatever the congestion window: the first segment after a timeout, and the loss probe, which is new data
    /// if there are any and else the last segment once more (RFC 8985 §7.3).
    #[inline(always)]
    fn take_forced_transmit(&mut self, core: &mut Core) -> Option<NextSeg> {
        if let Phase::Loss { retransmit_first, .. } = &mut self.phase
            && std::mem::take(retransmit_first)
            && !self.board.is_empty()
        {
            return Some(NextSeg::Again(0));
        }
        if self.probe.is_due { self.loss_probe(core) } else { None }
    }

    #[inline(never)]
    fn loss_probe(&mut self, core: &mut Core) -> Option<NextSeg> {
        let new = self.new_data(core).filter(|&(len, _)| self.peer_permits(core, len));
        let choice = match new {
            Some((len, fin)) => NextSeg::New(len, fin),
            None => NextSeg::Again(self.board.last_outstanding()?),
        };
        let (end, is_retransmission) = match choice {
            NextSeg::New(len, fin) => (core.snd_max + u32::from(len) + u32::from(fin == Flags::FIN), false),
            NextSeg::Again(_) => (core.snd_max, true),
        };
        self.probe.note_sent(end, is_retransmission);
        self.note_repairs(core);
        Some(choice)
    }

    /// RFC 6675 §4: what is lost, then new data, then in fast recovery without RACK what may be lost. While F-RTO finds out
    /// whether a timeout was right, the new data alone that it asks for, Nagle or not (RFC 5682 §2.1 step 2b).
    #[inline(always)]
    fn next(&mut self, core: &Core, profile: &Profile) -> Option<NextSeg> {
        let frto = self.phase.frto().allows();
        if frto == Some(0) {
            // A window after a timeout would have kept them back too.
            self.window_limited |= self.board.has_lost();
            return None;
        }
        if frto.is_none()
            && let Some(lost) = self.board.next_lost()
        {
            let permitted = self.window_permits(self.board.record(lost).span());
            self.window_limited |= !permitted;
            return permitted.then_some(NextSeg::Again(lost));
        }
        if let Some((len, fin)) = self.new_data(core)
            && self.peer_permits(core, len)
            && (frto.is_some() || !self.held_by_nagle(core, len, profile))
        {
            let permitted = len == 0 || self.window_permits(u32::from(len));
            self.window_limited |= !permitted;
            return permitted.then_some(NextSeg::New(len, fin));
        }
        if !self.phase.is_recovery() || profile.rack || !self.negotiated.sack {
            return None;
        }
        self.next_that_may_be_lost()
    }

    /// `NextSeg` (3) and (4): a hole that is not yet known to be lost; once a recovery, the last segment.
    #[inline(never)]
    fn next_that_may_be_lost(&mut self) -> Option<NextSeg> {
        let Phase::Recovery { prr, rescued } = &mut self.phase else { return None };
        let board = &self.board;
        let rescue = || board.last_outstanding().filter(|&last| !*rescued && !board.record(last).repeated);
        let hole = board.next_hole();
        let index = hole.or_else(rescue)?;
        if board.pipe() + board.record(index).span() > prr.window() {
            return None;
        }
        *rescued |= hole.is_none();
        Some(NextSeg::Again(index))
    }

    /// The next segment of what was never sent: its length, and whether the FIN goes with it.
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

    /// The congestion window has room for `bytes`.
    fn window_permits(&self, bytes: u32) -> bool {
        self.pipe() + bytes <= self.congestion_window()
    }

    /// The peer's window has room for `len` bytes of new data.
    pub(super) fn peer_permits(&self, core: &Core, len: u16) -> bool {
        core.snd_nxt - core.snd_una + u32::from(len) <= self.peer_window(core)
    }

    /// The reason why nothing leaves. The peer's window, if neither has room: the congestion window does not grow then.
    pub(super) fn limit(&self, core: &Core) -> LimitedBy {
        if !self.phase.is_open() {
            return LimitedBy::Recovery;
        }
        match self.new_data(core) {
            Some((len, _)) if !self.peer_permits(core, len) => LimitedBy::ReceiveWindow,
            Some((len, _)) if !self.window_permits(u32::from(len)) => LimitedBy::CongestionWindow,
            Some(_) if !self.pacing_timer.is_off() => LimitedBy::Pacing,
            None | Some(_) => LimitedBy::Application,
        }
    }

    /// A partial segment waits while data are unacknowledged (RFC 896), unless it is the last before a FIN.
    fn held_by_nagle(&self, core: &Core, len: u16, profile: &Profile) -> bool {
        profile.nagle
            && len < self.room_for_data()
            && core.snd_una < core.snd_nxt
            && !core.status.any(Status::CLOSED)
    }

    #[inline(always)]
    fn send(&mut self, core: &mut Core, choice: NextSeg, now: Time, profile: &Profile) -> Departure {
        // First, since a probe is due no later.
        if core.retransmit_timer.is_off() {
            core.arm_retransmit_timer(now, profile);
        }
        let departure = match choice {
            NextSeg::Again(index) => self.repeat(core, index, now, profile),
            NextSeg::New(len, fin) => self.send_new(core, len, fin, now, profile),
        };
        if let Phase::Recovery { prr, .. } = &mut self.phase {
            prr.on_sent(u32::from(departure.len));
        }
        departure
    }

    /// A segment is sent again, as it was.
    #[inline(never)]
    fn repeat(&mut self, core: &Core, index: usize, now: Time, profile: &Profile) -> Departure {
        let before = self.board.record(index);
        let (extent, is_first_repeat) = ((before.end, before.span()), !before.retransmitted);
        let delivered = self.rate.on_sent(now, extent, self.board.pipe(), self.board.lost_total());
        let record = self.board.resend(index, now, delivered);
        if !self.phase.is_open() && self.first_retransmission == FirstRetransmission::Awaited {
            // The acknowledgement that moves on tells of the oldest segment alone (RFC 3522 §3.2), and an echo from before
            // this copy proves nothing if there was one between it and the original.
            let tells = self.negotiated.timestamps && index == 0 && is_first_repeat;
            self.first_retransmission = if tells {
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
        let (pipe, lost) = (self.board.pipe(), self.board.lost_total());
        let delivered = self.rate.on_sent(now, (core.snd_nxt, core.snd_nxt - seq), pipe, lost);
        self.board.push(seq, core.snd_nxt, now, delivered);
        if let Phase::Loss { frto, .. } = &mut self.phase {
            frto.note_new();
        }
        self.schedule_probe(core, now, profile, true);
        Departure { seq, len, flags: fin | ecn }
    }

    /// Before the application writes: has it left the window unused? (the rate draft's check)
    pub(super) fn note_app_limited(&mut self, core: &Core) {
        let idle = core.snd_end <= core.snd_nxt && !self.board.has_lost();
        let pipe = self.board.pipe();
        if idle && pipe < self.classic.congestion.cwnd() {
            self.rate.on_app_limited(pipe);
        }
    }
}

/// Bytes written and never sent.
fn unsent(core: &Core) -> u32 {
    if core.snd_nxt < core.snd_end { core.snd_end - core.snd_nxt } else { 0 }
}
