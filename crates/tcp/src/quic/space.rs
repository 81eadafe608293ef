//! A packet number space: packets sent and received, and TLS data (RFC 9000 §12.3).

use aqmlab_units::Time;

use super::received::Received;
use super::send_buffer::SendBuffer;
use super::sent::SentPackets;
use crate::Seq;
use crate::intervals::Intervals;

/// A packet number space.
#[derive(Debug, Default)]
pub(super) struct PacketSpace {
    pub(super) next_number: u32,
    pub(super) sent: SentPackets,
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
    /// Take TLS data. Returns true when they complete the peer's flight.
    pub(super) fn take_crypto(&mut self, offset: u16, len: u16, is_last: bool) -> bool {
        let from = Seq::new(offset.into());
        let to = from + u32::from(len);
        if is_last {
            self.crypto_end = Some(to);
        }
        let before = self.crypto_next;
        if self.crypto_next < to {
            self.crypto_next = self.crypto_reassembly.receive(self.crypto_next, from, to);
        }
        before < self.crypto_next && self.crypto_end == Some(self.crypto_next)
    }
}
