//! The set-associative hash of CAKE: flows share a queue only when all eight queues of a set are taken.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018, section III-B; Linux `sch_cake.c`.

use std::ops::{Index, IndexMut};

/// Queues of a tin, and entries of each table of hosts.
pub(crate) const QUEUES: usize = 1024;

/// Queues in a set.
const WAYS: usize = 8;

/// A value for each queue of a tin, or for each host of a table.
#[derive(Clone, Debug)]
pub(crate) struct PerQueue<T>(Box<[T; QUEUES]>);

impl<T> PerQueue<T> {
    pub(crate) fn new(value: impl Fn() -> T) -> PerQueue<T> {
        let values: Vec<T> = (0..QUEUES).map(|_| value()).collect();
        let Ok(values) = values.into_boxed_slice().try_into() else { unreachable!("as many as queues") };
        PerQueue(values)
    }
}

// The remainder changes no number of a queue: it spares a comparison with the length.
impl<T> Index<usize> for PerQueue<T> {
    type Output = T;

    #[inline]
    fn index(&self, queue: usize) -> &T {
        debug_assert!(queue < QUEUES, "a tin has no queue {queue}");
        &self.0[queue % QUEUES]
    }
}

impl<T> IndexMut<usize> for PerQueue<T> {
    #[inline]
    fn index_mut(&mut self, queue: usize) -> &mut T {
        debug_assert!(queue < QUEUES, "a tin has no queue {queue}");
        &mut self.0[queue % QUEUES]
    }
}

/// Return the places of the set of `hash`, its own place first.
#[inline]
pub(crate) fn ways(hash: u32) -> impl Iterator<Item = usize> + Clone {
    let direct = hash as usize % QUEUES;
    let set = direct - direct % WAYS;
    (direct..direct + WAYS).map(move |way| set + way % WAYS)
}

/// The relation of a flow to the queue that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// The queue is in use by this flow.
    Known,
    /// The queue was idle.
    New,
    /// The queue is in use by another flow.
    Shared,
}

/// The flows that queues are reserved for, with counts as `tc -s` shows them.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    tags: PerQueue<u32>,
    /// Packets whose flow has a queue in another way than its own.
    pub(crate) way_inds: u64,
    /// Flows that took an idle queue.
    pub(crate) way_miss: u64,
    /// Packets whose flow found all queues of its set in use by others.
    pub(crate) way_cols: u64,
}

impl Sets {
    pub(crate) fn new() -> Sets {
        Sets { tags: PerQueue::new(|| 0), way_inds: 0, way_miss: 0, way_cols: 0 }
    }

    /// Return the queue for a flow with this hash; `is_idle` returns true for a queue that no flow uses.
    #[inline]
    pub(crate) fn place(&mut self, hash: u32, is_idle: impl Fn(usize) -> bool) -> (usize, Placement) {
        let direct = hash as usize % QUEUES;
        if self.tags[direct] == hash {
            return (direct, if is_idle(direct) { Placement::New } else { Placement::Known });
        }
        self.search(hash, direct, is_idle)
    }

    fn search(&mut self, hash: u32, direct: usize, is_idle: impl Fn(usize) -> bool) -> (usize, Placement) {
        if let Some(own) = ways(hash).find(|&way| self.tags[way] == hash) {
            self.way_inds += 1;
            return (own, if is_idle(own) { Placement::New } else { Placement::Known });
        }
        let (queue, placement) = if let Some(idle) = ways(hash).find(|&way| is_idle(way)) {
            self.way_miss += 1;
            (idle, Placement::New)
        } else {
            self.way_cols += 1;
            (direct, Placement::Shared)
        };
        self.tags[queue] = hash;
        (queue, placement)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn flows_of_one_set_share_no_queue_before_all_eight_are_taken() {
        let mut sets = Sets::new();
        let mut taken = BTreeSet::new();
        // Hashes that differ by the number of queues have one place.
        let hash = |flow: u32| 77 + flow * 1024;
        for flow in 1..=8 {
            let (queue, placement) = sets.place(hash(flow), |queue| !taken.contains(&queue));
            assert!(taken.insert(queue) && placement == Placement::New && (72..80).contains(&queue));
        }
        assert_eq!(sets.place(hash(9), |_| false), (77, Placement::Shared));
        assert_eq!((sets.way_miss, sets.way_cols, sets.way_inds), (8, 1, 0));
        assert_eq!(sets.place(hash(3), |_| false), (79, Placement::Known));
        assert_eq!(sets.way_inds, 1, "the third of the flows is two ways from its own");
    }
}
