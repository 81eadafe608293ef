//! Losses by three segments above a hole (RFC 6675), and how much leaves meanwhile (RFC 9937).

use super::*;
use crate::recorder::Recorder;

fn recovery_of(tcp: &Conversation) -> (u16, u16) {
    (tcp.tcp.recovery().fast_retransmits, tcp.tcp.recovery().timeouts)
}

#[test]
fn the_third_sack_above_a_hole_repairs_it_and_two_send_new_data() {
    // RFC 3042 and RFC 6675 §5: what has arrived is in flight no more.
    let mut tcp = ten_in_flight(selective());
    tcp.gets(sack(ack(1), [(2, 2)])).sends([full(11)]).gets(sack(ack(1), [(2, 3)])).sends([full(12)]);
    tcp.gets(sack(ack(1), [(2, 4)])).sends([full(1)]);
    assert_eq!((recovery_of(&tcp), tcp.ssthresh()), ((1, 0), 5000));
}

#[test]
fn the_window_shrinks_in_proportion_and_ends_at_the_threshold() {
    let mut tcp = ten_in_flight(selective());
    tcp.gets(sack(ack(1), [(2, 2)])).sends([full(11)]).gets(sack(ack(1), [(2, 3)])).sends([full(12)]);
    // RecoverFS: ten are undelivered before this acknowledgement; five are to be in flight at the end, so one leaves
    // for two delivered, rounded up. Since segment 1 is lost that is reached after the ninth.
    tcp.gets(sack(ack(1), [(2, 4)])).sends([full(1)]);
    let mut next = 13;
    for (last, leaves) in [(5, false), (6, true), (7, false), (8, true), (9, false), (10, false), (11, true)]
    {
        tcp.gets(sack(ack(1), [(2, last)]));
        if leaves {
            tcp.sends([full(next)]);
            next += 1;
        } else {
            tcp.sends([]);
        }
    }
    tcp.gets(sack(ack(1), [(2, 12)])).sends([full(16)]);
    assert_eq!(tcp.tcp.pipe(), 5000, "the threshold");
    tcp.gets(ack(after(12))).sends([full(17)]);
    assert_eq!((tcp.cwnd(), tcp.tcp.pipe()), (5000, 5000));
}

#[test]
fn holes_precede_new_data_then_possible_losses_once_the_last() {
    // RFC 6675 §4, NextSeg: no data are left, so that (3) and (4) have their turn. The threshold of ten segments lets one
    // out for each delivered and, after a safe acknowledgement, one more.
    let mut tcp = client(Profile { initial_window: 20, ..selective() });
    tcp.writes(10_000).sends((1..=10).map(full));
    tcp.gets(sack(ack(1), [(3, 3)])).gets(sack(ack(1), [(5, 5), (3, 3)])).sends([]);
    // Segments 1 and 2 have three above them; 4 and 6 do not.
    tcp.gets(sack(ack(1), [(7, 7), (5, 5), (3, 3)])).sends([full(1)]);
    tcp.gets(sack(ack(after(1)), [(7, 7), (5, 5), (3, 3)])).sends([full(2), full(4)]);
    tcp.gets(sack(ack(after(3)), [(7, 7), (5, 5)])).sends([full(6), full(10)]);
    // New data come before another rescue, which there is none of.
    tcp.writes(1000).sends([]).gets(sack(ack(after(5)), [(7, 7)])).sends([full(11)]).gets(ack(after(11)));
    assert_eq!(recovery_of(&tcp), (1, 0));
}

#[test]
fn many_holes_are_repaired_in_a_few_round_trips_without_an_rto() {
    let mut tcp = ten_in_flight(selective());
    // Segments 1, 3, 5 and 7 are lost. NewReno would need a round trip for each.
    tcp.gets(sack(ack(1), [(2, 2)])).sends([full(11)]);
    tcp.gets(sack(ack(1), [(4, 4), (2, 2)])).sends([full(12)]);
    tcp.gets(sack(ack(1), [(6, 6), (4, 4), (2, 2)])).sends([full(1)]);
    // Each acknowledgement shows one more to be lost; until five are in flight one in two would leave.
    tcp.gets(sack(ack(1), [(8, 8), (6, 6), (4, 4), (2, 2)])).sends([]);
    tcp.gets(sack(ack(1), [(8, 9), (6, 6), (4, 4), (2, 2)])).sends([]);
    // Three are: what was delivered and not used brings them back to five.
    tcp.gets(sack(ack(1), [(8, 10), (6, 6), (4, 4), (2, 2)])).sends([full(3), full(5)]);
    tcp.gets(sack(ack(1), [(8, 11), (6, 6), (4, 4), (2, 2)])).sends([full(7)]);
    tcp.gets(sack(ack(1), [(8, 12), (6, 6), (4, 4), (2, 2)])).sends([full(13)]);
    assert_eq!((recovery_of(&tcp), tcp.tcp.pipe()), ((1, 0), 5000));
}

