//! Accurate ECN: RFC 9768 §3.1 and §3.2 without its option, which `modern::accecn` has.

use aqmlab_tcp::{EcnPolicy, Event, Flags, Profile, Segment};

use super::script::*;

const ASKS: u8 = 0b111;

fn accurate() -> Profile {
    Profile { ecn: EcnPolicy::Accurate, handshake_ack_opens_window: false, ..wide() }
}

/// `segment` with AE, CWR and ECE as the number `ace`.
fn ace(segment: Segment, ace: u8) -> Segment {
    segment.and(Flags::with_ace(ace))
}

/// A client with an open connection, its counters at 5.
fn client(profile: Profile) -> Conversation {
    let mut tcp = Conversation::connect(profile);
    tcp.sends([ace(syn(), ASKS)]).at(OPENED).gets(ace(syn_ack(), 0b010)).sends([ace(ack(1), 0b010)]);
    tcp
}

/// A client with the segments 1 to 10 in flight and forty more to send.
fn ten_in_flight() -> Conversation {
    let mut tcp = client(accurate());
    tcp.writes(50_000).sends((1..=10).map(|k| ace(ect(k), 5)));
    tcp
}

#[test]
fn rfc_9768_table_2_what_the_client_makes_of_each_syn_ack() {
    for (grants, first_data) in [
        // No ECN, and a server that reflects the SYN.
        (0b000, full(1)),
        (0b111, full(1)),
        // Classic ECN.
        (0b001, ect(1)),
        // Accurate: how the SYN came; 0b101 is reserved (§3.1.3).
        (0b010, ace(ect(1), 5)),
        (0b011, ace(ect(1), 5)),
        (0b100, ace(ect(1), 5)),
        (0b101, ace(ect(1), 5)),
        (0b110, ace(ect(1), 5)),
    ] {
        let mut tcp = Conversation::connect(accurate());
        tcp.sends([ace(syn(), ASKS)]).gets(ace(syn_ack(), grants)).takes_sent();
        tcp.writes(1000).sends([first_data]);
    }
}

#[test]
fn rfc_9768_table_2_what_the_server_answers_each_syn() {
    let answers = |ecn: EcnPolicy, syn: Segment, expected: u8| {
        let mut tcp = Conversation::listen(Profile { ecn, ..accurate() });
        tcp.gets(syn).sends([ace(syn_ack(), expected)]);
    };
    let came =
        [(Flags::NONE, 0b010), (Flags::ECT1, 0b011), (Flags::ECT, 0b100), (Flags::ECT | Flags::CE, 0b110)];
    for (codepoint, fed_back) in came {
        answers(EcnPolicy::Accurate, ace(syn(), ASKS).and(codepoint), fed_back);
        // §3.1.3: combinations kept for the future are taken for a request.
        for asks in [0b001, 0b010, 0b100, 0b101, 0b110] {
            answers(EcnPolicy::Accurate, ace(syn(), asks).and(codepoint), fed_back);
        }
        answers(EcnPolicy::Accurate, ecn_syn().and(codepoint), 0b001);
        answers(EcnPolicy::Accurate, syn().and(codepoint), 0);
    }
    // An older server ignores AE.
    answers(EcnPolicy::Rfc3168, ace(syn(), ASKS), 0b001);
    answers(EcnPolicy::Off, ace(syn(), ASKS), 0);
}

#[test]
fn rfc_9768_3_1_5_a_syn_ack_sent_again_tells_of_the_latest_syn() {
    let mut tcp = Conversation::listen(accurate());
    tcp.gets(ace(syn(), ASKS).and(Flags::ECT)).sends([ace(syn_ack(), 0b100)]);
    tcp.gets(ace(syn(), ASKS)).sends([ace(syn_ack(), 0b010)]).at(3000).sends([ace(syn_ack(), 0b010)]);
}

#[test]
fn rfc_9768_table_3_the_first_ack_encodes_the_syn_acks_ecn() {
    let came =
        [(Flags::NONE, 0b010, 5), (Flags::ECT1, 0b011, 5), (Flags::ECT, 0b100, 5), (Flags::CE, 0b110, 6)];
    for (codepoint, fed_back, count) in came {
        let mut tcp = Conversation::connect(Profile { ack_every: 1, ..accurate() });
        let answer = ace(syn_ack(), 0b010).and(codepoint);
        tcp.sends([ace(syn(), ASKS)]).gets(answer).sends([ace(ack(1), fed_back)]);
        // The SYN/ACK again: said again, counted once (§3.2.2.2).
        tcp.gets(answer).sends([ace(ack(1), fed_back)]);
        tcp.gets(ect(1)).sends([ace(ack(after(1)), count)]);
    }
}

#[test]
fn rfc_9768_table_4_the_server_decodes_the_first_ack() {
    for (ace_field, next) in [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5), (6, 6), (7, 5)] {
        let mut tcp = Conversation::listen(accurate());
        tcp.gets(ace(syn(), ASKS)).takes_sent();
        tcp.gets(ace(ack(1), ace_field)).tells([Event::Opened]).writes(1000).sends([ace(ect(1), 5)]);
        tcp.gets(ace(ack(after(1)), next));
        assert_eq!(tcp.tcp.recovery().ecn_reductions, 0, "said {ace_field:03b}");
        tcp.writes(1000).sends([ace(ect(2), 5)]).gets(ace(ack(after(2)), next + 1));
        assert_eq!(tcp.tcp.recovery().ecn_reductions, 1, "said {ace_field:03b}");
    }
}

