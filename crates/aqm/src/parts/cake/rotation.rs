//! DRR++ as CAKE has it: lists of new, old and decaying queues, and the deficits of queues.
//!
//! A queue that becomes active is sparse until it has used up its first quantum with packets left; then it is a bulk
//! queue. An empty queue stays among the decaying ones until its COBALT has forgotten its signals.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018, section III-B; RFC 8290, section 4.2; Linux
//! `sch_cake.c`.

use super::sets::PerQueue;

/// The state of a queue in the rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Not in the rotation.
    None,
    /// Among the new queues.
    Sparse,
    /// Empty, among the old queues: it still counts as sparse.
    SparseWait,
    /// Among the old queues.
    Bulk,
    /// Empty, with signals to forget.
    Decaying,
}

/// The lists of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    New,
    Old,
    Decaying,
}

/// A place without a queue.
const NO_QUEUE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Bytes that the queue may still send in this round.
    deficit: i32,
    before: u16,
    after: u16,
    set: Set,
    list: List,
}

/// The first and the last queue of a list.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u16,
    last: u16,
}

/// The rotation of the queues of a tin.
#[derive(Clone, Debug)]
pub(crate) struct Rotation {
    entries: PerQueue<Entry>,
    lists: [Ends; 3],
    sparse: u32,
    bulk: u32,
    decaying: u32,
}

impl Rotation {
    /// Return a rotation without any queue.
    pub(crate) fn new() -> Rotation {
        let entry = Entry { deficit: 0, before: NO_QUEUE, after: NO_QUEUE, set: Set::None, list: List::New };
        let empty = Ends { first: NO_QUEUE, last: NO_QUEUE };
        Rotation { entries: PerQueue::new(|| entry), lists: [empty; 3], sparse: 0, bulk: 0, decaying: 0 }
    }

    #[inline]
    pub(crate) fn set(&self, queue: usize) -> Set {
        self.entries[queue].set
    }

    #[inline]
    pub(crate) fn deficit(&self, queue: usize) -> i32 {
        self.entries[queue].deficit
    }

    /// True if a queue may have packets.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Queues that are sparse or decaying, which `tc -s` counts together.
    pub(crate) fn sparse_flows(&self) -> u32 {
        self.sparse + self.decaying
    }

    #[inline]
    pub(crate) fn bulk_flows(&self) -> u32 {
        self.bulk
    }

    /// The queues in the round, for a search that may take long.
    pub(crate) fn active_queues(&self) -> impl Iterator<Item = usize> {
        [List::New, List::Old].into_iter().flat_map(|list| {
            let first = self.lists[list as usize].first;
            std::iter::successors((first != NO_QUEUE).then_some(first), |&queue| {
                let after = self.entries[usize::from(queue)].after;
                (after != NO_QUEUE).then_some(after)
            })
            .map(usize::from)
        })
    }

    /// Return the queue whose turn it is: a decaying one only if it is allowed or if there is no other.
    #[inline]
    pub(crate) fn turn(&self, decaying_first: bool) -> Option<usize> {
        let first = |list: List| {
            let first = self.lists[list as usize].first;
            (first != NO_QUEUE).then_some(usize::from(first))
        };
        if decaying_first && let Some(decaying) = first(List::Decaying) {
            return Some(decaying);
        }
        first(List::New).or_else(|| first(List::Old)).or_else(|| first(List::Decaying))
    }

    /// A packet arrives at a queue that is idle or decaying: it becomes a new one with this quantum.
    #[inline]
    pub(crate) fn start(&mut self, queue: usize, quantum: i32) {
        if self.entries[queue].set == Set::Decaying {
            self.decaying -= 1;
            self.unlink(queue);
        }
        self.link(queue, List::New);
        self.sparse += 1;
        let entry = &mut self.entries[queue];
        (entry.set, entry.deficit) = (Set::Sparse, quantum);
    }

    /// A sparse queue has become a bulk queue.
    #[inline]
    pub(crate) fn become_bulk(&mut self, queue: usize) {
        self.entries[queue].set = Set::Bulk;
        self.sparse -= 1;
        self.bulk += 1;
    }

    /// An empty sparse queue has used up its quantum.
    #[inline]
    pub(crate) fn wait_as_sparse(&mut self, queue: usize) {
        self.entries[queue].set = Set::SparseWait;
    }

