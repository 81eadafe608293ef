//! Eviction from a set of queues that is full.
//!
//! Source: RFC 8290, section 4.1 and Linux `sch_fq_codel.c` (many at once from the fattest queue's head); Linux `sch_cake.c`
//! (one of them); McKenney, "Stochastic fairness queueing", INFOCOM 1990 (one from the longest queue).

use aqmlab_units::Bytes;

use crate::QueueState;
use crate::parameter::choices;

choices! {
    /// The measure of the half that is dropped from the fattest queue on overflow.
    pub enum Half {
        /// Half of its packets, rounded down, as in RFC 8290.
        Packets = "packets",
        /// Packets until half of its bytes are dropped, as in Linux.
        Bytes = "bytes",
    }
}

choices! {
    /// One end of a queue.
    pub enum QueueEnd {
        /// The oldest packet.
        Head = "head",
        /// The youngest packet.
        Tail = "tail",
    }
}

/// The waiting packets that are evicted for an arriving one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Eviction {
    /// One packet of the queue with the most packets.
    Longest(QueueEnd),
    /// One packet at the head of the queue with the most bytes.
    Fattest,
    /// Half of the queue with the most bytes, from its head, up to this number of packets.
    HalfOfFattest(Half, u32),
}

impl Eviction {
    /// The end from which packets are evicted.
    pub(crate) fn end(self) -> QueueEnd {
        match self {
            Eviction::Longest(end) => end,
            Eviction::Fattest | Eviction::HalfOfFattest(..) => QueueEnd::Head,
        }
    }

    /// The measure that selects the queue.
    pub(crate) fn measure(self, queue: QueueState) -> u64 {
        match self {
            Eviction::Longest(_) => u64::from(queue.packets),
            Eviction::Fattest | Eviction::HalfOfFattest(..) => queue.bytes.get(),
        }
    }

    /// The share of `queue` to evict: packets until one of these counts is reached, and at least one packet.
    pub(crate) fn share(self, queue: QueueState) -> (u32, Bytes) {
        let whole = queue.bytes;
        match self {
            Eviction::Longest(_) | Eviction::Fattest => (1, whole),
            Eviction::HalfOfFattest(Half::Packets, max) => (max.min(queue.packets / 2), whole),
            Eviction::HalfOfFattest(Half::Bytes, max) => (max, Bytes::new(whole.get() / 2)),
        }
    }
}
