//! Transmission: SYNs, data as the windows permit, FIN, acknowledgements.

use aqmlab_units::Time;

use super::Endpoint;
use crate::core::{Status, increment};
use crate::ecn::policy::PacketKind;
use crate::{Flags, Profile, Segment, Sender, Seq, State};

impl<S: Sender> Endpoint<S> {
    /// Return the next segment to send, if any. Poll again after every other call except
    /// [`Endpoint::poll_event`].
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.sender.quic().is_some() {
            return self.sender.poll_datagram(now, profile);
        }
        if self.may_send() { self.transmit(now, profile) } else { None }
    }

    /// True if [`Endpoint::poll_transmit`] may return a segment. If false, that call would do nothing.
    #[inline(always)]
    pub fn may_send(&self) -> bool {
        if let Some(quic) = self.sender.quic() {
            return quic.may_send();
        }
        self.core.snd_nxt != self.core.snd_end || self.core.status.any(Status::TO_SEND)
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.core.status.any(Status::SYN_DUE | Status::RST_DUE) {
            return self.transmit_control(now, profile);
        }
        self.sender.next_segment(&mut self.core, now, profile)
    }

    /// Build a reset, a SYN, or the first of DCTCP's two acknowledgements. They come before all other segments.
    #[inline(never)]
    fn transmit_control(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.core.status.take(Status::RST_DUE) {
            return Some(self.reset(profile));
        }
        self.core.status.clear(Status::SYN_DUE);
        if self.core.is_unsynchronised() {
            return Some(self.transmit_syn(now, profile));
        }
        self.core.rewind_before_mark_change();
        let segment = self.sender.next_segment(&mut self.core, now, profile);
        self.core.restore_after_mark_change();
        segment
    }

    fn reset(&self, profile: &Profile) -> Segment<S::Options> {
        let ect = self.core.ect_on(PacketKind::Reset, self.sender.congestion(), profile);
        let flags = Flags::RST | Flags::ACK | ect;
        Segment { seq: self.core.snd_nxt, ack: self.core.rcv_nxt, flags, ..Segment::default() }
    }

    fn transmit_syn(&mut self, now: Time, profile: &Profile) -> Segment<S::Options> {
        let kind = if self.core.is_responder() { Flags::SYN | Flags::ACK } else { Flags::SYN };
        let flags = kind | self.core.handshake_flags(self.sender.congestion(), profile);
        if self.core.snd_max == Seq::ZERO {
            self.core.snd_nxt = Seq::new(1);
            self.core.snd_max = self.core.snd_nxt;
            self.core.interval_start = now;
            // The SYN cache of a classic server measures no time: its first sample comes from data.
            if self.core.state == State::SynSent || !profile.is_classic() {
                self.core.time_segment(Seq::ZERO, now);
            }
            self.core.arm_retransmit_timer(now, profile);
        } else {
            self.core.status.clear(Status::TIMING);
            increment(&mut self.core.recovery.syn_retransmits);
        }
        let options = self.sender.offer(&self.core, now, profile);
        let window = profile.unscaled_window();
        Segment { ack: self.core.rcv_nxt, window, flags, options, ..Segment::default() }
    }
}
