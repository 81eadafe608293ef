//! Opening a connection: RFC 9293 §3.5 and the timers of FreeBSD 4.5.

use aqmlab_tcp::{Event, Flags, Profile, Segment, Seq, State};

use super::script::*;

fn reset(seq: u32, ack: u32) -> Segment {
    Segment { seq: Seq::new(seq), ack: Seq::new(ack), flags: Flags::RST | Flags::ACK, ..Segment::default() }
}

#[test]
fn a_client_is_open_when_its_syn_is_answered() {
    let mut tcp = Conversation::connect(profile());
    tcp.sends([syn()]).is(State::SynSent).tells([]);
    tcp.at(80).gets(syn_ack()).sends([ack(1)]).is(State::Established).tells([Event::Opened]);
    assert_eq!(tcp.tcp.in_flight(), 0);
}

#[test]
fn a_server_is_open_when_its_syn_ack_is_acknowledged() {
    let mut tcp = Conversation::listen(profile());
    tcp.gets(syn()).sends([syn_ack()]).is(State::SynReceived).tells([]);
    tcp.at(80).gets(ack(1)).is(State::Established).tells([Event::Opened]);
}

#[test]
fn syns_leave_at_0_3_6_9_12_15_21_33_57_s_and_give_up_at_75_s() {
    let mut tcp = Conversation::connect(Profile::freebsd_4_5());
    tcp.sends([syn()]);
    for seconds in [3, 6, 9, 12, 15, 21, 33, 57] {
        tcp.at(seconds * 1000).sends([syn()]).tells([]);
    }
    tcp.at(75_000).sends([]).is(State::Closed).tells([Event::Aborted]);
    assert_eq!(tcp.tcp.recovery().syn_retransmits, 8);
    tcp.at(1_000_000).sends([]);
}

#[test]
fn syn_acks_leave_at_0_3_9_21_s_and_are_then_forgotten() {
    let mut tcp = Conversation::listen(Profile::freebsd_4_5());
    tcp.gets(syn()).sends([syn_ack()]);
    for seconds in [3, 9, 21] {
        tcp.at(seconds * 1000).sends([syn_ack()]).is(State::SynReceived);
    }
    tcp.at(45_000).sends([]).is(State::Listen).tells([]);
    tcp.at(1_000_000).sends([]);
}

#[test]
fn a_server_without_the_connection_resets_data_and_takes_a_syn() {
    let mut tcp = Conversation::listen(profile());
    tcp.tcp.await_data(300);
    tcp.gets(syn()).sends([syn_ack()]);
    for seconds in [3, 9, 21] {
        tcp.at(seconds * 1000).sends([syn_ack()]);
    }
    tcp.at(50_000).gets(data(1, 300)).sends([reset(0, 0)]).is(State::Listen).tells([]);
    tcp.gets(syn()).sends([syn_ack()]).gets(data(1, 300)).tells([Event::Opened, Event::Received]);
}

#[test]
fn a_reset_refuses_a_connection_and_breaks_an_open_one() {
    let mut tcp = Conversation::connect(profile());
    tcp.sends([syn()]).gets(reset(0, 1)).is(State::Closed).tells([Event::Aborted]).at(90_000).sends([]);
    let mut tcp = Conversation::client(profile());
    tcp.writes(300).sends([data(1, 300)]).gets(reset(1, 1)).is(State::Closed).tells([Event::Aborted]);
    tcp.at(90_000).sends([]);
}

#[test]
fn a_reset_is_never_answered() {
    Conversation::listen(profile()).gets(reset(0, 0)).sends([]).is(State::Listen);
    let mut closed = Conversation::client(profile());
    closed.gets(reset(1, 1)).gets(reset(1, 1)).sends([]);
}

#[test]
fn a_closed_endpoint_refuses_whatever_comes() {
    let mut tcp = Conversation::connect(profile());
    tcp.sends([syn()]).closes().is(State::Closed).tells([]);
    tcp.gets(syn_ack()).sends([reset(1, 0)]).is(State::Closed);
}

#[test]
fn first_data_complete_the_handshake_if_the_pure_ack_is_lost() {
    let mut tcp = Conversation::listen(profile());
    tcp.tcp.await_data(300);
    tcp.gets(syn()).sends([syn_ack()]).gets(data(1, 300)).is(State::Established);
    tcp.tells([Event::Opened, Event::Received]);
}

#[test]
fn what_is_repeated_in_a_handshake_is_answered_again() {
    let mut server = Conversation::listen(profile());
    server.gets(syn()).sends([syn_ack()]).at(2000).gets(syn()).sends([syn_ack()]);
    // The repetition does not put the server's own timer off.
    server.at(3000).sends([syn_ack()]);
    Conversation::client(profile()).gets(syn_ack()).sends([ack(1)]).tells([]);
}

#[test]
fn a_client_starts_with_one_segment_and_a_server_with_two() {
    Conversation::client(profile()).writes(5000).sends([full(1)]);
    Conversation::server(profile()).writes(5000).sends([full(1), full(2)]);
    let plain = Profile { handshake_ack_opens_window: false, ..profile() };
    Conversation::server(plain).writes(5000).sends([full(1)]);
}

#[test]
fn a_server_that_repeated_its_syn_ack_starts_with_one_segment() {
    let mut tcp = Conversation::listen(profile());
    tcp.gets(syn()).sends([syn_ack()]).at(3000).sends([syn_ack()]).at(3100).gets(ack(1));
    tcp.writes(5000).sends([full(1)]);
}

#[test]
fn what_is_written_before_the_handshake_leaves_with_its_end() {
    let mut tcp = Conversation::connect(profile());
    tcp.sends([syn()]).writes(300).sends([]).at(100).gets(syn_ack()).sends([data(1, 300)]);
}

#[test]
fn the_syn_is_a_clients_first_round_trip_sample() {
    // 100 ms: RTO = 300 ms, held up to its minimum of 1 s.
    let mut tcp = Conversation::client(profile());
    tcp.writes(300).sends([data(1, 300)]).at(OPENED + 1000).sends([data(1, 300)]);
}

#[test]
fn a_syn_sent_again_is_no_sample() {
    let mut tcp = Conversation::connect(profile());
    tcp.sends([syn()]).at(3000).sends([syn()]).at(3100).gets(syn_ack()).sends([ack(1)]);
    tcp.writes(300).sends([data(1, 300)]).at(3100 + 3000).sends([data(1, 300)]);
}
