//! Acknowledgements and their times (RFC 9293 §3.8.6.3, RFC 5681 §4.2), and notifications of the application.

use aqmlab_tcp::{Event, Profile};

use super::script::*;

#[test]
fn every_second_segment_is_acknowledged_at_once() {
    let mut tcp = Conversation::client(profile());
    for k in [1, 3, 5] {
        tcp.gets(full(k)).sends([]).gets(full(k + 1)).sends([ack(after(k + 1))]);
    }
}

#[test]
fn a_single_segment_is_acknowledged_after_100_ms() {
    let mut tcp = Conversation::client(profile());
    tcp.gets(full(1)).sends([]).at(OPENED + 100).sends([ack(after(1))]);
    // The timer runs from the first segment that waits, each time.
    tcp.at(1000).gets(full(2)).at(1100).sends([ack(after(2))]).at(9000).sends([]);
}

#[test]
fn a_stack_that_acknowledges_every_segment_never_waits() {
    let mut tcp = Conversation::client(Profile { ack_every: 1, ..profile() });
    for k in 1..=3 {
        tcp.gets(full(k)).sends([ack(after(k))]);
    }
    tcp.at(9000).sends([]);
}

#[test]
fn the_delayed_ack_timer_runs_from_the_first_segment_held() {
    let mut tcp = Conversation::client(Profile { ack_every: 3, ..profile() });
    tcp.gets(full(1)).at(OPENED + 60).gets(full(2)).at(OPENED + 100).sends([ack(after(2))]);
}

#[test]
fn an_answer_carries_the_acknowledgement() {
    let mut tcp = Conversation::server(profile());
    tcp.gets(data(1, 300)).at(OPENED + 50).writes(500).sends([data(1, 500).acking(301)]);
    tcp.at(OPENED + 1000).sends([]);
}

#[test]
fn data_beyond_a_gap_are_acknowledged_at_once_each() {
    let mut tcp = Conversation::client(profile());
    tcp.gets(full(2)).sends([ack(1)]).gets(full(3)).sends([ack(1)]).gets(full(5)).sends([ack(1)]);
}

#[test]
fn data_that_fill_a_gap_are_acked_at_once_with_all_that_follows() {
    let mut tcp = Conversation::client(profile());
    tcp.gets(full(2)).sends([ack(1)]).gets(full(4)).sends([ack(1)]);
    tcp.gets(full(1)).sends([ack(after(2))]).gets(full(3)).sends([ack(after(4))]);
    // No gap is left: the next segment may wait again.
    tcp.gets(full(5)).sends([]).at(OPENED + 100).sends([ack(after(5))]);
}

#[test]
fn duplicate_data_are_acked_at_once_and_counted_once() {
    let mut tcp = Conversation::client(profile());
    tcp.gets(full(1)).gets(full(2)).sends([ack(after(2))]).gets(full(1)).sends([ack(after(2))]);
    // Half old, half new, as after a peer's repacketisation.
    tcp.gets(data(1501, 1000)).sends([ack(2501)]);
    assert_eq!(tcp.tcp.received().get(), 2501);
}

#[test]
fn the_application_is_notified_once_when_its_bytes_are_in_order() {
    let mut tcp = Conversation::client(profile());
    tcp.tcp.await_data(2500);
    tcp.gets(full(1)).tells([]).gets(full(3)).sends([ack(after(1))]).tells([]);
    tcp.gets(full(2)).sends([ack(after(3))]).tells([Event::Received]);
    tcp.gets(full(4)).gets(full(5)).sends([ack(after(5))]).tells([]);
}

#[test]
fn awaited_bytes_count_from_the_streams_first_byte() {
    let mut early = Conversation::connect(profile());
    early.tcp.await_data(300);
    early.sends([syn()]).gets(syn_ack()).sends([ack(1)]).tells([Event::Opened]);
    early.gets(data(1, 299)).tells([]).gets(data(300, 1)).sends([ack(301)]).tells([Event::Received]);
    let mut server = Conversation::server(profile());
    server.tcp.await_data(300);
    server.gets(data(1, 299)).tells([]).gets(data(300, 1)).sends([ack(301)]).tells([Event::Received]);
    // And the next request from there.
    server.tcp.await_data(300);
    server.gets(data(301, 300)).tells([Event::Received]);
}
