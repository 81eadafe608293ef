//! Losses: RFC 5681 §3.2, RFC 6582 (`NewReno`), RFC 6298 and Karn's rules.

use aqmlab_tcp::{Event, Flags, State};

use super::script::*;

/// A client with the segments 1 to 10 in flight and forty more to send.
fn ten_in_flight() -> Conversation {
    let mut tcp = Conversation::client(wide());
    tcp.writes(50_000).sends((1..=10).map(full));
    tcp
}

#[test]
fn the_third_duplicate_starts_fast_retransmit() {
    let mut tcp = ten_in_flight();
    tcp.gets(ack(1)).sends([]).gets(ack(1)).sends([]).gets(ack(1)).sends([full(1)]);
    assert_eq!(tcp.tcp.recovery().fast_retransmits, 1);
    assert_eq!(tcp.ssthresh(), 5000);
}

#[test]
fn duplicates_count_only_in_a_row_and_without_data() {
    let mut tcp = ten_in_flight();
    // The peer's data carry the same acknowledgement for a reason of their own.
    tcp.gets_times(2, ack(1)).gets(data(1, 10)).gets_times(2, ack(1).numbered(11)).sends([]);
    let mut tcp = ten_in_flight();
    tcp.gets_times(2, ack(1)).gets(ack(after(1))).sends([full(11), full(12)]);
    tcp.gets_times(2, ack(after(1))).sends([]);
}

#[test]
fn further_duplicates_let_new_segments_out() {
    let mut tcp = ten_in_flight();
    // After the third the window is 5 + 3 segments; from the sixth on each lets one more than ten out.
    tcp.gets_times(3, ack(1)).sends([full(1)]).gets_times(2, ack(1)).sends([]);
    for k in 11..=14 {
        tcp.gets(ack(1)).sends([full(k)]);
    }
    // The full acknowledgement ends recovery at half the window, of which four segments are in flight.
    tcp.gets(ack(after(10))).sends([full(15)]);
    assert_eq!(tcp.cwnd(), 5000);
}

#[test]
fn recovery_ends_without_a_burst() {
    // RFC 6582 §3.2 (3): cwnd = min(ssthresh, flight + MSS). Nothing is in flight here but what recovery sends.
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]).gets(ack(after(10))).sends([full(11), full(12)]);
}

#[test]
fn a_partial_acknowledgement_names_the_next_loss() {
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]);
    // Segments 4 and 8 are missing too: one a round trip, no further duplicates needed, no further halving.
    tcp.at(200).gets(ack(after(3))).sends([full(4)]).at(300).gets(ack(after(7))).sends([full(8)]);
    tcp.at(400).gets(ack(after(10))).sends([full(11), full(12)]);
    let recovery = tcp.tcp.recovery();
    assert_eq!((recovery.fast_retransmits, recovery.timeouts), (1, 0));
    assert_eq!(tcp.ssthresh(), 5000);
}

#[test]
fn a_partial_ack_deflates_cwnd_by_its_coverage_less_one_segment() {
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]);
    assert_eq!(tcp.cwnd(), 8000);
    tcp.gets(ack(after(3))).sends([full(4)]);
    assert_eq!(tcp.cwnd(), 8000 - 3000 + 1000);
}

#[test]
fn no_second_fast_retransmit_comes_from_the_same_window() {
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]).gets_times(2, ack(1));
    for k in 11..=14 {
        tcp.gets(ack(1)).sends([full(k)]);
    }
    assert_eq!(tcp.tcp.recovery().fast_retransmits, 1);
    // Nor after a timeout, while duplicates may stem from what was sent before it.
    let mut tcp = ten_in_flight();
    tcp.at(OPENED + 1000).sends([full(1)]).gets(ack(after(2))).sends([full(3), full(4)]);
    tcp.gets_times(5, ack(after(2))).sends([]);
    assert_eq!(tcp.tcp.recovery().fast_retransmits, 0);
}

#[test]
fn a_loss_right_after_recovery_starts_the_next_fast_retransmit() {
    // FreeBSD 4: an acknowledgement of exactly the window recovered may be a duplicate that counts.
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]).gets_times(2, ack(1));
    for k in 11..=14 {
        tcp.gets(ack(1)).sends([full(k)]);
    }
    tcp.gets(ack(after(10))).sends([full(15)]).gets_times(3, ack(after(10))).sends([full(11)]);
    assert_eq!(tcp.tcp.recovery().fast_retransmits, 2);
}

#[test]
fn each_partial_acknowledgement_restarts_the_timer() {
    let mut tcp = ten_in_flight();
    tcp.at(900).gets_times(3, ack(1)).sends([full(1)]).at(1800).gets(ack(after(3))).sends([full(4)]);
    tcp.at(2800).sends([full(4)]);
    assert_eq!(tcp.tcp.recovery().timeouts, 1);
}

