//! What keeps a sender from sending more.

/// What a sender waits for before it sends more data.
///
/// Linux tells the same apart with the chronographs behind `tcp_info`'s `busy_time` and `rwnd_limited`
/// (`tcp_chrono_start`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum LimitedBy {
    /// The application: all that it has written is sent, or Nagle's algorithm waits for more of it.
    #[default]
    Application,
    /// The peer's receive window has no room for the next segment.
    ReceiveWindow,
    /// The congestion window has no room for the next segment, the receive window has.
    CongestionWindow,
    /// Losses are being repaired: fast recovery, or what was in flight when the retransmission timer expired.
    Recovery,
    /// The windows have room for the next segment, which waits for the congestion control's pacing.
    Pacing,
}
