//! Prague: DCTCP's response, adapted to the Internet (L4S).
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-00, sections "Moving Average of ECN Feedback" to "Packet Pacing".
//!
//! The first mark reduces the window by half of the estimate alpha; the next reduction is possible a round trip
//! later. Meanwhile the window grows by the unmarked bytes. After [`RTT_DEPENDENT_ROUNDS`] a flow behaves as if
//! its round-trip time were at least [`Profile::prague_reference_rtt`], so that a short path does not get more than a long one.
//!
//! Choices where the draft leaves one: a loss halves the window, even if marks have just reduced it; alpha starts
//! at 1, as DCTCP's does; slow start is Reno's and ends with the first mark. Left out: the fall-back for queues
//! with classic ECN, which the draft turns off by default.

use aqmlab_units::{BitRate, Duration, Time};

use super::aimd::{AimdWindow, whole};
use super::dctcp::Estimate;
use super::smoothed_rtt::SmoothedRtt;
use super::{Ack, CongestionControl, Marks};
use crate::{ControlVariables, Profile};

/// D, the rounds in which the reference is the flow's own round-trip time (the draft's default).
const RTT_DEPENDENT_ROUNDS: u32 = 500;
/// Factor of the window at a loss (RFC 5681).
const BETA: f64 = 0.5;

/// Prague's window and estimate.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    window: AimdWindow,
    in_flight: u32,
    estimate: Estimate,
    srtt: SmoothedRtt,
    /// `RTT_ref = max(RTT, reference)`.
    reference: Duration,
    rounds: u32,
    /// Start of the current observation window.
    window_start: Time,
    /// Marks before this time do not reduce further (the state CWR).
    cwr_until: Time,
}

impl Prague {
    /// The smoothed and the reference round-trip time; `None` before the first sample.
    fn round_trips(&self) -> Option<(Duration, Duration)> {
        let rtt = self.srtt.get()?;
        Some((rtt, if self.rounds < RTT_DEPENDENT_ROUNDS { rtt } else { rtt.max(self.reference) }))
    }

    /// Reduce for marks, unless that was done less than a round trip ago.
    fn respond_to_marks(&mut self, ack: &Ack) {
        if ack.marked == 0 || ack.now < self.cwr_until {
            return;
        }
        let reference = self.round_trips().map_or(self.reference, |(_, reference)| reference);
        self.cwr_until = ack.now + reference;
        // ssthresh = (1 - alpha / 2) * cwnd
        self.window.on_mark((1.0 - self.estimate.alpha() / 2.0) * self.window.cwnd(), ack.mss);
    }

    /// `cwnd += (acked - marked) / M^2 * MSS / cwnd`, where `M = RTT_ref / RTT`.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let inverse_m = self.round_trips().map_or(1.0, |(rtt, reference)| rtt / reference);
        let unmarked = f64::from(ack.bytes.saturating_sub(ack.marked));
        self.window.grow(unmarked * inverse_m * inverse_m * f64::from(ack.mss) / self.window.cwnd());
    }
}

impl CongestionControl for Prague {
    fn new(profile: &Profile) -> Prague {
        Prague {
            window: AimdWindow::new(profile),
            in_flight: 0,
            estimate: Estimate::INITIAL,
            srtt: SmoothedRtt::default(),
            reference: profile.prague_reference_rtt,
            rounds: 0,
            window_start: Time::ZERO,
            cwr_until: Time::ZERO,
        }
    }

    fn cwnd(&self) -> u32 {
        whole(self.window.cwnd())
    }

    fn ssthresh(&self) -> u32 {
        whole(self.window.ssthresh())
    }

    fn marks(&self) -> Marks {
        Marks::L4s
    }

