//! Amount and times of sending: windows, Nagle, idle restart.

use aqmlab_tcp::Profile;

use super::script::*;

#[test]
fn slow_start_sends_two_segments_for_each_one_acknowledged() {
    let mut tcp = Conversation::client(profile());
    tcp.writes(50_000).sends([full(1)]);
    for k in 1..=8 {
        tcp.gets(ack(after(k))).sends([full(2 * k), full(2 * k + 1)]);
    }
    assert_eq!(tcp.cwnd(), 9_000);
}

#[test]
fn slow_start_grows_by_one_segment_an_ack_of_any_size() {
    // RFC 5681 §3.1 (2): by at most one segment for each acknowledgement.
    let mut tcp = Conversation::client(Profile { initial_window: 4, ..profile() });
    tcp.writes(50_000).sends((1..=4).map(full)).gets(ack(after(4))).sends((5..=9).map(full));
}

#[test]
fn congestion_avoidance_adds_one_segment_a_window_acknowledged() {
    let mut tcp = Conversation::client(wide());
    tcp.writes(500_000).sends((1..=10).map(full));
    // A timeout makes the threshold 5 segments: 1, 2, 3, 4, 5, 6 by slow start, then MSS * MSS / cwnd for each.
    tcp.at(OPENED + 1000).sends([full(1)]);
    let (mut next, mut windows) = (11, vec![]);
    for k in 10..20 {
        tcp.gets(ack(after(k)));
        let allowed = k + tcp.cwnd() / u32::from(MSS);
        tcp.sends((next..=allowed).map(full));
        next = allowed + 1;
        windows.push(tcp.cwnd());
    }
    assert_eq!(windows, [2000, 3000, 4000, 5000, 6000, 6166, 6328, 6486, 6640, 6790]);
}

#[test]
fn a_16384_byte_window_holds_11_full_segments_and_no_partial() {
    let mut tcp = Conversation::client(Profile { initial_window: 20, ..Profile::freebsd_4_5() });
    let nth = |k: u32| data(1 + k * 1460, 1460);
    tcp.writes(20 * 1460).sends((0..11).map(nth));
    // 324 bytes stay free in the window, and nothing is cut to fit them.
    tcp.gets(ack(1 + 1460)).sends([nth(11)]).gets(ack(1 + 3 * 1460)).sends([nth(12), nth(13)]);
}

#[test]
fn a_last_partial_segment_may_use_what_is_left_of_the_window() {
    let mut tcp = Conversation::client(Profile { initial_window: 20, ..Profile::freebsd_4_5() });
    tcp.writes(11 * 1460 + 324).sends((0..11).map(|k| data(1 + k * 1460, 1460)).chain([data(16_061, 324)]));
    let mut tcp = Conversation::client(Profile { initial_window: 20, ..Profile::freebsd_4_5() });
    tcp.writes(11 * 1460 + 325).sends((0..11).map(|k| data(1 + k * 1460, 1460)));
}

#[test]
fn what_waits_for_the_window_leaves_in_full_segments() {
    let mut tcp = Conversation::client(profile());
    tcp.writes(1000).sends([full(1)]);
    for _ in 0..20 {
        tcp.writes(100).sends([]);
    }
    tcp.gets(ack(after(1))).sends([full(2), full(3)]);
}

#[test]
fn nagle_holds_a_partial_segment_back_until_all_is_acknowledged() {
    let mut tcp = Conversation::client(Profile { nagle: true, ..wide() });
    tcp.writes(300).sends([data(1, 300)]).writes(300).sends([]).writes(300).sends([]);
    tcp.gets(ack(301)).sends([data(301, 600)]);
    // A full segment goes, its remainder waits.
    tcp.writes(1200)
        .sends([data(901, 1000)])
        .gets(ack(901))
        .sends([])
        .gets(ack(1901))
        .sends([data(1901, 200)]);
}

#[test]
fn without_nagle_each_write_leaves_at_once() {
    let mut tcp = Conversation::client(wide());
    tcp.writes(300).sends([data(1, 300)]).writes(300).sends([data(301, 300)]);
}

#[test]
fn closing_releases_what_nagle_holds() {
    let mut tcp = Conversation::client(Profile { nagle: true, ..wide() });
    tcp.writes(300).sends([data(1, 300)]).writes(300).sends([]);
    tcp.closes().sends([data(301, 300).and(aqmlab_tcp::Flags::FIN)]);
}

#[test]
fn an_idle_rto_resets_the_window_to_the_initial_one() {
    // RFC 5681 §4.1.
    let grown = |profile: Profile| {
        let mut tcp = Conversation::client(profile);
        tcp.writes(1000).sends([full(1)]).at(200).gets(ack(after(1)));
        tcp.writes(2000).sends([full(2), full(3)]).at(300).gets(ack(after(2))).gets(ack(after(3)));
        assert_eq!(tcp.cwnd(), 4000);
        tcp
    };
    let keeps = Profile { restart_after_idle: false, ..profile() };
    grown(profile()).at(1299).writes(9000).sends((4..=7).map(full));
    grown(profile()).at(1300).writes(9000).sends([full(4)]);
    grown(keeps).at(1300).writes(9000).sends((4..=7).map(full));
}

#[test]
fn acknowledgements_that_arrive_late_or_twice_change_nothing() {
    let mut tcp = Conversation::client(wide());
    tcp.writes(3000).sends((1..=3).map(full)).gets(ack(after(3)));
    let before = tcp.cwnd();
    tcp.gets(ack(after(1))).gets(ack(after(3))).gets_times(5, ack(after(3))).sends([]);
    assert_eq!((tcp.cwnd(), tcp.tcp.in_flight()), (before, 0));
}
