//! Congestion control: the congestion window, and the pacing rate where there is one.

mod aimd;
mod bbr;
mod cubic;
mod cubic_rfc9438;
mod custom;
mod dctcp;
mod highspeed;
mod hystart;
mod hystart_plus_plus;
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
pub use cubic_rfc9438::CubicRfc9438;
pub use custom::{ControlMaker, Custom};
pub use dctcp::Dctcp;
pub use highspeed::HighSpeed;
pub use ledbat::Ledbat;
pub use prague::Prague;
pub use reno::{ClassicReno, Reno};

use crate::{ControlVariables, Profile};

registry::controls! {
    /// Halves the window for a loss, and adds a segment for each round trip without one (RFC 5681).
    "reno" => Reno(Reno),
    /// The window is a cubic function of the time since the last reduction, computed as in Linux.
    "cubic" => Cubic(Cubic),
    /// The same as RFC 9438 describes it, in bytes.
    "cubic-rfc9438" => CubicRfc9438(CubicRfc9438),
    /// Reno that reduces in proportion to the bytes that were marked (RFC 8257).
    "dctcp" => Dctcp(Dctcp),
    /// Reno that grows faster and reduces less the larger its window is (RFC 3649).
    "highspeed" => HighSpeed(HighSpeed),
    /// DCTCP's response, adapted to the Internet and L4S (draft-briscoe-iccrg-prague).
    "prague" => Prague(Prague),
    /// BBR, version 3: a model of the path sets rate and window (draft-ietf-ccwg-bbr).
    "bbr" => Bbr(Box<Bbr>),
    /// A background transfer that yields to others (RFC 6817).
    "ledbat" => Ledbat(Box<Ledbat>),
}

/// Bound of every congestion window in bytes: the largest window that TCP can advertise (RFC 7323 §2.2). Also the
/// first slow-start threshold, which RFC 5681 §3.1 wants arbitrarily high.
pub(crate) const MAX_WINDOW: u32 = 1 << 30;

/// Content of one acknowledgement that delivers data. A basic endpoint fills in `now`, `bytes` and `mss` only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Time of its arrival.
    pub now: Time,
    /// Bytes newly delivered: acknowledged in order, or by SACK and not counted before.
    pub bytes: u32,
    /// The sender's maximum segment size in bytes.
    pub mss: u32,
    /// Bytes in flight after the acknowledgement.
    pub in_flight: u32,
    /// Those of `bytes` that the receiver reports as marked (accurate feedback only).
    pub marked: u32,
    /// Bytes found lost, by any means, since the previous acknowledgement.
    pub lost: u32,
    /// The round-trip time that it measured; the shortest if it covers several segments.
    pub rtt: Option<Duration>,
    /// The one-way delay of the segment whose timestamp the receiver echoes, in whole milliseconds (RFC 7323 §3).
    pub one_way_delay: Option<Duration>,
    /// True for the first acknowledgement of a round trip: it covers data sent after the previous round trip
    /// ended.
    pub new_round: bool,
    /// The window has limited the sender lately; otherwise it need not grow.
    pub window_limited: bool,
    /// Only pacing kept the sender from using the whole window (RFC 9002 §7.8 counts that as use).
    pub pacing_limited: bool,
    /// The recent delivery rate, for a control that [needs it](CongestionControl::needs_rate_samples).
    pub rate: Option<RateSample>,
}

/// A measurement of the delivery rate (draft-ietf-ccwg-bbr, delivery-rate estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered since the acknowledged segment was sent (the last one, if several were).
    pub delivered: u32,
    /// The longer of the time to send them and the time to have them acknowledged; zero if there is no rate.
    pub interval: Duration,
    /// Bytes found lost since that segment was sent.
    pub lost: u32,
    /// Bytes in flight when that segment was sent, including the segment.
    pub in_flight_at_send: u32,
    /// The application had nothing to send in this interval, so the path may be faster.
    pub app_limited: bool,
}

