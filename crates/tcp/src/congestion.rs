//! Congestion control: how much may be in flight.

mod new_reno;

pub use new_reno::NewReno;

/// What one acknowledgement of new data says.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes newly acknowledged.
    pub bytes: u32,
    /// The sender's maximum segment size in bytes.
    pub mss: u32,
}

/// A congestion control: one window in bytes, moved by what happens to the data.
///
/// Loss recovery (what to retransmit, and when it ends) is the endpoint's; this only says how much may be in flight.
pub trait CongestionControl {
    /// A window of `initial_window` bytes and no slow-start threshold yet.
    fn new(initial_window: u32) -> Self;

    /// The congestion window in bytes.
    fn cwnd(&self) -> u32;

    /// New data were acknowledged outside loss recovery.
    fn on_ack(&mut self, ack: &Ack);

    /// A loss was found by duplicate acknowledgements; `window` bytes were allowed in flight.
    fn on_fast_retransmit(&mut self, window: u32, mss: u32);

    /// A further segment left the network during fast recovery.
    fn on_duplicate_ack(&mut self, mss: u32);

    /// During fast recovery new data were acknowledged, but not all that was in flight at its start.
    fn on_partial_ack(&mut self, ack: &Ack);

    /// Fast recovery ended with `flight` bytes in flight.
    fn on_recovered(&mut self, flight: u32, mss: u32);

    /// The retransmission timer expired; `window` bytes were allowed in flight.
    fn on_timeout(&mut self, window: u32, mss: u32);

    /// The peer echoed a congestion mark, first in this window of data.
    fn on_ecn_echo(&mut self, window: u32, mss: u32);

    /// Nothing was sent for longer than the retransmission timeout.
    fn on_idle(&mut self, initial_window: u32);
}
