//! What leaves next (RFC 6675 §4, `NextSeg`), and how fast.

use aqmlab_units::{Bytes, Time};

use super::{FirstRepeat, ModernStack, Phase};
use crate::congestion::CongestionControl;
use crate::ecn::Control;
use crate::endpoint::{Endpoint, Pending};
use crate::options::{Options, timestamp};
use crate::timer::Timer;
use crate::{Flags, Profile, Segment, Seq};

/// A segment that may leave.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// The record with this index once more.
    Again(usize),
    /// Data or a FIN never sent: how much.
    New(u16, Flags),
}

impl<S: ModernStack> Endpoint<S> {
    #[inline(always)]
    pub(super) fn transmit_by_scoreboard(
        &mut self,
        now: Time,
        profile: &Profile,
    ) -> Option<Segment<Options>> {
        // As at the receiver of a transfer, which has nothing to send but acknowledgements.
        if self.is_unsynchronised() || self.all_sent() && !self.pending.any(Pending::FIN) {
            return None;
        }
        self.extension.pacing_timer = Timer::OFF;
        if self.snd_una == self.snd_max {
            if self.holds_back(profile) {
                return None;
            }
            if self.snd_nxt < self.snd_end {
                self.restart_after_idle(now, profile);
            }
        }
        let out_of_turn = self.out_of_turn();
        let choice = match out_of_turn {
            Some(choice) => choice,
            None => self.next(profile)?,
        };
        let rate = self.congestion.pacing_rate();
        let waits = now < self.extension.release && self.extension.burst == 0;
        if rate.is_some() && waits && out_of_turn.is_none() {
            self.extension.pacing_timer = Timer::at(self.extension.release);
            self.extension.pacing_limited |= self.pipe() + self.unsent() >= self.congestion.cwnd();
            return None;
        }
        let segment = self.send(choice, now, profile);
        if let Some(rate) = rate {
            self.extension.note_paced(rate.time_to_send(Bytes::new(u64::from(segment.len))), now, profile);
        }
        Some(segment)
    }

    /// What leaves whatever the congestion window: the first segment after a timeout, and the loss probe, which is new data
    /// if there are any and else the last segment once more (RFC 8985 §7.3).
    #[inline(always)]
    fn out_of_turn(&mut self) -> Option<Choice> {
        if std::mem::take(&mut self.extension.repeat_first) && !self.extension.board.is_empty() {
            return Some(Choice::Again(0));
        }
        if self.extension.probe.is_due { self.loss_probe() } else { None }
    }

    #[inline(never)]
    fn loss_probe(&mut self) -> Option<Choice> {
        let new = self.new_data().filter(|&(len, _)| self.peer_lets(len));
        let choice = match new {
            Some((len, fin)) => Choice::New(len, fin),
            None => Choice::Again(self.extension.board.last_outstanding()?),
        };
        let (end, is_repeat) = match choice {
            Choice::New(len, fin) => (self.snd_max + u32::from(len) + u32::from(fin == Flags::FIN), false),
            Choice::Again(_) => (self.snd_max, true),
        };
        self.extension.note_probe(end, is_repeat);
        Some(choice)
    }

    /// RFC 6675 §4: what is lost, then new data, then in fast recovery without RACK what may be lost. While F-RTO finds out
    /// whether a timeout was right, the new data alone that it asks for, Nagle or not (RFC 5682 §2.1 step 2b).
    #[inline(always)]
    fn next(&mut self, profile: &Profile) -> Option<Choice> {
        let frto = self.extension.frto.allows();
        if frto == Some(0) {
            // A window after a timeout would have kept them back too.
            self.extension.window_limited |= self.extension.board.has_lost();
            return None;
        }
        if frto.is_none()
            && let Some(lost) = self.extension.board.next_lost()
        {
            let lets = self.congestion_lets(self.extension.board.record(lost).span());
            self.extension.window_limited |= !lets;
            return lets.then_some(Choice::Again(lost));
        }
        if let Some((len, fin)) = self.new_data()
            && self.peer_lets(len)
            && (frto.is_some() || !self.held_by_nagle(len, profile))
        {
            let lets = len == 0 || self.congestion_lets(u32::from(len));
            self.extension.window_limited |= !lets;
            return lets.then_some(Choice::New(len, fin));
        }
        if self.extension.phase != Phase::Recovery || profile.rack || !self.extension.agreed.sack {
            return None;
        }
        self.next_that_may_be_lost()
    }

    /// `NextSeg` (3) and (4): a hole that is not yet known to be lost; once a recovery, the last segment.
    #[inline(never)]
    fn next_that_may_be_lost(&mut self) -> Option<Choice> {
        let board = &self.extension.board;
        let rescue = || {
            board.last_outstanding().filter(|&last| !self.extension.rescued && !board.record(last).repeated)
        };
        let hole = board.next_hole();
        let index = hole.or_else(rescue)?;
        let record = board.record(index);
        if !self.congestion_lets(record.span()) {
            return None;
        }
        self.extension.rescued |= hole.is_none();
        Some(Choice::Again(index))
    }

