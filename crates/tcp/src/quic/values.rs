//! Values of a QUIC stack that TCP does not have.

use aqmlab_units::range::from;
use aqmlab_units::{Duration, ranges};

/// Values of a QUIC stack that TCP does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<QuicValues>))]
pub struct QuicValues {
    /// The handshake that a client makes: `full`, with the server's certificate; `resumed`, without; `0-rtt`, whose
    /// data leave with the first flight.
    pub handshake: HandshakeForm,
    /// Bytes of a server's chain of certificates. Above about 3 kB the anti-amplification limit (RFC 9000 §8.1) costs
    /// a full handshake a round trip.
    pub certificate: u16,
    /// The window of each stream in bytes; `receive_window` is that of the connection.
    pub stream_window: u32,
    /// Time without a packet from the peer, while data or the handshake are outstanding, after which the connection
    /// is given up.
    pub idle_timeout: Duration,
}

/// The handshake that a client makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HandshakeForm {
    /// With the server's certificate: one round trip.
    #[default]
    Full,
    /// With a key of an earlier connection (RFC 8446 §2.2): one round trip.
    Resumed,
    /// The same, with data in the first flight (RFC 9001 §4.6): no round trip.
    #[cfg_attr(feature = "serde", serde(rename = "0-rtt"))]
    ZeroRtt,
}

ranges! {
    QuicValues {
        certificate: from(1).up_to(30_000),
        stream_window: from(1_500).up_to(1 << 30),
        idle_timeout: from(Duration::from_millis(1)).up_to(Duration::from_secs(1_000)),
    }
}
