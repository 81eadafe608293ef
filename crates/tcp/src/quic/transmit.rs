//! Transmission: packets of each space in one datagram, as windows, pacing and the anti-amplification limit permit.

use aqmlab_units::Time;

use super::Connection;
use super::handshake::Role;
use super::sent::SentPacket;
use super::wire::{Datagram, Frame, HANDSHAKE_DATAGRAM, Space, packet_overhead};
use crate::congestion::CongestionControl;
use crate::timer::Timer;
use crate::{Flags, Profile};

/// Room that a packet needs for a frame worth sending.
const LEAST_ROOM: u16 = 32;

/// A datagram in the making.
struct Builder {
    datagram: Datagram,
    /// Bytes of its packets so far, and at most.
    used: u16,
    limit: u16,
    /// Bytes of the packet of each space.
    sizes: [u16; 3],
    /// The largest number that its packet acknowledges.
    acks: [Option<u32>; 3],
}

impl Builder {
    fn room(&self) -> u16 {
        self.limit - self.used
    }

    fn push(&mut self, space: Space, frame: Frame) {
        self.datagram.push(space, frame);
        self.add(space, frame.size());
    }

    fn add(&mut self, space: Space, bytes: u16) {
        self.sizes[space.index()] += bytes;
        self.used += bytes;
    }
}

impl<C: CongestionControl> Connection<C> {
    /// Return the next datagram to send, if any, with the ECN codepoint of its IP packet.
    pub fn poll_transmit(&mut self, now: Time, profile: &Profile) -> Option<(Datagram, Flags)> {
        if !self.may_send() || self.opens_early {
            return None;
        }
        let is_handshake = self.wants(Space::Initial) || self.wants(Space::Handshake);
        let full = if is_handshake { HANDSHAKE_DATAGRAM } else { profile.mss };
        let limit = u16::try_from(self.path.allowance()).unwrap_or(u16::MAX).min(full);
        if limit < full && (limit < 4 * LEAST_ROOM || self.wants(Space::Initial)) {
            return None;
        }
        let mut builder =
            Builder { datagram: Datagram::default(), used: 0, limit, sizes: [0; 3], acks: [None; 3] };
        for space in Space::ALL {
            self.fill(space, &mut builder, now);
        }
        if builder.used == 0 {
            return None;
        }
        self.pad(&mut builder);
        Some(self.send(&builder, now))
    }

    /// True if [`Connection::poll_transmit`] may return a datagram.
    pub fn may_send(&self) -> bool {
        !self.is_closed && Space::ALL.into_iter().any(|space| self.wants(space))
    }

    /// True if a space has something to send and keys for it.
    fn wants(&self, space: Space) -> bool {
        let of = &self.spaces[space.index()];
        // The spaces of the handshake are discarded first.
        !of.is_discarded
            && self.handshake.can_send(space)
            && (of.received.ack_due || of.probes > 0 || self.has_content(space))
    }

    /// True if there are frames that elicit an acknowledgement.
    pub(super) fn has_content(&self, space: Space) -> bool {
        let crypto = &self.spaces[space.index()].crypto;
        let has_crypto = crypto.has_lost() || crypto.unsent() > 0;
        let is_data = space == Space::Data;
        has_crypto
            || (is_data
                && (self.streams.has_sendable() || self.streams.has_limits_due() || self.handshake.done_due))
    }

    /// True if the windows and the pacer let a packet leave. Probes and the packets that lift the anti-amplification limit
    /// always may.
    fn permits(&mut self, space: Space, now: Time) -> bool {
        if self.spaces[space.index()].probes > 0 {
            return true;
        }
        if !self.window.has_room() {
            self.window.is_limiting = true;
            return false;
        }
        let release = self.window.release(self.rtt.smoothed());
        if now < release {
            self.pacing_timer = Timer::at(release);
            let waiting = self.streams.unsent();
            self.window.is_paced |= self.window.in_flight.saturating_add(waiting) >= self.window.size();
            return false;
        }
        true
    }

    /// Add the packet of a space.
    fn fill(&mut self, space: Space, builder: &mut Builder, now: Time) {
        if !self.wants(space) {
            return;
        }
        let is_long = space != Space::Data || (self.role == Role::Client && !self.handshake.is_complete());
        let overhead = packet_overhead(space, is_long);
        if builder.room() < overhead + LEAST_ROOM || !builder.datagram.has_room() {
            return;
        }
        let sends_content =
            (self.has_content(space) || self.spaces[space.index()].probes > 0) && self.permits(space, now);
        let received = &mut self.spaces[space.index()].received;
        if !sends_content && !received.ack_due {
            return;
        }
        builder.add(space, overhead);
        builder.datagram.is_zero_rtt |= is_long && space == Space::Data;
        if received.ack_due || received.unacknowledged > 0 {
            self.add_ack(space, builder, now);
        }
        if sends_content {
            self.add_content(space, builder);
        }
    }

