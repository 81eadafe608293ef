//! The handshake: flights of TLS 1.3, and the keys that they give (RFC 9001 §4).
//!
//! Messages have sizes and no content. Left out: Retry, tickets for later connections, key updates, migration.

use super::values::HandshakeForm;
use super::wire::{Parameters, Space};
use crate::Profile;

/// Bytes of a `ClientHello` (RFC 9001 A.2).
const CLIENT_HELLO: u32 = 241;
/// Bytes that a pre-shared key adds to it: a ticket of about 200 bytes and a binder (RFC 8446 §4.2.11); ours.
const PRE_SHARED_KEY: u32 = 270;
/// Bytes of a `ServerHello` (RFC 9001 A.3).
const SERVER_HELLO: u32 = 90;
/// Bytes of `EncryptedExtensions` with the transport parameters; ours.
const ENCRYPTED_EXTENSIONS: u32 = 100;
/// Bytes of a `CertificateVerify` with an ECDSA signature on P-256: headers of 8 and up to 72 (RFC 8446 §4.4.3).
const CERTIFICATE_VERIFY: u32 = 80;
/// Bytes of a Finished with SHA-256 (RFC 8446 §4.4.4).
const FINISHED: u32 = 36;

/// The part of an end in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

/// Progress of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    /// A server that has received nothing.
    Listening,
    /// A client's `ClientHello` is under way, or it waits for the server's.
    HelloSent,
    /// The keys of the Handshake space are there.
    HandshakeKeys,
    /// The handshake is complete at this end (RFC 9001 §4.1.1).
    Complete,
    /// It is confirmed (§4.1.2).
    Confirmed,
}

/// The handshake of one end.
#[derive(Debug)]
pub(super) struct Handshake {
    role: Role,
    pub(super) progress: Progress,
    form: HandshakeForm,
    certificate: u32,
    /// The parameters of this end.
    pub(super) own: Parameters,
    /// The parameters of the peer, once its flight is read.
    pub(super) peer: Parameters,
    /// A `HANDSHAKE_DONE` is to be sent.
    pub(super) done_due: bool,
}

impl Handshake {
    pub(super) fn new(role: Role, profile: &Profile) -> Handshake {
        let values = profile.quic_values();
        let micros = u32::try_from(profile.delayed_ack.as_micros()).unwrap_or(u32::MAX);
        let own = Parameters {
            max_data: profile.receive_window,
            max_stream_data: values.stream_window,
            max_ack_delay: micros,
            is_resumed: values.handshake != HandshakeForm::Full,
        };
        let progress = if role == Role::Client { Progress::HelloSent } else { Progress::Listening };
        Handshake {
            role,
            progress,
            form: values.handshake,
            certificate: values.certificate.into(),
            own,
            // The peer's delay until it is known.
            peer: Parameters { max_ack_delay: micros, ..Parameters::default() },
            done_due: false,
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.progress > Progress::HelloSent
    }

    pub(super) fn is_complete(&self) -> bool {
        self.progress >= Progress::Complete
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.progress == Progress::Confirmed
    }

    /// True if a client's data leave in the first flight.
    pub(super) fn is_zero_rtt(&self) -> bool {
        self.role == Role::Client && self.form == HandshakeForm::ZeroRtt
    }

    /// True if this end has keys to send in `space`. A server has those of 1-RTT from its first flight on.
    pub(super) fn can_send(&self, space: Space) -> bool {
        match space {
            Space::Initial => self.progress > Progress::Listening,
            Space::Handshake => self.progress >= Progress::HandshakeKeys,
            Space::Data if self.role == Role::Server => self.progress >= Progress::HandshakeKeys,
            Space::Data => self.is_complete() || self.is_zero_rtt(),
        }
    }

    /// True if this end has keys to read packets of `space`. A server reads 0-RTT packets from the `ClientHello` on, and
    /// 1-RTT packets once the handshake is complete.
    pub(super) fn can_read(&self, space: Space, is_zero_rtt: bool) -> bool {
        match space {
            Space::Initial => true,
            Space::Handshake => self.progress >= Progress::HandshakeKeys,
            Space::Data if is_zero_rtt => self.progress >= Progress::HandshakeKeys,
            Space::Data => self.is_complete(),
        }
    }

    /// Bytes of this end's flight in `space`.
    pub(super) fn flight(&self, space: Space) -> u32 {
        match (self.role, space) {
            (Role::Client, Space::Initial) => {
                CLIENT_HELLO + if self.own.is_resumed { PRE_SHARED_KEY } else { 0 }
            }
            (Role::Server, Space::Initial) => SERVER_HELLO,
            (Role::Server, Space::Handshake) => {
                let authentication =
                    if self.peer.is_resumed { 0 } else { self.certificate + CERTIFICATE_VERIFY };
                ENCRYPTED_EXTENSIONS + authentication + FINISHED
            }
            (Role::Client, Space::Handshake) => FINISHED,
            (_, Space::Data) => 0,
        }
    }
}
