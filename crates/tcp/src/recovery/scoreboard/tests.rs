use proptest::prelude::*;

use super::*;

const MSS: u32 = 1000;

/// Return a board of `count` segments of [`MSS`] bytes from number 0, sent a millisecond after each other.
fn sent(count: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for k in 0..count {
        board.push(at(k), at(k + 1), Time::from_nanos(k * 1_000_000), 0);
    }
    board
}

/// The start of segment `k`.
fn at(k: u64) -> Seq {
    Seq::new(u32::try_from(k).expect("few segments") * MSS)
}

/// The segments that are presumed lost.
fn lost(board: &Scoreboard) -> Vec<u32> {
    board.records.iter().filter(|record| record.lost).map(|record| record.seq.get() / MSS).collect()
}

fn ignore(_: &Record) {}

#[test]
fn three_segments_above_a_hole_mean_that_it_is_lost() {
    let mut board = sent(10);
    board.take_sack_block(at(2), at(4), ignore);
    assert!(!board.lose_by_threshold());
    board.take_sack_block(at(6), at(7), ignore);
    assert!(board.lose_by_threshold());
    assert_eq!(lost(&board), [0, 1]);
    // Of ten segments three have arrived and two are lost.
    assert_eq!(board.pipe(), 5 * MSS);
    // A fourth above changes nothing for those, and 4 and 5 have one above each.
    board.take_sack_block(at(1), at(2), ignore);
    assert!(!board.lose_by_threshold());
}

#[test]
fn a_retransmission_is_in_flight_until_it_arrives() {
    let mut board = sent(5);
    board.take_sack_block(at(1), at(5), ignore);
    board.lose_by_threshold();
    assert_eq!((board.pipe(), board.next_lost()), (0, Some(0)));
    board.resend(0, Time::ZERO, 0);
    assert_eq!((board.pipe(), board.next_lost()), (MSS, None));
    assert_eq!(board.acknowledge(at(5), ignore), MSS, "the others were counted when they were SACKed");
    assert_eq!((board.pipe(), board.len(), board.sacked_bytes()), (0, 0, 0));
}

#[test]
fn presumed_segments_leave_the_pipe_and_are_not_counted_twice() {
    let mut board = sent(10);
    assert_eq!((board.presume(), board.presume(), board.presume()), (MSS, MSS, MSS));
    assert_eq!(board.pipe(), 7 * MSS);
    // Segments 0 to 5: the first was missing and three of the others are known.
    assert_eq!(board.acknowledge(at(6), ignore), 3 * MSS);
    assert_eq!(board.pipe(), 4 * MSS);
    // Only segments behind the first can have arrived.
    assert_eq!((0..9).map(|_| board.presume()).sum::<u32>(), 3 * MSS);
}

#[test]
fn only_segments_behind_the_first_are_presumed_delivered() {
    let mut board = sent(10);
    for _ in 0..12 {
        board.presume();
    }
    assert_eq!(board.pipe(), MSS);
    // The next is missing too: one of the duplicates did not report a segment.
    board.acknowledge(at(1), ignore);
    assert_eq!(board.pipe(), MSS);
}

#[test]
fn a_duplicate_takes_out_as_much_as_a_segment_holds() {
    let mut board = Scoreboard::default();
    for (from, to) in [(0, 100), (100, 400), (400, 1000)] {
        board.push(Seq::new(from), Seq::new(to), Time::ZERO, 0);
    }
    assert_eq!((board.presume(), board.pipe()), (300, 700));
    assert_eq!((board.presume(), board.pipe()), (600, 100));
    assert_eq!(board.acknowledge(Seq::new(400), ignore), 100);
    assert_eq!(board.pipe(), 600);
}

#[test]
fn holes_are_repaired_before_those_not_known_to_be_lost() {
    // RFC 6675 §4, NextSeg: (1) is 0 and 1; (3) is 4, below the highest that arrived; (4) is 9.
    let mut board = sent(10);
    for k in [2, 3, 5, 6] {
        board.take_sack_block(at(k), at(k + 1), ignore);
    }
    board.lose_by_threshold();
    assert_eq!((lost(&board), board.next_hole()), (vec![0, 1], Some(4)));
    for expected in [0, 1] {
        assert_eq!(board.next_lost(), Some(expected));
        board.resend(expected, Time::ZERO, 0);
    }
    assert_eq!(board.next_lost(), None);
    board.resend(4, Time::ZERO, 0);
    assert_eq!((board.next_hole(), board.last_outstanding()), (None, Some(9)));
    // Segment 4 counts twice: its original is not known to be lost.
    assert_eq!(board.pipe(), (10 - 4 - 2 + 3) * MSS);
}