    fn add_ack(&mut self, space: Space, builder: &mut Builder, now: Time) {
        let received = &mut self.spaces[space.index()].received;
        if space != Space::Data {
            if let Some(frame @ Frame::HandshakeAck { largest, .. }) = received.take_handshake_ack() {
                builder.acks[space.index()] = Some(largest);
                builder.push(space, frame);
            }
        } else if let Some(ack) = received.take_ack(now) {
            self.ack_timer = Timer::OFF;
            builder.acks[space.index()] = Some(ack.largest);
            builder.datagram.ack = Some(ack);
            builder.add(space, ack.size());
        }
    }

    /// Add frames that elicit an acknowledgement.
    fn add_content(&mut self, space: Space, builder: &mut Builder) {
        let before = builder.used;
        let index = space.index();
        if space == Space::Data {
            if std::mem::take(&mut self.handshake.done_due) {
                builder.push(space, Frame::HandshakeDone);
            }
            while builder.datagram.has_room()
                && builder.room() >= LEAST_ROOM
                && let Some(frame) = self.streams.next_limit()
            {
                builder.push(space, frame);
            }
            while builder.datagram.has_room()
                && let Some((frame, is_repeated)) = self.streams.next_frame(builder.room())
            {
                if let Frame::Stream { len, .. } = frame {
                    if is_repeated {
                        builder.datagram.repeated += len;
                    } else {
                        self.sent_bytes = self.sent_bytes.wrapping_add(len.into());
                    }
                }
                builder.push(space, frame);
            }
        } else {
            self.add_crypto(space, builder);
        }
        if before == builder.used && builder.datagram.has_room() {
            builder.push(space, Frame::Ping);
        }
        let of = &mut self.spaces[index];
        of.probes = of.probes.saturating_sub(1);
    }

    fn add_crypto(&mut self, space: Space, builder: &mut Builder) {
        let crypto = &mut self.spaces[space.index()].crypto;
        while builder.datagram.has_room() {
            let header = Frame::Crypto { offset: u16::MAX, len: 0, is_last: false };
            let Some(most) = builder.room().checked_sub(header.overhead()).filter(|&most| most > 0) else {
                return;
            };
            let Some((offset, len, _)) = crypto.take(most, crypto.end) else { return };
            let is_last = offset + u32::from(len) == crypto.end;
            let offset = u16::try_from(offset.get()).expect("a flight is shorter than 2^16 bytes");
            builder.push(space, Frame::Crypto { offset, len, is_last });
        }
    }

    /// Pad datagrams with Initial packets of a client, and those of a server that elicit an acknowledgement (RFC 9000
    /// §14.1).
    fn pad(&self, builder: &mut Builder) {
        let datagram = &builder.datagram;
        let has_initial = builder.sizes[Space::Initial.index()] > 0;
        let is_eliciting = datagram.frames(Space::Initial).any(|frame| frame.is_ack_eliciting());
        if has_initial && (self.role == Role::Client || is_eliciting) {
            builder.add(Space::Initial, HANDSHAKE_DATAGRAM.saturating_sub(builder.used));
        }
    }

    /// Number and track the packets of a finished datagram.
    fn send(&mut self, builder: &Builder, now: Time) -> (Datagram, Flags) {
        let &Builder { mut datagram, used, sizes, acks, .. } = builder;
        let is_one_rtt = sizes[0] == 0 && sizes[1] == 0 && !datagram.is_zero_rtt;
        let codepoint = if is_one_rtt { self.ecn.codepoint(&self.window.control) } else { Flags::NONE };
        let had_outstanding = self.has_outstanding();
        for space in Space::ALL.into_iter().filter(|space| sizes[space.index()] > 0) {
            let index = space.index();
            let number = self.spaces[index].next_number;
            self.spaces[index].next_number += 1;
            datagram.set_number(space, number);
            let mut eliciting = datagram.frames(space).filter(Frame::is_ack_eliciting).peekable();
            if eliciting.peek().is_none() {
                continue;
            }
            let (tracked, size) = (self.tracked, sizes[index]);
            self.tracked += 1;
            let packet = SentPacket {
                number,
                tracked,
                sent_at: now,
                delivered: self.window.on_sent(tracked, size, self.rtt.smoothed(), now),
                acks: acks[index],
                size,
                is_ect: codepoint != Flags::NONE,
                is_outstanding: true,
            };
            let of = &mut self.spaces[index];
            of.sent.push(packet, eliciting);
            of.outstanding += 1;
            of.last_sent_at = now;
        }
        if !had_outstanding && self.has_outstanding() {
            self.idle_since = self.idle_since.max(now);
        }
        if sizes[Space::Handshake.index()] > 0 && self.role == Role::Client {
            // RFC 9001 §4.9.1.
            self.discard(Space::Initial);
        }
        datagram.payload = used;
        datagram.parameters = self.handshake.own;
        self.path.on_sent(used);
        self.set_loss_timer(now);
        (datagram, codepoint)
    }

    /// Before the application writes: record that it has left the window unused, if so.
    pub(super) fn note_app_limited(&mut self) {
        if self.streams.unsent() == 0 && !self.streams.has_sendable() {
            self.window.on_app_limited();
        }
    }
}
