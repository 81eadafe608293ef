//! The eviction of packets when a set of queues is full.
//!
//! Source: RFC 8290, section 4.1 and Linux `sch_fq_codel.c` (many at once from the fattest queue's head); Linux `sch_cake.c`
//! (one of them); McKenney, "Stochastic fairness queueing", INFOCOM 1990 (one from the longest queue).

use aqmlab_units::Bytes;

use crate::QueueState;
use crate::parameter::choices;

choices! {
    /// The half of the queue with the most bytes that is evicted when the limit is exceeded.
    pub enum Half {
        /// Half of its packets, rounded down, as RFC 8290 has it.
        Packets = "packets",
        /// Packets until half of its bytes are gone, as Linux does.
        Bytes = "bytes",
    }
}

choices! {
    /// One end of a queue.
    pub enum QueueEnd {
        /// Its oldest packet.
        Head = "head",
        /// Its youngest packet.
        Tail = "tail",
    }
}

/// The queued packets that are evicted to make room for an arriving packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Eviction {
    /// One packet of the queue with the most packets.
    Longest(QueueEnd),
    /// One packet at the head of the queue with the most bytes.
    Fattest,
    /// Half of the queue with the most bytes, but at most this number of packets, from its head.
    HalfOfFattest(Half, u32),
}

impl Eviction {
    /// Returns the end from which packets are evicted.
    pub(crate) fn end(self) -> QueueEnd {
        match self {
            Eviction::Longest(end) => end,
            Eviction::Fattest | Eviction::HalfOfFattest(..) => QueueEnd::Head,
        }
    }

    /// Returns the measure by which the queue to evict from is chosen.
    pub(crate) fn measure(self, queue: QueueState) -> u64 {
        match self {
            Eviction::Longest(_) => u64::from(queue.packets),
            Eviction::Fattest | Eviction::HalfOfFattest(..) => queue.bytes.get(),
        }
    }

    /// Returns the packets and bytes to evict from `queue`; eviction ends at the first of them, after at least one
    /// packet.
    pub(crate) fn share(self, queue: QueueState) -> (u32, Bytes) {
        let whole = queue.bytes;
        match self {
            Eviction::Longest(_) | Eviction::Fattest => (1, whole),
            Eviction::HalfOfFattest(Half::Packets, most) => (most.min(queue.packets / 2), whole),
            Eviction::HalfOfFattest(Half::Bytes, most) => (most, Bytes::new(whole.get() / 2)),
        }
    }
}
