//! Congestion control: how much may be in flight.

mod aimd;
mod bbr;
mod cubic;
mod dctcp;
mod highspeed;
mod hystart;
mod ledbat;
mod prague;
mod registry;
mod reno;
mod slow_start;
mod smoothed_rtt;

use std::fmt::Debug;

use aqmlab_units::{BitRate, Duration, Time};

pub use bbr::Bbr;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use highspeed::HighSpeed;
pub use ledbat::Ledbat;
pub use prague::Prague;
pub use reno::{ClassicReno, Reno};

use crate::Profile;

registry::controls! {
    /// Half the window for a loss, a segment more for each round trip without one (RFC 5681).
    "reno" => Reno(Reno),
    /// The window is a cubic function of the time since the last reduction (RFC 9438).
    "cubic" => Cubic(Cubic),
    /// Reno that reduces in proportion to how many bytes came marked (RFC 8257).
    "dctcp" => Dctcp(Dctcp),
    /// Reno that grows faster and gives up less the larger its window is (RFC 3649).
    "highspeed" => HighSpeed(HighSpeed),
    /// DCTCP's response made for the Internet, L4S (draft-briscoe-iccrg-prague).
    "prague" => Prague(Prague),
    /// BBR, version 3: a model of the path decides rate and window (draft-ietf-ccwg-bbr).
    "bbr" => Bbr(Box<Bbr>),
    /// A background transfer that makes way for others (RFC 6817).
    "ledbat" => Ledbat(Box<Ledbat>),
}

/// The largest window that TCP can advertise (RFC 7323 §2.2), so a bound of every congestion window; the first
/// slow-start threshold too, which RFC 5681 §3.1 wants arbitrarily high.
const MAX_WINDOW: u32 = 1 << 30;

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
    /// Bytes found lost, by whatever means, since the acknowledgement before.
    pub lost: u32,
    /// The round trip it measured: of several segments, the shortest.
    pub rtt: Option<Duration>,
    /// How long the segment took that the receiver's timestamp echoes, in whole milliseconds (RFC 7323 §3).
    pub one_way_delay: Option<Duration>,
    /// It is the first of a round trip: what it acknowledges was sent after the round before had been acknowledged.
    pub new_round: bool,
    /// The sender used the whole window since the acknowledgement before; else the window need not grow.
    pub window_limited: bool,
    /// The sender would have used it but for pacing (RFC 9002 §7.8 counts that as use).
    pub pacing_limited: bool,
    /// How fast data were delivered lately, for a control that [needs it](CongestionControl::needs_rate_samples).
    pub rate: Option<RateSample>,
}

/// A measurement of the delivery rate (draft-ietf-ccwg-bbr, delivery-rate estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered since the segment was sent that this acknowledgement covers (the last of several).
    pub delivered: u32,
    /// The longer of the time it took to send them and to have them acknowledged; zero when they say no rate.
    pub interval: Duration,
    /// Bytes found lost since that segment was sent.
    pub lost: u32,
    /// Bytes in flight when that segment was sent, itself among them.
    pub in_flight_at_send: u32,
    /// The application had nothing to send during it, so the path may be faster.
    pub app_limited: bool,
}

/// What a control makes of congestion marks; the endpoint chooses its ECN codepoint and its feedback by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// A mark is answered once a window, by [`CongestionControl::on_ecn_echo`]. Packets are ECT(0) (RFC 3168).
    Echoed,
    /// The control counts [`Ack::marked`] and reduces by itself. Packets are ECT(0) (RFC 8257).
    Counted,
    /// The same, and packets are ECT(1), which asks the network for L4S (RFC 9331 §4.1).
    L4s,
}

/// A congestion control: one window in bytes, moved by what happens to the data.
///
/// Loss recovery (what to retransmit, and when it ends) is the endpoint's; this only says how much may be in flight.
///
/// Marks come in one of two ways, never both on one connection. With accurate feedback, [`Ack::marked`] says how many
/// bytes were marked, and a control whose [`CongestionControl::marks`] are not [`Marks::Echoed`] answers them by
/// itself. Any other connection gets [`CongestionControl::on_ecn_echo`] once a window: so does one whose control would
/// count marks but whose peer has no accurate feedback, which then has to send ECT(0) and is answered like Reno.
pub trait CongestionControl: Debug + Send + 'static {
    /// A window of the profile's initial window and no slow-start threshold yet.
    fn new(profile: &Profile) -> Self;

    /// The congestion window in bytes.
    fn cwnd(&self) -> u32;

    /// The slow-start threshold in bytes: what recovery steers to. A control that does not slow down for recovery
    /// says its window.
    fn ssthresh(&self) -> u32;

    /// What it makes of congestion marks.
    fn marks(&self) -> Marks {
        Marks::Echoed
    }

    /// Does it reduce less for a mark than for a loss, where the profile asks for that (ABE, RFC 8511)?
    fn has_abe(&self) -> bool {
        false
    }

    /// Does it use [`Ack::rate`]? Only then are delivery rates sampled.
    fn needs_rate_samples(&self) -> bool {
        false
    }

    /// How fast segments may leave; `None`: as fast as the window lets them.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Data were delivered, in loss recovery or not. Called before any other method about the same acknowledgement.
    fn on_delivery(&mut self, _ack: &Ack) {}

    /// New data were acknowledged outside loss recovery.
    fn on_ack(&mut self, ack: &Ack);

    /// A loss was found, the first of its window, other than by a timeout; `window` bytes were allowed in flight. It is
    /// more than the congestion window where a mark has reduced that for the same window of data.
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

    /// The peer echoed a congestion mark, first in this window of data (RFC 3168 §6.1.2). Not called where the control
    /// counts marks.
    fn on_ecn_echo(&mut self, window: u32, mss: u32);

    /// Nothing was sent for longer than the retransmission timeout.
    fn on_idle(&mut self, initial_window: u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_algorithm_is_built_under_the_name_that_it_is_written_with() {
        for (name, congestion) in Algorithm::NAMES {
            let profile = Profile { congestion, ..Profile::linux_6() };
            let built = format!("{:?}", Any::new(&profile));
            assert_eq!(
                (congestion.to_string().as_str(), format!("{congestion:?}").to_lowercase().as_str()),
                (name, name)
            );
            assert!(built.starts_with(&format!("{congestion:?}(")), "{built}");
        }
    }
}
