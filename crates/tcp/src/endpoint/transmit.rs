//! What leaves: SYNs, data as the windows allow, FIN, acknowledgements.

use aqmlab_units::Time;

use super::Endpoint;
use crate::core::{Status, count};
use crate::ecn::policy::PacketKind;
use crate::{Flags, Profile, Segment, Sender, Seq, State};

impl<S: Sender> Endpoint<S> {
    /// The next segment to put on the network, if any. Its answer may change after every other call but
    /// [`Endpoint::poll_event`].
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.may_send() { self.transmit(now, profile) } else { None }
    }

    /// May [`Endpoint::poll_transmit`] have an answer? If not, it would do nothing.
    #[inline(always)]
    pub fn may_send(&self) -> bool {
        self.core.snd_nxt != self.core.snd_end || self.core.status.any(Status::TO_SEND)
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.core.status.any(Status::SYN_DUE | Status::RST_DUE) {
            return self.transmit_control(now, profile);
        }
        self.sender.next_segment(&mut self.core, now, profile)
    }

    /// A reset, a SYN, or the first of DCTCP's two acknowledgements, which go before everything else.
    #[inline(never)]
    fn transmit_control(&mut self, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        if self.core.status.take(Status::RST_DUE) {
            return Some(self.reset(profile));
        }
        self.core.status.clear(Status::SYN_DUE);
        if self.core.is_unsynchronised() {
            return Some(self.transmit_syn(now, profile));
        }
        self.core.return_to_before_change();
        let segment = self.sender.next_segment(&mut self.core, now, profile);
        self.core.go_on_after_change();
        segment
    }

    fn reset(&self, profile: &Profile) -> Segment<S::Options> {
        let ect = self.core.ect_on(PacketKind::Reset, self.sender.congestion(), profile);
        let flags = Flags::RST | Flags::ACK | ect;
        Segment { seq: self.core.snd_nxt, ack: self.core.rcv_nxt, flags, ..Segment::default() }
    }

    fn transmit_syn(&mut self, now: Time, profile: &Profile) -> Segment<S::Options> {
        let kind = if self.core.answers() { Flags::SYN | Flags::ACK } else { Flags::SYN };
        let flags = kind | self.core.handshake_flags(self.sender.congestion(), profile);
        if self.core.snd_max == Seq::ZERO {
            self.core.snd_nxt = Seq::new(1);
            self.core.snd_max = self.core.snd_nxt;
            self.core.since = now;
            // The SYN cache of a classic server keeps no clock: its first sample comes from data.
            if self.core.state == State::SynSent || !profile.is_classic() {
                self.core.time_segment(Seq::ZERO, now);
            }
            self.core.arm_retransmit_timer(now, profile);
        } else {
            self.core.status.clear(Status::TIMING);
            count(&mut self.core.recovery.syn_retransmits);
        }
        let options = self.sender.offer(&self.core, now, profile);
        let window = profile.unscaled_window();
        Segment { ack: self.core.rcv_nxt, window, flags, options, ..Segment::default() }
    }
}
