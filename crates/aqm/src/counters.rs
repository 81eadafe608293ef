//! Counters of the packets offered to a queue, by outcome.

use std::iter::Sum;

use aqmlab_units::Bytes;

use crate::{Ecn, Packet, Verdict};

/// Outcome of a packet's arrival at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Queued unchanged.
    Queued,
    /// Enqueued with CE set.
    Marked,
    /// Dropped because the law signalled and the packet is not ECN-capable.
    DroppedEarly,
    /// Dropped because the law demanded a drop, ECN-capable or not.
    DroppedForced,
    /// Dropped because the queue was full.
    DroppedByLimit,
}

impl Admission {
    /// True if the packet was enqueued.
    #[inline]
    pub fn is_queued(self) -> bool {
        matches!(self, Admission::Queued | Admission::Marked)
    }
}

/// Counts of the packets offered to a queue, by outcome.
///
/// Every packet is accounted for: `offered = queued + dropped_early + dropped_forced + dropped_by_limit` on
/// arrival, and `queued = delivered + dropped_at_dequeue + evicted + still in the queue` after it.
///
/// ```
/// use aqmlab_aqm::{Admission, Counters};
/// use aqmlab_units::Bytes;
///
/// let mut counters = Counters::default();
/// for admission in [Admission::Queued, Admission::Marked, Admission::DroppedByLimit] {
///     counters.count(admission, Bytes::new(1500));
/// }
/// assert_eq!((counters.offered, counters.marked, counters.dropped()), (3, 1, 1));
/// // One of the two queued packets has left.
/// assert_eq!(counters.delivered(1), 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub offered: u64,
    /// Packets enqueued, including marked ones.
    pub queued: u64,
    /// Packets marked with CE here, on arrival or on departure.
    pub marked: u64,
    /// Packets dropped on arrival as a signal to a sender without ECN.
    pub dropped_early: u64,
    /// Packets dropped on arrival because the law demanded a drop.
    pub dropped_forced: u64,
    /// Packets dropped on arrival because the queue was full.
    pub dropped_by_limit: u64,
    /// Packets enqueued, and dropped by the law at dequeue.
    pub dropped_at_dequeue: u64,
    /// Packets enqueued, and evicted by another one's arrival.
    pub evicted: u64,
    /// Bytes enqueued, with sizes as the queue counts them.
    pub queued_bytes: Bytes,
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(each: I) -> Counters {
        each.fold(Counters::default(), |all, one| Counters {
            offered: all.offered + one.offered,
            queued: all.queued + one.queued,
            marked: all.marked + one.marked,
            dropped_early: all.dropped_early + one.dropped_early,
            dropped_forced: all.dropped_forced + one.dropped_forced,
            dropped_by_limit: all.dropped_by_limit + one.dropped_by_limit,
            dropped_at_dequeue: all.dropped_at_dequeue + one.dropped_at_dequeue,
            evicted: all.evicted + one.evicted,
            queued_bytes: all.queued_bytes + one.queued_bytes,
        })
    }
}

impl Counters {
    /// Count an arrival.
    #[inline]
    pub fn count(&mut self, admission: Admission, size: Bytes) {
        self.offered += 1;
        match admission {
            Admission::Queued | Admission::Marked => {
                self.queued += 1;
                self.queued_bytes += size;
                self.marked += u64::from(admission == Admission::Marked);
            }
            Admission::DroppedEarly => self.dropped_early += 1,
            Admission::DroppedForced => self.dropped_forced += 1,
            Admission::DroppedByLimit => self.dropped_by_limit += 1,
        }
    }

    /// Apply the verdict about a packet at dequeue: set CE if it is marked, and count it. Returns true if it
    /// leaves.
    #[inline]
    pub(crate) fn release(&mut self, verdict: Verdict, packet: &mut Packet) -> bool {
        match verdict {
            Verdict::Pass => true,
            Verdict::Mark if packet.ecn.is_capable() => {
                packet.ecn = Ecn::Ce;
                self.marked += 1;
                true
            }
            Verdict::Mark | Verdict::Drop => {
                self.dropped_at_dequeue += 1;
                false
            }
        }
    }

    /// Packets that left the queue for the link, when `waiting` packets are still in it.
    pub fn delivered(&self, waiting: u32) -> u64 {
        self.queued - self.dropped_at_dequeue - self.evicted - u64::from(waiting)
    }

    /// Packets dropped, for any reason.
    pub fn dropped(&self) -> u64 {
        self.refused() + self.dropped_at_dequeue + self.evicted
    }

    /// Packets dropped on arrival.
    pub fn refused(&self) -> u64 {
        self.dropped_early + self.dropped_forced + self.dropped_by_limit
    }
}