    /// Bytes written and never sent.
    fn unsent(&self) -> u32 {
        if self.snd_nxt < self.snd_end { self.snd_end - self.snd_nxt } else { 0 }
    }

    /// The next segment of what was never sent: its length, and whether the FIN goes with it.
    pub(super) fn new_data(&self) -> Option<(u16, Flags)> {
        let unsent = self.unsent();
        let fin_due = self.pending.any(Pending::FIN) && self.snd_nxt <= self.snd_end;
        if unsent == 0 && !fin_due {
            return None;
        }
        let len = u16::try_from(unsent).unwrap_or(u16::MAX).min(self.room_for_data());
        let fin = fin_due && u32::from(len) == unsent;
        Some((len, if fin { Flags::FIN } else { Flags::NONE }))
    }

    /// The congestion window has room for `bytes`.
    fn congestion_lets(&self, bytes: u32) -> bool {
        self.pipe() + bytes <= self.congestion_window()
    }

    /// The peer's window has room for `len` bytes of new data.
    pub(super) fn peer_lets(&self, len: u16) -> bool {
        self.snd_nxt - self.snd_una + u32::from(len) <= self.peer_window()
    }

    /// A partial segment waits while data are unacknowledged (RFC 896), unless it is the last before a FIN.
    fn held_by_nagle(&self, len: u16, profile: &Profile) -> bool {
        profile.nagle
            && len < self.room_for_data()
            && self.snd_una < self.snd_nxt
            && !self.pending.any(Pending::FIN)
    }

    #[inline(always)]
    fn send(&mut self, choice: Choice, now: Time, profile: &Profile) -> Segment<Options> {
        let (seq, len, flags) = match choice {
            Choice::Again(index) => self.repeat(index, now, profile),
            Choice::New(len, fin) => self.send_new(len, fin, now, profile),
        };
        if self.extension.phase == Phase::Recovery {
            self.extension.prr.on_sent(u32::from(len));
        }
        if self.retransmit_timer.is_off() {
            self.arm_retransmit_timer(now, profile);
        }
        self.segment(seq, len, flags, now, profile)
    }

    /// A segment is sent again, as it was.
    #[inline(never)]
    fn repeat(&mut self, index: usize, now: Time, profile: &Profile) -> (Seq, u16, Flags) {
        let this = &mut self.extension;
        let before = this.board.record(index);
        let (span, is_first_repeat) = (before.span(), !before.retransmitted);
        let snapshot = this.rate.on_sent(now, span, this.board.pipe(), this.board.lost_total());
        let record = this.board.resend(index, now, snapshot);
        if this.phase != Phase::Open && this.first_repeat == FirstRepeat::Awaited {
            // The acknowledgement that moves on tells of the oldest segment alone (RFC 3522 §3.2), and an echo from before
            // this copy proves nothing if there was one between it and the original.
            let tells = this.agreed.timestamps && index == 0 && is_first_repeat;
            this.first_repeat =
                if tells { FirstRepeat::SentAt(timestamp(now)) } else { FirstRepeat::Settled };
        }
        let fin = self.snd_end < record.end;
        let len = record.end - record.seq - u32::from(fin);
        let (seq, len) = (record.seq, u16::try_from(len).expect("a record is one segment"));
        let flags = if fin { Flags::FIN } else { Flags::NONE };
        (seq, len, flags | self.ect_on(Control::FinOrRetransmission, profile))
    }

    #[inline(always)]
    fn send_new(&mut self, len: u16, fin: Flags, now: Time, profile: &Profile) -> (Seq, u16, Flags) {
        let seq = self.snd_nxt;
        let ecn =
            if len > 0 { self.ecn_of_new_data() } else { self.ect_on(Control::FinOrRetransmission, profile) };
        self.note_sent(seq, len, fin);
        let this = &mut self.extension;
        let (pipe, lost) = (this.board.pipe(), this.board.lost_total());
        let snapshot = this.rate.on_sent(now, self.snd_nxt - seq, pipe, lost);
        this.board.push(seq, self.snd_nxt, now, snapshot);
        this.frto.note_new();
        if self.retransmit_timer.is_off() {
            self.arm_retransmit_timer(now, profile);
        }
        self.schedule_probe(now, profile, true);
        (seq, len, fin | ecn)
    }

    /// Before the application writes: has it left the window unused? (the rate draft's check)
    pub(super) fn note_app_limited(&mut self) {
        let this = &self.extension;
        let idle = self.snd_end <= self.snd_nxt && !this.board.has_lost();
        if idle && this.board.pipe() < self.congestion.cwnd() {
            let pipe = this.board.pipe();
            self.extension.rate.on_app_limited(pipe);
        }
    }
}
