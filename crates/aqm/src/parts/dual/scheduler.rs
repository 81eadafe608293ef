//! The scheduler between the two queues of a coupled dual queue.
//!
//! Latency-sensitive packets come first, but only up to a point: either the Classic queue has a small share of the link
//! for itself, or a head start in time is all that L4S packets have.
//!
//! Source: RFC 9332, section 4.2.2 and appendix A.1; Linux `sch_dualpi2.c` for the credit of the weighted round robin.

use aqmlab_units::{Bytes, Duration};

use crate::parameter::choices;

choices! {
    /// The scheduler that shares the link between the two queues.
    pub enum Share {
        /// Weighted round robin: while both have packets, the Classic queue gets `classic_weight` of the bytes. Linux.
        Wrr = "wrr",
        /// Time-shifted first in, first out: the packet with the longest sojourn time, with `tshift` added for L4S
        /// packets.
        TsFifo = "ts_fifo",
    }
}

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    L4s,
    Classic,
}

/// The scheduler of the two queues.
#[derive(Clone, Debug)]
pub(crate) struct DualScheduler {
    share: Share,
    tshift: Duration,
    /// In percent; the two weights are 100 together.
    classic_weight: i64,
    mtu: i64,
    /// In bytes times percent; above zero, the Classic queue is served next.
    credit: i64,
}

impl DualScheduler {
    pub(crate) fn new(share: Share, tshift: Duration, classic_weight: u32, mtu: Bytes) -> DualScheduler {
        let mtu = i64::try_from(mtu.get()).expect("a packet");
        let mut scheduler =
            DualScheduler { share, tshift, classic_weight: classic_weight.into(), mtu, credit: 0 };
        scheduler.reset();
        scheduler
    }

    /// Both queues are empty.
    fn reset(&mut self) {
        self.credit = self.mtu * (2 * self.classic_weight - 100);
    }

    /// Returns the queue to serve next, from the sojourn times of the first packets.
    #[inline]
    pub(crate) fn next(&mut self, l4s: Option<Duration>, classic: Option<Duration>) -> Option<Lane> {
        match (l4s, classic) {
            (None, None) => {
                self.reset();
                None
            }
            (Some(_), None) => Some(Lane::L4s),
            (None, Some(_)) => Some(Lane::Classic),
            (Some(l4s), Some(classic)) => {
                let l4s_first = match self.share {
                    Share::Wrr => self.credit <= 0,
                    Share::TsFifo => l4s + self.tshift >= classic,
                };
                Some(if l4s_first { Lane::L4s } else { Lane::Classic })
            }
        }
    }

    /// A packet of `size` was sent while the other queue had packets too.
    #[inline]
    pub(crate) fn sent(&mut self, lane: Lane, size: Bytes) {
        let size = i64::try_from(size.get()).expect("a packet");
        self.credit += match lane {
            Lane::L4s => self.classic_weight * size,
            Lane::Classic => (self.classic_weight - 100) * size,
        };
    }
}
