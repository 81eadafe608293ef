//! The feedback of DCTCP: RFC 8257 §3.2-3.3 and §3.6.

use aqmlab_tcp::{EcnPolicy, Flags, Profile, Segment};

use super::script::*;

fn dctcp() -> Profile {
    Profile { ecn: EcnPolicy::Dctcp, ack_every: 3, ..wide() }
}

/// A client that acknowledges every third segment.
fn receiver() -> Conversation {
    let mut tcp = Conversation::connect(dctcp());
    tcp.sends([ecn_syn().and(Flags::ECT)]).at(OPENED).gets(ecn_syn_ack().and(Flags::ECT)).sends([ack(1)]);
    tcp
}

fn marked(k: u32) -> Segment {
    ect(k).and(Flags::CE)
}

#[test]
fn rfc_8257_3_2_runs_of_marks_are_echoed_every_third_segment() {
    let mut tcp = receiver();
    tcp.gets(ect(1)).gets(ect(2)).gets(ect(3)).sends([ack(after(3))]);
    // The first mark at once, those that follow it as without marks.
    tcp.gets(marked(4)).sends([echo(after(4))]);
    tcp.gets(marked(5)).gets(marked(6)).gets(marked(7)).sends([echo(after(7))]);
}

#[test]
fn rfc_8257_3_2_the_end_of_the_marks_is_told_at_once() {
    let mut tcp = receiver();
    tcp.gets(marked(1)).sends([echo(after(1))]).gets(ect(2)).sends([ack(after(2))]);
    tcp.gets(ect(3)).gets(ect(4)).gets(ect(5)).sends([ack(after(5))]);
}

#[test]
fn rfc_8257_3_2_a_change_tells_of_what_was_held_back_too() {
    let mut tcp = receiver();
    tcp.gets(ect(1)).gets(ect(2)).gets(marked(3)).sends([echo(after(3))]);
    tcp.gets(marked(4)).gets(ect(5)).sends([ack(after(5))]);
}

#[test]
fn rfc_8257_3_2_cwr_is_heard_before_ce() {
    let mut tcp = receiver();
    tcp.gets(marked(1)).sends([echo(after(1))]);
    // CWR ends the echo, and the mark on the same segment begins it again, at once.
    tcp.gets(marked(2).and(Flags::CWR)).sends([echo(after(2))]);
    tcp.gets(ect(3).and(Flags::CWR)).gets(ect(4)).gets(ect(5)).sends([ack(after(5))]);
}

#[test]
fn a_bare_acknowledgement_ends_no_row_of_marks() {
    let mut tcp = receiver();
    tcp.gets(marked(1)).sends([echo(after(1))]).gets(ack(1).numbered(after(1))).sends([]);
    tcp.gets(marked(2)).gets(marked(3)).gets(marked(4)).sends([echo(after(4))]);
}

#[test]
fn rfc_8257_3_6_marks_on_syn_and_syn_ack_are_ignored() {
    let mut client = Conversation::connect(dctcp());
    client.sends([ecn_syn().and(Flags::ECT)]).gets(ecn_syn_ack().and(Flags::CE)).sends([ack(1)]);
    let mut server = Conversation::listen(dctcp());
    server.gets(ecn_syn().and(Flags::CE)).sends([ecn_syn_ack().and(Flags::ECT)]).gets(ack(1));
    server.writes(50_000).takes_sent();
    assert_eq!(server.cwnd(), 11_000, "ten segments and the one that the handshake opens");
}

#[test]
fn rfc_8257_3_6_syn_and_syn_ack_sent_again_are_ecn_capable_too() {
    let mut client = Conversation::connect(dctcp());
    client.sends([ecn_syn().and(Flags::ECT)]).at(3000).sends([ecn_syn().and(Flags::ECT)]);
    let mut server = Conversation::listen(dctcp());
    let syn_ack = ecn_syn_ack().and(Flags::ECT);
    server.gets(ecn_syn()).sends([syn_ack]).at(3000).sends([syn_ack]);
}
