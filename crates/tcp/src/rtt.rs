//! Round-trip time estimation and the retransmission timeout, RTO (Jacobson 1988; RFC 6298).

use std::num::NonZeroU32;

use aqmlab_units::Duration;

use crate::Profile;

/// Smoothed round-trip time and its variation, in whole microseconds: 32 bits reach over an hour.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RttEstimator {
    rto: u32,
    rttvar: u32,
    srtt: Option<NonZeroU32>,
}

impl RttEstimator {
    pub(crate) fn new(profile: &Profile) -> RttEstimator {
        RttEstimator { rto: micros(profile.initial_rto), rttvar: 0, srtt: None }
    }

    /// Take a sample R (RFC 6298 §2). First sample: SRTT = R, RTTVAR = R/2. Later ones: RTTVAR = 3/4 RTTVAR + 1/4
    /// |SRTT - R|, SRTT = 7/8 SRTT + 1/8 R. Then RTO = SRTT + max(G, 4 RTTVAR), within the profile's bounds, in
    /// whole clock ticks G. A stack may use a larger margin than G.
    #[inline(always)]
    pub(crate) fn sample(&mut self, rtt: Duration, profile: &Profile) {
        let tick = micros(profile.tick).max(1);
        let r = in_ticks(micros(rtt), tick);
        let srtt = match self.srtt {
            None => {
                self.rttvar = r / 2;
                r
            }
            Some(srtt) => {
                let srtt = srtt.get();
                self.rttvar = self.rttvar - self.rttvar / 4 + srtt.abs_diff(r) / 4;
                srtt - srtt / 8 + r / 8
            }
        };
        self.srtt = NonZeroU32::new(srtt.max(1));
        let variation = self.rttvar.saturating_mul(4).max(1);
        let margin = raise_to(variation, profile.tick.max(profile.rto_margin));
        let rto = in_ticks(srtt.saturating_add(margin), tick);
        self.rto = lower_to(raise_to(rto, profile.min_rto), profile.max_rto);
    }

    /// The smoothed round-trip time, once there is a sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt.map(|srtt| Duration::from_micros(u64::from(srtt.get())))
    }

    /// The variation of the round-trip time.
    pub(crate) fn rttvar(&self) -> Duration {
        Duration::from_micros(u64::from(self.rttvar))
    }

    /// The retransmission timeout before back-off.
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        Duration::from_micros(u64::from(self.rto))
    }
}

/// A quarter of the range of 32 bits, so that sums of a few cannot overflow.
const MAX_SPAN: u32 = u32::MAX / 4;

/// Whole microseconds, at most [`MAX_SPAN`].
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "bounded before")]
fn micros(span: Duration) -> u32 {
    span.as_micros().min(u64::from(MAX_SPAN)) as u32
}

/// Return `span` rounded up to whole ticks. The tick of a modern clock is a microsecond and needs no division.
#[inline]
fn in_ticks(span: u32, tick: u32) -> u32 {
    if tick == 1 { span } else { span.next_multiple_of(tick) }
}

// The bounds are spans of the profile, in nanoseconds. They are compared as such, and converted to microseconds
// only if they decide; to convert them all costs half as many instructions again per sample.

/// Return the larger of `span` and `least`.
#[inline]
fn raise_to(span: u32, least: Duration) -> u32 {
    if Duration::from_micros(span.into()) < least { span.max(micros(least)) } else { span }
}

/// Return the smaller of `span` and `most`.
#[inline]
fn lower_to(span: u32, most: Duration) -> u32 {
    if most < Duration::from_micros(span.into()) { span.min(micros(most)) } else { span.min(MAX_SPAN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(samples_ms: &[u64]) -> Duration {
        let tick = Duration::from_millis(1);
        let profile = Profile { min_rto: tick, tick, ..Profile::freebsd_4_5() };
        let mut rtt = RttEstimator::new(&profile);
        for &ms in samples_ms {
            rtt.sample(Duration::from_millis(ms), &profile);
        }
        rtt.rto()
    }

    #[test]
    fn rfc_6298_section_2_worked_by_hand() {
        assert_eq!(measured(&[]), Duration::from_secs(3));
        // R = 100: SRTT 100, RTTVAR 50, RTO 300.
        assert_eq!(measured(&[100]), Duration::from_millis(300));
        // R = 180: RTTVAR 37.5 + 20 = 57.5, SRTT 87.5 + 22.5 = 110, RTO 340.
        assert_eq!(measured(&[100, 180]), Duration::from_millis(340));
    }

    #[test]
    fn a_margin_keeps_the_timeout_above_a_steady_round_trip() {
        let margin = Duration::from_millis(200);
        let profile = Profile { rto_margin: margin, min_rto: margin, ..Profile::linux_6() };
        let mut rtt = RttEstimator::new(&profile);
        for _ in 0..100 {
            rtt.sample(Duration::from_millis(300), &profile);
        }
        let srtt = rtt.srtt().expect("a sample was taken");
        assert_eq!(rtt.rto(), srtt + margin);
    }

    #[test]
    fn the_minimum_bounds_the_timeout_from_below() {
        let profile = Profile::freebsd_4_5();
        let mut rtt = RttEstimator::new(&profile);
        rtt.sample(Duration::from_millis(20), &profile);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }
}
