//! The quality of adaptive video: what viewers see.

use aqmlab_units::{BitRate, Duration};
use serde::Serialize;

/// The experience of a viewer since the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// The rate of the segment that has come, if one has.
    pub segment: Option<BitRate>,
    /// Its rate differs from that of the segment before.
    pub is_switch: bool,
    /// The time that the video played.
    pub played: Duration,
    /// The time that it stalled: playback had begun, and the buffer was empty.
    pub stalled: Duration,
    /// From the opening of the connection to the first picture, if that has come.
    pub start_up: Option<Duration>,
}

/// The totals of one viewer: those of the measured window, and the start-up whenever it was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Viewer {
    segments: u64,
    /// The sum of the segments' rates.
    bits_per_sec: u64,
    switches: u64,
    played: f64,
    stalled: f64,
    start_up: Option<f64>,
}

impl Viewer {
    /// Add a report, of the measured window or from before.
    pub fn add(&mut self, watched: &Watched, is_measured: bool) {
        self.start_up = self.start_up.or(watched.start_up.map(Duration::as_secs_f64));
        if !is_measured {
            return;
        }
        self.segments += u64::from(watched.segment.is_some());
        self.bits_per_sec += watched.segment.map_or(0, BitRate::bits_per_sec);
        self.switches += u64::from(watched.is_switch);
        self.played += watched.played.as_secs_f64();
        self.stalled += watched.stalled.as_secs_f64();
    }
}

/// The quality of adaptive videos in the measured window; start-up in the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VideoQuality {
    /// The mean rate of the segments that came.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "bitrate", "unit" = "Mbit/s", "better" = "higher", "brief" = true)))]
    pub bitrate_mbps_mean: Option<f64>,
    /// Segments whose rate differs from that of the segment before, in a minute of video played.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "switches", "unit" = "per minute", "better" = "lower", "brief" = true)))]
    pub switches_per_minute: Option<f64>,
    /// The time that videos stalled, in per cent of the time that they played or stalled.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "rebuffering", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub rebuffering_percent: Option<f64>,
    /// The same of the viewer with the largest share.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "rebuffering max", "unit" = "%", "digits" = 2, "better" = "lower")))]
    pub rebuffering_percent_max: Option<f64>,
    /// The mean time from the opening of the connection to the first picture, in seconds.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "start-up", "unit" = "s", "better" = "lower", "brief" = true)))]
    pub start_up_s_mean: Option<f64>,
}

impl VideoQuality {
    /// The quality that `viewers` see.
    pub fn new(viewers: &[Viewer]) -> VideoQuality {
        let count = |part: fn(&Viewer) -> u64| viewers.iter().map(part).sum::<u64>() as f64;
        let seconds = |part: fn(&Viewer) -> f64| viewers.iter().map(part).sum::<f64>();
        let (segments, played) = (count(|viewer| viewer.segments), seconds(|viewer| viewer.played));
        let stalled = seconds(|viewer| viewer.stalled);
        let start_ups: Vec<f64> = viewers.iter().filter_map(|viewer| viewer.start_up).collect();
        let worst = viewers.iter().filter_map(|viewer| share(viewer.stalled, viewer.played + viewer.stalled));
        VideoQuality {
            bitrate_mbps_mean: share(1e-6 * count(|viewer| viewer.bits_per_sec), segments),
            switches_per_minute: share(60.0 * count(|viewer| viewer.switches), played),
            rebuffering_percent: share(100.0 * stalled, played + stalled),
            rebuffering_percent_max: worst.map(|share| 100.0 * share).max_by(f64::total_cmp),
            start_up_s_mean: share(start_ups.iter().sum(), start_ups.len() as f64),
        }
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_arithmetic() {
        let segment = |mbit, is_switch, played, stalled| Watched {
            segment: Some(BitRate::from_mbit_per_sec(mbit)),
            is_switch,
            played: Duration::from_secs(played),
            stalled: Duration::from_secs(stalled),
            start_up: None,
        };
        let (mut first, mut second) = (Viewer::default(), Viewer::default());
        first.add(&Watched { start_up: Some(Duration::from_secs(3)), ..segment(9, true, 9, 9) }, false);
        first.add(&segment(1, false, 30, 0), true);
        first.add(&segment(3, true, 10, 20), true);
        second.add(&Watched { start_up: Some(Duration::from_secs(1)), ..segment(2, false, 20, 0) }, true);
        let quality = VideoQuality::new(&[first, second]);
        assert_eq!(quality.bitrate_mbps_mean, Some(2.0));
        assert_eq!(quality.switches_per_minute, Some(1.0));
        assert_eq!(quality.rebuffering_percent, Some(25.0));
        assert!((quality.rebuffering_percent_max.expect("played") - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!(quality.start_up_s_mean, Some(2.0));
        assert_eq!(VideoQuality::new(&[]).rebuffering_percent, None);
    }
}
