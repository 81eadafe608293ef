//! The quality of video calls: when frames are shown, and when the picture freezes.

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration, Time};
use hdrhistogram::Histogram;
use serde::Serialize;

use super::frame_buffer::{FrameBuffer, FrameBufferConfig};

/// Frames whose mean time on the screen a freeze is measured by, and the time that it exceeds this mean by at least (W3C,
/// "Identifiers for WebRTC's Statistics API", `freezeCount`: three times the mean, and the mean and 150 ms).
const RECENT: usize = 30;
const FREEZE: Duration = Duration::from_millis(150);

/// The screen at one end of a call.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    buffer: FrameBuffer,
    late_after: Duration,
    /// The frames counted are those captured after this time.
    measured_from: Time,
    /// The time that a frame is shown at its frame rate.
    usual: Duration,
    last: Option<Time>,
    /// The times at which the latest frames appeared, without the last one.
    recent: VecDeque<Time>,
    pub(crate) seen: Seen,
}

/// The totals of what a screen shows of the measured window.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    in_time: u64,
    late: u64,
    bytes: u64,
    freezes: u64,
    frozen: Duration,
    /// From the capture of each frame to the screen, in microseconds, within 1 %: each end of each call has one of these.
    delays: Histogram<u32>,
}

impl Seen {
    /// Frames shown.
    pub(crate) fn shown(&self) -> u64 {
        self.in_time + self.late
    }
}

impl Screen {
    pub(crate) fn new(buffer: FrameBufferConfig, late_after: Duration, frames_per_second: f64) -> Screen {
        Screen {
            buffer: FrameBuffer::new(buffer),
            late_after,
            measured_from: Time::ZERO,
            usual: Duration::from_secs_f64(1.0 / frames_per_second),
            last: None,
            recent: VecDeque::with_capacity(RECENT),
            seen: Seen {
                in_time: 0,
                late: 0,
                bytes: 0,
                freezes: 0,
                frozen: Duration::ZERO,
                delays: Histogram::new(2).expect("two significant digits are allowed"),
            },
        }
    }

    /// Count the frames captured after `time`.
    pub(crate) fn measure_from(&mut self, time: Time) {
        self.measured_from = time;
    }

    pub(crate) fn is_measured(&self, captured: Time) -> bool {
        captured > self.measured_from
    }

    /// A frame that was captured at `captured` can be shown from `ready` on. It is shown when the jitter buffer plays it; one
    /// that comes too late for that is shown at once.
    pub(crate) fn show(&mut self, captured: Time, ready: Time, size: Bytes) {
        let at = (captured + self.buffer.play(ready - captured)).max(self.last.unwrap_or(ready));
        if let Some(last) = self.last {
            let frozen = self.freeze(last, at);
            if at > self.measured_from {
                self.seen.freezes += u64::from(frozen > Duration::ZERO);
                self.seen.frozen = self.seen.frozen + frozen;
            }
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(last);
        }
        self.last = Some(at);
        if self.is_measured(captured) {
            let delay = at - captured;
            let seen = &mut self.seen;
            let is_late = delay > self.late_after;
            seen.in_time += u64::from(!is_late);
            seen.late += u64::from(is_late);
            seen.bytes += size.get();
            seen.delays.record(delay.as_micros()).expect("the histogram resizes itself");
        }
    }

    /// The part in the measured window of a freeze between two frames; nothing if that is no freeze.
    fn freeze(&self, last: Time, next: Time) -> Duration {
        let shown = |first: &Time| (last - *first).as_nanos() / self.recent.len() as u64;
        let mean = self.recent.front().map_or(self.usual, |first| Duration::from_nanos(shown(first)));
        let threshold = (mean * 3).max(mean + FREEZE);
        if next.saturating_since(last) >= threshold {
            next.saturating_since(last.max(self.measured_from))
        } else {
            Duration::ZERO
        }
    }

