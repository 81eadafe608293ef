//! Validation of the client's address by a server, and the anti-amplification limit until then (RFC 9000 §8.1).

use super::handshake::Role;

/// Bytes that a server may send for each byte received (the anti-amplification limit).
const FACTOR: u32 = 3;

/// Validation of the peer's address.
#[derive(Debug)]
pub(super) struct PathValidation {
    is_validated: bool,
    received: u32,
    sent: u32,
    /// The peer has acknowledged a Handshake packet.
    has_handshake_ack: bool,
}

impl PathValidation {
    /// A server validates its client; a client knows its server.
    pub(super) fn new(role: Role) -> PathValidation {
        PathValidation { is_validated: role == Role::Client, received: 0, sent: 0, has_handshake_ack: false }
    }

    pub(super) fn on_received(&mut self, bytes: u16) {
        self.received = self.received.saturating_add(bytes.into());
    }

    pub(super) fn on_sent(&mut self, bytes: u16) {
        self.sent = self.sent.saturating_add(bytes.into());
    }

    /// The peer has used keys that only it can have.
    pub(super) fn validate(&mut self) {
        self.is_validated = true;
    }

    pub(super) fn on_handshake_ack(&mut self) {
        self.has_handshake_ack = true;
    }

    /// True if the acknowledgements show a client that the server has validated its address.
    pub(super) fn has_handshake_ack(&self) -> bool {
        self.has_handshake_ack
    }

    /// Bytes that may be sent now.
    pub(super) fn allowance(&self) -> u32 {
        if self.is_validated {
            u32::MAX
        } else {
            self.received.saturating_mul(FACTOR).saturating_sub(self.sent)
        }
    }

    /// True if no datagram may be sent.
    pub(super) fn is_blocked(&self) -> bool {
        self.allowance() == 0
    }
}
