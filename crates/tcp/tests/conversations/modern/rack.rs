//! Losses by time (RFC 8985 §6).

use super::*;

/// RACK with a round trip of 100 ms measured: the reordering window is 25 ms.
fn in_flight() -> Conversation {
    let mut tcp = client(Profile { rack: true, ..selective() });
    tcp.writes(50_000).sends((1..=10).map(full));
    tcp.at(OPENED + 100);
    tcp
}

fn fast_retransmits(tcp: &Conversation) -> u16 {
    tcp.tcp.recovery().fast_retransmits
}

#[test]
fn reordering_below_a_quarter_round_trip_is_no_loss() {
    let mut tcp = in_flight();
    // 1 and 2 change places: 2 first.
    tcp.gets(sack(ack(1), [(2, 2)])).sends([full(11)]);
    tcp.at(OPENED + 124).gets(ack(after(2))).sends([full(12), full(13)]);
    tcp.at(OPENED + 128).sends([]);
    assert_eq!(fast_retransmits(&tcp), 0);
    // Having seen reordering, it bears three segments above the hole as well.
    tcp.gets(sack(ack(after(2)), [(4, 6)])).sends((14..=16).map(full)).gets(ack(after(6)));
    tcp.sends([full(17), full(18)]);
    assert_eq!(fast_retransmits(&tcp), 0);
}

#[test]
fn a_hole_older_than_the_window_is_lost_when_the_timer_says_so() {
    let mut tcp = in_flight();
    tcp.gets(sack(ack(1), [(2, 2)])).sends([full(11)]);
    // Two milliseconds later than the RFC's window, as in Linux.
    tcp.at(OPENED + 126).sends([]).at(OPENED + 127).sends([full(1)]);
    assert_eq!((fast_retransmits(&tcp), tcp.ssthresh()), (1, 5000));
}

#[test]
fn without_reordering_three_segments_above_need_no_time() {
    let mut tcp = in_flight();
    // Two leave for three delivered: a half, rounded up.
    tcp.gets(sack(ack(1), [(2, 4)])).sends([full(1), full(11)]);
    assert_eq!(fast_retransmits(&tcp), 1);
}

#[test]
fn a_lost_retransmission_is_found_too() {
    let mut tcp = in_flight();
    tcp.gets(sack(ack(1), [(2, 4)])).sends([full(1), full(11)]);
    tcp.at(OPENED + 150).gets(sack(ack(1), [(2, 10)])).sends((12..=14).map(full));
    // Segment 12 left 50 ms after the repetition of 1, and has arrived.
    tcp.at(OPENED + 250).gets(sack(ack(1), [(2, 12)])).sends([full(1), full(15), full(16)]);
    assert_eq!((fast_retransmits(&tcp), tcp.tcp.recovery().timeouts), (1, 0));
    tcp.gets(ack(after(16))).sends([full(17), full(18)]);
}

/// The time from the detection of a hole to its loss, when a late segment has been retransmitted before and the
/// peer has `reported` that it got it twice.
fn patience(reported: bool) -> u64 {
    let mut tcp = in_flight();
    tcp.gets(sack(ack(1), [(2, 2)])).sends([full(11)]).at(OPENED + 127).sends([full(1)]);
    tcp.at(OPENED + 130).gets(ack(after(2)));
    let last = ack(after(10));
    tcp.at(OPENED + 140).gets(if reported { sack(last, [(1, 1)]) } else { sack(last, []) });
    tcp.takes_sent();
    tcp.at(OPENED + 200).gets(ack(after(11)));
    tcp.takes_sent();
    tcp.at(OPENED + 240).gets(sack(ack(after(11)), [(13, 13)]));
    tcp.takes_sent();
    let before = fast_retransmits(&tcp);
    let waited = (0..100).find(|waited| {
        tcp.at(OPENED + 240 + waited);
        tcp.takes_sent();
        fast_retransmits(&tcp) > before
    });
    waited.expect("the hole is found to be lost in the end")
}

#[test]
fn a_dsack_widens_the_window_by_a_quarter_of_min_rtt() {
    assert_eq!(patience(true), patience(false) + 25);
}
