//! The reasons that keep a sender from sending more.

/// The reason why a sender does not send more data at the moment.
///
/// Linux tells the same apart behind the fields `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited` of
/// `tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitedBy {
    /// The application: all that it has written is sent, or Nagle's algorithm waits for more of it.
    #[default]
    Application,
    /// The peer's receive window has no room for the next segment.
    ReceiveWindow,
    /// The congestion window has no room for the next segment; the receive window has.
    CongestionWindow,
    /// Losses are being repaired: fast recovery, or what was in flight when the retransmission timer expired.
    Recovery,
    /// The windows have room for the next segment, and the congestion control's pacing delays it.
    Pacing,
}
