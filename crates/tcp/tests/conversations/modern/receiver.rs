//! A receiver's SACK reports (RFC 2018 §4, RFC 2883) and their times (RFC 5681 §4.2).

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
