//! Ending a connection: RFC 9293 §3.6 and its state diagram.

use aqmlab_tcp::{Event, Flags, Segment, Seq, State};

use super::script::*;

#[test]
fn the_end_that_closes_first_ends_in_time_wait() {
    let mut tcp = Conversation::client(profile());
    tcp.closes().sends([fin(1)]).is(State::FinWait1).gets(ack(2)).is(State::FinWait2);
    tcp.gets(fin(1).acking(2)).sends([ack(2).numbered(2)]).is(State::TimeWait).tells([Event::PeerClosed]);
    tcp.at(100_000).sends([]);
}

#[test]
fn the_end_that_closes_second_ends_closed() {
    let mut tcp = Conversation::server(profile());
    tcp.gets(fin(1)).sends([ack(2)]).is(State::CloseWait).tells([Event::PeerClosed]);
    tcp.closes().sends([fin(1).acking(2)]).is(State::LastAck).gets(ack(2).numbered(2)).is(State::Closed);
    tcp.tells([]).at(100_000).sends([]);
}

#[test]
fn a_fin_that_carries_the_acknowledgement_of_ours_saves_a_step() {
    let mut tcp = Conversation::client(profile());
    tcp.closes().sends([fin(1)]).gets(fin(1).acking(2)).sends([ack(2).numbered(2)]).is(State::TimeWait);
}

#[test]
fn ends_that_close_at_once_pass_through_closing() {
    let mut tcp = Conversation::client(profile());
    tcp.closes().sends([fin(1)]).gets(fin(1)).sends([ack(2).numbered(2)]).is(State::Closing);
    tcp.gets(ack(2).numbered(2)).is(State::TimeWait).at(100_000).sends([]);
}

#[test]
fn the_fin_rides_on_the_last_data_and_waits_for_them() {
    let mut tcp = Conversation::client(profile());
    tcp.writes(2500).sends([full(1)]).closes().sends([]).is(State::Established);
    tcp.gets(ack(after(1))).sends([full(2), data(2001, 500).and(Flags::FIN)]).is(State::FinWait1);
    // What acknowledges the data alone does not acknowledge the FIN.
    tcp.gets(ack(2501)).is(State::FinWait1).gets(ack(2502)).is(State::FinWait2);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut tcp = Conversation::client(profile());
    tcp.closes().sends([fin(1)]).at(OPENED + 1000).sends([fin(1)]).at(OPENED + 3000).sends([fin(1)]);
    tcp.gets(ack(2)).is(State::FinWait2);
}

#[test]
fn a_fin_that_comes_again_is_acknowledged_again() {
    let mut time_wait = Conversation::client(profile());
    time_wait.closes().sends([fin(1)]).gets(fin(1).acking(2)).sends([ack(2).numbered(2)]);
    time_wait.gets(fin(1).acking(2)).sends([ack(2).numbered(2)]).is(State::TimeWait);
    let mut close_wait = Conversation::server(profile());
    close_wait.gets(fin(1)).sends([ack(2)]).gets(fin(1)).sends([ack(2)]).is(State::CloseWait);
    close_wait.tells([Event::PeerClosed]);
}

#[test]
fn a_fin_beyond_a_gap_is_accepted_only_when_resent_in_order() {
    let mut tcp = Conversation::client(profile());
    tcp.gets(full(2).and(Flags::FIN)).sends([ack(1)]).is(State::Established);
    tcp.gets(full(1)).sends([ack(after(2))]).is(State::Established).tells([]);
    tcp.gets(fin(after(2))).sends([ack(after(2) + 1)]).is(State::CloseWait).tells([Event::PeerClosed]);
    let mut bare = Conversation::client(profile());
    bare.gets(fin(after(1))).sends([ack(1)]).is(State::Established);
    bare.gets(full(1).and(Flags::FIN)).sends([ack(after(1) + 1)]).is(State::CloseWait);
}

#[test]
fn an_end_that_has_closed_still_receives() {
    let mut tcp = Conversation::client(profile());
    tcp.tcp.await_data(2000);
    tcp.closes().sends([fin(1)]).gets(ack(2)).gets(full(1).acking(2)).gets(full(2).acking(2));
    tcp.sends([ack(after(2)).numbered(2)]).is(State::FinWait2).tells([Event::Received]);
}

#[test]
fn an_end_whose_peer_has_closed_still_sends() {
    let mut tcp = Conversation::server(profile());
    tcp.gets(fin(1)).sends([ack(2)]).writes(2000).sends([full(1).acking(2), full(2).acking(2)]);
    tcp.gets(ack(after(2)).numbered(2)).is(State::CloseWait);
}

#[test]
fn who_has_closed_is_not_told_of_a_reset() {
    let reset: Segment = Segment { seq: Seq::new(1), flags: Flags::RST, ..Segment::default() };
    let mut tcp = Conversation::client(profile());
    tcp.closes().sends([fin(1)]).gets(reset).is(State::Closed).tells([]).at(100_000).sends([]);
}
