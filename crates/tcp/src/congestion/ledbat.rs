//! LEDBAT: a background transfer that keeps the delay it adds at a target, and so yields to others.
//!
//! Source: RFC 6817 §2.4.2 and its parameters, §2.5.
//!
//! The delay is the one-way delay to the receiver, from its timestamps, in whole milliseconds. Both hosts have
//! the simulation's clock, so that there is no skew to correct (appendix A). If the peer has no timestamps, the
//! round-trip time is used, which includes the reverse path; LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus) always
//! uses it.
//!
//! Choices where the RFC leaves one: TARGET is [`Profile::ledbat_target`]; `FILTER()` is a minimum; there is no
//! slow start, as in its pseudocode; a mark has the response of a loss (RFC 3168 §5). Differs: `INIT_CWND` is the
//! profile's initial window, and the congestion timeout is the endpoint's retransmission timeout.

use aqmlab_units::{Duration, Time};

use super::{Ack, CongestionControl, MAX_WINDOW};
use crate::{ControlVariables, Profile};

/// Segments per round trip by which the window grows without a queue (§2.5: 1 or less).
const GAIN: f64 = 1.0;
/// Segments by which the window may exceed what is in flight (§2.5).
const ALLOWED_INCREASE: u32 = 1;
/// Minima, of a minute each, over which the base delay is taken (§2.5).
const BASE_HISTORY: usize = 10;
/// Interval of each minimum (§2.4.2).
const BASE_INTERVAL: Duration = Duration::from_secs(60);
/// Latest delays over which the minimum is taken: four as in ns-3 and others; §2.5 permits up to a round trip.
const CURRENT_FILTER: usize = 4;
/// The smallest window in segments (§2.5), except after a timeout.
const MIN_CWND: u32 = 2;
/// Factor of the window at a loss (§2.4.2).
const BETA: f64 = 0.5;

/// LEDBAT's window and its estimate of the path's delay.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// TARGET, the queueing delay to aim at.
    target: Duration,
    /// In bytes, with the fractions that small changes need.
    cwnd: f64,
    /// Minima of the last minutes; the last one is of the current minute.
    base_delays: [Option<Duration>; BASE_HISTORY],
    /// The current minute since the start of the run.
    last_rollover: u64,
    current_delays: [Option<Duration>; CURRENT_FILTER],
    /// The window before the last loss or timeout.
    undo: Option<f64>,
}

impl Ledbat {
    fn update_base_delay(&mut self, delay: Duration, now: Time) {
        let minute = now.as_nanos() / BASE_INTERVAL.as_nanos();
        if minute == self.last_rollover {
            let tail = &mut self.base_delays[BASE_HISTORY - 1];
            *tail = Some(tail.map_or(delay, |least| least.min(delay)));
        } else {
            self.last_rollover = minute;
            append(&mut self.base_delays, delay);
        }
    }

    /// `FILTER(current_delays) - MIN(base_delays)` in units of TARGET; 0 without a sample.
    fn queuing_delay(&self) -> f64 {
        let least = |delays: &[Option<Duration>]| {
            delays.iter().flatten().min().map_or(0.0, |&delay| delay / self.target)
        };
        (least(&self.current_delays) - least(&self.base_delays)).max(0.0)
    }

    /// `cwnd = min(cwnd, max(cwnd / 2, MIN_CWND * MSS))`. The endpoint calls it once for the losses of a window.
    fn reduce(&mut self, window: u32, mss: u32) {
        self.cwnd = self.cwnd.min((f64::from(window) * BETA).max(f64::from(MIN_CWND * mss)));
    }
}