    /// Return what has been seen until `now`, of a call that lasts for `watched` of the window: a picture that stands still
    /// now may be frozen, and so is one that has never come.
    fn until(&self, now: Time, watched: Duration) -> Seen {
        let mut seen = self.seen.clone();
        let frozen = self.last.map_or(watched, |last| self.freeze(last, now));
        seen.freezes += u64::from(frozen > Duration::ZERO);
        seen.frozen = seen.frozen + frozen;
        seen
    }
}

/// One end of a call in the measured window.
#[derive(Clone, Debug)]
pub(crate) struct Watching {
    seen: Seen,
    /// Frames sent to it whose fate is known.
    frames: u64,
    /// The length of the call in the window.
    watched: Duration,
}

impl Watching {
    /// `frames` were sent to `screen`, and their fate is known; the call lasts for `watched` of the window until `now`.
    pub(crate) fn new(screen: &Screen, frames: u64, watched: Duration, now: Time) -> Watching {
        Watching { seen: screen.until(now, watched), frames, watched }
    }

    fn frozen_percent(&self) -> Option<f64> {
        share(100.0 * self.seen.frozen.as_secs_f64(), self.watched.as_secs_f64())
    }
}

/// The quality of video calls in the measured window. Each end of a call watches the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VideoCallQuality {
    /// The mean rate of the frames shown, each direction by itself.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "bitrate", "unit" = "Mbit/s", "better" = "higher", "brief" = true)))]
    pub bitrate_mbps_mean: Option<f64>,
    /// Frames shown within `late_after` of their capture, in per cent of those sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "in time", "unit" = "%", "digits" = 2, "better" = "higher", "brief" = true)))]
    pub in_time_percent: Option<f64>,
    /// The same of the frames that the callers, on `side`, send.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "sent in time", "unit" = "%", "digits" = 2, "better" = "higher")))]
    pub sent_in_time_percent: Option<f64>,
    /// The same of those that they receive.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "received in time", "unit" = "%", "digits" = 2, "better" = "higher")))]
    pub received_in_time_percent: Option<f64>,
    /// Frames shown later than that, in per cent of those sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "late", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub late_percent: Option<f64>,
    /// Frames never shown, in per cent of those sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "missing", "unit" = "%", "digits" = 2, "better" = "lower")))]
    pub missing_percent: Option<f64>,
    /// The time from the capture of a frame to the screen, in milliseconds: the median, within 1 % like the other percentiles.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "frame delay p50", "unit" = "ms", "better" = "lower", "brief" = true)))]
    pub frame_delay_ms_p50: Option<f64>,
    /// Its 95th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "frame delay p95", "unit" = "ms", "better" = "lower", "brief" = true)))]
    pub frame_delay_ms_p95: Option<f64>,
    /// Its 99th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "frame delay p99", "unit" = "ms", "better" = "lower")))]
    pub frame_delay_ms_p99: Option<f64>,
    /// Freezes in a minute of call at one end.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "freezes", "unit" = "per minute", "better" = "lower", "brief" = true)))]
    pub freezes_per_minute: Option<f64>,
    /// The time that pictures were frozen, in per cent of the calls' time.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "frozen", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub frozen_percent: Option<f64>,
    /// The largest share of any end of a call.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "frozen max", "unit" = "%", "digits" = 2, "better" = "lower")))]
    pub frozen_percent_max: Option<f64>,
}