#[test]
fn timeouts_back_off_1_2_4_up_to_64_s_and_the_13th_gives_up() {
    let mut tcp = Conversation::client(profile());
    tcp.writes(300).sends([data(1, 300)]);
    let mut ms = OPENED;
    for wait in [1, 2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64] {
        ms += wait * 1000;
        tcp.at(ms).sends([data(1, 300)]).tells([]);
    }
    tcp.at(ms + 64_000).sends([ack(1).numbered(301).and(Flags::RST)]);
    tcp.is(State::Closed).tells([Event::Aborted]);
    assert_eq!(tcp.tcp.recovery().timeouts, 12);
}

#[test]
fn no_wait_exceeds_64_s() {
    // A server has no sample before its first data: 3 s, which the back-off would carry to 96 s.
    let mut tcp = Conversation::server(profile());
    tcp.writes(300).sends([data(1, 300)]);
    let mut ms = OPENED;
    for wait in [3, 6, 12, 24, 48, 64, 64] {
        ms += wait * 1000;
        tcp.at(ms).sends([data(1, 300)]);
    }
}

#[test]
fn a_timeout_goes_back_to_one_segment_and_to_the_oldest_byte() {
    let mut tcp = ten_in_flight();
    tcp.at(OPENED + 1000).sends([full(1)]);
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (1000, 5000));
    // Slow start again, over what was sent before.
    tcp.gets(ack(after(1))).sends([full(2), full(3)]);
}

#[test]
fn what_the_peer_has_kept_is_not_sent_again_after_a_timeout() {
    let mut tcp = ten_in_flight();
    tcp.at(OPENED + 1000).sends([full(1)]).gets(ack(after(10))).sends([full(11), full(12)]);
}

#[test]
fn a_timeout_ends_fast_recovery() {
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]).at(OPENED + 1000).sends([full(1)]);
    // Slow start from here: a segment more for each acknowledgement, none deflates the window.
    tcp.gets(ack(after(3))).sends([full(4), full(5)]).gets(ack(after(4))).sends([full(6), full(7)]);
}

#[test]
fn the_back_off_lasts_until_a_segment_sent_once_is_acknowledged() {
    // Karn's rules, RFC 6298 §5: an acknowledgement of what was sent twice says nothing about the round trip.
    let mut tcp = Conversation::client(profile());
    tcp.writes(100).sends([data(1, 100)]).at(1100).sends([data(1, 100)]).at(1200).gets(ack(101));
    tcp.at(1300).writes(100).sends([data(101, 100)]).at(3300).sends([data(101, 100)]).at(3400).gets(ack(201));
    // Two timeouts without a sample: 4 s. Then the sample that ends it.
    tcp.at(3500).writes(100).sends([data(201, 100)]);
    assert_eq!(tcp.tcp.retransmit_deadline().as_nanos(), 7_500_000_000);
    tcp.at(3600).gets(ack(301)).writes(100).sends([data(301, 100)]).at(4600).sends([data(301, 100)]);
}

#[test]
fn the_rto_restarts_on_new_acks_and_stops_with_the_last() {
    // RFC 6298 §5.2-5.3.
    let mut tcp = Conversation::client(wide());
    tcp.writes(3000).sends((1..=3).map(full)).at(300).gets(ack(after(1))).at(1200).gets(ack(after(2)));
    tcp.at(2200).sends([full(3)]).gets(ack(after(3))).at(100_000).sends([]);
}

#[test]
fn a_retransmission_may_reach_into_data_never_sent() {
    let mut tcp = Conversation::client(profile());
    for k in 0..4 {
        tcp.writes(100).sends([data(1 + 100 * k, 100)]);
    }
    // A full segment does not fit beside 400 bytes in flight, but follows the lost 100 in the retransmission.
    tcp.writes(2000).sends([]).gets_times(3, ack(1)).sends([full(1), full(2), data(2001, 400)]);
    tcp.gets(ack(after(1))).gets(ack(2401)).at(100_000).sends([]);
}

#[test]
fn a_fin_sent_again_joins_the_data_before_it() {
    let mut tcp = Conversation::client(wide());
    tcp.writes(1500).sends([full(1), data(1001, 500)]).closes().sends([fin(1501)]);
    tcp.gets(ack(after(1))).at(OPENED + 1000).sends([data(1001, 500).and(Flags::FIN)]).is(State::FinWait1);
}

#[test]
fn a_servers_unsampled_first_flight_is_resent_after_3_and_6_s() {
    let mut tcp = Conversation::server(profile());
    tcp.writes(300).sends([data(1, 300)]);
    tcp.at(OPENED + 3000).sends([data(1, 300)]).at(OPENED + 9000).sends([data(1, 300)]);
}
