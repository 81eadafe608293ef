//! HyStart++: a rise of the round-trip time ends slow start, after a few rounds of slower growth.
//!
//! Source: RFC 9406 §4.2-4.3. Used only in the first slow start of a connection, as §4.3 recommends.

use aqmlab_units::Duration;

use super::Ack;

/// Bounds of the rise in round-trip time that ends slow start (RFC 9406 §4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// The rise that counts is this share of the round-trip time.
const MIN_RTT_DIVISOR: u64 = 8;
/// Samples that a round needs to be judged.
const N_RTT_SAMPLE: u32 = 8;
/// Divisor of growth in conservative slow start, and its rounds at most.
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// The most segments that one acknowledgement counts for, without pacing.
const L: u32 = 8;

/// The state of HyStart++.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStartPlusPlus {
    last_round_min_rtt: Option<Duration>,
    current_round_min_rtt: Option<Duration>,
    rtt_sample_count: u32,
    css: Option<ConservativeSlowStart>,
}

/// Conservative slow start, CSS.
#[derive(Clone, Copy, Debug)]
struct ConservativeSlowStart {
    css_baseline_min_rtt: Duration,
    /// Rounds that have ended in it, including the one in which it began.
    rounds: u32,
}

impl HyStartPlusPlus {
    /// Return the bytes that `ack` adds to the window, or `None` when slow start is over.
    pub(super) fn growth(&mut self, ack: &Ack) -> Option<u32> {
        if ack.new_round && self.end_round() {
            return None;
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        // cwnd = cwnd + min(N, L * SMSS); a fourth of it in CSS
        let growth = ack.bytes.min(L.saturating_mul(ack.mss));
        Some(if self.css.is_some() { growth / CSS_GROWTH_DIVISOR } else { growth })
    }

    /// End the round. Returns true if it was the last of CSS.
    fn end_round(&mut self) -> bool {
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        self.css.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= CSS_ROUNDS
        })
    }

    fn sample(&mut self, rtt: Duration) {
        let current = self.current_round_min_rtt.map_or(rtt, |least| least.min(rtt));
        self.current_round_min_rtt = Some(current);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match self.css {
            // The rise was spurious: return to slow start (§4.2).
            Some(css) if current < css.css_baseline_min_rtt => self.css = None,
            None if self.last_round_min_rtt.is_some_and(|last| rise_ends_slow_start(last, current)) => {
                self.css = Some(ConservativeSlowStart { css_baseline_min_rtt: current, rounds: 0 });
            }
            _ => {}
        }
    }
}

/// `currentRoundMinRTT >= lastRoundMinRTT + RttThresh`
fn rise_ends_slow_start(last: Duration, current: Duration) -> bool {
    // RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))
    let share = Duration::from_nanos(last.as_nanos() / MIN_RTT_DIVISOR);
    current >= last + share.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// Run a round of `samples` acknowledgements of one segment each. Return the growth at the last one, or
    /// `None` once slow start is over.
    fn round(hystart: &mut HyStartPlusPlus, samples: u32, rtt_ms: u64) -> Option<u32> {
        let rtt = Some(Duration::from_millis(rtt_ms));
        let ack = |new_round| Ack { bytes: MSS, mss: MSS, rtt, new_round, ..Ack::default() };
        let growths: Option<Vec<u32>> = (0..samples).map(|i| hystart.growth(&ack(i == 0))).collect();
        growths?.last().copied()
    }

    #[test]
    fn a_rise_by_an_eighth_of_the_rtt_slows_growth_to_a_fourth() {
        // RFC 9406 §4.2; the threshold is between 4 ms and 16 ms.
        for (last, at, below) in [(20, 24, 23), (80, 90, 89), (400, 416, 415)] {
            for (rtt, growth) in [(at, MSS / 4), (below, MSS)] {
                let mut hystart = HyStartPlusPlus::default();
                round(&mut hystart, 8, last);
                assert_eq!(round(&mut hystart, 8, rtt), Some(growth), "{last} ms, then {rtt} ms");
            }
        }
    }

    #[test]
    fn seven_samples_have_no_effect() {
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, 8, 80);
        assert_eq!(round(&mut hystart, 7, 120), Some(MSS));
    }

    #[test]
    fn conservative_slow_start_ends_slow_start_after_five_rounds() {
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, 8, 80);
        for _ in 0..5 {
            assert_eq!(round(&mut hystart, 8, 120), Some(MSS / 4));
        }
        assert_eq!(round(&mut hystart, 8, 120), None);
    }

    #[test]
    fn slow_start_resumes_when_the_round_trip_falls_again() {
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, 8, 80);
        assert_eq!(round(&mut hystart, 8, 120), Some(MSS / 4));
        assert_eq!(round(&mut hystart, 8, 119), Some(MSS));
    }

    #[test]
    fn one_acknowledgement_counts_for_eight_segments_at_most() {
        let ack = Ack { bytes: 20 * MSS, mss: MSS, ..Ack::default() };
        assert_eq!(HyStartPlusPlus::default().growth(&ack), Some(8 * MSS));
    }
}