#[test]
fn segments_of_a_spurious_loss_are_in_flight_again() {
    let mut board = sent(5);
    board.lose_where(5, |_| true);
    board.resend(0, Time::ZERO, 0);
    board.restore_all();
    assert_eq!((board.pipe(), board.next_lost()), (5 * MSS, None));
}

/// Input from the peer, a timer or the sender.
#[derive(Clone, Debug)]
enum Step {
    Send,
    Acknowledge(u64),
    Sack(u64, u64),
    Threshold,
    LoseFirst,
    LoseAll,
    Resend,
    RestoreAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Send),
        2 => (0u64..40).prop_map(Step::Acknowledge),
        4 => (0u64..60, 1u64..5).prop_map(|(from, len)| Step::Sack(from, from + len)),
        2 => Just(Step::Threshold),
        1 => Just(Step::LoseFirst),
        1 => Just(Step::LoseAll),
        3 => Just(Step::Resend),
        1 => Just(Step::RestoreAll),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    /// The totals equal sums over the records, and no byte is delivered twice.
    #[test]
    fn totals_equal_the_sums_over_the_records(steps in steps()) {
        let mut board = Scoreboard::default();
        let (mut next, mut una, mut delivered) = (0, 0, 0);
        for step in steps {
            match step {
                Step::Send => {
                    board.push(at(next), at(next + 1), Time::ZERO, 0);
                    next += 1;
                }
                Step::Acknowledge(more) => {
                    una = (una + more).min(next);
                    delivered += board.acknowledge(at(una), ignore);
                }
                Step::Sack(from, to) => {
                    delivered += board.take_sack_block(at(una + from), at((una + to).min(next.max(una + from))), ignore);
                }
                Step::Threshold => drop(board.lose_by_threshold()),
                Step::LoseFirst => drop(board.lose_first()),
                Step::LoseAll => drop(board.lose_where(usize::MAX, |_| true)),
                Step::Resend => {
                    if let Some(index) = board.next_lost() {
                        board.resend(index, Time::ZERO, 0);
                    }
                }
                Step::RestoreAll => board.restore_all(),
            }
            let records = &board.records;
            let count = |wanted: fn(&Record) -> bool| {
                records.iter().filter(|record| wanted(record)).map(Record::span).sum::<u32>()
            };
            let originals = count(|record| !record.is_sacked() && !record.lost);
            let retransmissions = count(|record| !record.is_sacked() && record.repair_in_flight);
            prop_assert_eq!(board.pipe(), originals + retransmissions);
            prop_assert_eq!(board.sacked_bytes(), count(Record::is_sacked));
            prop_assert_eq!(board.sacked_segments(), records.iter().filter(|record| record.is_sacked()).count());
            prop_assert_eq!(board.has_lost(), board.next_lost().is_some() || records.iter().any(Record::is_lost_unrepaired));
            let one_by_one = |from: usize| records.range(from..).position(|record| !record.is_sacked()).map(|n| from + n);
            let missing: Vec<_> = (0..records.len()).map(one_by_one).collect();
            prop_assert_eq!(u64::from(delivered) + u64::from(count(|record| !record.is_sacked())), next * u64::from(MSS));
            for (from, missing) in missing.into_iter().enumerate() {
                prop_assert_eq!(board.next_missing(from).map(|(index, _)| index), missing);
            }
        }
    }

    /// A segment is known to have arrived if and only if a SACK block covered it.
    #[test]
    fn exactly_the_sacked_segments_are_known(blocks in prop::collection::vec((0u64..60, 1u64..20), 0..40)) {
        let mut board = sent(60);
        let mut known = std::collections::BTreeSet::new();
        for (from, len) in blocks {
            let to = (from + len).min(60);
            let expected: Vec<u64> = (from..to).filter(|segment| known.insert(*segment)).collect();
            let mut delivered = Vec::new();
            board.take_sack_block(at(from), at(to), |record| delivered.push(u64::from(record.seq.get() / MSS)));
            prop_assert_eq!(delivered, expected);
        }
    }
}
