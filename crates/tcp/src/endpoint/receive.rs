//! What arrives: the order of checks of RFC 9293 §3.10.7, acknowledgements, data, FIN.

use aqmlab_units::Time;

use super::{Endpoint, Extension, Pending, State, count};
use crate::congestion::{Ack, CongestionControl};
use crate::timer::Timer;
use crate::{Flags, Profile, Segment, Seq, Stack};

impl<S: Stack> Endpoint<S> {
    /// A segment has arrived.
    #[inline(always)]
    pub fn handle_segment(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        if segment.flags.intersects(Flags::SYN | Flags::RST) || self.is_unsynchronised() {
            return self.handle_control(segment, now, profile);
        }
        if Self::concerns_ecn(segment.flags, profile) {
            self.handle_ecn(segment, profile);
        }
        S::Extension::note_arrival(self, segment);
        S::Extension::handle_ack(self, segment, now, profile);
        if segment.span() > 0 {
            self.handle_data(segment, now, profile);
        }
    }

    /// Segments that open or break a connection.
    fn handle_control(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        let flags = segment.flags;
        if flags.contains(Flags::RST) {
            if !matches!(self.state, State::Closed | State::Listen) {
                self.abort();
            }
            return;
        }
        match self.state {
            State::Listen if flags.contains(Flags::SYN) => {
                self.snd_wnd = segment.window;
                self.rcv_nxt = segment.seq + 1;
                S::Extension::agree(self, segment, profile);
                self.hear_syn(flags, profile);
                self.state = State::SynReceived;
                self.pending.set(Pending::SYN);
            }
            State::SynSent if flags.contains(Flags::SYN | Flags::ACK) => {
                self.snd_wnd = segment.window;
                self.rcv_nxt = segment.seq + 1;
                S::Extension::agree(self, segment, profile);
                if self.hear_syn_ack(flags, profile) {
                    self.establish(segment, now, profile);
                }
                self.pending.set(Pending::ACK);
            }
            State::SynSent if self.server_went_on(segment) => {
                self.establish(segment, now, profile);
                self.handle_first_segment(segment, now, profile);
            }
            // The peer's SYN again: our SYN/ACK was lost.
            State::SynReceived if flags.contains(Flags::SYN) => {
                self.hear_syn_again(flags);
                self.pending.set(Pending::SYN);
            }
            State::SynReceived if segment.ack == self.snd_max => {
                self.snd_wnd = segment.window;
                S::Extension::note_handshake_ack(self, segment, profile);
                let marked = self.hears_of_marked_syn_ack(segment);
                if marked && self.tries_syn_ack_once_more(segment, now, profile) {
                    return;
                }
                let sent = self.since;
                self.establish(segment, now, profile);
                // 4.4BSD counts the acknowledgement of the SYN/ACK as one of data: one segment more, unless the
                // SYN/ACK had to be repeated or came marked.
                if marked {
                    self.answer_marked_syn_ack(sent, now, profile);
                } else if profile.handshake_ack_opens_window && self.recovery.syn_retransmits == 0 {
                    let mss = self.mss(profile);
                    self.congestion.on_ack(&Ack { now, bytes: mss, mss, ..Ack::default() });
                }
                self.handle_first_segment(segment, now, profile);
            }
            // No connection here (a server that forgot a half-open one): refuse.
            State::Closed | State::Listen => self.pending.set(Pending::RST),
            State::SynSent | State::SynReceived => {}
            // A SYN/ACK again: our acknowledgement was lost.
            _ => {
                self.hear_syn_ack_again(flags);
                self.pending.set(Pending::ACK);
            }
        }
    }

    /// The segment that completes the handshake may carry the first data when the bare acknowledgement was lost.
    fn handle_first_segment(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        if segment.span() > 0 {
            self.handle_segment(segment, now, profile);
        }
    }

    /// The handshake is complete at this end.
    fn establish(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        self.state = State::Established;
        self.take_sample(segment.ack, now, profile);
        self.snd_una = segment.ack;
        self.snd_nxt = segment.ack;
        self.since = now;
        self.recover = segment.ack;
        self.ecn.recover = segment.ack;
        self.timeouts = 0;
        self.retransmit_timer = Timer::OFF;
        self.pending.set(Pending::EVENT_OPENED);
    }

    #[inline(always)]
    pub(super) fn handle_ack(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        let ack = segment.ack;
        if self.snd_una < ack {
            if self.snd_max < ack {
                debug_assert!(false, "the peer acknowledged what was never sent");
                return;
            }
            self.handle_new_ack(segment, now, profile);
        } else if ack == self.snd_una {
            if segment.span() == 0 && self.snd_una < self.snd_max {
                self.handle_duplicate_ack(now, profile);
            } else {
                self.dup_acks = 0;
            }
        }
    }

    #[inline(always)]
    fn handle_new_ack(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        let bytes = segment.ack - self.snd_una;
        self.take_sample(segment.ack, now, profile);
        self.snd_una = segment.ack;
        self.snd_nxt = self.snd_nxt.max(segment.ack);
        let marks = Self::concerns_ecn(segment.flags, profile) && self.tells_of_marks(segment.flags);
        let marked = if marks { self.take_marked(bytes, profile) } else { 0 };
        let ack = Ack { now, bytes, mss: u32::from(profile.mss), marked, ..Ack::default() };
        self.congestion.on_delivery(&ack);
        if marks {
            self.answer_echo(segment.ack, profile);
        }
        if self.pending.any(Pending::IN_RECOVERY) {
            self.recover_further(ack, profile);
        } else {
            self.dup_acks = 0;
            if !marks || self.grows_despite_marks(&ack) {
                self.congestion.on_ack(&ack);
            }
        }
        if self.snd_una == self.snd_max {
            self.retransmit_timer = Timer::OFF;
            self.since = now;
            if self.fin_is_sent() {
                self.handle_fin_acked();
            }
        } else {
            self.arm_retransmit_timer(now, profile);
        }
    }