impl CongestionControl for Ledbat {
    fn new(profile: &Profile) -> Ledbat {
        Ledbat {
            target: profile.ledbat_target,
            cwnd: f64::from(profile.initial_window_bytes()),
            base_delays: [None; BASE_HISTORY],
            last_rollover: 0,
            current_delays: [None; CURRENT_FILTER],
            undo: None,
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 MSS to MAX_WINDOW")]
    fn cwnd(&self) -> u32 {
        self.cwnd as u32
    }

    /// There is no slow start.
    fn ssthresh(&self) -> u32 {
        self.cwnd()
    }

    fn variables(&self) -> ControlVariables {
        let base_delay = self.base_delays.iter().flatten().min().copied();
        ControlVariables { base_delay, ..ControlVariables::default() }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(delay) = ack.one_way_delay.or(ack.rtt) {
            self.update_base_delay(delay, ack.now);
            append(&mut self.current_delays, delay);
        }
        // off_target = (TARGET - queuing_delay) / TARGET
        let off_target = 1.0 - self.queuing_delay();
        // A window that is not used may shrink, but not grow.
        if off_target < 0.0 || ack.window_limited {
            // cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd
            self.cwnd += GAIN * off_target * f64::from(ack.bytes) * f64::from(ack.mss) / self.cwnd;
        }
        // max_allowed_cwnd = flightsize + ALLOWED_INCREASE * MSS, with the flight before this acknowledgement
        let flight_size = ack.in_flight.saturating_add(ack.bytes);
        let max_allowed = flight_size.saturating_add(ALLOWED_INCREASE * ack.mss).min(MAX_WINDOW);
        self.cwnd = self.cwnd.min(f64::from(max_allowed)).max(f64::from(MIN_CWND * ack.mss));
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.undo = Some(self.cwnd);
        self.reduce(window, mss);
    }

    fn on_recovered(&mut self, _flight: u32, _mss: u32) {}

    /// `cwnd = 1 * MSS`
    fn on_timeout(&mut self, _window: u32, mss: u32) {
        // A repeated timeout must not replace the window to restore.
        if self.cwnd > f64::from(mss) {
            self.undo = Some(self.cwnd);
        }
        self.cwnd = f64::from(mss);
    }

    fn on_spurious(&mut self) {
        if let Some(cwnd) = self.undo.take() {
            self.cwnd = self.cwnd.max(cwnd);
        }
    }

    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        self.undo = None;
        self.reduce(window, mss);
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.cwnd = self.cwnd.min(f64::from(initial_window));
    }
}

/// Append `delay`; the first one is dropped.
fn append(delays: &mut [Option<Duration>], delay: Duration) {
    delays.rotate_left(1);
    if let Some(last) = delays.last_mut() {
        *last = Some(delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// Return a control with a window of `segments` segments.
    fn ledbat(segments: u8) -> Ledbat {
        let profile = Profile { mss: 1000, initial_window: segments, ..Profile::freebsd_4_5() };
        Ledbat::new(&profile)
    }

    fn ack(cc: &Ledbat, ms: u64, second: u64) -> Ack {
        Ack {
            now: Time::ZERO + Duration::from_secs(second),
            bytes: MSS,
            mss: MSS,
            in_flight: cc.cwnd() - MSS,
            one_way_delay: Some(Duration::from_millis(ms)),
            // The reverse path has a queue, which must have no effect here.
            rtt: Some(Duration::from_millis(9 * ms)),
            window_limited: true,
            ..Ack::default()
        }
    }

    /// Acknowledge a window with delays of `ms`. Return the segments by which the window grows.
    fn growth(cc: &mut Ledbat, ms: u64, second: u64) -> f64 {
        // Fill the filter, so that it has no older delays.
        for _ in 0..CURRENT_FILTER {
            cc.on_ack(&Ack { bytes: 0, ..ack(cc, ms, second) });
        }
        let before = cc.cwnd;
        (0..cc.cwnd() / MSS).for_each(|_| cc.on_ack(&ack(cc, ms, second)));
        (cc.cwnd - before) / f64::from(MSS)
    }

    #[test]
    fn rfc_6817_2_4_2_growth_follows_the_distance_from_the_target() {
        let mut cc = ledbat(40);
        // Base delay 20 ms: a segment a round trip without a queue, half of one at half the target, none at it.
        for (ms, expected) in [(20, 1.0), (70, 0.5), (120, 0.0), (170, -0.5), (220, -1.0), (420, -3.0)] {
            let found = growth(&mut cc, ms, 1);
            assert!((found - expected).abs() < 0.15, "{found} segments at {ms} ms");
        }
    }

    #[test]
    fn a_lower_target_is_met_by_a_shorter_queue() {
        let profile = Profile { ledbat_target: Duration::from_millis(60), ..Profile::freebsd_4_5() };
        let mut cc = Ledbat { cwnd: f64::from(40 * MSS), ..Ledbat::new(&profile) };
        for (ms, expected) in [(20, 1.0), (50, 0.5), (80, 0.0), (110, -0.5)] {
            let found = growth(&mut cc, ms, 1);
            assert!((found - expected).abs() < 0.15, "{found} segments at {ms} ms");
        }
    }

    #[test]
    fn the_least_of_the_last_four_delays_counts() {
        let mut cc = ledbat(40);
        growth(&mut cc, 20, 1);
        for late in 1..=4 {
            let before = cc.cwnd;
            cc.on_ack(&ack(&cc, 500, 1));
            assert_eq!(before < cc.cwnd, late < 4, "after {late} late acknowledgements");
        }
    }

    #[test]
    fn rfc_6817_2_5_the_base_delay_expires_after_ten_minutes() {
        let mut cc = ledbat(40);
        growth(&mut cc, 20, 0);
        // The path is longer from now on: a queue, until the last minute with the short one is forgotten.
        for minute in 1..=10 {
            let found = growth(&mut cc, 120, 60 * minute);
            let expected = if minute < 10 { 0.0 } else { 1.0 };
            assert!((found - expected).abs() < 0.1, "{found} segments in minute {minute}");
        }
    }

    #[test]
    fn rfc_6817_3_1_1_a_shorter_delay_is_the_base_at_once() {
        let mut cc = ledbat(40);
        growth(&mut cc, 120, 0);
        assert!(growth(&mut cc, 20, 0) > 0.9);
        assert!(growth(&mut cc, 120, 0).abs() < 0.1);
    }

    #[test]
    fn rfc_6817_2_4_2_a_loss_halves_down_to_two_segments() {
        let mut cc = ledbat(10);
        for expected in [5, 2, 2] {
            cc.on_fast_retransmit(cc.cwnd(), MSS);
            cc.on_recovered(cc.cwnd(), MSS);
            assert_eq!(cc.cwnd() / MSS, expected);
        }
        // A mark has halved the window just before the same window of data turns out to have a loss.
        let mut cc = ledbat(10);
        cc.on_ecn_echo(10 * MSS, MSS);
        cc.on_fast_retransmit(10 * MSS, MSS);
        assert_eq!(cc.cwnd(), 5 * MSS);
    }

    #[test]
    fn rfc_6817_2_4_2_a_timeout_leaves_one_segment() {
        let mut cc = ledbat(10);
        cc.on_timeout(10 * MSS, MSS);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, MSS));
        cc.on_ack(&ack(&cc, 20, 1));
        assert_eq!(cc.cwnd(), 2 * MSS);
        cc.on_spurious();
        assert_eq!(cc.cwnd(), 10 * MSS);
    }

    #[test]
    fn rfc_6817_2_4_2_the_window_is_at_most_a_segment_above_flight() {
        let mut cc = ledbat(40);
        let ack = Ack { in_flight: 9 * MSS, window_limited: false, ..ack(&cc, 20, 1) };
        cc.on_ack(&ack);
        assert_eq!(cc.cwnd(), 11 * MSS, "10 were in flight before it");
    }

    #[test]
    fn without_timestamps_round_trip_times_replace_delays() {
        let mut cc = ledbat(40);
        for (ms, expected) in [(50, 1.0), (150, 0.0)] {
            let mut found = 0.0;
            for _ in 0..2 {
                let before = cc.cwnd;
                for _ in 0..cc.cwnd() / MSS {
                    let rtt = Some(Duration::from_millis(ms));
                    cc.on_ack(&Ack { one_way_delay: None, rtt, ..ack(&cc, 0, 1) });
                }
                found = (cc.cwnd - before) / f64::from(MSS);
            }
            assert!((found - expected).abs() < 0.1, "{found} segments at {ms} ms");
        }
    }
}
