//! ECN-capable SYN/ACKs: Kuzmanovic 2005 and RFC 5562; SYNs that no longer ask for ECN: RFC 3168 §6.1.1.1.

use aqmlab_tcp::{EcnPolicy, Event, Flags, Profile, Segment, State};

use super::script::*;

const PLUS: [EcnPolicy; 3] = [EcnPolicy::Plus, EcnPolicy::PlusWait, EcnPolicy::TryOnce];

/// Room for ten segments, and a handshake that opens no eleventh.
fn speaking(ecn: EcnPolicy) -> Profile {
    Profile { ecn, handshake_ack_opens_window: false, ..wide() }
}

/// A server that has sent an ECN-capable SYN/ACK at 0 ms.
fn server(ecn: EcnPolicy) -> Conversation {
    let mut tcp = Conversation::listen(speaking(ecn));
    tcp.gets(ecn_syn()).sends([capable_syn_ack()]);
    tcp
}

fn capable_syn_ack() -> Segment {
    ecn_syn_ack().and(Flags::ECT)
}

fn first() -> Segment {
    ect(1).and(Flags::CWR)
}

#[test]
fn rfc_5562_3_an_unmarked_syn_ack_changes_nothing() {
    for ecn in PLUS {
        let mut tcp = server(ecn);
        tcp.at(OPENED).gets(ack(1)).tells([Event::Opened]).writes(50_000).sends((1..=10).map(ect));
        assert_eq!(tcp.tcp.recovery().ecn_reductions, 0);
    }
}

#[test]
fn a_syn_that_asks_for_no_ecn_gets_a_plain_syn_ack() {
    for ecn in PLUS {
        Conversation::listen(speaking(ecn)).gets(syn()).sends([syn_ack()]);
    }
}

#[test]
fn ecn_plus_goes_on_at_once_with_half_the_window() {
    let mut tcp = server(EcnPolicy::Plus);
    tcp.at(OPENED).gets(echo(1)).tells([Event::Opened]).writes(50_000);
    tcp.sends([first()].into_iter().chain((2..=5).map(ect)));
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (5000, 1));
    // What is still echoed of it reduces nothing more; the first data end it by saying CWR.
    tcp.gets(echo(1)).takes_sent();
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (5000, 1));
}

#[test]
fn ecn_plus_halves_the_window_of_two_segments_of_2005_to_one() {
    let mut tcp = Conversation::listen(Profile { ecn: EcnPolicy::Plus, ..profile() });
    tcp.gets(ecn_syn()).sends([capable_syn_ack()]).at(OPENED).gets(echo(1)).writes(5000).sends([first()]);
}

#[test]
fn ecn_plus_wait_sends_one_segment_a_round_trip_later() {
    let mut tcp = server(EcnPolicy::PlusWait);
    tcp.at(80).gets(echo(1)).tells([Event::Opened]).writes(50_000).at(159).sends([]);
    tcp.at(160).sends([first()]);
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (1000, 1));
    // The wait was no timeout, and the timer is the data's from now on.
    tcp.at(160 + 999).sends([]).gets(ack(after(1))).sends([ect(2), ect(3)]);
    assert_eq!(tcp.tcp.recovery().timeouts, 0);
}

#[test]
fn ecn_plus_wait_sends_what_is_written_after_the_wait_at_once() {
    let mut tcp = server(EcnPolicy::PlusWait);
    tcp.at(80).gets(echo(1)).at(500).writes(50_000).sends([first()]);
}

#[test]
fn rfc_5562_3_2_try_once_resends_plainly_and_starts_with_one() {
    let mut tcp = server(EcnPolicy::TryOnce);
    tcp.at(OPENED).gets(echo(1)).sends([ecn_syn_ack()]).is(State::SynReceived).tells([]);
    tcp.at(2 * OPENED).gets(ack(1)).tells([Event::Opened]).writes(50_000).sends([first()]);
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (1000, 1));
}

#[test]
fn rfc_5562_3_2_try_onces_second_syn_ack_has_its_own_timer() {
    let mut tcp = server(EcnPolicy::TryOnce);
    tcp.at(OPENED).gets(echo(1)).sends([ecn_syn_ack()]);
    tcp.at(OPENED + 2999).sends([]).at(OPENED + 3000).sends([ecn_syn_ack()]);
}

#[test]
fn rfc_5562_3_2_try_once_client_echoes_and_awaits_a_syn_ack() {
    let mut tcp = Conversation::connect(speaking(EcnPolicy::TryOnce));
    tcp.sends([ecn_syn()]).at(OPENED).gets(capable_syn_ack().and(Flags::CE)).sends([echo(1)]);
    tcp.is(State::SynSent).tells([]).writes(1000).sends([]);
    tcp.at(2 * OPENED).gets(ecn_syn_ack()).sends([ect(1)]).tells([Event::Opened]);
}

#[test]
fn rfc_5562_3_2_a_lost_report_is_made_up_for_by_the_timers() {
    let mut client = Conversation::connect(speaking(EcnPolicy::TryOnce));
    client.sends([ecn_syn()]).at(OPENED).gets(capable_syn_ack().and(Flags::CE)).sends([echo(1)]);
    // A SYN's acknowledgement number means nothing.
    client.at(3000).sends([ecn_syn().acking(1)]).gets(ecn_syn_ack()).sends([ack(1)]).tells([Event::Opened]);
    server(EcnPolicy::TryOnce).at(3000).sends([ecn_syn_ack()]).gets(ack(1)).tells([Event::Opened]);
}