#[test]
fn without_sack_duplicates_count_as_segments_delivered() {
    let mut tcp = Conversation::<ClassicReno>::client(without_sack());
    tcp.writes(50_000).sends((1..=10).map(full));
    tcp.gets(ack(1)).sends([full(11)]).gets(ack(1)).sends([full(12)]).gets(ack(1)).sends([full(1)]);
    tcp.gets(ack(1)).sends([]).gets(ack(1)).sends([full(13)]).gets(ack(1)).sends([]);
    // A partial acknowledgement names the next loss, segment 7; five are in flight, so it waits for one delivered.
    tcp.gets(ack(after(6))).sends([]).gets(ack(after(6))).sends([full(7)]);
    assert_eq!((recovery_of(&tcp), tcp.ssthresh()), ((1, 0), 5000));
    tcp.gets(ack(after(12))).sends([full(14)]);
}

#[test]
fn without_sack_the_next_ack_clears_a_stray_duplicate() {
    // A window of ten segments for ever.
    let mut tcp = Conversation::<Recorder<false>>::client(without_sack());
    tcp.writes(250_000).sends((1..=10).map(full)).gets(ack(1)).sends([full(11)]);
    for k in 1..200 {
        tcp.gets(ack(after(k))).takes_sent();
    }
    assert_eq!((tcp.tcp.pipe(), tcp.tcp.in_flight()), (10_000, 10_000));
}

#[test]
fn without_sack_the_end_of_recovery_makes_duplicates_void() {
    let mut tcp = Conversation::<ClassicReno>::client(without_sack());
    tcp.writes(50_000).sends((1..=10).map(full));
    // More than there are segments: some were copied on their way.
    for _ in 0..25 {
        tcp.gets(ack(1)).takes_sent();
    }
    tcp.gets(ack(after(12))).takes_sent();
    assert!(!tcp.tcp.in_recovery());
    assert_eq!(tcp.tcp.pipe(), tcp.tcp.in_flight());
}

#[test]
fn in_reno_without_sack_the_first_new_ack_ends_recovery() {
    let mut tcp = Conversation::<ClassicReno>::client(Profile { newreno: false, ..without_sack() });
    tcp.writes(10_000).sends((1..=10).map(full)).gets_times(3, ack(1)).sends([full(1)]);
    // Only the timer reveals the next loss.
    tcp.gets(ack(after(3))).sends([]).at(OPENED + 1000).sends([full(4)]);
    tcp.gets(ack(after(10)));
    assert_eq!(recovery_of(&tcp), (1, 1));
}

#[test]
fn a_timeout_repeats_all_that_is_not_reported_in_slow_start() {
    let mut tcp = ten_in_flight(selective());
    tcp.gets(sack(ack(1), [(3, 3)])).sends([full(11)]);
    tcp.at(OPENED + 1000).sends([full(1)]);
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (1000, 5000));
    tcp.gets(sack(ack(after(1)), [(3, 3)])).sends([full(2), full(4)]);
    tcp.gets(ack(after(3))).sends([full(5), full(6)]);
    assert_eq!(recovery_of(&tcp), (0, 1));
}

#[test]
fn ssthresh_stays_when_the_rto_expires_again_for_the_same_data() {
    // RFC 5681 §3.1: held constant; the classic endpoint halves once more.
    let mut tcp = ten_in_flight(selective());
    tcp.at(OPENED + 1000).sends([full(1)]).at(OPENED + 3000).sends([full(1)]);
    assert_eq!(tcp.ssthresh(), 5000);
    tcp.gets(ack(after(1))).sends([full(2), full(3)]).at(OPENED + 3000 + 4000).sends([full(2)]);
    assert_eq!(tcp.ssthresh(), 2000, "new data had been acknowledged");
}

#[test]
fn a_retransmission_is_in_flight_and_the_peers_window_is_kept() {
    let window = 12_000;
    let mut tcp = ten_in_flight(Profile { receive_window: window, ..selective() });
    // Twelve segments fit into the peer's window from the first that is missing, independent of arrivals beyond.
    tcp.gets(sack(ack(1), [(2, 2)])).sends([full(11)]).gets(sack(ack(1), [(2, 3)])).sends([full(12)]);
    tcp.gets(sack(ack(1), [(2, 12)])).sends([full(1)]);
    tcp.gets(ack(after(12))).sends((13..=14).map(full));
}

#[test]
fn rfc_5681_3_1_slow_start_lasts_while_only_repairs_need_window() {
    let mut tcp = Conversation::<aqmlab_tcp::congestion::Reno>::client(without_sack());
    tcp.writes(50_000).sends((1..=10).map(full)).at(OPENED + 1000).sends([full(1)]);
    for k in 1..=4 {
        tcp.gets(ack(after(k))).sends([full(2 * k), full(2 * k + 1)]);
        assert_eq!(tcp.cwnd(), 1000 * (1 + k));
    }
}

#[test]
fn after_a_timeout_duplicates_without_sack_let_nothing_out() {
    let mut tcp = Conversation::<ClassicReno>::client(without_sack());
    tcp.writes(50_000).sends((1..=10).map(full)).at(OPENED + 1000).sends([full(1)]);
    tcp.gets_times(5, ack(1)).sends([]).gets(ack(after(1))).sends([full(2), full(3)]);
}
