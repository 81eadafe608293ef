//! Round trips by what is delivered, and how fast data are delivered, measured per segment.
//!
//! Source: draft-ietf-ccwg-bbr, the section on delivery-rate samples (before: draft-cheng-iccrg-delivery-rate-
//! estimation). Each segment remembers what had been delivered when it was sent; when it is acknowledged, what has been
//! delivered since then over the longer of the time to send and the time to acknowledge that much is a sample.
//!
//! Round trips are for every control, and take a number in each [`Record`]. What only rates need stands apart and is kept
//! for a control that goes by them: for the others it was half of each record, and 40 instructions a packet.

use std::collections::VecDeque;

use aqmlab_units::{Duration, Time};

use super::Record;
use crate::Seq;
use crate::congestion::RateSample;

/// What is delivered, and where round trips end.
#[derive(Debug)]
pub(crate) struct RateEstimator {
    /// Bytes delivered so far.
    delivered: u64,
    /// A round trip ends when a segment is acknowledged that was sent with this much delivered.
    round_end: u64,
    /// `None` where the congestion control does without.
    rates: Option<Box<Rates>>,
}

/// The connection's side of a rate (the draft's `C`), and the segments'.
#[derive(Debug)]
struct Rates {
    delivered_at: Time,
    first_sent_at: Time,
    /// The application left the window unused when this much was still to be delivered.
    app_limited_until: Option<u64>,
    /// Of the segments in flight, in their order.
    snapshots: VecDeque<Snapshot>,
}

/// What is remembered of the moment when a segment was sent (the draft's `P`), beside what its record says.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    /// The end of the segment.
    end: Seq,
    delivered_at: Time,
    /// When the first segment of this sample's flight was sent.
    first_sent_at: Time,
    lost: u64,
    /// Bytes in flight with this segment.
    in_flight: u32,
    app_limited: bool,
}

/// The most recently sent of the segments that one acknowledgement delivers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newest(Option<Delivered>);

/// What its record says of it.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    /// Bytes that had been delivered when it was sent.
    before: u64,
    sent_at: Time,
    end: Seq,
}

impl Newest {
    /// The acknowledgement delivers this segment, among others.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        let &Record { delivered: before, sent_at, end, .. } = record;
        if self.0.is_none_or(|newest| (newest.before, newest.sent_at) <= (before, sent_at)) {
            self.0 = Some(Delivered { before, sent_at, end });
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

    /// A segment of `len` bytes up to `end` leaves while `pipe` bytes are in flight, `lost` having been lost so far. What has
    /// been delivered by now.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, (end, len): (Seq, u32), pipe: u32, lost: u64) -> u64 {
        if let Some(rates) = &mut self.rates {
            rates.note_sent(now, end, pipe, (lost, pipe + len), self.delivered);
        }
        self.delivered
    }

    /// The window has room that the application does not fill while `pipe` bytes are in flight.
    pub(crate) fn on_app_limited(&mut self, pipe: u32) {
        if let Some(rates) = &mut self.rates {
            rates.app_limited_until = Some(self.delivered + u64::from(pipe));
        }
    }

    /// An acknowledgement of all below `una` delivers `bytes` in all, `newest` being the newest of them. Its sample, and whether
    /// it is the first of a round trip.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        now: Time,
        (bytes, newest): (u32, Newest),
        una: Seq,
        lost: u64,
        min_rtt: Duration,
    ) -> (Option<RateSample>, bool) {
        self.delivered += u64::from(bytes);
        let new_round = newest.0.is_some_and(|newest| self.round_end <= newest.before);
        if new_round {
            self.round_end = self.delivered;
        }
        let delivered = self.delivered;
        let rate = self.rates.as_mut().and_then(|rates| {
            if bytes > 0 {
                rates.delivered_at = now;
            }
            let sample = newest.0.and_then(|newest| rates.sample(now, newest, delivered, lost, min_rtt));
            rates.forget(una);
            sample
        });
        (rate, new_round)
    }
}

impl Rates {
    fn note_sent(&mut self, now: Time, end: Seq, pipe: u32, (lost, in_flight): (u64, u32), delivered: u64) {
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
        let place = self.place(end);
        match self.snapshots.get_mut(place) {
            // It is sent again.
            Some(before) => *before = snapshot,
            None => self.snapshots.push_back(snapshot),
        }
    }

    /// Where the segment up to `end` stands, or will.
    fn place(&self, end: Seq) -> usize {
        self.snapshots.partition_point(|snapshot| snapshot.end < end)
    }

    /// A sample over less than the least round trip would come from segments acknowledged faster than was possible: none.
    fn sample(
        &mut self,
        now: Time,
        newest: Delivered,
        delivered: u64,
        lost: u64,
        min_rtt: Duration,
    ) -> Option<RateSample> {
        let snapshot = self.snapshots[self.place(newest.end)];
        self.first_sent_at = newest.sent_at;
        let to_send = newest.sent_at.saturating_since(snapshot.first_sent_at);
        let to_acknowledge = now.saturating_since(snapshot.delivered_at);
        let interval = to_send.max(to_acknowledge);
        let since = |then: u64, total: u64| u32::try_from(total - then).unwrap_or(u32::MAX);
        let sample = RateSample {
            delivered: since(newest.before, delivered),
            interval,
            lost: since(snapshot.lost, lost),
            in_flight_at_send: snapshot.in_flight,
            app_limited: snapshot.app_limited,
        };
        (min_rtt <= interval && Duration::ZERO < interval).then_some(sample)
    }

    /// What lies below `una` is in flight no more.
    fn forget(&mut self, una: Seq) {
        while self.snapshots.pop_front_if(|snapshot| snapshot.end <= una).is_some() {}
    }
}
