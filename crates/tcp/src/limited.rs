//! Reasons that limit a sender.

/// The reason why a sender sends no more data at the moment.
///
/// Linux distinguishes the same reasons for `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited` of
/// `tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitedBy {
    /// The application: all data written are sent, or Nagle's algorithm waits for more.
    #[default]
    Application,
    /// The peer's receive window has no room for the next segment.
    ReceiveWindow,
    /// The send buffer is full of data that are sent and not acknowledged.
    SendBuffer,
    /// The congestion window has no room for the next segment; the receive window has.
    CongestionWindow,
    /// Losses are being repaired: fast recovery, or the data in flight when the retransmission timer expired.
    Recovery,
    /// The windows have room for the next segment, and the congestion control's pacing delays it.
    Pacing,
}