/// Response of a control to congestion marks. The endpoint chooses its ECN codepoint and its feedback by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// The control reduces once a window, by [`CongestionControl::on_ecn_echo`]. Packets are ECT(0) (RFC 3168).
    Echoed,
    /// The control counts [`Ack::marked`] and reduces by itself. Packets are ECT(0) (RFC 8257).
    Counted,
    /// As `Counted`, but packets are ECT(1), which asks the network for L4S (RFC 9331 §4.1).
    L4s,
}

/// A congestion control: one window in bytes.
///
/// Loss recovery (the choice of segments to retransmit, and its end) is the endpoint's. The control only limits
/// the data in flight.
///
/// A connection reports marks in one of two ways. With accurate feedback, [`Ack::marked`] counts the marked
/// bytes, and a control whose [`CongestionControl::marks`] are not [`Marks::Echoed`] responds to that count. On
/// any other connection the endpoint calls [`CongestionControl::on_ecn_echo`] once a window. If the control would
/// count marks but the peer has no accurate feedback, the endpoint sends ECT(0), and the control responds like
/// Reno.
pub trait CongestionControl: Debug + Send + 'static {
    /// Return a control with the profile's initial window and no slow-start threshold yet.
    fn new(profile: &Profile) -> Self
    where
        Self: Sized;

    /// The congestion window in bytes.
    fn cwnd(&self) -> u32;

    /// The slow-start threshold in bytes, the target of recovery. A control that does not slow down for recovery
    /// returns its window.
    fn ssthresh(&self) -> u32;

    /// Its response to congestion marks.
    fn marks(&self) -> Marks {
        Marks::Echoed
    }

    /// True if it reduces less for a mark than for a loss when the profile asks for that (ABE, RFC 8511).
    fn has_abe(&self) -> bool {
        false
    }

    /// True if it uses [`Ack::rate`]; only then does the endpoint sample delivery rates.
    fn needs_rate_samples(&self) -> bool {
        false
    }

    /// The rate at which segments may leave; `None` if only the window limits them.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Its own variables.
    fn variables(&self) -> ControlVariables {
        ControlVariables::default()
    }

    /// Data were delivered, in loss recovery or outside. Called before any other method about the same
    /// acknowledgement.
    fn on_delivery(&mut self, _ack: &Ack) {}

    /// New data were acknowledged outside loss recovery.
    fn on_ack(&mut self, ack: &Ack);

    /// The first loss of a window was found, other than by a timeout. `window` bytes were allowed in flight: more
    /// than the congestion window if a mark has already reduced that for the same window of data.
    fn on_fast_retransmit(&mut self, window: u32, mss: u32);

    /// A further segment left the network during fast recovery without SACK.
    fn on_duplicate_ack(&mut self, _mss: u32) {}

    /// A partial acknowledgement (RFC 6582) arrived during fast recovery without SACK.
    fn on_partial_ack(&mut self, _ack: &Ack) {}

    /// Fast recovery ended with `flight` bytes in flight.
    fn on_recovered(&mut self, flight: u32, mss: u32);

    /// The retransmission timer expired; `window` bytes were allowed in flight.
    fn on_timeout(&mut self, window: u32, mss: u32);

    /// The last loss or timeout was spurious: restore the window from before it.
    fn on_spurious(&mut self) {}

    /// The peer echoed a congestion mark, the first in this window of data (RFC 3168 §6.1.2). Not called if the
    /// control counts marks.
    fn on_ecn_echo(&mut self, window: u32, mss: u32);

    /// Nothing was sent for longer than the retransmission timeout.
    fn on_idle(&mut self, initial_window: u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_algorithm_is_built_under_its_written_name() {
        for (name, congestion) in Algorithm::NAMES {
            let profile = Profile { congestion: congestion.clone(), ..Profile::linux_6() };
            let built = format!("{:?}", Any::new(&profile));
            assert_eq!(
                (congestion.to_string().as_str(), format!("{congestion:?}").to_lowercase()),
                (name, name.replace('-', ""))
            );
            assert!(built.starts_with(&format!("{congestion:?}(")), "{built}");
        }
    }
}