    /// The queue whose turn it is has used up its quantum: it gets another one, and goes to the end of the old ones.
    #[inline]
    pub(crate) fn end_turn(&mut self, queue: usize, quantum: i32) {
        self.entries[queue].deficit += quantum;
        self.unlink_first(queue);
        self.link(queue, List::Old);
    }

    /// Charge a packet of this length to a queue.
    #[inline]
    pub(crate) fn charge(&mut self, queue: usize, length: i32) {
        self.entries[queue].deficit -= length;
    }

    /// The queue whose turn it is, is empty: it decays, or it is `at_rest` and leaves.
    pub(crate) fn empty(&mut self, queue: usize, at_rest: bool) {
        let set = self.entries[queue].set;
        if set == Set::Decaying && !at_rest {
            self.unlink_first(queue);
            return self.link(queue, List::Decaying);
        }
        match set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => self.bulk -= 1,
            Set::Decaying => self.decaying -= 1,
            Set::None => unreachable!("the queue is in the rotation"),
        }
        self.unlink_first(queue);
        if at_rest {
            self.entries[queue].set = Set::None;
        } else {
            self.link(queue, List::Decaying);
            self.entries[queue].set = Set::Decaying;
            self.decaying += 1;
        }
    }

    /// Append a queue, which is in no list.
    #[inline]
    fn link(&mut self, queue: usize, list: List) {
        let number = u16::try_from(queue).expect("a tin has 1024 queues");
        let last = std::mem::replace(&mut self.lists[list as usize].last, number);
        match last {
            NO_QUEUE => self.lists[list as usize].first = number,
            last => self.entries[usize::from(last)].after = number,
        }
        let entry = &mut self.entries[queue];
        (entry.before, entry.after, entry.list) = (last, NO_QUEUE, list);
    }

    /// Remove the queue whose turn it is, the first of its list.
    #[inline]
    fn unlink_first(&mut self, queue: usize) {
        let Entry { after, list, .. } = self.entries[queue];
        let ends = &mut self.lists[list as usize];
        debug_assert!(usize::from(ends.first) == queue, "the turn is that of the first");
        ends.first = after;
        match after {
            NO_QUEUE => ends.last = NO_QUEUE,
            after => self.entries[usize::from(after)].before = NO_QUEUE,
        }
    }

    /// Remove a queue from its list.
    #[inline]
    fn unlink(&mut self, queue: usize) {
        let Entry { before, after, list, .. } = self.entries[queue];
        match before {
            NO_QUEUE => self.lists[list as usize].first = after,
            before => self.entries[usize::from(before)].after = after,
        }
        match after {
            NO_QUEUE => self.lists[list as usize].last = before,
            after => self.entries[usize::from(after)].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queues in the order of their turns, and the counts of sparse, bulk and decaying ones.
    fn order(rotation: &Rotation) -> (Vec<usize>, [u32; 3]) {
        let Rotation { sparse, bulk, decaying, .. } = *rotation;
        (rotation.active_queues().collect(), [sparse, bulk, decaying])
    }

    #[test]
    fn new_queues_come_before_old_ones_and_return_as_new() {
        let mut rotation = Rotation::new();
        for queue in [3, 5, 1] {
            rotation.start(queue, 300);
        }
        rotation.charge(3, 400);
        rotation.become_bulk(3);
        rotation.end_turn(3, 300);
        assert_eq!(order(&rotation), (vec![5, 1, 3], [2, 1, 0]));
        assert_eq!(rotation.deficit(3), 200);
        rotation.empty(5, false);
        assert_eq!((rotation.turn(true), rotation.turn(false)), (Some(5), Some(1)));
        assert_eq!(order(&rotation), (vec![1, 3], [1, 1, 1]));
        rotation.start(5, 300);
        assert_eq!(order(&rotation), (vec![1, 5, 3], [2, 1, 0]));
        for queue in [1, 5, 3] {
            rotation.empty(queue, true);
        }
        assert_eq!((order(&rotation), rotation.turn(true)), ((vec![], [0, 0, 0]), None));
    }

    #[test]
    fn a_queue_leaves_the_middle_of_a_list() {
        let mut rotation = Rotation::new();
        for queue in 0..4 {
            rotation.start(queue, 1);
            rotation.empty(queue, false);
        }
        rotation.start(2, 1);
        for expected in [0, 1, 3] {
            assert_eq!(rotation.turn(true), Some(expected));
            rotation.empty(expected, true);
        }
        assert_eq!(rotation.turn(true), Some(2));
    }
}
