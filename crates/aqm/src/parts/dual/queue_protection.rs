//! Queue protection of low-latency DOCSIS: flows that build the queue are found, and their packets are ejected.
//!
//! Each flow has a bucket, whose level is the flow's queuing score: the bytes that it sends while the queue marks, which
//! drain at a constant rate. A packet is sanctioned if the delay is critical and its flow's score, scaled by the delay,
//! is too.
//!
//! Source: RFC 9957, section 4.
//!
//! Differs from RFC 9957: the score of a packet is rounded down to whole nanoseconds, its resolution.

use aqmlab_units::{Bytes, Duration, Stream, Time};

/// Bits of a flow's hash that choose a bucket.
const BI_SIZE: u32 = 5;

/// Buckets that flows can have for themselves.
const NBUCKETS: usize = 1 << BI_SIZE;

/// The last bits of a hash.
const MASK: u64 = NBUCKETS as u64 - 1;

/// Buckets that a flow may look at.
const ATTEMPTS: usize = 2;

/// Of the nanoseconds in a second, a power of two nearby that the RFC uses.
pub(crate) const LG_NANOS: u32 = 30;

/// The highest score.
const MAX_QLSCORE: Duration = Duration::from_secs(5);

/// A bucket: its level is the time until it is empty.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// The flow that used it last.
    id: Option<u32>,
    /// The time at which it is empty.
    t_exp: Time,
}

/// The thresholds of queue protection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    /// `CRITICALqL`, the delay.
    pub(crate) critical_ql: Duration,
    /// `CRITICALqLSCORE`, the score at that delay.
    pub(crate) critical_ql_score: Duration,
    /// `LG_AGING`, the binary logarithm of the rate in bytes a second at which a bucket drains.
    pub(crate) lg_aging: u32,
}

/// A packet that arrives at the low-latency queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) flow: u32,
    pub(crate) size: Bytes,
    /// The probability of the queue's own AQM for it.
    pub(crate) prob_native: f64,
    /// The delay of the queue with it.
    pub(crate) qdelay: Duration,
}

/// The scores of flows.
#[derive(Clone, Debug)]
pub(crate) struct QueueProtection {
    thresholds: Thresholds,
    secret: u64,
    /// The last one is for flows that find no other.
    buckets: [Bucket; NBUCKETS + 1],
}

impl QueueProtection {
    pub(crate) fn new(thresholds: Thresholds, secret: u64) -> QueueProtection {
        QueueProtection { thresholds, secret, buckets: [Bucket::default(); NBUCKETS + 1] }
    }

    /// Add a packet to its flow's score. Returns true if the packet must not enter the low-latency queue.
    pub(crate) fn sanctions(&mut self, packet: Arriving, now: Time) -> bool {
        let bucket = self.pick_bucket(packet.flow, now);
        let ql_score = self.fill_bucket(bucket, packet, now);
        let Thresholds { critical_ql, critical_ql_score, .. } = self.thresholds;
        let product =
            |delay: Duration, score: Duration| u128::from(delay.as_nanos()) * u128::from(score.as_nanos());
        packet.qdelay > critical_ql
            && product(packet.qdelay, ql_score) > product(critical_ql, critical_ql_score)
    }

    /// Return the flow's bucket: its own, or the first empty one that it may use, or the common one.
    fn pick_bucket(&mut self, flow: u32, now: Time) -> usize {
        let hash = Stream::numbered(self.secret, flow.into()).next_u64();
        let places: [usize; ATTEMPTS] = [hash, hash >> BI_SIZE].map(|bits| (bits & MASK) as usize);
        let own = places.iter().find(|&&place| self.buckets[place].id == Some(flow));
        let empty = || places.iter().find(|&&place| self.buckets[place].t_exp <= now);
        let bucket = own.or_else(empty).map_or(NBUCKETS, |&place| place);
        let Bucket { id, t_exp } = &mut self.buckets[bucket];
        *id = Some(flow);
        *t_exp = (*t_exp).max(now);
        bucket
    }

    /// Add the congestion that a packet causes. Returns the score of the bucket.
    fn fill_bucket(&mut self, bucket: usize, packet: Arriving, now: Time) -> Duration {
        let Bucket { t_exp, .. } = &mut self.buckets[bucket];
        // t_exp += probNative pkt_sz / AGING
        let ns_per_byte = 1_u32 << (LG_NANOS - self.thresholds.lg_aging);
        let added = packet.prob_native * packet.size.as_f64() * f64::from(ns_per_byte);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most a minute, rounded down"
        )]
        let added = Duration::from_nanos(added as u64);
        *t_exp = (*t_exp + added).min(now + MAX_QLSCORE);
        t_exp.saturating_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds {
        critical_ql: Duration::from_millis(1),
        critical_ql_score: Duration::from_millis(4),
        lg_aging: 19,
    };

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    fn packet(flow: u32, prob_native: f64, qdelay_us: u64) -> Arriving {
        let qdelay = Duration::from_micros(qdelay_us);
        Arriving { flow, size: Bytes::new(1000), prob_native, qdelay }
    }

    #[test]
    fn packets_are_sanctioned_from_the_product_of_thresholds_on() {
        // A marked packet of 1000 B adds 2.048 ms, so that the third has 6.144 ms.
        let first = |qdelay_us| {
            let mut protection = QueueProtection::new(THRESHOLDS, 7);
            (1..20).find(|_| protection.sanctions(packet(1, 1.0, qdelay_us), at(0)))
        };
        assert_eq!(first(1_000), None, "the delay is not critical");
        assert_eq!(first(1_001), Some(2), "4.096 ms of score at 1.001 ms");
        assert_eq!(first(2_000), Some(1), "2.048 ms of score at twice the delay");
    }

    #[test]
    fn a_score_drains_in_time_and_has_a_bound() {
        let mut protection = QueueProtection::new(THRESHOLDS, 7);
        let place = protection.pick_bucket(1, at(0));
        let score = |protection: &mut QueueProtection, prob_native, us| {
            protection.pick_bucket(1, at(us));
            protection.fill_bucket(place, packet(1, prob_native, 0), at(us)).as_micros()
        };
        assert_eq!(score(&mut protection, 1.0, 0), 2_048);
        assert_eq!(score(&mut protection, 0.5, 1_000), 2_072);
        assert_eq!(score(&mut protection, 0.0, 3_000), 72);
        assert_eq!(score(&mut protection, 0.25, 1_000_000), 512, "no credit is saved");
        for _ in 0..3_000 {
            score(&mut protection, 1.0, 1_000_000);
        }
        assert_eq!(score(&mut protection, 1.0, 1_000_000), 5_000_000);
    }

    #[test]
    fn flows_without_a_bucket_of_their_own_share_one() {
        let mut protection = QueueProtection::new(THRESHOLDS, 7);
        // A bucket that is full is not given to another flow.
        let mut fill = |flow, us| {
            let place = protection.pick_bucket(flow, at(us));
            protection.fill_bucket(place, packet(flow, 1.0, 0), at(us));
            place
        };
        let places: Vec<usize> = (0..200).map(|flow| fill(flow, 0)).collect();
        let own = places.iter().filter(|&&place| place < NBUCKETS).count();
        assert!((28..=32).contains(&own), "{own} flows have a bucket");
        assert_eq!((0..200).map(|flow| fill(flow, 1)).collect::<Vec<_>>(), places, "flows keep theirs");
        let later: Vec<usize> = (200..220).map(|flow| fill(flow, 10_000_000)).collect();
        assert!(later.iter().filter(|&&place| place < NBUCKETS).count() > 10, "empty ones are given away");
    }
}
