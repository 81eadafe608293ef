//! Intervals of data that arrived out of order.

use crate::Seq;

/// Ranges in order, neither touching nor overlapping: for reassembly, those received beyond the next expected byte.
/// Without losses it uses no memory.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "8 bytes in each endpoint, not 24; it is almost always empty")]
pub(crate) struct Intervals(Option<Box<Vec<(Seq, Seq)>>>);

impl Intervals {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|ranges| ranges.is_empty())
    }

    /// Return the range that contains byte `seq`.
    pub(crate) fn range_around(&self, seq: Seq) -> Option<(Seq, Seq)> {
        let ranges = self.0.as_ref()?;
        let index = ranges.partition_point(|&(_, end)| end <= seq);
        ranges.get(index).copied().filter(|&(start, _)| start <= seq)
    }

    /// The ranges, the lowest first.
    pub(crate) fn ranges(&self) -> &[(Seq, Seq)] {
        self.0.as_ref().map_or(&[], |ranges| ranges)
    }

    /// Return how many numbers are in the ranges.
    pub(crate) fn total(&self) -> u32 {
        self.ranges().iter().map(|&(start, end)| end - start).sum()
    }

    /// Return how many numbers of `from..to` are in the ranges.
    pub(crate) fn covered(&self, from: Seq, to: Seq) -> u32 {
        let inside = self.ranges().iter().filter(|&&(start, end)| start < to && from < end);
        inside.map(|&(start, end)| end.min(to) - start.max(from)).sum()
    }

    /// Remove the numbers `from..to`.
    pub(crate) fn remove(&mut self, from: Seq, to: Seq) {
        let Some(ranges) = &mut self.0 else { return };
        let first = ranges.partition_point(|&(_, end)| end <= from);
        let last = ranges.partition_point(|&(start, _)| start < to);
        if first < last {
            let (before, after) = ((ranges[first].0, from), (to, ranges[last - 1].1));
            let rest = [before, after].into_iter().filter(|&(start, end)| start < end);
            ranges.splice(first..last, rest);
        }
    }

    /// Remove the lowest range.
    pub(crate) fn remove_lowest(&mut self) {
        if let Some(ranges) = &mut self.0 {
            ranges.remove(0);
        }
    }

    /// Remove and return up to `most` of the lowest numbers.
    pub(crate) fn take_front(&mut self, most: u32) -> Option<(Seq, Seq)> {
        let &(start, end) = self.ranges().first()?;
        let end = end.min(start + most);
        self.remove(start, end);
        Some((start, end))
    }

    /// Insert the range `from..to`.
    pub(crate) fn insert(&mut self, from: Seq, to: Seq) {
        let ranges = self.0.get_or_insert_default();
        // Nearly always, data beyond a gap continue the last range.
        if let Some((start, end)) = ranges.last_mut()
            && *start <= from
            && from <= *end
        {
            *end = to.max(*end);
            return;
        }
        // Join with each range that it overlaps or touches: those from `first` up to `last`.
        let first = ranges.partition_point(|&(_, end)| end < from);
        let last = ranges.partition_point(|&(start, _)| start <= to);
        let mut joined = (from, to);
        if first < last {
            let (start, end) = (ranges[first].0, ranges[last - 1].1);
            joined = (if start < from { start } else { from }, to.max(end));
        }
        ranges.splice(first..last, [joined]);
    }

    /// Insert `from..to`, which ends beyond `next`, and [advance](Intervals::advance). Nearly always the data are in order, and
    /// nothing is stored.
    pub(crate) fn receive(&mut self, next: Seq, from: Seq, to: Seq) -> Seq {
        if from <= next && self.is_empty() {
            return to;
        }
        self.insert(from.max(next), to);
        self.advance(next)
    }

    /// Remove the ranges that continue the data before `next`. Return the number up to which the data are then in
    /// order.
    pub(crate) fn advance(&mut self, next: Seq) -> Seq {
        let Some(ranges) = &mut self.0 else { return next };
        let mut reached = next;
        let joined = ranges
            .iter()
            .take_while(|&&(start, end)| {
                let follows = start <= reached;
                if follows {
                    reached = reached.max(end);
                }
                follows
            })
            .count();
        ranges.drain(..joined);
        reached
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Removal leaves exactly the numbers that were inserted and not removed.
        #[test]
        fn insertions_and_removals_act_on_a_set(
            steps in prop::collection::vec((any::<bool>(), 0u32..60, 1u32..9), 1..40),
        ) {
            let mut intervals = Intervals::default();
            let mut expected = [false; 80];
            for (inserts, from, len) in steps {
                expected[from as usize..(from + len) as usize].fill(inserts);
                let (from, to) = (Seq::new(from), Seq::new(from + len));
                if inserts { intervals.insert(from, to) } else { intervals.remove(from, to) }
                for (number, &is_member) in (0..).zip(&expected) {
                    prop_assert_eq!(intervals.covered(Seq::new(number), Seq::new(number + 1)) == 1, is_member);
                }
                prop_assert!(intervals.ranges().windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }

        /// The bytes received are known exactly, for any order, overlap and repetition.
        #[test]
        fn any_arrival_order_gives_the_same_stream(
            pieces in prop::collection::vec((0u32..60, 1u32..9), 1..40),
        ) {
            let mut reassembly = Intervals::default();
            let mut received = [false; 80];
            let mut next = Seq::ZERO;
            for (from, len) in pieces {
                received[from as usize..(from + len) as usize].fill(true);
                let (from, to) = (Seq::new(from), Seq::new(from + len));
                if next < to {
                    next = reassembly.receive(next, from, to);
                }
                let expected = received.iter().take_while(|&&is_received| is_received).count();
                prop_assert_eq!(next.get() as usize, expected);
            }
        }
    }
}
