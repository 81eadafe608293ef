//! Reassembly of data that arrived out of order.

use crate::Seq;

/// Ranges received beyond the next expected byte, in order, neither touching nor overlapping. Without losses it
/// uses no memory.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "8 bytes in each endpoint, not 24; it is almost always empty")]
pub(crate) struct Reassembly(Option<Box<Vec<(Seq, Seq)>>>);

impl Reassembly {
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
        /// The bytes received are known exactly, for any order, overlap and repetition.
        #[test]
        fn any_arrival_order_gives_the_same_stream(
            pieces in prop::collection::vec((0u32..60, 1u32..9), 1..40),
        ) {
            let mut reassembly = Reassembly::default();
            let mut received = [false; 80];
            let mut next = Seq::ZERO;
            for (from, len) in pieces {
                received[from as usize..(from + len) as usize].fill(true);
                let (from, to) = (Seq::new(from), Seq::new(from + len));
                if next < to {
                    reassembly.insert(from.max(next), to);
                    next = reassembly.advance(next);
                }
                let expected = received.iter().take_while(|&&is_received| is_received).count();
                prop_assert_eq!(next.get() as usize, expected);
            }
        }
    }
}
