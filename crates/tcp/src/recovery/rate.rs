//! Round trips by data delivered, and delivery rates, measured per segment.
//!
//! Source: draft-ietf-ccwg-bbr, the section on delivery-rate samples (before: draft-cheng-iccrg-delivery-rate-
//! estimation). Each segment stores the bytes delivered when it was sent. Its acknowledgement gives a sample: the
//! bytes delivered since then, over the longer of the time to send and the time to acknowledge them.
//!
//! Every control needs round trips, which take one number in each [`Record`]. State that only rates need is
//! separate, and kept only for a control that uses them: it was half of each record, and 40 instructions a
//! packet.

use std::collections::VecDeque;

use aqmlab_units::{Duration, Time};

use super::Record;
use crate::Seq;
use crate::congestion::RateSample;

/// Bytes delivered, and ends of round trips.
#[derive(Debug)]
pub(crate) struct RateEstimator {
    /// Bytes delivered so far.
    delivered: u64,
    /// A round trip ends when a segment is acknowledged that was sent with this many bytes delivered.
    round_end: u64,
    /// `None` if the congestion control uses no rates.
    rates: Option<Box<Rates>>,
}

/// Rate state of the connection (the draft's `C`) and of its segments.
#[derive(Debug)]
struct Rates {
    delivered_at: Time,
    first_sent_at: Time,
    /// Samples are application-limited until this many bytes are delivered.
    app_limited_until: Option<u64>,
    /// Snapshots of the segments in flight, in their order.
    snapshots: VecDeque<Snapshot>,
}

/// State when a segment was sent (the draft's `P`), in addition to its record.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    /// End of the segment.
    end: Seq,
    delivered_at: Time,
    /// Departure of the first segment of this sample's flight.
    first_sent_at: Time,
    lost: u64,
    /// Bytes in flight, including this segment.
    in_flight: u32,
    app_limited: bool,
}

/// The most recently sent segment among those that one acknowledgement delivers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewestSegment(Option<SegmentFields>);

/// The fields of its record.
#[derive(Clone, Copy, Debug)]
struct SegmentFields {
    /// Bytes delivered when it was sent.
    prior_delivered: u64,
    sent_at: Time,
    end: Seq,
}

impl NewestSegment {
    /// Add a segment that the acknowledgement delivers.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        self.add_sent(record.delivered, record.sent_at, record.end);
    }

    /// Add one by its fields: the bytes delivered when it was sent, its departure and its end.
    #[inline]
    pub(crate) fn add_sent(&mut self, prior_delivered: u64, sent_at: Time, end: Seq) {
        if self.0.is_none_or(|newest| (newest.prior_delivered, newest.sent_at) <= (prior_delivered, sent_at))
        {
            self.0 = Some(SegmentFields { prior_delivered, sent_at, end });
        }
    }
}

impl RateEstimator {
    pub(crate) fn new(now: Time, measures_rates: bool) -> RateEstimator {
        let rates = || Rates {
            delivered_at: now,
            first_sent_at: now,
            app_limited_until: None,
            snapshots: VecDeque::new(),
        };
        RateEstimator { delivered: 0, round_end: 0, rates: measures_rates.then(|| Box::new(rates())) }
    }

    /// Bytes delivered so far, with those of a FIN.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Record that a segment of `len` bytes up to `end` leaves, with `pipe` bytes in flight and `lost` bytes lost
    /// so far. Return the bytes delivered so far.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, (end, len): (Seq, u32), pipe: u32, lost: u64) -> u64 {
        if let Some(rates) = &mut self.rates {
            rates.note_sent(now, end, pipe, (lost, pipe + len), self.delivered);
        }
        self.delivered
    }

    /// The application does not fill the window while `pipe` bytes are in flight.
    pub(crate) fn on_app_limited(&mut self, pipe: u32) {
        if let Some(rates) = &mut self.rates {
            rates.app_limited_until = Some(self.delivered + u64::from(pipe));
        }
    }

    /// Handle an acknowledgement of all below `una` that delivers `bytes`, of which `newest` was sent last.
    /// Return its rate sample, and true if it is the first of a round trip.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        now: Time,
        (bytes, newest): (u32, NewestSegment),
        una: Seq,
        lost: u64,
        min_rtt: Duration,
    ) -> (Option<RateSample>, bool) {
        self.delivered += u64::from(bytes);
        let new_round = newest.0.is_some_and(|newest| self.round_end <= newest.prior_delivered);
        if new_round {
            self.round_end = self.delivered;
        }
        let delivered = self.delivered;
        let rate = self.rates.as_mut().and_then(|rates| {
            if bytes > 0 {
                rates.delivered_at = now;
            }
            let sample = newest.0.and_then(|newest| rates.sample(now, newest, delivered, lost, min_rtt));
            rates.discard(una);
            sample
        });
        (rate, new_round)
    }
}

impl Rates {
    fn note_sent(&mut self, now: Time, end: Seq, pipe: u32, (lost, in_flight): (u64, u32), delivered: u64) {
        // A flight starts: the idle time before it must not count.
        if pipe == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let snapshot = Snapshot {
            end,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost,
            in_flight,
            app_limited: self.app_limited_until.is_some_and(|until| delivered <= until),
        };
        let index = self.index_of(end);
        match self.snapshots.get_mut(index) {
            // A retransmission replaces the snapshot.
            Some(stored) => *stored = snapshot,
            None => self.snapshots.push_back(snapshot),
        }
    }

    /// Return the index of the segment that ends at `end`, or at which to insert it.
    fn index_of(&self, end: Seq) -> usize {
        self.snapshots.partition_point(|snapshot| snapshot.end < end)
    }

    /// Return a sample, unless its interval is below the minimum round-trip time: then a retransmission was sent,
    /// and its original acknowledged (the draft's `GenerateRateSample`).
    fn sample(
        &mut self,
        now: Time,
        newest: SegmentFields,
        delivered: u64,
        lost: u64,
        min_rtt: Duration,
    ) -> Option<RateSample> {
        let snapshot = self.snapshots[self.index_of(newest.end)];
        self.first_sent_at = newest.sent_at;
        let to_send = newest.sent_at.saturating_since(snapshot.first_sent_at);
        let to_acknowledge = now.saturating_since(snapshot.delivered_at);
        let interval = to_send.max(to_acknowledge);
        let since = |then: u64, total: u64| u32::try_from(total - then).unwrap_or(u32::MAX);
        let sample = RateSample {
            delivered: since(newest.prior_delivered, delivered),
            interval,
            lost: since(snapshot.lost, lost),
            in_flight_at_send: snapshot.in_flight,
            app_limited: snapshot.app_limited,
        };
        (min_rtt <= interval && Duration::ZERO < interval).then_some(sample)
    }

    /// Remove the segments below `una`, which are no longer in flight.
    fn discard(&mut self, una: Seq) {
        while self.snapshots.pop_front_if(|snapshot| snapshot.end <= una).is_some() {}
    }
}
