//! Detection of losses by packets and by time, PTO, and persistent congestion (RFC 9002 §6, Appendix A).

use aqmlab_units::{Duration, Time};

use super::Connection;
use super::handshake::Role;
use super::wire::{Frame, Space};
use crate::Seq;
use crate::congestion::CongestionControl;
use crate::core::increment;
use crate::timer::Timer;

/// Packets sent later and acknowledged that indicate a loss (`kPacketThreshold`).
const PACKET_THRESHOLD: u32 = 3;
/// PTOs that lost packets span in persistent congestion (`kPersistentCongestionThreshold`).
const PERSISTENT_THRESHOLD: u64 = 3;
/// Exponent at which the back-off of PTOs stops; ours: 65,536 PTOs are more than a day.
const MOST_BACKOFF: u8 = 16;

/// Losses that one detection finds.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    bytes: u32,
    /// Departure of the last packet lost.
    last: Time,
    /// The last run of lost packets with none acknowledged between them: first departure, and number of the last.
    run: Option<(Time, u32)>,
    /// The longest run.
    longest: Duration,
}

impl<C: CongestionControl> Connection<C> {
    /// RFC 9002 A.10, `DetectAndRemoveLostPackets`, and B.8, `OnPacketsLost`.
    pub(super) fn detect_losses(&mut self, space: Space, now: Time) {
        let delay = self.rtt.loss_delay();
        let first_sample = self.rtt.first_at;
        let of = &mut self.spaces[space.index()];
        of.loss_time = None;
        let Some(largest) = of.largest_acked else { return };
        let mut losses = Losses::default();
        let mut lost = Vec::new();
        for place in of.sent.places(0, largest + 1) {
            let packet = of.sent.get_mut(place);
            if !packet.is_outstanding {
                continue;
            }
            if now < packet.sent_at + delay && largest < packet.number + PACKET_THRESHOLD {
                of.loss_time = Some(packet.sent_at + delay);
                break;
            }
            packet.is_outstanding = false;
            of.outstanding -= 1;
            losses.bytes += u32::from(packet.size);
            losses.last = packet.sent_at;
            // Only packets since the first sample of the round-trip time count (§7.6.2).
            if first_sample.is_some_and(|first| first <= packet.sent_at) {
                let start = match losses.run {
                    Some((start, last)) if last + 1 == packet.tracked => start,
                    _ => packet.sent_at,
                };
                losses.run = Some((start, packet.tracked));
                losses.longest = losses.longest.max(packet.sent_at - start);
            }
            lost.extend(of.sent.frames(place));
        }
        of.sent.trim();
        if losses.bytes == 0 {
            return;
        }
        for frame in lost {
            self.send_again(space, frame);
        }
        if !self.ecn.is_capable() && self.spaces[Space::Data.index()].largest_acked.is_none() {
            self.ecn.on_all_lost();
        }
        let is_persistent = losses.longest > self.persistent_duration();
        if is_persistent {
            self.rtt.forget_min();
        }
        if self.window.on_lost(losses.bytes, losses.last, is_persistent, now) {
            increment(&mut self.counts.fast_retransmits);
        }
    }

    /// The duration that persistent congestion exceeds (§7.6.1).
    fn persistent_duration(&self) -> Duration {
        (self.rtt.pto() + self.max_ack_delay()) * PERSISTENT_THRESHOLD
    }

    fn max_ack_delay(&self) -> Duration {
        Duration::from_micros(self.handshake.peer.max_ack_delay.into())
    }

    /// Put the content of a frame that is lost, or may be, in line to be sent in another packet (RFC 9000 §13.3).
    pub(super) fn send_again(&mut self, space: Space, frame: Frame) {
        match frame {
            Frame::Crypto { offset, len, .. } => {
                let from = Seq::new(offset.into());
                self.spaces[space.index()].crypto.lose(from, from + u32::from(len));
            }
            Frame::HandshakeDone => self.handshake.done_due = true,
            _ => self.streams.on_lost(frame),
        }
    }

    /// RFC 9002 A.6, `PeerCompletedAddressValidation`.
    pub(super) fn peer_has_validated(&self) -> bool {
        self.role == Role::Server || self.path.has_handshake_ack() || self.handshake.is_confirmed()
    }

