//! The smoothed round-trip time of RFC 6298 §2, for controls that need one: no clock granularity, no variance.

use aqmlab_units::Duration;

/// SRTT; `None` before the first sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SmoothedRtt(Option<Duration>);

impl SmoothedRtt {
    /// SRTT = 7/8 SRTT + 1/8 R; the first sample as it is.
    pub(super) fn sample(&mut self, rtt: Duration) {
        let nanos = |srtt: Duration| srtt.as_nanos() - srtt.as_nanos() / 8 + rtt.as_nanos() / 8;
        self.0 = Some(self.0.map_or(rtt, |srtt| Duration::from_nanos(nanos(srtt))));
    }

    pub(super) fn get(self) -> Option<Duration> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_sample_counts_for_an_eighth() {
        let mut srtt = SmoothedRtt::default();
        srtt.sample(Duration::from_millis(80));
        srtt.sample(Duration::from_millis(160));
        assert_eq!(srtt.get(), Some(Duration::from_millis(90)));
    }
}
