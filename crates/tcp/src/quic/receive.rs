//! Received datagrams: packets, acknowledgements, TLS data, streams.

use aqmlab_units::{Duration, Time};

use super::Connection;
use super::handshake::{Progress, Role};
use super::sent::SentPacket;
use super::window::AckedPackets;
use super::wire::{Datagram, Frame, Parameters, Space};
use crate::congestion::CongestionControl;
use crate::core::increment;
use crate::{Event, Flags, Profile};

/// An acknowledgement of one space.
struct Acknowledgement {
    space: Space,
    largest: u32,
    delay: Duration,
    ecn: Option<[u32; 3]>,
}

impl<C: CongestionControl> Connection<C> {
    /// Handle a received datagram. `flags` has the ECN codepoint of its IP packet.
    pub fn handle_datagram(&mut self, datagram: &Datagram, flags: Flags, now: Time, profile: &Profile) {
        if self.is_closed {
            return;
        }
        self.path.on_received(datagram.payload);
        self.idle_since = now;
        for space in Space::ALL {
            let Some(number) = datagram.number(space) else { continue };
            let of = &self.spaces[space.index()];
            let is_readable = self.handshake.can_read(space, datagram.is_zero_rtt) && !of.is_discarded;
            if is_readable && !of.received.is_duplicate(number) {
                self.handle_packet(space, number, datagram, flags, now, profile);
            }
        }
        self.set_loss_timer(now);
    }

    fn handle_packet(
        &mut self,
        space: Space,
        number: u32,
        datagram: &Datagram,
        flags: Flags,
        now: Time,
        profile: &Profile,
    ) {
        if space == Space::Handshake && self.role == Role::Server {
            // The client has read the server's flight: it is at its address (RFC 9000 §8.1).
            self.path.validate();
            self.discard(Space::Initial);
        }
        let is_ack_eliciting = datagram.frames(space).any(|frame| frame.is_ack_eliciting());
        let received = &mut self.spaces[space.index()].received;
        let delayed = received.record(number, is_ack_eliciting, flags, now, profile);
        if space == Space::Data {
            if let Some(timer) = delayed {
                self.ack_timer = timer;
            }
        } else {
            // Handshake packets are acknowledged at once (RFC 9000 §13.2.1).
            received.ack_due |= is_ack_eliciting;
        }
        if let (Space::Data, Some(ack)) = (space, &datagram.ack) {
            let delay = ack.delay.min(self.handshake.peer.max_ack_delay);
            let delay = Duration::from_micros(delay.into());
            let head = Acknowledgement { space, largest: ack.largest, delay, ecn: ack.ecn };
            self.handle_ack(&head, ack.ranges(), now, profile);
        }
        for frame in datagram.frames(space) {
            self.handle_frame(space, frame, &datagram.parameters, now, profile);
        }
    }

    fn handle_frame(
        &mut self,
        space: Space,
        frame: Frame,
        parameters: &Parameters,
        now: Time,
        profile: &Profile,
    ) {
        match frame {
            Frame::Ping => {}
            Frame::HandshakeAck { largest, bits } => {
                let head = Acknowledgement { space, largest, delay: Duration::ZERO, ecn: None };
                let is_acked = |&back: &u32| bits & (1 << back) != 0;
                let ranges = (0..32).filter(is_acked).map(|back| (largest - back, largest - back + 1));
                self.handle_ack(&head, ranges, now, profile);
            }
            Frame::Crypto { offset, len, is_last } => {
                if self.spaces[space.index()].take_crypto(offset, len, is_last) {
                    self.handle_flight(space, parameters);
                }
            }
            Frame::HandshakeDone => {
                self.handshake.progress = Progress::Confirmed;
                self.discard(Space::Handshake);
            }
            Frame::Stream { .. } | Frame::MaxData(_) | Frame::MaxStreamData { .. } => {
                let was_received = self.streams.all_received();
                if self.streams.on_frame(frame) {
                    self.events.set(Event::Received);
                }
                if !was_received && self.streams.all_received() {
                    self.events.set(Event::PeerClosed);
                }
            }
        }
    }

    /// Handle the end of the peer's TLS flight in a space.
    fn handle_flight(&mut self, space: Space, parameters: &Parameters) {
        match (self.role, space) {
            (Role::Server, Space::Initial) => {
                self.handshake.progress = Progress::HandshakeKeys;
                self.take_parameters(parameters);
                self.write_flight(Space::Initial);
                self.write_flight(Space::Handshake);
            }
            (Role::Client, Space::Initial) => self.handshake.progress = Progress::HandshakeKeys,
            (Role::Client, Space::Handshake) => {
                self.take_parameters(parameters);
                self.write_flight(Space::Handshake);
                self.handshake.progress = Progress::Complete;
                if !self.handshake.is_zero_rtt() {
                    self.events.set(Event::Opened);
                }
            }
            (Role::Server, Space::Handshake) => {
                self.handshake.progress = Progress::Confirmed;
                self.handshake.done_due = true;
                self.discard(Space::Handshake);
                self.events.set(Event::Opened);
            }
            (_, Space::Data) => {}
        }
    }

