//! Jitter buffers: when a receiver plays a packet, and which packets come too late.
//!
//! A packet's *playout delay* is the time from its sending to its playing. A packet that takes longer is discarded.

use aqmlab_units::Duration;
use serde::{Deserialize, Serialize};

/// The jitter buffer of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JitterBufferConfig {
    /// The playout delay follows the delays of packets: their moving average and four times their mean deviation, by
    /// algorithm 1 of Ramjee, Kurose, Towsley and Schulzrinne, "Adaptive playout mechanisms for packetized audio
    /// applications in wide-area networks", INFOCOM 1994, with its gain of 0.998. It changes with every packet, as in
    /// receivers that stretch speech, and not only between talkspurts. A packet waits for a frame at least, which is ours.
    #[default]
    Adaptive,
    /// The first packet of the call waits this long, and all others are played in step with it.
    Fixed(Duration),
}

/// A jitter buffer at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JitterBuffer {
    Adaptive { average: Option<f64>, deviation: f64, least: f64 },
    Fixed { depth: f64, playout: Option<f64> },
}

/// The gain of Ramjee et al. 1994.
const GAIN: f64 = 0.998_002;

impl JitterBuffer {
    /// A buffer of packets that hold a `frame` of speech each.
    pub(crate) fn new(config: JitterBufferConfig, frame: Duration) -> JitterBuffer {
        match config {
            JitterBufferConfig::Adaptive => {
                JitterBuffer::Adaptive { average: None, deviation: 0.0, least: frame.as_millis_f64() }
            }
            JitterBufferConfig::Fixed(depth) => {
                JitterBuffer::Fixed { depth: depth.as_millis_f64(), playout: None }
            }
        }
    }

    /// Return the playout delay of a packet that took `delay`, in milliseconds; `None` if it came too late.
    pub(crate) fn play(&mut self, delay: f64) -> Option<f64> {
        let playout = match self {
            JitterBuffer::Fixed { depth, playout } => *playout.get_or_insert(delay + *depth),
            JitterBuffer::Adaptive { average, deviation, least } => {
                let before = average.unwrap_or(delay);
                let playout = before + (4.0 * *deviation).max(*least);
                // d = a d + (1 - a) n, v = a v + (1 - a) |d - n|
                let now = GAIN * before + (1.0 - GAIN) * delay;
                *deviation = GAIN * *deviation + (1.0 - GAIN) * (now - delay).abs();
                *average = Some(now);
                playout
            }
        };
        (delay <= playout).then_some(playout)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FRAME: Duration = Duration::from_millis(20);

    fn fixed(ms: u64) -> JitterBuffer {
        JitterBuffer::new(JitterBufferConfig::Fixed(Duration::from_millis(ms)), FRAME)
    }

    #[test]
    fn a_fixed_buffer_keeps_step_with_the_first_packet() {
        let mut buffer = fixed(60);
        assert_eq!(
            [20.0, 80.0, 80.5, 0.0].map(|delay| buffer.play(delay)),
            [Some(80.0), Some(80.0), None, Some(80.0)]
        );
    }

    #[test]
    fn an_adaptive_buffer_reaches_average_and_four_deviations() {
        // Delays of 10 and 30 ms in turn: average 20, mean deviation 10, so that all are played after some 60 ms.
        let mut buffer = JitterBuffer::new(JitterBufferConfig::Adaptive, FRAME);
        let last = (0..20_000).map(|n| buffer.play(if n % 2 == 0 { 10.0 } else { 30.0 })).last().flatten();
        assert!((last.expect("played") - 60.0).abs() < 0.5, "{last:?}");
    }

    proptest! {
        #[test]
        fn constant_delay_is_never_late_and_waits_for_the_depth(
            delay in 0.0..500.0, depth in 0..500u64, packets in 1..100usize,
        ) {
            for _ in 0..packets {
                let mut buffer = fixed(depth);
                prop_assert_eq!(buffer.play(delay), Some(delay + depth as f64));
            }
            let mut adaptive = JitterBuffer::new(JitterBufferConfig::Adaptive, FRAME);
            for _ in 0..packets {
                let playout = adaptive.play(delay).expect("played");
                prop_assert!((playout - delay - 20.0).abs() < 1e-9, "{}", playout);
            }
        }

        #[test]
        fn a_played_packet_has_come(delays in prop::collection::vec(0.0..500.0, 1..200), depth in 0..200u64) {
            for mut buffer in [fixed(depth), JitterBuffer::new(JitterBufferConfig::Adaptive, FRAME)] {
                for &delay in &delays {
                    prop_assert!(buffer.play(delay).is_none_or(|playout| playout >= delay));
                }
            }
        }
    }
}
