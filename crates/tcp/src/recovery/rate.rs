//! How fast data are delivered, measured per segment.
//!
//! Source: draft-ietf-ccwg-bbr, the section on delivery-rate samples (before: draft-cheng-iccrg-delivery-rate-
//! estimation). Each segment remembers what had been delivered when it was sent; when it is acknowledged, what has been
//! delivered since then over the longer of the time to send and the time to acknowledge that much is a sample.

use aqmlab_units::{Duration, Time};

use crate::congestion::RateSample;

/// What is remembered of the moment when a segment was sent (the draft's `P`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Snapshot {
    delivered: u64,
    delivered_at: Time,
    /// When the first segment of this sample's flight was sent.
    first_sent_at: Time,
    lost: u64,
    /// Bytes in flight with this segment.
    in_flight: u32,
    app_limited: bool,
}

/// The connection's side of it (the draft's `C`).
#[derive(Debug)]
pub(crate) struct RateEstimator {
    /// Bytes delivered so far.
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// The application left the window unused when this much was still to be delivered.
    app_limited_until: Option<u64>,
    /// A round trip ends when a segment is acknowledged that was sent with this much delivered.
    round_end: u64,
}

/// The most recently sent of the segments that one acknowledgement delivers: when it was sent, and its memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newest(Option<(Time, Snapshot)>);

impl Newest {
    /// The acknowledgement delivers, among others, a segment that was sent at `sent_at`.
    #[inline]
    pub(crate) fn add(&mut self, sent_at: Time, snapshot: &Snapshot) {
        let newer = self.0.is_none_or(|(newest_sent_at, newest)| {
            (newest.delivered, newest_sent_at) <= (snapshot.delivered, sent_at)
        });
        if newer {
            self.0 = Some((sent_at, *snapshot));
        }
    }
}

impl RateEstimator {
    pub(crate) fn new(now: Time) -> RateEstimator {
        RateEstimator {
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            app_limited_until: None,
            round_end: 0,
        }
    }

    /// A segment of `len` bytes leaves while `pipe` bytes are in flight, `lost` having been lost so far.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, len: u32, pipe: u32, lost: u64) -> Snapshot {
        if pipe == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost,
            in_flight: pipe + len,
            app_limited: self.app_limited_until.is_some_and(|until| self.delivered <= until),
        }
    }

    /// The window has room that the application does not fill while `pipe` bytes are in flight.
    pub(crate) fn on_app_limited(&mut self, pipe: u32) {
        self.app_limited_until = Some(self.delivered + u64::from(pipe));
    }

    /// An acknowledgement delivers `bytes` in all, `newest` being the newest of them. Its sample, and whether it is the first of a round trip.
    ///
    /// A sample over less than the least round trip would come from segments acknowledged faster than was possible: none.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        now: Time,
        (bytes, newest): (u32, Newest),
        lost: u64,
        min_rtt: Duration,
    ) -> (Option<RateSample>, bool) {
        if bytes > 0 {
            self.delivered += u64::from(bytes);
            self.delivered_at = now;
        }
        let Some((sent_at, snapshot)) = newest.0 else { return (None, false) };
        self.first_sent_at = sent_at;
        let new_round = self.round_end <= snapshot.delivered;
        if new_round {
            self.round_end = self.delivered;
        }
        let to_send = sent_at.saturating_since(snapshot.first_sent_at);
        let to_acknowledge = now.saturating_since(snapshot.delivered_at);
        let interval = to_send.max(to_acknowledge);
        let since = |then: u64, total: u64| u32::try_from(total - then).unwrap_or(u32::MAX);
        let sample = RateSample {
            delivered: since(snapshot.delivered, self.delivered),
            interval,
            lost: since(snapshot.lost, lost),
            in_flight_at_send: snapshot.in_flight,
            app_limited: snapshot.app_limited,
        };
        ((min_rtt <= interval && Duration::ZERO < interval).then_some(sample), new_round)
    }
}
