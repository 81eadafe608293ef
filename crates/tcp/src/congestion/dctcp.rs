//! DCTCP: Reno that reduces in proportion to the bytes that were marked.
//!
//! Source: RFC 8257 §3.3-3.5; slow start, congestion avoidance and losses as in [`Reno`].
//!
//! At the end of each observation window, about a round trip, the estimate alpha moves towards the share of
//! marked bytes. The first mark reduces the window by alpha / 2; the next reduction is possible when the data in
//! flight then are acknowledged.
//!
//! Choices where the RFC leaves one:
//! * The time of the reduction. §3.3 lists it as step 9, after the end of the observation window, and says that
//!   there is one for each window of data. Linux reduces at the first echo (`tcp_enter_cwr`), with the alpha of
//!   the last observation window, and so does this. With a reduction at the end of the window, a queue under a
//!   step swings by two thirds more.
//! * Marked bytes do not let the window grow, as in RFC 3168 §6.1.2 for an echo. Linux stops all growth until the
//!   reduced window has been acknowledged.

use super::reno::Reno;
use super::{Ack, CongestionControl, Marks};
use crate::{ControlVariables, Profile};

/// The gain g of the estimate (RFC 8257 §4.2).
const G: f64 = 1.0 / 16.0;
/// The initial estimate (RFC 8257 §4.2: careful rather than fast; the same in Linux).
const INITIAL_ALPHA: f64 = 1.0;

/// DCTCP's window and estimate.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    reno: Reno,
    estimate: Estimate,
    /// Bytes to deliver before marks reduce again: the data in flight at the last reduction, and one byte sent
    /// since.
    bytes_to_next_reduction: u32,
}

/// The moving average of the share of marked bytes, DCTCP.Alpha.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    alpha: f64,
    bytes_acked: u64,
    bytes_marked: u64,
}

impl Estimate {
    pub(super) const INITIAL: Estimate = Estimate { alpha: INITIAL_ALPHA, bytes_acked: 0, bytes_marked: 0 };

    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    pub(super) fn count(&mut self, ack: &Ack) {
        self.bytes_acked += u64::from(ack.bytes);
        self.bytes_marked += u64::from(ack.marked.min(ack.bytes));
    }

    /// End the observation window and update the estimate.
    pub(super) fn end_window(&mut self) {
        if self.bytes_acked > 0 {
            // M = DCTCP.BytesMarked / DCTCP.BytesAcked
            let m = self.bytes_marked as f64 / self.bytes_acked as f64;
            // DCTCP.Alpha = DCTCP.Alpha * (1 - g) + g * M
            self.alpha = self.alpha * (1.0 - G) + G * m;
        }
        (self.bytes_acked, self.bytes_marked) = (0, 0);
    }
}

impl CongestionControl for Dctcp {
    fn new(profile: &Profile) -> Dctcp {
        Dctcp { reno: Reno::new(profile), estimate: Estimate::INITIAL, bytes_to_next_reduction: 0 }
    }

