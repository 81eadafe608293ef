//! A packet number space: packets sent and received, and TLS data (RFC 9000 §12.3).

use std::collections::VecDeque;

use aqmlab_units::Time;

use super::received::Received;
use super::send_buffer::SendBuffer;
use super::wire::{Frame, MOST_FRAMES};
use crate::Seq;
use crate::intervals::Intervals;

/// A packet that elicits an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) number: u32,
    /// Its number among all tracked packets of the connection.
    pub(super) tracked: u32,
    pub(super) sent_at: Time,
    pub(super) size: u16,
    /// Bytes delivered when it was sent.
    pub(super) delivered: u64,
    /// The largest number that it acknowledges.
    pub(super) acks: Option<u32>,
    pub(super) is_ect: bool,
    /// False once it is acknowledged or lost.
    pub(super) is_outstanding: bool,
    frames: [Frame; MOST_FRAMES],
    count: u8,
}

impl SentPacket {
    /// Return a packet with `frames`, to be completed by the caller.
    pub(super) fn new(number: u32, frames: impl Iterator<Item = Frame>) -> SentPacket {
        let mut packet = SentPacket {
            number,
            tracked: 0,
            sent_at: Time::ZERO,
            size: 0,
            delivered: 0,
            acks: None,
            is_ect: false,
            is_outstanding: true,
            frames: [Frame::Ping; MOST_FRAMES],
            count: 0,
        };
        for (slot, frame) in packet.frames.iter_mut().zip(frames) {
            *slot = frame;
            packet.count += 1;
        }
        packet
    }

    /// True if it has no frame that elicits an acknowledgement.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> {
        self.frames.into_iter().take(usize::from(self.count))
    }
}

/// A packet number space.
#[derive(Debug, Default)]
pub(super) struct PacketSpace {
    pub(super) next_number: u32,
    /// Packets in the order of their numbers, from the first outstanding one.
    pub(super) sent: VecDeque<SentPacket>,
    pub(super) outstanding: u32,
    pub(super) largest_acked: Option<u32>,
    /// Departure of the last packet that elicits an acknowledgement.
    pub(super) last_sent_at: Time,
    /// Time at which the next packet counts as lost by the time threshold.
    pub(super) loss_time: Option<Time>,
    /// Packets to send whether the window has room or not.
    pub(super) probes: u8,
    pub(super) received: Received,
    /// TLS data to send.
    pub(super) crypto: SendBuffer,
    /// TLS data received: the next byte expected, and those beyond.
    crypto_next: Seq,
    crypto_reassembly: Intervals,
    /// The end of the peer's flight, once it is known.
    crypto_end: Option<Seq>,
    /// The keys are gone: no packet is sent or processed (RFC 9001 §4.9).
    pub(super) is_discarded: bool,
}

impl PacketSpace {
    /// Drop settled packets from the front.
    pub(super) fn trim(&mut self) {
        while self.sent.pop_front_if(|packet| !packet.is_outstanding).is_some() {}
    }

    /// Return the number of packets below which all are tracked no more.
    pub(super) fn first_tracked(&self) -> Option<u32> {
        self.sent.front().map(|packet| packet.tracked)
    }

    /// The places of the packets numbered `from..to`.
    pub(super) fn places(&self, from: u32, to: u32) -> std::ops::Range<usize> {
        let place = |number: u32| self.sent.partition_point(|packet| packet.number < number);
        place(from)..place(to)
    }

    /// Take TLS data. Returns true when they complete the peer's flight.
    pub(super) fn take_crypto(&mut self, offset: u16, len: u16, is_last: bool) -> bool {
        let from = Seq::new(offset.into());
        let to = from + u32::from(len);
        if is_last {
            self.crypto_end = Some(to);
        }
        let before = self.crypto_next;
        if self.crypto_next < to {
            self.crypto_reassembly.insert(from.max(self.crypto_next), to);
            self.crypto_next = self.crypto_reassembly.advance(self.crypto_next);
        }
        before < self.crypto_next && self.crypto_end == Some(self.crypto_next)
    }
}