    /// The timed segment may be among what `ack` covers. Only then does the back-off end (Karn; RFC 6298 §5).
    #[inline]
    fn take_sample(&mut self, ack: Seq, now: Time, profile: &Profile) {
        if self.pending.any(Pending::TIMING) && self.timed < ack {
            self.pending.clear(Pending::TIMING);
            self.rtt.sample(now - self.since, profile);
            self.timeouts = 0;
            // What lies behind follows once a round trip, or 2^31 bytes later it would seem to lie ahead.
            self.recover = self.recover.max(self.snd_una);
            self.ecn.recover = self.ecn.recover.max(self.snd_una);
        }
    }

    /// RFC 6582 §3.2: a full acknowledgement ends fast recovery, a partial one names the next loss. For Reno (RFC 2581
    /// §3.2) any new acknowledgement ends it.
    fn recover_further(&mut self, ack: Ack, profile: &Profile) {
        if self.snd_una < self.recover && profile.newreno {
            self.congestion.on_partial_ack(&ack);
            self.pending.set(Pending::RETRANSMIT);
        } else {
            self.congestion.on_recovered(self.in_flight(), ack.mss);
            self.pending.clear(Pending::IN_RECOVERY);
            self.dup_acks = 0;
        }
    }

    /// RFC 5681 §3.2 with RFC 6582's `recover`: the third duplicate starts fast retransmit, unless it stems from
    /// segments sent before the last recovery or timeout. An acknowledgement of exactly those counts, as in FreeBSD 4;
    /// RFC 6582 asks for one of more.
    fn handle_duplicate_ack(&mut self, now: Time, profile: &Profile) {
        let mss = u32::from(profile.mss);
        self.dup_acks = self.dup_acks.saturating_add(1);
        if self.pending.any(Pending::IN_RECOVERY) {
            self.congestion.on_duplicate_ack(mss);
        } else if self.dup_acks == 3 && self.recover <= self.snd_una {
            self.congestion.on_fast_retransmit(self.window_before_loss(), mss);
            self.note_reduction();
            self.recover = self.snd_max;
            self.pending.clear(Pending::TIMING);
            self.pending.set(Pending::IN_RECOVERY | Pending::RETRANSMIT);
            count(&mut self.recovery.fast_retransmits);
            self.arm_retransmit_timer(now, profile);
        }
    }

    /// What was allowed in flight when a loss is found. RFC 3168 §6.1.2: one reduction per window. What a mark has halved
    /// counts as it was before.
    pub(super) fn window_before_loss(&self) -> u32 {
        let halved = self.snd_una < self.ecn.recover && !self.control_counts();
        if halved { 2 * self.send_window() } else { self.send_window() }
    }

    /// Our FIN has arrived.
    pub(super) fn handle_fin_acked(&mut self) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.state = State::TimeWait,
            State::LastAck => self.enter_closed(),
            _ => {}
        }
    }

    /// Data or a FIN.
    #[inline(always)]
    fn handle_data(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        let end = segment.seq + u32::from(segment.len);
        if segment.seq == self.rcv_nxt && !self.pending.any(Pending::OUT_OF_ORDER) {
            self.rcv_nxt = end;
            self.acknowledge(now, profile);
        } else {
            S::Extension::reassemble(self, segment.seq, end);
            self.pending.set(Pending::ACK);
        }
        if self.pending.any(Pending::AWAITING) && self.rcv_low_water <= self.rcv_nxt {
            self.pending.clear(Pending::AWAITING);
            self.pending.set(Pending::EVENT_RECEIVED);
        }
        if segment.flags.contains(Flags::FIN) && end == self.rcv_nxt {
            self.handle_fin();
        }
    }

    /// Data that repeat, overlap or lie beyond a gap.
    pub(super) fn reassemble(&mut self, start: Seq, end: Seq) {
        if self.rcv_nxt < end {
            self.reassembly.insert(start.max(self.rcv_nxt), end);
            self.rcv_nxt = self.reassembly.advance(self.rcv_nxt);
        }
        self.pending.clear(Pending::OUT_OF_ORDER);
        if !self.reassembly.is_empty() {
            self.pending.set(Pending::OUT_OF_ORDER);
        }
    }

    /// RFC 9293 §3.8.6.3: at once for every `ack_every`-th segment, else when the timer says so.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, profile: &Profile) {
        self.unacked_segments += 1;
        if self.extension.acknowledges_at_once() || self.unacked_segments >= profile.ack_every {
            self.pending.set(Pending::ACK);
        } else if self.unacked_segments == 1 {
            self.delayed_ack_timer = Timer::at(now + profile.delayed_ack);
        }
    }

    /// The peer's FIN, in order. A FIN that came too early is dropped and will be sent again.
    fn handle_fin(&mut self) {
        self.pending.set(Pending::ACK);
        let next = match self.state {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::TimeWait,
            _ => return,
        };
        self.state = next;
        self.rcv_nxt += 1;
        self.pending.set(Pending::EVENT_PEER_CLOSED);
    }
}
