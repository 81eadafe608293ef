//! Received segments: the checks of RFC 9293 §3.10.7 in their order, acknowledgements, data, FIN.

use aqmlab_units::Time;

use super::Endpoint;
use crate::core::Status;
use crate::timer::Timer;
use crate::{Flags, Profile, Segment, Sender, State};

impl<S: Sender> Endpoint<S> {
    /// Handle a received segment.
    #[inline(always)]
    pub fn handle_segment(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        if self.sender.quic().is_some() {
            return self.sender.handle_datagram(segment, now, profile);
        }
        if segment.flags.intersects(Flags::SYN | Flags::RST) || self.core.is_unsynchronised() {
            return self.handle_control(segment, now, profile);
        }
        self.sender.on_segment(&mut self.core, segment, now, profile);
        if segment.span() > 0 {
            self.handle_data(segment, now, profile);
        }
    }

    /// Handle segments that open or reset a connection.
    fn handle_control(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        let flags = segment.flags;
        if flags.contains(Flags::RST) {
            if !matches!(self.core.state, State::Closed | State::Listen) {
                self.abort();
            }
            return;
        }
        match self.core.state {
            State::Listen if flags.contains(Flags::SYN) => {
                self.core.snd_wnd = segment.window;
                self.core.rcv_nxt = segment.seq + 1;
                self.sender.negotiate(&mut self.core, segment, profile);
                self.core.on_syn(flags, profile);
                self.core.state = State::SynReceived;
                self.core.status.set(Status::SYN_DUE);
            }
            State::SynSent if flags.contains(Flags::SYN | Flags::ACK) => {
                self.core.snd_wnd = segment.window;
                self.core.rcv_nxt = segment.seq + 1;
                let (congestion, limits) = self.sender.negotiate(&mut self.core, segment, profile);
                if self.core.on_syn_ack(flags, congestion, limits.mss, profile) {
                    self.core.establish(segment.ack, now, profile);
                }
                self.core.status.set(Status::ACK_DUE);
            }
            State::SynSent if self.core.peer_proceeded(segment) => {
                self.core.establish(segment.ack, now, profile);
                self.handle_first_segment(segment, now, profile);
            }
            // The peer retransmits its SYN: our SYN/ACK was lost.
            State::SynReceived if flags.contains(Flags::SYN) => {
                self.core.on_syn_retransmit(flags);
                self.core.status.set(Status::SYN_DUE);
            }
            State::SynReceived if segment.ack == self.core.snd_max => {
                self.core.snd_wnd = segment.window;
                let (congestion, limits) = self.sender.negotiate(&mut self.core, segment, profile);
                if self.core.on_syn_ack_acked(segment, congestion, limits, now, profile) {
                    self.handle_first_segment(segment, now, profile);
                }
            }
            // No connection here (a server that has given up a half-open one): refuse.
            State::Closed | State::Listen => self.core.status.set(Status::RST_DUE),
            State::SynSent | State::SynReceived => {}
            // The peer retransmits its SYN/ACK: our acknowledgement was lost.
            _ => {
                self.core.on_syn_ack_retransmit(flags);
                self.core.status.set(Status::ACK_DUE);
            }
        }
    }

    /// Handle the segment that completes the handshake: it has data if the pure acknowledgement was lost.
    fn handle_first_segment(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        if segment.span() > 0 {
            self.handle_segment(segment, now, profile);
        }
    }

    /// Handle data or a FIN.
    #[inline(always)]
    fn handle_data(&mut self, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        let end = segment.seq + u32::from(segment.len);
        let immediate = self.sender.on_data(&mut self.core, segment.seq, end);
        self.acknowledge(immediate, now, profile);
        if self.core.status.any(Status::READ_PENDING) && self.core.rcv_low_water <= self.core.rcv_nxt {
            self.core.status.clear(Status::READ_PENDING);
            self.core.status.set(Status::EVENT_RECEIVED);
        }
        // A FIN ahead of a gap is ignored; the peer retransmits it.
        if segment.flags.contains(Flags::FIN) && end == self.core.rcv_nxt {
            self.handle_fin();
        }
    }

    /// Acknowledge now if `immediate` or at every `ack_every`-th segment; otherwise start the delay (RFC 9293
    /// §3.8.6.3).
    #[inline(always)]
    fn acknowledge(&mut self, immediate: bool, now: Time, profile: &Profile) {
        if immediate {
            return self.core.status.set(Status::ACK_DUE);
        }
        self.core.unacked_segments += 1;
        if self.core.unacked_segments >= profile.ack_every {
            self.core.status.set(Status::ACK_DUE);
        } else if self.core.unacked_segments == 1 {
            self.core.delayed_ack_timer = Timer::at(now + profile.delayed_ack);
        }
    }

    /// Handle the peer's FIN, which is in order.
    fn handle_fin(&mut self) {
        // An end that has closed has no answer that could carry the acknowledgement.
        if self.core.state != State::Established || self.sender.on_fin() {
            self.core.status.set(Status::ACK_DUE);
        }
        let next = match self.core.state {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::TimeWait,
            _ => return,
        };
        self.core.state = next;
        self.core.rcv_nxt += 1;
        self.core.status.set(Status::EVENT_PEER_CLOSED);
    }
}
