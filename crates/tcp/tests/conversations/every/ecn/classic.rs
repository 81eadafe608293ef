//! Explicit congestion notification: RFC 3168 §6.1.

use aqmlab_tcp::{EcnPolicy, Flags, Profile};

use super::script::*;

pub(super) fn ecn() -> Profile {
    Profile { ecn: EcnPolicy::Rfc3168, ..wide() }
}

fn agreeing(agrees: bool) -> Profile {
    if agrees { ecn() } else { wide() }
}

/// A client that has agreed on ECN, with the segments 1 to 10 in flight and forty more to send.
pub(super) fn ten_in_flight() -> Conversation {
    let mut tcp = Conversation::connect(ecn());
    tcp.sends([ecn_syn()]).at(OPENED).gets(ecn_syn_ack()).sends([ack(1)]);
    tcp.writes(50_000).sends((1..=10).map(ect));
    tcp
}

/// A client that has agreed on ECN and acknowledges every segment.
pub(super) fn receiver() -> Conversation {
    let mut tcp = Conversation::connect(Profile { ack_every: 1, ..ecn() });
    tcp.sends([ecn_syn()]).at(OPENED).gets(ecn_syn_ack()).sends([ack(1)]);
    tcp
}

#[test]
fn ecn_is_used_only_when_both_ends_agree() {
    let data_after = |offers: bool, accepts: bool| {
        let profile = agreeing(offers);
        let mut client = Conversation::connect(profile);
        client.sends([if offers { ecn_syn() } else { syn() }]);
        client.gets(if offers && accepts { ecn_syn_ack() } else { syn_ack() }).sends([ack(1)]);
        let mut server = Conversation::listen(agreeing(accepts));
        server.gets(if offers { ecn_syn() } else { syn() });
        server.sends([if offers && accepts { ecn_syn_ack() } else { syn_ack() }]).gets(ack(1));
        for tcp in [&mut client, &mut server] {
            tcp.writes(1000).sends([if offers && accepts { ect(1) } else { full(1) }]);
        }
    };
    data_after(false, false);
    data_after(false, true);
    data_after(true, false);
    data_after(true, true);
}

#[test]
fn a_client_that_did_not_ask_for_ecn_does_not_use_it() {
    let mut tcp = Conversation::connect(wide());
    tcp.sends([syn()]).gets(ecn_syn_ack()).sends([ack(1)]).writes(1000).sends([full(1)]);
    tcp.gets(echo(after(1)));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 0);
}

#[test]
fn a_mark_is_echoed_on_everything_until_the_sender_says_cwr() {
    let mut tcp = receiver();
    tcp.gets(ect(1)).sends([ack(after(1))]).gets(ect(2).and(Flags::CE)).sends([echo(after(2))]);
    tcp.gets(ect(3)).sends([echo(after(3))]);
    // Data carry the echo as well.
    tcp.writes(500).sends([data(1, 500).acking(after(3)).and(Flags::ECE).and(Flags::ECT)]);
    tcp.gets(ect(4).and(Flags::CWR)).sends([ack(after(4)).numbered(501)]);
    tcp.gets(ect(5)).sends([ack(after(5)).numbered(501)]);
}

#[test]
fn a_mark_on_the_segment_that_says_cwr_is_echoed_anew() {
    let mut tcp = receiver();
    tcp.gets(ect(1).and(Flags::CE)).sends([echo(after(1))]);
    tcp.gets(ect(2).and(Flags::CE).and(Flags::CWR))
        .sends([echo(after(2))])
        .gets(ect(3))
        .sends([echo(after(3))]);
}

#[test]
fn an_echo_halves_the_window_once_and_new_data_carry_one_cwr() {
    let mut tcp = ten_in_flight();
    // Ten in flight, five allowed: as the echoes come in nothing leaves until five are left.
    for k in 1..=5 {
        tcp.gets(echo(after(k))).sends([]);
        assert_eq!(tcp.cwnd(), 5000, "halved once, not grown");
    }
    tcp.gets(echo(after(6))).sends([ect(11).and(Flags::CWR)]).gets(echo(after(7))).sends([ect(12)]);
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 1);
}

#[test]
fn an_echo_of_the_next_window_halves_again() {
    let mut tcp = ten_in_flight();
    tcp.gets(echo(after(6))).sends([ect(11).and(Flags::CWR)]).gets(echo(after(10))).sends((12..=15).map(ect));
    assert_eq!(tcp.cwnd(), 5000);
    tcp.gets(echo(after(11)));
    assert_eq!(tcp.cwnd(), 2000);
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 2);
}

#[test]
fn a_window_of_one_segment_stays_one_segment() {
    let mut tcp = Conversation::connect(Profile { initial_window: 1, ..ecn() });
    tcp.sends([ecn_syn()]).gets(ecn_syn_ack()).sends([ack(1)]).writes(5000).sends([ect(1)]);
    tcp.gets(echo(after(1)))
        .sends([ect(2).and(Flags::CWR)])
        .gets(echo(after(2)))
        .sends([ect(3).and(Flags::CWR)]);
}

#[test]
fn a_loss_in_a_window_halved_for_a_mark_halves_it_no_further() {
    // RFC 3168 §6.1.2: once for any number of losses and marks in one window of data.
    let mut tcp = ten_in_flight();
    tcp.gets(echo(after(1))).gets_times(2, echo(after(1))).sends([]).gets(echo(after(1))).sends([full(2)]);
    assert_eq!(tcp.ssthresh(), 5000);
    tcp.gets(ack(after(10))).sends([ect(11).and(Flags::CWR), ect(12)]);
}

#[test]
fn a_timeout_sets_cwr_and_earlier_echoes_reduce_nothing_more() {
    let mut tcp = ten_in_flight();
    tcp.at(OPENED + 1000).sends([full(1)]).gets(echo(after(10))).sends([ect(11).and(Flags::CWR)]);
    assert_eq!((tcp.tcp.recovery().timeouts, tcp.tcp.recovery().ecn_reductions), (1, 0));
}
