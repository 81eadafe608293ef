//! The event queue: a single-level timing wheel with one far level.
//!
//! Events fall into buckets of 2^`shift` ns; a bucket is a linked list in a slab and a bitmap finds the next one that
//! is not empty. When a bucket's turn comes its events are sorted by time. The wheel has two halves, the one being
//! popped and the one after it. What lies beyond them waits in one of 1024 far lists, one for each half to come, and is
//! dealt into buckets when the half before its own begins: before anything else is put into them, which keeps the order
//! of pushing.
//!
//! The order is total: by time, and among equal times by the order in which they were pushed. (A first trial sorted a
//! bucket unstably; packets of one flow changed places and caused thirty times the fast retransmits.)

use aqmlab_units::{Duration, Time};

use super::prefetch::prefetch;

/// Half a turn of the wheel is 2^27 ns, 134 ms: longer than most packets' way, shorter than most thinking.
const LOG_HALF: u32 = 27;
const FAR_HALVES: usize = 1024;
const NIL: u32 = u32::MAX;
/// Up to this number of events a bucket is sorted by insertion, which is faster than a call of the library's sort.
const FEW: usize = 16;

/// A queue of events of type `E`, popped in the order of time.
#[derive(Debug)]
pub(crate) struct Wheel<E> {
    /// log2 of a bucket's width in nanoseconds.
    shift: u32,
    /// log2 of the number of buckets in half a turn.
    log_half: u32,
    /// First node of each list, newest first: of each bucket, and behind them of the far lists.
    heads: Vec<u32>,
    /// One bit per list: it is not empty. Those of the far lists are set and not looked at.
    occupied: Vec<u64>,
    nodes: Vec<Node<E>>,
    /// First node of the free list.
    free: u32,
    /// The bucket whose events are being popped, counted since time zero.
    bucket: u64,
    /// The first bucket that is too far away: where the half after next begins.
    near_end: u64,
    /// First node of the present bucket's events still to be popped: a list in their order.
    current: u32,
    /// The time of that one; while there is none, anything.
    next: u64,
    /// Events in lists.
    listed: usize,
}

/// Aligned so that those of the TCP of 2001, which fill 32 bytes, never lie in two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node<E> {
    time: u64,
    next: u32,
    event: E,
}

impl<E: Copy> Wheel<E> {
    /// An empty wheel whose buckets are about `spacing` wide: a few times the mean gap between events.
    pub(crate) fn new(spacing: Duration) -> Wheel<E> {
        let shift = spacing.as_nanos().max(1).ilog2().clamp(LOG_HALF - 19, LOG_HALF - 6);
        let log_half = LOG_HALF - shift;
        let lists = (2 << log_half) + FAR_HALVES;
        Wheel {
            shift,
            log_half,
            heads: vec![NIL; lists],
            occupied: vec![0; lists / 64],
            nodes: Vec::new(),
            free: NIL,
            bucket: 0,
            near_end: 2 << log_half,
            current: NIL,
            next: u64::MAX,
            listed: 0,
        }
    }

