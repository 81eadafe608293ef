//! What leaves: SYNs, data as the windows allow, FIN, acknowledgements.

use aqmlab_units::Time;

use super::{Endpoint, Extension, Pending, State, count};
use crate::congestion::CongestionControl;
use crate::ecn::Control;
use crate::{Flags, Profile, Segment, Seq, Stack};

impl<S: Stack> Endpoint<S> {
    /// The next segment to put on the network, if any. Its answer may change after every other call but
    /// [`Endpoint::poll_event`].
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.all_sent() && !self.pending.any(Pending::TO_SEND) {
            return None;
        }
        self.transmit(now, profile)
    }

    /// Is there nothing to send that no pending flag tells of?
    #[inline(always)]
    pub(super) fn all_sent(&self) -> bool {
        self.snd_nxt == self.snd_end && !self.extension.has_repairs()
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.pending.any(Pending::RETRANSMIT | Pending::SYN | Pending::RST) {
            return Some(self.transmit_control(now, profile));
        }
        if let Some(segment) = S::Extension::transmit_data(self, now, profile) {
            return Some(segment);
        }
        self.pending.any(Pending::ACK).then(|| {
            let ect = self.ect_on(Control::PureAck, profile);
            self.segment(self.snd_nxt, 0, ect, now, profile)
        })
    }

    /// SYN, reset or retransmission: what goes before everything else.
    fn transmit_control(&mut self, now: Time, profile: &Profile) -> Segment<S::Options> {
        if self.pending.take(Pending::RST) {
            let flags = Flags::RST | Flags::ACK | self.ect_on(Control::Reset, profile);
            return Segment { seq: self.snd_nxt, ack: self.rcv_nxt, flags, ..Segment::default() };
        }
        if self.pending.take(Pending::SYN) {
            return self.transmit_syn(now, profile);
        }
        self.pending.clear(Pending::RETRANSMIT);
        let seq = self.snd_una;
        let (len, fin) = self.extent(seq, profile);
        self.note_sent(seq, len, fin);
        let flags = fin | self.ect_on(Control::FinOrRetransmission, profile);
        self.segment(seq, len, flags, now, profile)
    }

    fn transmit_syn(&mut self, now: Time, profile: &Profile) -> Segment<S::Options> {
        let kind = if self.answers() { Flags::SYN | Flags::ACK } else { Flags::SYN };
        let flags = kind | self.handshake_flags(profile);
        if self.snd_max == Seq::ZERO {
            self.snd_nxt = Seq::new(1);
            self.snd_max = self.snd_nxt;
            self.since = now;
            // The SYN cache of a classic server keeps no clock: its first sample comes from data.
            if self.state == State::SynSent || self.extension.times_syn_ack() {
                self.time_segment(Seq::ZERO, now);
            }
            self.arm_retransmit_timer(now, profile);
        } else {
            self.pending.clear(Pending::TIMING);
            count(&mut self.recovery.syn_retransmits);
        }
        let options = S::Extension::syn_options(self, now, profile);
        let window = profile.unscaled_window();
        Segment { ack: self.rcv_nxt, window, flags, options, ..Segment::default() }
    }

    /// Is the SYN of this end a SYN/ACK?
    pub(super) fn answers(&self) -> bool {
        self.state != State::SynSent
    }

    /// New data, data sent again after a timeout, or the FIN.
    #[inline(always)]
    pub(super) fn transmit_data(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        let fin_due = self.pending.any(Pending::FIN) && self.snd_nxt <= self.snd_end;
        if !(self.snd_nxt < self.snd_end || fin_due) || self.is_unsynchronised() {
            return None;
        }
        if self.snd_una == self.snd_max {
            if self.holds_back(profile) {
                return None;
            }
            self.restart_after_idle(now, profile);
        } else if self.snd_nxt - self.snd_una >= self.send_window() && self.snd_nxt < self.snd_end {
            return None;
        }
        let (len, fin) = self.extent(self.snd_nxt, profile);
        if len > 0 && !self.window_lets(len, profile) {
            return None;
        }
        let seq = self.snd_nxt;
        let mut flags = fin;
        let is_new = self.snd_max <= seq;
        if is_new && len > 0 {
            flags |= self.ecn_of_new_data();
        } else {
            flags |= self.ect_on(Control::FinOrRetransmission, profile);
        }
        if is_new {
            self.time_segment(seq, now);
        }
        self.note_sent(seq, len, fin);
        if self.retransmit_timer.is_off() {
            self.arm_retransmit_timer(now, profile);
        }
        Some(self.segment(seq, len, flags, now, profile))
    }

    /// What a segment beginning at `seq` carries: up to one MSS of written data, and the FIN if it comes next.
    #[inline(always)]
    fn extent(&self, seq: Seq, profile: &Profile) -> (u16, Flags) {
        let unsent = if seq < self.snd_end { self.snd_end - seq } else { 0 };
        let len = u16::try_from(unsent).unwrap_or(u16::MAX).min(profile.mss);
        let reaches_end = u32::from(len) == unsent;
        let fin = reaches_end && self.pending.any(Pending::FIN);
        (len, if fin { Flags::FIN } else { Flags::NONE })
    }

    /// Both windows have room for `len` bytes, and silly small segments are avoided: a partial segment goes only
    /// when it is the last of the data (RFC 9293 §3.8.6.2.1), with Nagle only when nothing is unacknowledged.
    #[inline(always)]
    fn window_lets(&self, len: u16, profile: &Profile) -> bool {
        let in_flight = self.snd_nxt - self.snd_una;
        let held_by_nagle = profile.nagle
            && len < profile.mss
            && self.snd_una < self.snd_nxt
            && !self.pending.any(Pending::FIN);
        in_flight + u32::from(len) <= self.send_window() && !held_by_nagle
    }

    /// RFC 5681 §4.1: nothing in flight for longer than the retransmission timeout.
    pub(super) fn restart_after_idle(&mut self, now: Time, profile: &Profile) {
        if profile.restart_after_idle && now - self.since >= self.rtt.rto() {
            self.congestion.on_idle(profile.initial_window_bytes());
        }
    }

    /// Time one segment per round trip; Karn's rule: never one sent before.
    #[inline]
    fn time_segment(&mut self, seq: Seq, now: Time) {
        if !self.pending.any(Pending::TIMING) {
            self.pending.set(Pending::TIMING);
            self.timed = seq;
            self.since = now;
        }
    }

    /// A segment leaves. Sent again it may reach further than before, if more was written in between.
    #[inline]
    pub(super) fn note_sent(&mut self, seq: Seq, len: u16, fin: Flags) {
        let mut end = seq + u32::from(len);
        if fin.contains(Flags::FIN) {
            end += 1;
            self.enter_fin_sent();
        }
        self.snd_nxt = self.snd_nxt.max(end);
        self.snd_max = self.snd_max.max(end);
    }

    fn enter_fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    /// Has the FIN been sent, if only once?
    #[inline]
    pub(super) fn fin_is_sent(&self) -> bool {
        self.snd_end < self.snd_max
    }

    /// A segment that carries the current acknowledgement, which is thereby sent.
    #[inline(always)]
    pub(super) fn segment(
        &mut self,
        seq: Seq,
        len: u16,
        extra: Flags,
        now: Time,
        profile: &Profile,
    ) -> Segment<S::Options> {
        self.pending.clear(Pending::ACK);
        self.unacked_segments = 0;
        let mut flags = Flags::ACK | extra;
        if self.pending.any(Pending::ECHO) {
            flags |= self.echo(len, extra);
        }
        let window = S::Extension::own_window(self, profile);
        let options = S::Extension::options(self, len, now, profile);
        Segment { seq, ack: self.rcv_nxt, len, window, flags, options }
    }
}
