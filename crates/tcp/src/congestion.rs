//! Congestion control: how much may be in flight.

mod new_reno;

use aqmlab_units::{BitRate, Duration, Time};

pub use new_reno::NewReno;

use crate::Profile;

/// What one acknowledgement that delivers something says. A basic endpoint fills in `now`, `bytes` and `mss` alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// Bytes newly delivered: acknowledged in order, or by SACK and not counted before.
    pub bytes: u32,
    /// The sender's maximum segment size in bytes.
    pub mss: u32,
    /// Bytes in flight after it.
    pub in_flight: u32,
    /// Of `bytes`, those that the receiver says came with a congestion mark (accurate feedback only).
    pub marked: u32,
    /// The round trip it measured.
    pub rtt: Option<Duration>,
    /// It is the first of a round trip: what it acknowledges was sent after the round before had been acknowledged.
    pub new_round: bool,
    /// The sender used the whole window since the acknowledgement before; else the window need not grow.
    pub window_limited: bool,
    /// How fast data were delivered lately.
    pub rate: Option<RateSample>,
}

/// A measurement of the delivery rate (draft-ietf-ccwg-bbr, delivery-rate estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u32,
    /// The longer of the time it took to send them and to have them acknowledged.
    pub interval: Duration,
    /// Bytes found lost over `interval`.
    pub lost: u32,
    /// Bytes in flight when the segment was sent that this acknowledgement covers.
    pub in_flight_at_send: u32,
    /// The application had nothing to send during it, so the path may be faster.
    pub app_limited: bool,
}

/// A congestion control: one window in bytes, moved by what happens to the data.
///
/// Loss recovery (what to retransmit, and when it ends) is the endpoint's; this only says how much may be in flight.
pub trait CongestionControl {
    /// A window of the profile's initial window and no slow-start threshold yet.
    fn new(profile: &Profile) -> Self;

    /// The congestion window in bytes.
    fn cwnd(&self) -> u32;

    /// The slow-start threshold in bytes: what recovery steers to.
    fn ssthresh(&self) -> u32;

    /// How fast segments may leave; `None`: as fast as the window lets them.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Data were delivered, in loss recovery or not. Called before any other method about the same acknowledgement.
    fn on_delivery(&mut self, _ack: &Ack) {}

    /// New data were acknowledged outside loss recovery.
    fn on_ack(&mut self, ack: &Ack);

    /// A loss was found, the first of its window, other than by a timeout; `window` bytes were allowed in flight.
    fn on_fast_retransmit(&mut self, window: u32, mss: u32);

    /// A further segment left the network during fast recovery without SACK.
    fn on_duplicate_ack(&mut self, _mss: u32) {}

    /// During fast recovery without SACK new data were acknowledged, but not all that was in flight at its start.
    fn on_partial_ack(&mut self, _ack: &Ack) {}

    /// Fast recovery ended with `flight` bytes in flight.
    fn on_recovered(&mut self, flight: u32, mss: u32);

    /// The retransmission timer expired; `window` bytes were allowed in flight.
    fn on_timeout(&mut self, window: u32, mss: u32);

    /// The last loss or timeout turned out not to have been one: take back what it did to the window.
    fn on_spurious(&mut self) {}

    /// The peer echoed a congestion mark, first in this window of data.
    fn on_ecn_echo(&mut self, window: u32, mss: u32);

    /// Nothing was sent for longer than the retransmission timeout.
    fn on_idle(&mut self, initial_window: u32);
}
