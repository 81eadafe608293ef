//! The limits of the senders.

use serde::Serialize;

/// The limits of connections in the measured window: shares of the time for which they were open, in per cent.
///
/// A connection is open from the end of its handshake until one of its ends is closed. At each moment the end with something
/// to send decides what limits it: the server, if both have. So the shares add up to 100, and the longer of two
/// connections counts for more. Sampled 100 times a second, at random moments. As in Linux's `tcp_info`, where `busy_time`
/// is the time that the application does not limit and `rwnd_limited` that of the receive window. `None` where no connection
/// was open, and in live runs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitedByPercent {
    /// The application: all that it had written was sent.
    pub application: Option<f64>,
    /// The peer's receive window had no room.
    pub receive_window: Option<f64>,
    /// The send buffer was full of data that were sent and not acknowledged.
    pub send_buffer: Option<f64>,
    /// The congestion window had no room; the receive window had.
    pub congestion_window: Option<f64>,
    /// Losses were being repaired: fast recovery, or what was in flight when the retransmission timer expired.
    pub recovery: Option<f64>,
    /// The windows had room, and the congestion control's pacing delayed the next segment.
    pub pacing: Option<f64>,
    /// The network interface of its host had over 1 ms to send before the next segment.
    pub interface: Option<f64>,
}
