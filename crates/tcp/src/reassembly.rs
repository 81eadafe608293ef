//! Data that arrived before what precedes them.

use crate::Seq;

/// Ranges received beyond the next expected byte, in order, neither touching nor overlapping. A connection that
/// has lost nothing holds no memory here.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "8 bytes in each endpoint, not 24; it is almost always empty")]
pub(crate) struct Reassembly(Option<Box<Vec<(Seq, Seq)>>>);

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|ranges| ranges.is_empty())
    }

    /// The range that holds byte `seq`.
    pub(crate) fn range_around(&self, seq: Seq) -> Option<(Seq, Seq)> {
        let ranges = self.0.as_ref()?;
        let place = ranges.partition_point(|&(_, end)| end <= seq);
        ranges.get(place).copied().filter(|&(start, _)| start <= seq)
    }

    /// Keep the range `from..to`.
    pub(crate) fn insert(&mut self, from: Seq, to: Seq) {
        let ranges = self.0.get_or_insert_default();
        // Nearly all that comes early continues what came last.
        if let Some((start, end)) = ranges.last_mut()
            && *start <= from
            && from <= *end
        {
            *end = to.max(*end);
            return;
        }
        // Join with each range it overlaps or touches: those from `first` up to `last`.
        let first = ranges.partition_point(|&(_, end)| end < from);
        let last = ranges.partition_point(|&(start, _)| start <= to);
        let mut joined = (from, to);
        if first < last {
            let (start, end) = (ranges[first].0, ranges[last - 1].1);
            joined = (if start < from { start } else { from }, to.max(end));
        }
        ranges.splice(first..last, [joined]);
    }

    /// Everything before `next` is in order: the number up to which that reaches with what is kept.
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
        /// Whatever order, overlap and repetition, exactly the bytes that came are known.
        #[test]
        fn any_arrival_order_gives_the_same_stream(
            pieces in prop::collection::vec((0u32..60, 1u32..9), 1..40),
        ) {
            let mut kept = Reassembly::default();
            let mut have = [false; 80];
            let mut next = Seq::ZERO;
            for (from, len) in pieces {
                have[from as usize..(from + len) as usize].fill(true);
                let (from, to) = (Seq::new(from), Seq::new(from + len));
                if next < to {
                    kept.insert(from.max(next), to);
                    next = kept.advance(next);
                }
                let expected = have.iter().take_while(|&&h| h).count();
                prop_assert_eq!(next.get() as usize, expected);
            }
        }
    }
}