#[test]
fn an_echo_after_a_resent_syn_ack_opens_with_one_segment() {
    let mut tcp = server(EcnPolicy::TryOnce);
    tcp.at(3000).sends([ecn_syn_ack()]).gets(echo(1)).tells([Event::Opened]).writes(50_000).sends([first()]);
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 1);
}

#[test]
fn try_once_puts_up_with_a_client_that_goes_on() {
    let mut tcp = server(EcnPolicy::TryOnce);
    tcp.at(OPENED).gets(echo(1)).sends([ecn_syn_ack()]);
    tcp.at(2 * OPENED).gets(echo(1)).tells([Event::Opened]).writes(50_000).sends([first()]);
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 1);
    // Data say the same sooner.
    let mut tcp = server(EcnPolicy::TryOnce);
    tcp.at(OPENED).gets(ect(1).and(Flags::ECE)).tells([Event::Opened]).writes(50_000);
    tcp.sends([first().acking(after(1))]);
}

#[test]
fn a_try_once_client_puts_up_with_a_server_that_goes_on() {
    let waiting = || {
        let mut tcp = Conversation::connect(speaking(EcnPolicy::TryOnce));
        tcp.sends([ecn_syn()]).at(OPENED).gets(capable_syn_ack().and(Flags::CE)).sends([echo(1)]);
        tcp
    };
    let mut tcp = waiting();
    tcp.gets(first()).tells([Event::Opened]).gets(ect(2)).sends([ack(after(2))]);
    // A server with nothing to say answers the next SYN.
    let mut tcp = waiting();
    tcp.at(3000).sends([ecn_syn().acking(1)]).gets(ack(1)).tells([Event::Opened]);
}

#[test]
fn a_client_echoes_the_syn_acks_mark_until_cwr() {
    for ecn in [EcnPolicy::Rfc3168, EcnPolicy::Plus, EcnPolicy::PlusWait, EcnPolicy::PlusPlus] {
        let mut tcp = Conversation::connect(Profile { ack_every: 1, ..speaking(ecn) });
        tcp.sends([ecn_syn()]).at(OPENED).gets(capable_syn_ack().and(Flags::CE)).sends([echo(1)]);
        tcp.tells([Event::Opened]).writes(300).sends([data(1, 300).and(Flags::ECT).and(Flags::ECE)]);
        tcp.gets(first().acking(301)).sends([ack(after(1)).numbered(301)]);
    }
}

#[test]
fn ecn_plus_plus_starts_with_one_segment_after_a_marked_syn_ack() {
    let mut tcp = server(EcnPolicy::PlusPlus);
    tcp.at(OPENED).gets(echo(1)).tells([Event::Opened]).writes(50_000).sends([first()]);
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (1000, 1));
}

#[test]
fn rfc_5562_3_1_a_syn_ack_sent_again_is_not_ecn_capable() {
    for ecn in [EcnPolicy::Plus, EcnPolicy::PlusWait, EcnPolicy::TryOnce, EcnPolicy::PlusPlus] {
        let mut tcp = server(ecn);
        tcp.at(3000).sends([ecn_syn_ack()]).at(9000).sends([ecn_syn_ack()]);
        // It was lost, not marked: the window is as without ECN+, and data are ECN-capable.
        tcp.gets(ack(1)).writes(50_000).sends((1..=10).map(ect));
        server(ecn).at(100).gets(ecn_syn()).sends([ecn_syn_ack()]);
    }
}

#[test]
fn rfc_3168_6_1_1_1_resent_syns_drop_ecn_if_the_profile_says_so() {
    let falling_back = Profile { ecn_fallback: true, ..speaking(EcnPolicy::Rfc3168) };
    let mut tcp = Conversation::connect(falling_back.clone());
    tcp.sends([ecn_syn()]).at(3000).sends([syn()]).at(6000).sends([syn()]);
    tcp.gets(syn_ack()).sends([ack(1)]).writes(1000).sends([full(1)]);
    let mut tcp = Conversation::connect(speaking(EcnPolicy::Rfc3168));
    tcp.sends([ecn_syn()]).at(3000).sends([ecn_syn()]);
    // §6.1.1: having sent a SYN without ECN it sends no ECT, though a late answer grants ECN; marks it does echo.
    let mut tcp = Conversation::connect(Profile { ack_every: 1, ..falling_back });
    tcp.sends([ecn_syn()]).at(3000).sends([syn()]).gets(ecn_syn_ack()).sends([ack(1)]);
    tcp.gets(ect(1).and(Flags::CE)).sends([echo(after(1))]);
    tcp.writes(1000).sends([full(1).acking(after(1)).and(Flags::ECE)]);
}

#[test]
fn rfc_3168_6_1_1_after_a_syn_without_ecn_the_server_uses_none() {
    let mut tcp = Conversation::listen(speaking(EcnPolicy::Rfc3168));
    tcp.gets(ecn_syn()).sends([ecn_syn_ack()]).gets(syn()).sends([syn_ack()]);
    tcp.gets(ack(1)).writes(1000).sends([full(1)]);
}
