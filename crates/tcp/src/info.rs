//! The state of a sender at one moment, as `TCP_INFO` of Linux has it.

use aqmlab_units::{BitRate, Duration};

/// The state of congestion: that of Linux (`tcpi_ca_state`), without `CWR`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionState {
    /// Nothing indicates a loss.
    #[default]
    Open,
    /// Duplicates or selective acknowledgements have arrived, and no segment is known to be lost.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// A timeout has expired, and some data in flight then are unacknowledged.
    Loss,
}

impl CongestionState {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            CongestionState::Open => "open",
            CongestionState::Disorder => "disorder",
            CongestionState::Recovery => "recovery",
            CongestionState::Loss => "loss",
        }
    }
}

/// The part of [`Info`] that a sender owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// The state of congestion.
    pub state: CongestionState,
    /// Bytes estimated to be in the network (RFC 6675 §4); of a classic sender, bytes not acknowledged.
    pub in_flight: u32,
    /// Data bytes delivered, modulo 2^32: acknowledged in order or by SACK.
    pub delivered: u32,
    /// Bytes found lost; `None` of a classic sender, which keeps no record of segments.
    pub lost: Option<u64>,
    /// Data bytes that the receiver reports as marked; `None` without feedback that counts marks.
    pub marked: Option<u64>,
    /// The minimum round-trip time; `None` of a classic sender and before the first sample.
    pub min_rtt: Option<Duration>,
    /// The peer's receive window in bytes.
    pub receive_window: u32,
}

/// Variables of a congestion control. Each has those that it knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlVariables {
    /// BBR's state, with the draft's names; empty for other controls.
    pub phase: &'static str,
    /// BBR's maximum bandwidth and the bandwidth that it uses, in bytes per second.
    pub max_bw: Option<f64>,
    /// See `max_bw`.
    pub bw: Option<f64>,
    /// BBR's bounds of the data in flight, in bytes; `None` where there is no bound.
    pub inflight_longterm: Option<f64>,
    /// See `inflight_longterm`.
    pub inflight_shortterm: Option<f64>,
    /// CUBIC's window at the last reduction, in bytes.
    pub w_max: Option<f64>,
    /// CUBIC's K, the seconds until the curve is flat.
    pub k: Option<f64>,
    /// CUBIC's estimate of Reno's window, in bytes.
    pub w_est: Option<f64>,
    /// DCTCP's and Prague's moving average of marks.
    pub alpha: Option<f64>,
    /// LEDBAT's base delay.
    pub base_delay: Option<Duration>,
}

/// State of a connection's sender at one moment. Reading it does not change it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The sender's part.
    pub sender: SenderInfo,
    /// Data bytes sent, without those sent again, modulo 2^32.
    pub sent: u32,
    /// The congestion window in bytes.
    pub cwnd: u32,
    /// The slow-start threshold in bytes; `None` while it does not bound.
    pub ssthresh: Option<u32>,
    /// The pacing rate; `None` if only the window limits departures.
    pub pacing_rate: Option<BitRate>,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// Its variation (RFC 6298's RTTVAR).
    pub rttvar: Duration,
    /// The retransmission timeout, with its back-off.
    pub rto: Duration,
}