#[test]
fn rfc_9768_table_4_after_ace_0_the_server_only_gives_feedback()
 {
    let mut tcp = Conversation::listen(Profile { ack_every: 1, ..accurate() });
    tcp.gets(ace(syn(), ASKS)).takes_sent();
    tcp.gets(ack(1)).writes(1000).sends([ace(full(1), 5)]).gets(ace(ack(after(1)), 3));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 0);
    tcp.gets(ect(1).and(Flags::CE)).sends([ace(ack(after(1)).numbered(after(1)), 6)]);
}

#[test]
fn rfc_9768_3_2_2_1_data_instead_of_the_first_ack_carry_ace() {
    let mut client = Conversation::connect(accurate());
    client.sends([ace(syn(), ASKS)]).writes(1000).gets(ace(syn_ack(), 0b010)).sends([ace(ect(1), 5)]);
    // With ECN++ a SYN/ACK can be marked: 6.
    for (count, window) in [(5, 10_000), (6, 1000)] {
        let ecn = EcnPolicy::AccuratePlusPlus;
        let mut server = Conversation::listen(Profile { ecn, ack_every: 1, ..accurate() });
        server.gets(ace(syn(), ASKS)).sends([ace(syn_ack(), 0b010).and(Flags::ECT)]);
        server.gets(ace(ect(1), count)).sends([ace(ack(after(1)), 5).and(Flags::ECT)]);
        assert_eq!(server.cwnd(), window);
    }
}

#[test]
fn a_marked_ecn_plus_plus_syn_or_syn_ack_leaves_one_segment() {
    let general = || Profile { ecn: EcnPolicy::AccuratePlusPlus, ..accurate() };
    for (grants, window) in [(0b100, 10_000), (0b110, 1000)] {
        let mut client = Conversation::connect(general());
        client.sends([ace(syn(), ASKS).and(Flags::ECT)]).gets(ace(syn_ack(), grants)).takes_sent();
        assert_eq!(client.cwnd(), window);
    }
    for (ace_field, window) in [(0b100, 10_000), (0b110, 1000)] {
        let mut server = Conversation::listen(general());
        server.gets(ace(syn(), ASKS)).takes_sent();
        server.gets(ace(ack(1), ace_field));
        assert_eq!(server.cwnd(), window);
    }
}

#[test]
fn rfc_9768_3_1_4_1_the_second_resent_syn_may_drop_ecn() {
    let mut tcp = Conversation::connect(Profile { ecn_fallback: true, ..accurate() });
    tcp.sends([ace(syn(), ASKS)]).at(3000).sends([ace(syn(), ASKS)]).at(6000).sends([syn()]);
    // §3.1.5: the client may send ECT nevertheless,
    tcp.gets(ace(syn_ack(), 0b010)).sends([ace(ack(1), 0b010)]).writes(1000).sends([ace(ect(1), 5)]);
    // the server must not.
    let mut tcp = Conversation::listen(accurate());
    tcp.gets(ace(syn(), ASKS)).takes_sent();
    tcp.gets(syn()).sends([ace(syn_ack(), 0b010)]).gets(ace(ack(1), 0b010)).writes(1000);
    tcp.sends([ace(full(1), 5)]);
}

#[test]
fn rfc_9768_3_2_2_5_1_first_and_every_second_mark_acked_at_once() {
    let mut tcp = client(Profile { ack_every: 4, ..accurate() });
    let marked = |k| ect(k).and(Flags::CE);
    tcp.gets(ect(1)).sends([]).gets(marked(2)).sends([ace(ack(after(2)), 6)]);
    tcp.gets(marked(3)).sends([]).gets(marked(4)).sends([ace(ack(after(4)), 0)]);
    // A mark after one that was not.
    tcp.gets(ect(5)).sends([]).gets(marked(6)).sends([ace(ack(after(6)), 1)]);
    tcp.gets(ect(7)).gets(ect(8)).gets(ect(9)).sends([]).gets(ect(10)).sends([ace(ack(after(10)), 1)]);
}

#[test]
fn rfc_9768_3_2_marked_acknowledgements_and_fins_count_too() {
    let mut tcp = client(Profile { ack_every: 1, ..accurate() });
    tcp.gets(ace(ack(1), 5).and(Flags::CE)).sends([]);
    tcp.gets(ace(fin(1), 5).and(Flags::CE)).sends([ace(ack(2), 7)]);
}

#[test]
fn rfc_3168_6_1_2_rfc_9768_3_1_5_one_reduction_a_window_no_cwr() {
    let mut tcp = ten_in_flight();
    tcp.gets(ace(ack(after(1)), 6));
    assert_eq!(tcp.cwnd(), 5000, "halved, not grown");
    tcp.gets(ace(ack(after(3)), 0)).gets(ace(ack(after(5)), 2)).sends([]);
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (5000, 1));
    // No further mark: the window grows, and new data leave with the count of what came marked here, none.
    tcp.gets(ace(ack(after(6)), 2)).sends([ace(ect(11), 5), ace(ect(12), 5)]);
    tcp.gets(ace(ack(after(10)), 2)).takes_sent();
    tcp.gets(ace(ack(after(11)), 3));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 2);
}

#[test]
fn rfc_9768_3_2_2_2_an_overtaken_ack_is_ignored() {
    let mut tcp = ten_in_flight();
    tcp.gets(ace(ack(after(2)), 5)).takes_sent();
    tcp.gets(ace(ack(after(1)), 4));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 0);
}