impl VideoCallQuality {
    /// The quality that the ends of `calls` see: the callers, then those whom they call.
    pub(crate) fn new(calls: &[[Watching; 2]]) -> VideoCallQuality {
        let ends = calls.as_flattened();
        let total = |count: fn(&Watching) -> u64| ends.iter().map(count).sum::<u64>();
        let frames = total(|end| end.frames);
        let percent = |part: u64| share(100.0 * part as f64, frames as f64);
        let in_time = |end: usize| {
            let sum =
                |count: fn(&Watching) -> u64| calls.iter().map(|call| count(&call[end])).sum::<u64>() as f64;
            share(100.0 * sum(|end| end.seen.in_time), sum(|end| end.frames))
        };
        let mut delays: Histogram<u64> = Histogram::new(2).expect("two significant digits are allowed");
        for bin in ends.iter().flat_map(|end| end.seen.delays.iter_recorded()) {
            let count = u64::from(bin.count_at_value());
            delays.record_n(bin.value_iterated_to(), count).expect("the histogram resizes itself");
        }
        let delay_ms =
            |fraction: f64| (!delays.is_empty()).then(|| 1e-3 * delays.value_at_quantile(fraction) as f64);
        let seconds = ends.iter().map(|end| end.watched.as_secs_f64()).sum::<f64>();
        let frozen = ends.iter().map(|end| end.seen.frozen.as_secs_f64()).sum::<f64>();
        VideoCallQuality {
            bitrate_mbps_mean: share(8e-6 * total(|end| end.seen.bytes) as f64, seconds),
            in_time_percent: percent(total(|end| end.seen.in_time)),
            sent_in_time_percent: in_time(1),
            received_in_time_percent: in_time(0),
            late_percent: percent(total(|end| end.seen.late)),
            missing_percent: percent(frames - total(|end| end.seen.shown())),
            frame_delay_ms_p50: delay_ms(0.5),
            frame_delay_ms_p95: delay_ms(0.95),
            frame_delay_ms_p99: delay_ms(0.99),
            freezes_per_minute: share(60.0 * total(|end| end.seen.freezes) as f64, seconds),
            frozen_percent: share(100.0 * frozen, seconds),
            frozen_percent_max: ends.iter().filter_map(Watching::frozen_percent).max_by(f64::total_cmp),
        }
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A screen at 25 frames a second that measures from the first second on, after a frame each 40 ms since 40 ms.
    fn screen(frames: u64) -> Screen {
        let buffer = FrameBufferConfig::Fixed(Duration::ZERO);
        let mut screen = Screen::new(buffer, Duration::from_millis(150), 25.0);
        screen.measure_from(at(1_000));
        for n in 1..=frames {
            screen.show(at(40 * n), at(40 * n + 20), Bytes::new(5_000));
        }
        screen
    }

    #[test]
    fn a_steady_picture_is_in_time_and_never_frozen() {
        let screen = screen(50);
        let watching = Watching::new(&screen, 25, Duration::from_secs(1), at(2_040));
        let quality = VideoCallQuality::new(&[[watching.clone(), watching]]);
        assert_eq!((quality.in_time_percent, quality.late_percent), (Some(100.0), Some(0.0)));
        assert_eq!((quality.frozen_percent, quality.freezes_per_minute), (Some(0.0), Some(0.0)));
        assert_eq!(quality.bitrate_mbps_mean, Some(1.0));
        assert!((quality.frame_delay_ms_p99.expect("shown") - 20.0).abs() < 0.2, "{quality:?}");
    }

    #[test]
    fn a_gap_is_a_freeze_from_the_mean_and_150_ms_on() {
        for (gap, freezes) in [(189, 0), (190, 1)] {
            let mut screen = screen(50);
            screen.show(at(1_980 + gap), at(2_020 + gap), Bytes::new(5_000));
            assert_eq!(screen.seen.freezes, freezes, "{gap} ms");
            assert_eq!(screen.seen.frozen, Duration::from_millis(freezes * gap));
        }
    }

    #[test]
    fn a_picture_that_stands_still_at_the_end_is_frozen() {
        let watching = Watching::new(&screen(24), 25, Duration::from_secs(1), at(2_000));
        let quality = VideoCallQuality::new(&[[watching.clone(), watching]]);
        assert_eq!((quality.frozen_percent, quality.frozen_percent_max), (Some(100.0), Some(100.0)));
        assert_eq!((quality.freezes_per_minute, quality.missing_percent), (Some(60.0), Some(100.0)));
    }

    #[test]
    fn frames_beyond_the_bound_are_late_and_the_next_ones_wait() {
        let mut screen = screen(25);
        screen.show(at(1_040), at(1_250), Bytes::new(5_000));
        screen.show(at(1_080), at(1_250), Bytes::new(5_000));
        screen.show(at(1_120), at(1_250), Bytes::new(5_000));
        assert_eq!((screen.seen.late, screen.seen.in_time), (2, 1));
    }
}
