//! The bytes that one end of a connection has to send to the other, in portions that TCP can take.

use aqmlab_tcp::{Endpoint, Sender};
use aqmlab_units::Bytes;

/// The bytes that one end sends to the other over the life of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipe {
    /// Bytes that the sender's TCP has not been given yet.
    unwritten: u64,
    /// Bytes that it has been given.
    written: u64,
    /// Bytes whose arrival has been reported.
    reported: u64,
}

/// TCP is given at most two of these in advance: what is written and not acknowledged must stay below 2^31 bytes.
const PORTION: u64 = 1 << 28;

impl Pipe {
    pub(super) fn add(&mut self, size: Bytes) {
        self.unwritten += size.get();
    }

    /// Give the sender's TCP what it may have.
    pub(super) fn pump<S: Sender>(&mut self, sender: &mut Endpoint<S>) {
        while self.unwritten > 0 && self.written - self.reported < 2 * PORTION {
            let portion = self.unwritten.min(PORTION);
            sender.write(u32::try_from(portion).expect("a portion has fewer than 2^32 bytes"));
            self.unwritten -= portion;
            self.written += portion;
        }
    }

    /// Bytes that have come and have not been reported.
    fn unreported<S: Sender>(&self, receiver: &Endpoint<S>) -> u64 {
        // Data are numbered from 1, in 32 bits that wrap; a FIN takes a number too.
        let next = receiver.received().get();
        if next == 0 && self.reported == 0 {
            return 0;
        }
        #[expect(clippy::cast_possible_truncation, reason = "numbers wrap")]
        let come = next.wrapping_sub(1).wrapping_sub(self.reported as u32);
        u64::from(come).min(self.written - self.reported)
    }

    /// What to report: all that has come, if it is as much as is waited for; else `None`, and the receiver is told how
    /// much more to wait for.
    pub(super) fn report<S: Sender>(&mut self, receiver: &mut Endpoint<S>, awaited: Bytes) -> Option<Bytes> {
        let awaited = awaited.get().min(PORTION);
        if awaited == 0 {
            return None;
        }
        let come = self.unreported(receiver);
        if come < awaited {
            let more = u32::try_from(awaited - come).expect("a portion has fewer than 2^32 bytes");
            receiver.await_data(more);
            return None;
        }
        self.reported += come;
        Some(Bytes::new(come))
    }

    /// Bytes that have come in order.
    pub(super) fn delivered<S: Sender>(&self, receiver: &Endpoint<S>) -> u64 {
        self.reported + self.unreported(receiver)
    }
}
