//! The data that one end of a connection sends to the other, in portions that TCP can take.

use aqmlab_tcp::{Endpoint, Sender};
use aqmlab_units::Bytes;

/// The bytes that one end sends to the other over the life of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipe {
    /// Bytes not yet written to the sender's TCP.
    unwritten: u64,
    /// Bytes written.
    written: u64,
    /// Bytes whose arrival has been reported.
    reported: u64,
}

/// Size of a portion. TCP gets at most two in advance, because data written and not acknowledged must stay below
/// 2^31 bytes.
const PORTION: u64 = 1 << 28;

impl Pipe {
    pub(super) fn add(&mut self, size: Bytes) {
        self.unwritten += size.get();
    }

    /// Write as much to the sender's TCP as it may have.
    pub(super) fn pump<S: Sender>(&mut self, sender: &mut Endpoint<S>) {
        while self.unwritten > 0 && self.written - self.reported < 2 * PORTION {
            let portion = self.unwritten.min(PORTION);
            sender.write(u32::try_from(portion).expect("a portion has fewer than 2^32 bytes"));
            self.unwritten -= portion;
            self.written += portion;
        }
    }

    /// Take back what the sender's TCP has not taken.
    pub(super) fn withdraw<S: Sender>(&mut self, sender: &mut Endpoint<S>) {
        self.unwritten = 0;
        self.written -= u64::from(sender.withdraw());
    }

    /// Bytes that have arrived and have not been reported.
    fn unreported<S: Sender>(&self, receiver: &Endpoint<S>) -> u64 {
        // Data are numbered from 1, in 32 bits that wrap; a FIN takes a number too.
        let next = receiver.received().get();
        if next == 0 && self.reported == 0 {
            return 0;
        }
        #[expect(clippy::cast_possible_truncation, reason = "numbers wrap")]
        let arrived = next.wrapping_sub(1).wrapping_sub(self.reported as u32);
        u64::from(arrived).min(self.written - self.reported)
    }

    /// Return the bytes that have arrived, if they are at least `awaited`. Otherwise return `None`, and have the
    /// receiver wait for the rest.
    pub(super) fn report<S: Sender>(&mut self, receiver: &mut Endpoint<S>, awaited: Bytes) -> Option<Bytes> {
        let awaited = awaited.get().min(PORTION);
        if awaited == 0 {
            return None;
        }
        let arrived = self.unreported(receiver);
        if arrived < awaited {
            let more = u32::try_from(awaited - arrived).expect("a portion has fewer than 2^32 bytes");
            receiver.await_data(more);
            return None;
        }
        self.reported += arrived;
        Some(Bytes::new(arrived))
    }

    /// Bytes that have arrived in order.
    pub(super) fn delivered<S: Sender>(&self, receiver: &Endpoint<S>) -> u64 {
        self.reported + self.unreported(receiver)
    }
}