    fn take_parameters(&mut self, parameters: &Parameters) {
        self.handshake.peer = *parameters;
        self.streams.take_limits(parameters);
    }

    pub(super) fn write_flight(&mut self, space: Space) {
        let bytes = self.handshake.flight(space);
        self.spaces[space.index()].crypto.write(bytes);
    }

    /// Discard the keys of a space, and with them its packets in flight (RFC 9001 §4.9, RFC 9002 §6.4).
    pub(super) fn discard(&mut self, space: Space) {
        let of = &mut self.spaces[space.index()];
        if of.is_discarded {
            return;
        }
        of.is_discarded = true;
        for packet in of.sent.clear() {
            self.window.discard(&packet);
        }
        (of.outstanding, of.loss_time, of.probes) = (0, None, 0);
        self.pto_count = 0;
    }

    /// RFC 9002 A.7, `OnAckReceived`.
    fn handle_ack(
        &mut self,
        head: &Acknowledgement,
        ranges: impl Iterator<Item = (u32, u32)>,
        now: Time,
        profile: &Profile,
    ) {
        let &Acknowledgement { space, largest, delay, ecn } = head;
        let of = &mut self.spaces[space.index()];
        debug_assert!(largest < of.next_number, "the peer acknowledged what was never sent");
        let is_newest = of.largest_acked.is_none_or(|before| before < largest);
        of.largest_acked = Some(of.largest_acked.map_or(largest, |before| before.max(largest)));
        let mut acked = AckedPackets::default();
        let mut newest: Option<SentPacket> = None;
        let mut ect = 0;
        for (from, to) in ranges {
            for place in of.sent.places(from, to) {
                let packet = of.sent.get_mut(place);
                if !std::mem::take(&mut packet.is_outstanding) {
                    continue;
                }
                let packet = *packet;
                of.outstanding -= 1;
                self.window.take_acked(&packet, &mut acked);
                ect += u32::from(packet.is_ect);
                if newest.is_none_or(|newest| newest.number < packet.number) {
                    newest = Some(packet);
                }
                if let Some(largest) = packet.acks {
                    of.received.forget(largest);
                }
                for frame in of.sent.frames(place) {
                    if let Frame::Crypto { offset, len, .. } = frame {
                        let from = crate::Seq::new(offset.into());
                        of.crypto.acknowledge(from, from + u32::from(len));
                    }
                    self.delivered_bytes = self.delivered_bytes.wrapping_add(self.streams.on_acked(frame));
                }
            }
        }
        of.sent.trim();
        let Some(newest) = newest else { return };
        if newest.number == largest {
            let rtt = now - newest.sent_at;
            acked.rtt = Some(rtt);
            // RFC 9002 §5.3: delays before the handshake is confirmed may come from missing keys.
            let delay = if self.handshake.is_confirmed() { delay } else { Duration::ZERO };
            self.rtt.sample(rtt, delay, now, profile);
        }
        if space == Space::Data && is_newest {
            self.handle_marks(ecn, ect, &newest, &mut acked, now);
        }
        self.detect_losses(space, now);
        let first_tracked =
            self.spaces.iter().filter_map(|space| space.sent.first_tracked()).min().unwrap_or(self.tracked);
        let min_rtt = self.rtt.min.unwrap_or(Duration::ZERO);
        self.window.on_acked(&acked, first_tracked, min_rtt, now);
        if space == Space::Handshake {
            self.path.on_handshake_ack();
        }
        if self.peer_has_validated() {
            self.pto_count = 0;
        }
    }

    fn handle_marks(
        &mut self,
        counts: Option<[u32; 3]>,
        ect: u32,
        newest: &SentPacket,
        acked: &mut AckedPackets,
        now: Time,
    ) {
        let marks = self.ecn.on_ack(counts, ect, &self.window.control);
        if marks == 0 {
            return;
        }
        acked.marked = marks.saturating_mul(newest.size.into()).min(acked.bytes);
        self.marked_bytes += u64::from(acked.marked);
        if self.window.on_mark(newest.sent_at, now) {
            increment(&mut self.counts.ecn_reductions);
        }
    }
}
