//! Tail loss probes (RFC 8985 §7).

use super::*;

/// Open since [`OPENED`], with a round trip of 100 ms, and `count` segments in flight, nothing more to send.
fn tail(count: u32) -> Conversation {
    let mut tcp = client(Profile { rack: true, ..selective() });
    tcp.writes(1000 * count).sends((1..=count).map(full));
    tcp
}

#[test]
fn the_last_segment_is_sent_again_after_two_round_trips() {
    let mut tcp = tail(3);
    // Two round trips, and the two milliseconds that Linux adds.
    tcp.at(OPENED + 201).sends([]).at(OPENED + 202).sends([full(3)]);
    // The retransmission timer restarts with the probe.
    assert_eq!(tcp.tcp.retransmit_deadline().as_nanos(), 1_302_000_000);
    tcp.at(OPENED + 1201).sends([]).at(OPENED + 1202).sends([full(1)]);
}

#[test]
fn new_data_are_the_better_probe_whatever_the_window() {
    let mut tcp = ten_in_flight(Profile { rack: true, ..selective() });
    tcp.at(OPENED + 202).sends([full(11)]);
    assert_eq!(tcp.tcp.pipe(), 11_000);
    tcp.gets(ack(after(11))).sends((12..=22).map(full));
}

#[test]
fn a_lone_segments_probe_allows_for_the_delayed_ack() {
    let mut tcp = tail(1);
    tcp.at(OPENED + 399).sends([]).at(OPENED + 400).sends([full(1)]);
}

#[test]
fn the_probe_tells_of_a_lost_tail_and_recovery_begins() {
    let mut tcp = tail(5);
    tcp.at(OPENED + 100).gets(ack(after(1)));
    // Segments 2 to 5 are lost. Two round trips after the acknowledgement 5 is sent again, and when it has arrived the
    // others left more than a round trip before it.
    tcp.at(OPENED + 302).sends([full(5)]).at(OPENED + 402).gets(sack(ack(after(1)), [(5, 5)]));
    tcp.sends([full(2)]).gets(sack(ack(after(2)), [(5, 5)])).sends([full(3), full(4)]).gets(ack(after(5)));
    assert_eq!((tcp.tcp.recovery().fast_retransmits, tcp.tcp.recovery().timeouts), (1, 0));
    // What the probe found is answered by that recovery alone.
    let before = tcp.ssthresh();
    tcp.writes(1000).sends([full(6)]).gets(ack(after(6)));
    assert_eq!(tcp.ssthresh(), before);
}

#[test]
fn a_loss_repaired_by_the_probe_reduces_the_window() {
    // §7.4.2: without a reduction a path could lose the last segment of each flight for nothing.
    let mut tcp = tail(4);
    tcp.at(OPENED + 100).gets(ack(after(3))).at(OPENED + 500).sends([full(4)]);
    tcp.at(OPENED + 600).gets(ack(after(4)));
    let before = tcp.ssthresh();
    tcp.writes(1000).sends([full(5)]).at(OPENED + 700).gets(ack(after(5)));
    assert!(tcp.ssthresh() < before);
}

#[test]
fn a_probe_that_was_not_needed_reduces_nothing() {
    // The peer says that segment 4 came twice: at once, or with the acknowledgement of the next.
    for last in [4, 5] {
        let mut tcp = tail(4);
        tcp.at(OPENED + 100).gets(ack(after(3))).at(OPENED + 500).sends([full(4)]);
        let before = tcp.ssthresh();
        tcp.at(OPENED + 600).gets(ack(after(4))).writes(1000).sends([full(5)]);
        tcp.at(OPENED + 700).gets(sack(ack(after(last)), [(4, 4)])).gets(ack(after(5)));
        assert_eq!(tcp.ssthresh(), before);
    }
}

#[test]
fn no_second_probe_leaves_before_a_round_trip_is_measured() {
    let mut tcp = tail(2);
    tcp.at(OPENED + 202).sends([full(2)]);
    // Both copies arrive, which gives no round-trip time (Karn), and the probe is answered.
    tcp.at(OPENED + 210).gets(ack(after(2))).gets(sack(ack(after(2)), [(2, 2)]));
    tcp.writes(2000).sends([full(3), full(4)]).at(OPENED + 1209).sends([]).at(OPENED + 1210).sends([full(3)]);
    tcp.gets(ack(after(4)));
}
