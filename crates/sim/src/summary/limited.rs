//! What limited the senders.

use serde::Serialize;

/// What limited connections in the measured window: shares of the time for which they were open, in per cent.
///
/// A connection is open from the end of its handshake at the client until both ends have closed. At each moment the end with
/// something to send decides what limits it: the server, if both have. So the shares add up to 100, and the longer of two
/// connections counts for more. As in Linux's `tcp_info`, where `busy_time` is the time that the application does not limit
/// and `rwnd_limited` that of the receive window.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitedByPercent {
    /// The application: all that it had written was sent.
    pub application: f64,
    /// The peer's receive window had no room.
    pub receive_window: f64,
    /// The congestion window had no room, the receive window had.
    pub congestion_window: f64,
    /// Losses were being repaired: fast recovery, or what was in flight when the retransmission timer expired.
    pub recovery: f64,
    /// The windows had room, and the congestion control's pacing made the next segment wait.
    pub pacing: f64,
    /// What was sent last waited for more than 1 ms in the network interface of its host.
    pub interface: f64,
}
