//! The line of streams that have something to send: the most urgent first, and of those the one that has waited longest.
//!
//! It saves a look at every stream for each packet.

/// The place of a stream in the line: its urgency, the number of its turn, and its own number.
pub(super) type Rank = (u8, u64, u32);

/// Ranks in the opposite order, so that the first stream leaves and enters at the end of the list.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<Rank>);

impl Line {
    pub(super) fn enter(&mut self, rank: Rank) {
        let index = self.0.partition_point(|&other| other > rank);
        self.0.insert(index, rank);
    }

    pub(super) fn leave(&mut self, rank: Rank) {
        let index = self.0.partition_point(|&other| other > rank);
        debug_assert_eq!(self.0.get(index), Some(&rank), "it is in the line");
        self.0.remove(index);
    }

    /// The numbers of the streams, the first in line first.
    pub(super) fn streams(&self) -> impl Iterator<Item = u32> {
        self.0.iter().rev().map(|&(_, _, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The line is the sorted list of those that entered and did not leave.
        #[test]
        fn streams_stand_by_urgency_turn_and_number(
            ranks in prop::collection::btree_map((0u8..3, 0u64..3, 0u32..9), any::<bool>(), 0..20),
        ) {
            let mut line = Line::default();
            // Neither in their order nor against it.
            for &rank in ranks.keys().rev().step_by(2).chain(ranks.keys().rev().skip(1).step_by(2)) {
                line.enter(rank);
            }
            for (&rank, _) in ranks.iter().filter(|&(_, &leaves)| leaves) {
                line.leave(rank);
            }
            let stay = ranks.iter().filter(|&(_, &leaves)| !leaves);
            prop_assert!(line.streams().eq(stay.map(|(&(_, _, id), _)| id)));
        }
    }
}