    pub(super) fn has_outstanding(&self) -> bool {
        self.spaces.iter().any(|space| space.outstanding > 0)
    }

    /// RFC 9002 A.8, `SetLossDetectionTimer`.
    pub(super) fn set_loss_timer(&mut self, now: Time) {
        let loss_time = self.spaces.iter().filter_map(|space| space.loss_time).min();
        self.loss_timer = if self.is_over() || self.path.is_blocked() {
            Timer::OFF
        } else if let Some(loss_time) = loss_time {
            Timer::at(loss_time)
        } else if !self.has_outstanding() && (self.peer_has_validated() || !self.has_begun()) {
            Timer::OFF
        } else {
            self.pto(now).map_or(Timer::OFF, |(at, _)| Timer::at(at))
        };
    }

    /// The factor of the PTO after its expirations so far.
    pub(super) fn back_off(&self) -> u64 {
        1 << self.pto_count.min(MOST_BACKOFF)
    }

    /// RFC 9002 A.8, `GetPtoTimeAndSpace`.
    fn pto(&self, now: Time) -> Option<(Time, Space)> {
        let back_off = self.back_off();
        let duration = self.rtt.pto() * back_off;
        let is_confirmed = self.handshake.is_confirmed();
        let times = Space::ALL.into_iter().filter_map(|space| {
            let of = &self.spaces[space.index()];
            let is_data = space == Space::Data;
            // The peer may lack the keys for them (§6.2.1).
            if of.outstanding == 0 || (is_data && !is_confirmed) {
                return None;
            }
            let delay = if is_data { self.max_ack_delay() * back_off } else { Duration::ZERO };
            Some((of.last_sent_at + duration + delay, space))
        });
        times.min_by_key(|&(at, _)| at).or_else(|| {
            // Nothing of the handshake is in flight, and it is not confirmed. The server may need a packet of the client to lift
            // its anti-amplification limit (§6.2.2.1), or 0-RTT data fill the window.
            let has_keys = self.handshake.can_send(Space::Handshake);
            let space = if has_keys { Space::Handshake } else { Space::Initial };
            (self.role == Role::Client && !is_confirmed).then_some((now + duration, space))
        })
    }

    /// RFC 9002 A.9, `OnLossDetectionTimeout`.
    pub(super) fn on_loss_timer(&mut self, now: Time) {
        let lost = Space::ALL.into_iter().filter_map(|space| {
            let loss_time = self.spaces[space.index()].loss_time?;
            Some((loss_time, space))
        });
        if let Some((_, space)) = lost.min_by_key(|&(at, _)| at) {
            self.detect_losses(space, now);
        } else if let Some((_, space)) = self.pto(now) {
            self.probe(space);
            // §6.2.4: packets of other spaces come along, as the peer may need them to read this one.
            for other in [Space::Initial, Space::Handshake] {
                let is_pending = self.spaces[other.index()].outstanding > 0 || self.has_content(other);
                if space != Space::Data && other != space && self.handshake.can_send(other) && is_pending {
                    self.probe(other);
                }
            }
            self.pto_count = self.pto_count.saturating_add(1);
            let count = if self.handshake.is_complete() {
                &mut self.counts.timeouts
            } else {
                &mut self.counts.syn_retransmits
            };
            increment(count);
        }
        self.set_loss_timer(now);
    }

    /// Send two packets in `space` whether the window has room or not (§6.2.4): new data, or else the oldest in flight.
    fn probe(&mut self, space: Space) {
        let of = &mut self.spaces[space.index()];
        of.probes = if of.outstanding > 0 { 2 } else { 1 };
        let has_new = match space {
            Space::Data => self.streams.has_sendable(),
            _ => of.crypto.has_lost() || of.crypto.unsent() > 0,
        };
        if has_new {
            return;
        }
        let outstanding = of.sent.iter().enumerate().filter(|(_, packet)| packet.is_outstanding);
        let oldest = outstanding.take(usize::from(of.probes)).flat_map(|(place, _)| of.sent.frames(place));
        let oldest: Vec<Frame> = oldest.collect();
        for frame in oldest {
            self.send_again(space, frame);
        }
    }
}
