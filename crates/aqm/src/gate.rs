//! The entrance of a queue: a law and a limit, and what became of each packet.
//!
//! Everything that can be said when a packet arrives is said here, once, for the queue that holds packets
//! ([`crate::Fifo`]) and for the engine's link that only computes when they leave.

use aqmlab_units::{Bytes, Time};

use crate::{Aqm, Packet, QueueState, Verdict};

/// The most that may wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(Bytes),
}

impl Limit {
    /// Is there room for one more packet of `size`?
    #[inline]
    pub fn admits(self, size: Bytes, queue: QueueState) -> bool {
        match self {
            Limit::Packets(most) => queue.packets < most,
            Limit::Bytes(most) => queue.bytes + size <= most,
        }
    }
}

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

/// What became of the packets offered to a queue. `offered = queued + dropped_by_law + dropped_by_limit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub offered: u64,
    /// Packets let in, marked ones included.
    pub queued: u64,
    /// Packets let in with CE set here.
    pub marked: u64,
    /// Packets the law dropped on arrival.
    pub dropped_by_law: u64,
    /// Packets dropped for want of room.
    pub dropped_by_limit: u64,
    /// Bytes (IP) let in.
    pub queued_bytes: Bytes,
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