    /// Add an event; `time` does not lie before the last one popped.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, event: E) {
        let time = time.as_nanos();
        let bucket = time >> self.shift;
        if bucket <= self.bucket {
            let node = self.allocate(time, NIL, event);
            return self.push_current(time, node);
        }
        let list = self.list(time);
        let node = self.allocate(time, self.heads[list], event);
        self.begin_with(list, node);
        self.listed += 1;
    }

    /// The time of the next event; [`Time::MAX`] when there is none.
    #[inline]
    pub(crate) fn peek(&mut self) -> Time {
        if self.current == NIL {
            self.next_bucket();
        }
        Time::from_nanos(self.next)
    }

    /// Take the event that [`Wheel::peek`] announced. It is read where it stands, until another is pushed.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> &E {
        let node = self.current;
        let following = std::mem::replace(&mut self.nodes[node as usize].next, self.free);
        self.free = node;
        self.start_with(following);
        &self.nodes[node as usize].event
    }

    /// All waiting events, in no particular order. Slow: looks at every bucket.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        let lists = std::iter::once(&self.current).chain(&self.heads);
        lists.flat_map(|&first| self.follow(first)).map(|node| &self.nodes[node as usize].event)
    }

    /// The nodes of a list.
    fn follow(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors((first != NIL).then_some(first), |&node| {
            let next = self.nodes[node as usize].next;
            (next != NIL).then_some(next)
        })
    }

    /// The list of an event at `time`, which is in no bucket up to the present one.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the number of buckets")]
    fn list(&self, time: u64) -> usize {
        let bucket = time >> self.shift;
        let buckets = 2 << self.log_half;
        if bucket < self.near_end { bucket as usize & (buckets - 1) } else { buckets + far_list(time) }
    }

    /// A place for a node. It is written field by field: put together elsewhere, a packet would be copied once more.
    #[inline(always)]
    fn allocate(&mut self, time: u64, next: u32, event: E) -> u32 {
        let place = self.free;
        let Some(node) = self.nodes.get_mut(place as usize) else {
            self.nodes.push(Node { time, next, event });
            return u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 events wait");
        };
        self.free = node.next;
        (node.time, node.next) = (time, next);
        node.event = event;
        place
    }

    /// `node`, behind which the present list stands, is the first of `list`.
    #[inline(always)]
    fn begin_with(&mut self, list: usize, node: u32) {
        self.heads[list] = node;
        self.occupied[list / 64] |= 1 << (list % 64);
    }

    /// An event for the bucket that is being popped: behind those of the same time.
    fn push_current(&mut self, time: u64, node: u32) {
        let first = self.insert(self.current, node, |other| other <= time);
        self.start_with(first);
    }

    /// The list that begins with `first` is what is popped next.
    #[inline(always)]
    fn start_with(&mut self, first: u32) {
        self.current = first;
        if let Some(node) = self.nodes.get(first as usize) {
            self.next = node.time;
        }
    }

    /// Put `node` into the list that begins with `first`, behind all whose time `precedes` its own; with which it begins then.
    #[inline(always)]
    fn insert(&mut self, first: u32, node: u32, precedes: impl Fn(u64) -> bool) -> u32 {
        let (mut before, mut after) = (NIL, first);
        while let Some(&Node { time, next, .. }) = self.nodes.get(after as usize)
            && precedes(time)
        {
            (before, after) = (after, next);
        }
        self.nodes[node as usize].next = after;
        match self.nodes.get_mut(before as usize) {
            Some(before) => before.next = node,
            None => return node,
        }
        first
    }

    /// Make the next bucket that holds something current.
    #[inline(never)]
    fn next_bucket(&mut self) {
        self.next = u64::MAX;
        while self.listed > 0 {
            let next = self.bucket + 1;
            let half = next >> self.log_half;
            if half > self.bucket >> self.log_half {
                self.deal(half + 1);
            }
            let slot = self.slot(next);
            if let Some(occupied) = self.first_occupied(slot) {
                self.bucket = next + (occupied - slot) as u64;
                return self.gather(occupied);
            }
            // Nothing more in this half: stand before the first bucket of the next one.
            self.bucket = next | ((1 << self.log_half) - 1);
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the number of buckets")]
    fn slot(&self, bucket: u64) -> usize {
        bucket as usize & ((2 << self.log_half) - 1)
    }

    /// The first slot from `from` to the end of its half whose list is not empty.
    #[inline]
    fn first_occupied(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (from % 64));
        let words_in_half = (1 << self.log_half) / 64;
        while bits == 0 {
            word += 1;
            if word.is_multiple_of(words_in_half) {
                return None;
            }
            bits = self.occupied[word];
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Take a bucket's list, newest first, and sort it: what was pushed earlier goes before what has the same time.
    fn gather(&mut self, slot: usize) {
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let mut node = std::mem::replace(&mut self.heads[slot], NIL);
        let (mut sorted, mut count) = (NIL, 0);
        while node != NIL {
            if count == FEW {
                (sorted, count) = self.sort_many(node, sorted);
                break;
            }
            let Node { time, next, .. } = self.nodes[node as usize];
            sorted = self.insert(sorted, node, |other| other < time);
            count += 1;
            node = next;
        }
        self.listed -= count;
        self.start_with(sorted);
        // The events after these were put in long ago: ask for them now.
        if let Some(following) = self.first_occupied((slot + 1) & ((2 << self.log_half) - 1)) {
            prefetch(&self.nodes, self.heads[following] as usize);
        }
    }

    /// Sort the list `left`, newest first, and the list `sorted`, all of it pushed later: with which node they begin, and how
    /// many they are.
    #[cold]
    fn sort_many(&mut self, left: u32, sorted: u32) -> (u32, usize) {
        let mut all: Vec<u32> = self.follow(left).collect();
        all.reverse();
        all.extend(self.follow(sorted));
        all.sort_by_key(|&node| self.nodes[node as usize].time);
        let mut first = NIL;
        for &node in all.iter().rev() {
            self.nodes[node as usize].next = first;
            first = node;
        }
        (first, all.len())
    }

    /// Deal the far list of half `half` into buckets; what belongs to a later turn of the far level stays.
    fn deal(&mut self, half: u64) {
        self.near_end = (half + 1) << self.log_half;
        let list = (2 << self.log_half) + far_list(half << LOG_HALF);
        let mut node = std::mem::replace(&mut self.heads[list], NIL);
        // Lists are newest first: reverse, so that linking keeps the order of pushing.
        let mut oldest_first = NIL;
        while node != NIL {
            let next = std::mem::replace(&mut self.nodes[node as usize].next, oldest_first);
            oldest_first = node;
            node = next;
        }
        while oldest_first != NIL {
            let list = self.list(self.nodes[oldest_first as usize].time);
            let next = std::mem::replace(&mut self.nodes[oldest_first as usize].next, self.heads[list]);
            self.begin_with(list, oldest_first);
            oldest_first = next;
        }
    }
}

/// The number of the far list of the half that `time` lies in.
fn far_list(time: u64) -> usize {
    (time >> LOG_HALF) as usize % FAR_HALVES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pushes at a delay after the last popped event, or pops.
    fn operations() -> impl Strategy<Value = Vec<Option<u64>>> {
        let delay = prop_oneof![
            Just(0),
            0..1_000u64,
            0..1_000_000u64,
            0..2_000_000_000u64,
            // Beyond the far level's 275 s.
            0..1_000_000_000_000u64,
        ];
        prop::collection::vec(prop::option::weighted(0.6, delay), 1..400)
    }

    /// More than are put into their places one by one.
    #[test]
    fn many_events_of_a_bucket_keep_the_order_of_pushing() {
        let mut wheel = Wheel::new(Duration::from_millis(1));
        let times: Vec<u64> = (0..100).map(|serial| 2_000_000 + serial % 3).collect();
        for (serial, &time) in times.iter().enumerate() {
            wheel.push(Time::from_nanos(time), serial);
        }
        let mut expected: Vec<usize> = (0..times.len()).collect();
        expected.sort_by_key(|&serial| times[serial]);
        for serial in expected {
            assert_eq!(wheel.peek(), Time::from_nanos(times[serial]));
            assert_eq!(*wheel.pop(), serial);
        }
    }

    proptest! {
        /// Against a sorted list with serial numbers: the order is by time, then by pushing.
        #[test]
        fn pops_in_the_order_of_time_and_then_of_pushing(
            operations in operations(),
            spacing in prop_oneof![Just(1u64), Just(1 << 12), Just(1 << 17), Just(1 << 30)],
        ) {
            let mut wheel = Wheel::new(Duration::from_nanos(spacing));
            let mut model: Vec<(Time, usize)> = Vec::new();
            let mut now = Time::ZERO;
            for (serial, operation) in operations.into_iter().chain([None; 400]).enumerate() {
                if let Some(delay) = operation {
                    let time = now + Duration::from_nanos(delay);
                    wheel.push(time, serial);
                    model.push((time, serial));
                } else {
                    model.sort();
                    let expected = (!model.is_empty()).then(|| model.remove(0));
                    let peeked = wheel.peek();
                    prop_assert_eq!(peeked, expected.map_or(Time::MAX, |(time, _)| time));
                    if let Some((time, serial)) = expected {
                        prop_assert_eq!(*wheel.pop(), serial);
                        now = time;
                    }
                }
                // Looks at every bucket: now and then will do.
                if serial % 64 == 0 {
                    prop_assert_eq!(wheel.iter().count(), model.len());
                }
            }
        }
    }
}
