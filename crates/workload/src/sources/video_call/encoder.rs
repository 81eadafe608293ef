//! The encoder: the statistical model of RFC 8593, section 5.
//!
//! Frames follow a target rate, with key frames where a picture cannot be predicted from the one before.
//! A draw belongs to the number of its frame, so that the network shifts none.

use aqmlab_units::{Bytes, Duration, Stream, Time};

/// The reaction latency: a target rate holds for this long (`tau_v`).
const REACTION: Duration = Duration::from_millis(200);
/// Frames of a transient period, which a key frame begins (`K_d`).
const TRANSIENT: u32 = 8;
/// The scale of the Laplace distributions of interval and size, as shares of their means (`SCALE_t`, `SCALE_B`).
const SCALE: f64 = 0.15;
/// The largest deviation as a share of the mean, which keeps sizes and intervals above zero. Source: ours.
const MOST: f64 = 0.9;
/// A change of the target rate by more than this share begins a transient period; the frames that make up for the key frame
/// have at least `LEAST` of their usual size. Source of both: syncodecs, the authors' implementation of the model.
const BIG_CHANGE: f64 = 0.5;
const LEAST: f64 = 0.2;

/// The encoder of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    stream: Stream,
    frames_per_second: f64,
    key_frame: Bytes,
    /// The target rate in bit/s, and when it was set.
    target: f64,
    updated: Option<Time>,
    /// Frames of the transient period that are to come.
    transient: u32,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Encoded {
    pub(crate) size: Bytes,
    pub(crate) is_key: bool,
    /// From the capture of this frame to that of the next.
    pub(crate) interval: Duration,
}

impl Encoder {
    pub(crate) fn new(stream: Stream, frames_per_second: f64, key_frame: Bytes) -> Encoder {
        Encoder { stream, frames_per_second, key_frame, target: 0.0, updated: None, transient: 0 }
    }

    /// Make the next frame a key frame.
    pub(crate) fn refresh(&mut self) {
        self.transient = TRANSIENT;
    }

    /// Return the frame that is captured at `now`; `rate` is the latest target rate in bit/s.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float becomes a size")]
    pub(crate) fn frame(&mut self, rate: f64, now: Time) -> Encoded {
        if self.updated.is_none_or(|updated| now >= updated + REACTION) {
            if (rate - self.target).abs() > BIG_CHANGE * self.target {
                self.transient = TRANSIENT;
            }
            (self.target, self.updated) = (rate, Some(now));
        }
        let usual = self.target / 8.0 / self.frames_per_second;
        let is_key = self.transient == TRANSIENT;
        let mean = if is_key {
            self.key_frame.as_f64()
        } else if self.transient > 0 {
            let frames = f64::from(TRANSIENT);
            usual * ((frames - self.key_frame.as_f64() / usual) / (frames - 1.0)).max(LEAST)
        } else {
            usual
        };
        self.transient = self.transient.saturating_sub(1);
        let size = (mean * (1.0 + deviation(&mut self.stream))).round().max(1.0) as u64;
        let seconds = (1.0 + deviation(&mut self.stream)) / self.frames_per_second;
        Encoded { size: Bytes::new(size), is_key, interval: Duration::from_secs_f64(seconds) }
    }
}

/// A draw of the Laplace distribution of mean 0.
fn deviation(stream: &mut Stream) -> f64 {
    let centred = stream.uniform() - 0.5;
    let size = -SCALE * libm::log(1.0 - 2.0 * centred.abs());
    size.min(MOST).copysign(centred)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder() -> Encoder {
        Encoder::new(Stream::numbered(7, 0), 30.0, Bytes::new(13_500))
    }

    fn frames(rate: f64, n: u32) -> Vec<Encoded> {
        let (mut encoder, mut now) = (encoder(), Time::ZERO);
        let mut next = |_| {
            let frame = encoder.frame(rate, now);
            now += frame.interval;
            frame
        };
        (0..n).map(&mut next).collect()
    }

    #[test]
    fn frames_have_their_rate_and_deviations() {
        let frames = frames(1e6, 100_000);
        let bits: f64 = frames.iter().map(|frame| 8.0 * frame.size.as_f64()).sum();
        let seconds: f64 = frames.iter().map(|frame| frame.interval.as_secs_f64()).sum();
        assert!((bits / seconds / 1e6 - 1.0).abs() < 0.005, "{}", bits / seconds);
        assert!((frames.len() as f64 / seconds / 30.0 - 1.0).abs() < 0.005, "{seconds} s");
        // The mean absolute deviation of a Laplace distribution is its scale.
        let usual = 1e6 / 8.0 / 30.0;
        let deviations = frames.iter().skip(8).map(|frame| (frame.size.as_f64() / usual - 1.0).abs());
        let mean = deviations.sum::<f64>() / (frames.len() - 8) as f64;
        assert!((mean / SCALE - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn a_key_frame_is_made_up_for_in_its_transient_period() {
        let all = frames(1.5e6, 8);
        assert!(all[0].is_key && all[1..].iter().all(|frame| !frame.is_key));
        let mut means = 0.0;
        for seed in 0..2_000 {
            let mut encoder = Encoder::new(Stream::numbered(seed, 0), 30.0, Bytes::new(13_500));
            means += (0..8).map(|_| encoder.frame(1.5e6, Time::ZERO).size.as_f64()).sum::<f64>() / 2_000.0;
        }
        assert!((means / (8.0 * 6_250.0) - 1.0).abs() < 0.01, "{means}");
    }

    #[test]
    fn a_target_holds_for_the_reaction_latency() {
        let mut encoder = encoder();
        for _ in 0..8 {
            encoder.frame(1e6, Time::ZERO);
        }
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert!(!encoder.frame(3e6, at(199)).is_key);
        assert!(encoder.frame(3e6, at(200)).is_key, "a change by more than half begins with a key frame");
        encoder.refresh();
        assert!(encoder.frame(3e6, at(201)).is_key, "a refresh needs no change");
    }
}
