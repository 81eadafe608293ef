//! Jitter buffers for frames: when a receiver shows a frame.
//!
//! A frame's *playout delay* is the time from its capture to its showing. A frame that takes longer is shown at once, for
//! the next ones are predicted from it.

use std::collections::VecDeque;

use aqmlab_units::Duration;
use serde::{Deserialize, Serialize};

/// The jitter buffer for frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrameBufferConfig {
    /// The playout delay is the 95th percentile of the delays of the last 120 frames. Both numbers are ours.
    #[default]
    Adaptive,
    /// The playout delay is this much above the shortest delay so far; 0 s shows each frame when it is there.
    Fixed(Duration),
}

/// A jitter buffer at work.
#[derive(Clone, Debug)]
pub(crate) enum FrameBuffer {
    Adaptive {
        recent: VecDeque<Duration>,
        /// The same in order of length.
        sorted: Vec<Duration>,
    },
    Fixed {
        depth: Duration,
        shortest: Option<Duration>,
    },
}

/// The frames whose delays an adaptive buffer follows.
const RECENT: usize = 120;

impl FrameBuffer {
    pub(crate) fn new(config: FrameBufferConfig) -> FrameBuffer {
        match config {
            FrameBufferConfig::Adaptive => {
                FrameBuffer::Adaptive { recent: VecDeque::new(), sorted: Vec::new() }
            }
            FrameBufferConfig::Fixed(depth) => FrameBuffer::Fixed { depth, shortest: None },
        }
    }

    /// Return the playout delay of a frame that took `delay`, at least that.
    pub(crate) fn play(&mut self, delay: Duration) -> Duration {
        match self {
            FrameBuffer::Fixed { depth, shortest } => {
                let least = shortest.map_or(delay, |shortest| shortest.min(delay));
                *shortest = Some(least);
                delay.max(least + *depth)
            }
            FrameBuffer::Adaptive { recent, sorted } => {
                if recent.len() == RECENT {
                    let oldest = recent.pop_front().expect("it is full");
                    sorted.remove(sorted.partition_point(|&other| other < oldest));
                }
                recent.push_back(delay);
                sorted.insert(sorted.partition_point(|&other| other < delay), delay);
                delay.max(sorted[(95 * sorted.len()).div_ceil(100) - 1])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(delay: u64) -> Duration {
        Duration::from_millis(delay)
    }

    #[test]
    fn a_fixed_buffer_is_above_the_shortest_delay() {
        let mut buffer = FrameBuffer::new(FrameBufferConfig::Fixed(ms(50)));
        assert_eq!([30, 90, 40, 20, 20].map(|delay| buffer.play(ms(delay))), [80, 90, 80, 70, 70].map(ms));
    }

    proptest! {
        #[test]
        fn an_adaptive_buffer_plays_at_the_percentile(delays in prop::collection::vec(0..300_u64, 1..400)) {
            let mut buffer = FrameBuffer::new(FrameBufferConfig::Adaptive);
            for n in 1..=delays.len() {
                let mut recent = delays[n.saturating_sub(RECENT)..n].to_vec();
                recent.sort_unstable();
                // The smallest that at least 95 % do not exceed.
                let wanted = recent.iter().find(|&&delay| {
                    100 * recent.iter().filter(|&&other| other <= delay).count() >= 95 * recent.len()
                });
                let expected = ms(delays[n - 1].max(*wanted.expect("there is one")));
                prop_assert_eq!(buffer.play(ms(delays[n - 1])), expected);
            }
        }
    }
}
