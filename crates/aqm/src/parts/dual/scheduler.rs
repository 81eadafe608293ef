//! Scheduler of the two queues of a coupled dual queue.
//!
//! L4S packets go first, within limits: either the Classic queue has a small share of the link, or L4S packets
//! have only a head start in time.
//!
//! Source: RFC 9332, section 4.2.2 and appendix A.1; Linux `sch_dualpi2.c` for the credit of the weighted round robin.

use aqmlab_units::{Bytes, Duration};

use crate::parameter::choices;

choices! {
    /// Division of the link between the two queues.
    pub enum Share {
        /// Weighted round robin: while both have packets, the Classic queue gets `classic_weight` of the bytes.
        /// Linux.
        Wrr = "wrr",
        /// Time-shifted first in, first out: the packet with the longest sojourn time, to which `tshift` is added
        /// for L4S.
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
    /// Credit in bytes times percent; above zero it is the Classic queue's turn.
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

    /// Reset the credit, because both queues are empty.
    fn reset(&mut self) {
        self.credit = self.mtu * (2 * self.classic_weight - 100);
    }

    /// Return the queue to serve next, given the sojourn times of their first packets.
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
                let is_l4s_first = match self.share {
                    Share::Wrr => self.credit <= 0,
                    Share::TsFifo => l4s + self.tshift >= classic,
                };
                Some(if is_l4s_first { Lane::L4s } else { Lane::Classic })
            }
        }
    }

    /// Charge a packet of `size` that was sent while the other queue had packets too.
    #[inline]
    pub(crate) fn on_sent(&mut self, lane: Lane, size: Bytes) {
        let size = i64::try_from(size.get()).expect("a packet");
        self.credit += match lane {
            Lane::L4s => self.classic_weight * size,
            Lane::Classic => (self.classic_weight - 100) * size,
        };
    }
}
