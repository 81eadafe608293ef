//! A receiver's SACK reports (RFC 2018 §4, RFC 2883) and their times (RFC 5681 §4.2).

use aqmlab_units::Duration;

use super::*;

#[test]
fn segments_beyond_a_gap_are_sacked_at_once_latest_range_first() {
    let mut tcp = client(selective());
    tcp.gets(full(1)).sends([ack(after(1))]);
    tcp.gets(full(3)).sends_with([sack(ack(after(1)), [(3, 3)])]);
    tcp.gets(full(5)).sends_with([sack(ack(after(1)), [(5, 5), (3, 3)])]);
    tcp.gets(full(6)).sends_with([sack(ack(after(1)), [(5, 6), (3, 3)])]);
    tcp.gets(full(4)).sends_with([sack(ack(after(1)), [(3, 6)])]);
    tcp.gets(full(2)).sends([ack(after(6))]);
}

#[test]
fn a_segment_that_comes_twice_is_reported_once() {
    let mut tcp = client(selective());
    tcp.gets(full(1)).sends([ack(after(1))]).gets(full(1)).sends_with([sack(ack(after(1)), [(1, 1)])]);
    tcp.gets(full(2)).sends([ack(after(2))]);
    tcp.gets(full(4)).sends_with([sack(ack(after(2)), [(4, 4)])]);
    tcp.gets(full(4)).sends_with([sack(ack(after(2)), [(4, 4), (4, 4)])]);
}

#[test]
fn an_early_or_duplicate_bare_fin_is_not_sacked() {
    let mut tcp = client(selective());
    tcp.gets(fin(after(2))).sends([ack(1)]).gets(full(1)).sends([ack(after(1))]);
    tcp.gets(fin(after(1))).sends([ack(after(1) + 1)]).gets(fin(after(1))).sends([ack(after(1) + 1)]);
}

#[test]
fn first_segments_get_quick_acks_and_later_ones_delayed_acks() {
    let mut tcp = client(Profile { quick_acks: 3, ack_every: 2, ..selective() });
    for k in 1..=3 {
        tcp.gets(full(k)).sends([ack(after(k))]);
    }
    tcp.gets(full(4)).sends([]).gets(full(5)).sends([ack(after(5))]);
}

/// A client of Linux with quick acknowledgements that has answered the first segment at once, and is interactive.
fn interactive(quick_acks: u8) -> Conversation {
    let delayed_ack = Duration::from_millis(40);
    let mut tcp = client(Profile { quick_acks, ack_every: 2, delayed_ack, ..selective() });
    tcp.gets(full(1))
        .sends([ack(after(1))])
        .writes(100)
        .sends([Segment { ack: Seq::new(after(1)), ..data(1, 100) }]);
    tcp.gets(full(2)).sends([]);
    tcp
}

#[test]
fn a_delayed_ack_that_comes_due_ends_interactive_mode() {
    let mut tcp = interactive(4);
    tcp.gets(full(3)).sends([own(after(3))]).gets(full(4)).sends([]);
    // `tcp_delack_timer_handler`: no answer has carried it. One quick acknowledgement of four is left.
    tcp.at(OPENED + 40).sends([own(after(4))]);
    tcp.gets(full(5)).sends([own(after(5))]).gets(full(6)).sends([]).gets(full(7)).sends([own(after(7))]);
}

#[test]
fn acknowledgements_of_interactive_mode_use_up_quick_ones() {
    let mut tcp = interactive(2);
    tcp.gets(full(3)).sends([own(after(3))]).gets(full(4)).sends([]).at(OPENED + 40).sends([own(after(4))]);
    tcp.gets(full(5)).sends([]).gets(full(6)).sends([own(after(6))]);
}

#[test]
fn data_that_come_twice_are_followed_by_quick_acks() {
    let mut tcp = interactive(3);
    tcp.gets(full(3)).sends([own(after(3))]);
    // `tcp_data_queue`: the sender has not got the acknowledgement.
    tcp.gets(full(3)).sends_with([sack(own(after(3)), [(3, 3)])]);
    tcp.gets(full(4)).sends([own(after(4))]).gets(full(5)).sends([own(after(5))]);
}

/// An acknowledgement after the client's 100 bytes.
fn own(of: u32) -> Segment {
    Segment { seq: Seq::new(101), ..ack(of) }
}

#[test]
fn data_beside_a_report_are_shorter_and_carry_it() {
    let mut tcp = client(selective());
    tcp.gets(full(2)).sends_with([sack(ack(1), [(2, 2)])]);
    tcp.writes(2000).sends_with([
        sack(data(1, 960), [(2, 2)]),
        sack(data(961, 960), [(2, 2)]),
        sack(data(1921, 80), [(2, 2)]),
    ]);
}
