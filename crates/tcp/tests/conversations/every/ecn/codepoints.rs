//! ECN-capable packets and their codepoints by policy.

use aqmlab_tcp::{EcnPolicy, Flags, Profile};

use super::script::*;

fn speaking(ecn: EcnPolicy) -> Profile {
    Profile { ecn, data_retransmits: 1, ..wide() }
}

/// The codepoints of what was sent since the last step, a letter each: `-` not ECN-capable, `0` ECT(0), `1` ECT(1).
fn codepoints(tcp: &mut Conversation) -> String {
    let letter = |flags: Flags| match (flags.contains(Flags::ECT), flags.contains(Flags::ECT1)) {
        (false, false) => '-',
        (true, false) => '0',
        (false, true) => '1',
        (true, true) => panic!("two codepoints"),
    };
    tcp.takes_sent().into_iter().map(|segment| letter(segment.flags)).collect()
}

/// The codepoints of a SYN, the same sent again, a SYN/ACK, the same sent again, a pure acknowledgement, new data, the
/// same sent again, a FIN and a reset; the ends agree on `ecn`.
fn of_each_packet(profile: &Profile) -> String {
    let mut letters = String::new();
    let mut client = Conversation::connect(profile.clone());
    let syn = client.takes_sent()[0];
    let mut server = Conversation::listen(profile.clone());
    server.gets(syn);
    let syn_ack = server.takes_sent()[0];
    // Once more, for the codepoints.
    let mut client = Conversation::connect(profile.clone());
    letters += &codepoints(&mut client);
    client.at(3000);
    letters += &codepoints(&mut client);
    let mut server = Conversation::listen(profile.clone());
    server.gets(syn);
    letters += &codepoints(&mut server);
    server.at(3000);
    letters += &codepoints(&mut server);
    client.at(3100).gets(syn_ack);
    letters += &codepoints(&mut client);
    client.writes(1000);
    letters += &codepoints(&mut client);
    client.at(6100);
    letters += &codepoints(&mut client);
    client.gets(ack(after(1)).and(syn_ack.flags & (Flags::AE | Flags::CWR))).closes();
    letters += &codepoints(&mut client);
    // One timeout is answered; with the next the connection is given up.
    let mut client = Conversation::connect(profile.clone());
    client.takes_sent();
    client.at(100).gets(syn_ack).takes_sent();
    client.writes(1000).takes_sent();
    client.at(1100).takes_sent();
    client.at(3100);
    letters += &codepoints(&mut client);
    letters
}

#[test]
fn each_policy_sets_ect_on_the_packets_that_its_source_names() {
    for (ecn, expected) in [
        // S, S again, SA, SA again, pure ACK, data, data again, FIN, RST.
        (EcnPolicy::Off, "---------"),
        (EcnPolicy::Rfc3168, "-----0---"),
        (EcnPolicy::Plus, "--0--0---"),
        (EcnPolicy::PlusWait, "--0--0---"),
        (EcnPolicy::TryOnce, "--0--0---"),
        (EcnPolicy::PlusPlus, "--0--0000"),
        (EcnPolicy::Dctcp, "0000-0--0"),
        (EcnPolicy::Accurate, "-----0---"),
        (EcnPolicy::AccuratePlusPlus, "0-0-00000"),
    ] {
        assert_eq!(of_each_packet(&speaking(ecn)), expected, "{ecn}");
    }
}

#[test]
fn ecn_plus_plus_falls_back_with_an_rfc_3168_server() {
    let mut tcp = Conversation::connect(speaking(EcnPolicy::AccuratePlusPlus));
    tcp.takes_sent();
    tcp.at(OPENED).gets(ecn_syn_ack()).sends([ack(1)]).writes(50_000).sends([ect(1)]);
    assert_eq!(tcp.cwnd(), 1000);
    // A SYN sent again was not ECN-capable: nothing can have marked it.
    let mut tcp = Conversation::connect(speaking(EcnPolicy::AccuratePlusPlus));
    tcp.takes_sent();
    tcp.at(3000).takes_sent();
    tcp.gets(ecn_syn_ack()).sends([ack(1)]).writes(50_000).sends((1..=10).map(ect));
}
