//! The entrance of a queue: a law and a limit, and what became of each packet.
//!
//! Everything that can be said when a packet arrives is said here, once, for the queue that holds packets
//! ([`crate::Fifo`]) and for the engine's link that only computes when they leave.

use aqmlab_units::{Bytes, Time};

use crate::{Aqm, Limit, Packet, QueueState, Verdict};

/// What the gate did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Queued as it came.
    Queued,
    /// Queued with CE set.
    Marked,
    /// Dropped because the law asked for it.
    DroppedByLaw,
    /// Dropped because the queue was full.
    DroppedByLimit,
}

/// What became of the packets offered to a queue.
///
/// Every packet is accounted for: `offered = queued + dropped_by_law + dropped_by_limit` at the entrance, and
/// `queued = delivered + dropped_at_dequeue + still waiting` behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub offered: u64,
    /// Packets let in, marked ones included.
    pub queued: u64,
    /// Packets that got CE here, on arrival or when they left.
    pub marked: u64,
    /// Packets the law dropped on arrival.
    pub dropped_by_law: u64,
    /// Packets dropped for want of room.
    pub dropped_by_limit: u64,
    /// Packets the law let in and dropped when they were to leave.
    pub dropped_at_dequeue: u64,
    /// Bytes (IP) let in.
    pub queued_bytes: Bytes,
}

impl Counters {
    /// Packets that left the queue for the link, when `waiting` are in it still.
    pub fn delivered(&self, waiting: u32) -> u64 {
        self.queued - self.dropped_at_dequeue - u64::from(waiting)
    }

    /// Packets dropped, for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_by_law + self.dropped_by_limit + self.dropped_at_dequeue
    }
}

/// A law, a limit and their counters.
#[derive(Clone, Debug)]
pub struct Gate<A> {
    /// The law that judges.
    pub law: A,
    /// The most that may wait behind the gate.
    pub limit: Limit,
    /// What became of the packets so far.
    pub counters: Counters,
}

impl<A: Aqm> Gate<A> {
    /// A gate through which nothing has passed yet.
    pub fn new(law: A, limit: Limit) -> Gate<A> {
        Gate { law, limit, counters: Counters::default() }
    }

    /// Decide about an arriving packet and count it. The caller queues what was admitted, and sets CE on what was
    /// [`Admission::Marked`].
    #[inline]
    pub fn admit(&mut self, pkt: &Packet, queue: QueueState, now: Time) -> Admission {
        self.counters.offered += 1;
        let marked = match self.law.on_enqueue(pkt, queue, now) {
            Verdict::Pass => false,
            Verdict::Mark if pkt.ecn.is_capable() => true,
            Verdict::Mark | Verdict::Drop => {
                self.counters.dropped_by_law += 1;
                return Admission::DroppedByLaw;
            }
        };
        if !self.limit.admits(pkt.size, queue) {
            self.counters.dropped_by_limit += 1;
            return Admission::DroppedByLimit;
        }
        self.counters.queued += 1;
        self.counters.queued_bytes += pkt.size;
        if marked {
            self.counters.marked += 1;
            return Admission::Marked;
        }
        Admission::Queued
    }
}