    fn cwnd(&self) -> u32 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }

    fn marks(&self) -> Marks {
        Marks::Counted
    }

    fn variables(&self) -> ControlVariables {
        ControlVariables { alpha: Some(self.estimate.alpha()), ..ControlVariables::default() }
    }

    fn on_delivery(&mut self, ack: &Ack) {
        if ack.new_round {
            self.estimate.end_window();
        }
        self.estimate.count(ack);
        self.bytes_to_next_reduction = self.bytes_to_next_reduction.saturating_sub(ack.bytes);
    }

    fn on_ack(&mut self, ack: &Ack) {
        // One reduction for each window of data (§3.3): marks of packets sent before it ask for no more.
        if ack.marked > 0 && self.bytes_to_next_reduction == 0 {
            self.bytes_to_next_reduction = ack.in_flight + 1;
            // cwnd = cwnd * (1 - DCTCP.Alpha / 2)
            self.reno.reduce_for_marks(self.reno.cwnd(), 1.0 - self.estimate.alpha() / 2.0, ack.mss);
        }
        self.reno.on_ack(&Ack { bytes: ack.bytes.saturating_sub(ack.marked), ..*ack });
    }

    /// RFC 8257 §3.5: respond to a loss as Reno does.
    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.reno.on_fast_retransmit(window, mss);
    }

    /// The reduction for the loss covers the marks of its round trip: the data in flight were sent after it.
    fn on_recovered(&mut self, flight: u32, mss: u32) {
        self.bytes_to_next_reduction = 0;
        self.reno.on_recovered(flight, mss);
    }

    fn on_timeout(&mut self, window: u32, mss: u32) {
        self.bytes_to_next_reduction = 0;
        self.reno.on_timeout(window, mss);
    }

    fn on_spurious(&mut self) {
        self.reno.on_spurious();
    }

    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        self.reno.on_ecn_echo(window, mss);
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.reno.on_idle(initial_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn dctcp() -> Dctcp {
        let profile = Profile { mss: 1000, initial_window: 100, ..Profile::freebsd_4_5() };
        Dctcp::new(&profile)
    }

    /// A round trip of 100 segments of which the first `marked` are marked.
    fn round(cc: &mut Dctcp, marked: u32) {
        for i in 0..100 {
            let marked = if i < marked { MSS } else { 0 };
            let in_flight = 99 * MSS;
            let ack = Ack { bytes: MSS, mss: MSS, marked, in_flight, new_round: i == 0, ..Ack::default() };
            cc.on_delivery(&ack);
            cc.on_ack(&ack);
        }
    }

    #[test]
    fn each_round_moves_alpha_a_sixteenth_towards_the_marked_share() {
        // RFC 8257 §3.3, steps 5 and 6
        let mut cc = dctcp();
        round(&mut cc, 25);
        round(&mut cc, 0);
        let alpha = 1.0 + (0.25 - 1.0) / 16.0;
        assert!((cc.estimate.alpha() - alpha).abs() < 1e-12, "{}", cc.estimate.alpha());
    }

    #[test]
    fn the_first_mark_reduces_the_window_by_half_of_the_estimate() {
        // RFC 8257 §3.3: once for each window of data. Linux: at the first echo.
        let mut cc = dctcp();
        round(&mut cc, 1);
        assert_eq!(
            cc.cwnd(),
            50 * MSS,
            "alpha is 1 at first, and the rest of the round does not fill a window"
        );
    }

    #[test]
    fn marks_of_one_window_of_data_reduce_it_once() {
        let mut cc = dctcp();
        for expected in [50, 25, 12] {
            round(&mut cc, 100);
            assert_eq!(cc.cwnd() / MSS, expected);
        }
        round(&mut cc, 0);
        assert!(cc.cwnd() / MSS >= 12, "a round without marks asks for nothing");
    }

    #[test]
    fn the_first_mark_ends_slow_start() {
        let mut cc = dctcp();
        round(&mut cc, 0);
        assert!(cc.reno.in_slow_start());
        round(&mut cc, 1);
        assert!(!cc.reno.in_slow_start());
    }

    #[test]
    fn a_loss_halves_and_covers_the_marks_of_its_round_trip() {
        // RFC 8257 §3.5
        let mut cc = dctcp();
        let ack = Ack { bytes: MSS, mss: MSS, marked: MSS, in_flight: 99 * MSS, ..Ack::default() };
        cc.on_delivery(&ack);
        cc.on_fast_retransmit(100 * MSS, MSS);
        cc.on_delivery(&Ack { new_round: true, ..ack });
        cc.on_recovered(50 * MSS, MSS);
        cc.on_ack(&Ack { marked: 0, window_limited: false, ..ack });
        assert_eq!(cc.cwnd(), 50 * MSS);
    }
}