    /// `pacing_rate = max(cwnd, inflight) / srtt`, and twice that while `cwnd < ssthresh / 2`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    fn pacing_rate(&self) -> Option<BitRate> {
        let srtt = self.srtt.get()?.as_secs_f64().max(1e-9);
        let window = self.window.cwnd().max(f64::from(self.in_flight));
        let factor = if self.window.cwnd() < self.window.ssthresh() / 2.0 { 2.0 } else { 1.0 };
        BitRate::from_bits_per_sec((8.0 * factor * window / srtt) as u64)
    }

    fn variables(&self) -> ControlVariables {
        ControlVariables { alpha: Some(self.estimate.alpha()), ..ControlVariables::default() }
    }

    fn on_delivery(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.srtt.sample(rtt);
        }
        self.in_flight = ack.in_flight;
        if ack.new_round {
            self.rounds = self.rounds.saturating_add(1);
            let elapsed = ack.now.saturating_since(self.window_start);
            // After those rounds an observation window too lasts a reference round trip, or a real one if that is
            // longer.
            if self.round_trips().is_none_or(|(rtt, reference)| reference == rtt || elapsed >= reference) {
                self.estimate.end_window();
                self.window_start = ack.now;
            }
        }
        self.estimate.count(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.respond_to_marks(ack);
        // Paced at a window each round trip, the flow rarely fills the window.
        let window_limited = ack.window_limited || ack.pacing_limited;
        if self.window.in_slow_start() {
            let bytes = ack.bytes.saturating_sub(ack.marked);
            self.window.grow_in_slow_start(&Ack { bytes, window_limited, ..*ack });
        } else if window_limited {
            self.avoid_congestion(ack);
        }
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.window.on_loss(f64::from(window) * BETA, mss);
    }

    fn on_recovered(&mut self, _flight: u32, _mss: u32) {
        self.window.on_recovered();
    }

    fn on_timeout(&mut self, window: u32, mss: u32) {
        self.window.on_timeout(f64::from(window) * BETA, mss);
    }

    fn on_spurious(&mut self) {
        self.window.on_spurious();
    }

    /// Reno's response, as the draft requires without accurate feedback.
    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        self.window.on_mark(f64::from(window) * BETA, mss);
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.window.on_idle(initial_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn prague() -> Prague {
        with_reference(25)
    }

    fn with_reference(reference_ms: u64) -> Prague {
        let prague_reference_rtt = Duration::from_millis(reference_ms);
        Prague::new(&Profile {
            mss: 1000,
            initial_window: 100,
            prague_reference_rtt,
            ..Profile::freebsd_4_5()
        })
    }

    fn acked(now_ms: u64, rtt_ms: u64) -> Ack {
        Ack {
            now: Time::ZERO + Duration::from_millis(now_ms),
            bytes: MSS,
            mss: MSS,
            rtt: Some(Duration::from_millis(rtt_ms)),
            window_limited: true,
            ..Ack::default()
        }
    }

    fn deliver(cc: &mut Prague, ack: Ack) {
        cc.on_delivery(&ack);
        cc.on_ack(&ack);
    }

    /// Return a control in congestion avoidance with a window of 50 segments, `rounds` after the start.
    fn settled(rtt_ms: u64, rounds: u32) -> Prague {
        settle(prague(), rtt_ms, rounds)
    }

    fn settle(mut cc: Prague, rtt_ms: u64, rounds: u32) -> Prague {
        cc.on_fast_retransmit(100 * MSS, MSS);
        cc.on_recovered(50 * MSS, MSS);
        (0..rounds).for_each(|_| cc.on_delivery(&Ack { new_round: true, ..acked(0, rtt_ms) }));
        cc
    }

    #[test]
    fn marks_reduce_once_in_a_round_trip_by_half_of_the_estimate() {
        let mut cc = settled(100, 1);
        for (now_ms, expected) in [(0, 25), (99, 25), (100, 12)] {
            deliver(&mut cc, Ack { marked: MSS, ..acked(now_ms, 100) });
            assert_eq!(cc.cwnd() / MSS, expected, "at {now_ms} ms");
        }
    }

    #[test]
    fn the_window_grows_between_reductions_by_what_was_not_marked() {
        let mut cc = settled(100, 1);
        deliver(&mut cc, Ack { marked: MSS, ..acked(0, 100) });
        assert_eq!(cc.cwnd(), 25 * MSS);
        (1..=25).for_each(|now| deliver(&mut cc, acked(now, 100)));
        assert_eq!((cc.cwnd() + 500) / MSS, 26);
    }

    #[test]
    fn after_500_rounds_a_short_path_grows_like_one_of_25_ms() {
        // A fifth of the reference: a 25th of a segment for each real round trip.
        for (rounds, expected) in [(499, 1.0), (500, 1.0 / 25.0)] {
            let mut cc = settled(5, rounds);
            (0..50).for_each(|_| cc.on_ack(&acked(0, 5)));
            let grown = cc.window.cwnd() / f64::from(MSS) - 50.0;
            assert!((grown / expected - 1.0).abs() < 0.02, "{rounds} rounds: {grown} segments");
        }
    }

    #[test]
    fn another_reference_is_another_growth() {
        for (reference_ms, expected) in [(0, 1.0), (10, 1.0 / 4.0), (50, 1.0 / 100.0)] {
            let mut cc = settle(with_reference(reference_ms), 5, 500);
            (0..50).for_each(|_| cc.on_ack(&acked(0, 5)));
            let grown = cc.window.cwnd() / f64::from(MSS) - 50.0;
            assert!((grown / expected - 1.0).abs() < 0.02, "{reference_ms} ms: {grown} segments");
        }
    }

    #[test]
    fn after_500_rounds_a_short_path_reduces_like_one_of_25_ms() {
        let mut cc = settled(5, 500);
        deliver(&mut cc, Ack { marked: MSS, ..acked(0, 5) });
        let reduced = cc.cwnd();
        deliver(&mut cc, Ack { marked: MSS, ..acked(24, 5) });
        assert_eq!(cc.cwnd(), reduced);
        let alpha = cc.estimate.alpha();
        cc.on_delivery(&Ack { new_round: true, ..acked(24, 5) });
        assert_eq!(cc.estimate.alpha().to_bits(), alpha.to_bits());
        cc.on_delivery(&Ack { new_round: true, ..acked(25, 5) });
        assert_ne!(cc.estimate.alpha().to_bits(), alpha.to_bits());
        deliver(&mut cc, Ack { marked: MSS, ..acked(25, 5) });
        assert!(cc.cwnd() < reduced);
    }

    #[test]
    fn the_first_mark_ends_slow_start() {
        let mut cc = prague();
        deliver(&mut cc, acked(0, 100));
        assert_eq!(cc.cwnd(), 101 * MSS);
        deliver(&mut cc, Ack { marked: MSS, ..acked(1, 100) });
        assert!(!cc.window.in_slow_start());
    }

    #[test]
    fn the_window_is_paced_over_a_round_trip_doubly_in_slow_start() {
        let mut cc = prague();
        assert_eq!(cc.pacing_rate(), None);
        cc.on_delivery(&acked(0, 100));
        // 100 segments of 1,000 bytes in 100 ms are 8 Mbit/s.
        assert_eq!(cc.pacing_rate(), Some(BitRate::from_mbit_per_sec(16)));
        cc.on_fast_retransmit(200 * MSS, MSS);
        assert_eq!(cc.pacing_rate(), Some(BitRate::from_mbit_per_sec(8)));
    }
}
