//! Round-trip time of a path (RFC 9002 §5): the estimator of TCP, without the peer's delay of acknowledgements.

use aqmlab_units::{Duration, Time};

use crate::Profile;
use crate::rtt::RttEstimator;

/// The granularity of timers (RFC 9002 §6.1.2, `kGranularity`).
pub(super) const GRANULARITY: Duration = Duration::from_millis(1);

/// Round-trip time of a path.
#[derive(Debug)]
pub(super) struct PathRtt {
    /// RFC 9002 §5.3 has the averages of RFC 6298; its timeout is not used.
    estimator: RttEstimator,
    initial_pto: Duration,
    pub(super) min: Option<Duration>,
    pub(super) latest: Duration,
    /// Time of the first sample.
    pub(super) first_at: Option<Time>,
}

impl PathRtt {
    pub(super) fn new(profile: &Profile) -> PathRtt {
        PathRtt {
            estimator: RttEstimator::new(profile),
            initial_pto: profile.initial_rto,
            min: None,
            latest: Duration::ZERO,
            first_at: None,
        }
    }

    /// Take a sample with the delay that the peer reports, at most its maximum (§5.3).
    pub(super) fn sample(&mut self, latest: Duration, delay: Duration, now: Time, profile: &Profile) {
        self.first_at.get_or_insert(now);
        self.latest = latest;
        let min = self.min.map_or(latest, |min| min.min(latest));
        self.min = Some(min);
        let adjusted = if latest < min + delay { latest } else { minus(latest, delay) };
        self.estimator.sample(adjusted, profile);
    }

    /// Persistent congestion: the minimum is of another time (§5.2).
    pub(super) fn forget_min(&mut self) {
        self.min = Some(self.latest);
    }

    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.estimator.srtt()
    }

    pub(super) fn variation(&self) -> Duration {
        self.estimator.rttvar()
    }

    /// The PTO without back-off and without the peer's delay (§6.2.1); before a sample, that of the profile.
    pub(super) fn pto(&self) -> Duration {
        self.smoothed().map_or(self.initial_pto, |srtt| srtt + (self.variation() * 4).max(GRANULARITY))
    }

    /// The time threshold of losses (§6.1.2): 9/8 of the longer of the smoothed and the latest round trip.
    pub(super) fn loss_delay(&self) -> Duration {
        let longest = self.latest.max(self.smoothed().unwrap_or(self.initial_pto));
        Duration::from_nanos(longest.as_nanos() / 8 * 9).max(GRANULARITY)
    }
}

fn minus(longer: Duration, shorter: Duration) -> Duration {
    Duration::from_nanos(longer.as_nanos().saturating_sub(shorter.as_nanos()))
}
