//! Accurate ECN's option (RFC 9768 §3.2.3).

use aqmlab_tcp::options::{AccEcn, AccEcnOrder};
use aqmlab_tcp::{EcnPolicy, Event, Flags, HeaderOptions};

use super::*;
use crate::recorder::Recorder;

fn counting() -> Profile {
    Profile { ecn: EcnPolicy::Accurate, accecn_option: true, handshake_ack_opens_window: false, ..wide() }
}

fn ace(segment: Segment, ace: u8) -> Segment {
    segment.and(Flags::with_ace(ace))
}

/// `segment` with the counters of ECT(0), marks and ECT(1).
fn with_counters(segment: Segment, ect0: u32, ce: u32, ect1: u32) -> Segment<Options> {
    let order = if ect1 == 1 { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
    let accecn = AccEcn { order, ect0, ce, ect1, shortened: false };
    with(segment, Options::default().with_accecn(accecn))
}

fn plain(segment: Segment) -> Segment<Options> {
    with(segment, Options::default())
}

/// A client that uses the option, open since [`OPENED`].
fn client<C>(profile: Profile) -> Conversation<C>
where
    C: aqmlab_tcp::CongestionControl + std::fmt::Debug + Send + 'static,
{
    let mut tcp = Conversation::<C>::connect(profile);
    tcp.sends([ace(syn(), 0b111)]).at(OPENED).gets(with_counters(ace(syn_ack(), 0b010), 1, 0, 1));
    tcp.sends_with([with_counters(ace(ack(1), 0b010), 1, 0, 1)]).tells([Event::Opened]);
    tcp
}

fn marked(k: u32) -> Segment {
    ace(ect(k), 5).and(Flags::CE)
}

#[test]
fn rfc_9768_3_2_3_2_1_no_option_on_syn_clients_reply_in_kind() {
    client::<ClassicReno>(counting());
    // A server that does not have it, or a client.
    let mut tcp: Conversation = Conversation::connect(Profile { ack_every: 1, ..counting() });
    tcp.sends([ace(syn(), 0b111)]).gets(ace(syn_ack(), 0b010)).sends([ace(ack(1), 0b010)]);
    tcp.gets(marked(1)).sends([ace(ack(after(1)), 6)]);
    let mut tcp: Conversation = Conversation::connect(Profile { accecn_option: false, ..counting() });
    tcp.sends([ace(syn(), 0b111)]).gets(with_counters(ace(syn_ack(), 0b010), 1, 0, 1));
    tcp.sends([ace(ack(1), 0b010)]);
}

#[test]
fn rfc_9768_3_2_3_2_2_option_on_the_first_syn_ack_only() {
    let mut tcp: Conversation = Conversation::listen(counting());
    tcp.gets(ace(syn(), 0b111)).sends_with([with_counters(ace(syn_ack(), 0b010), 1, 0, 1)]);
    tcp.at(3000).sends([ace(syn_ack(), 0b010)]);
    // A client that does not ask for accurate feedback gets none.
    let mut tcp: Conversation = Conversation::listen(counting());
    tcp.gets(ecn_syn()).sends([ecn_syn_ack()]);
}

#[test]
fn a_server_uses_it_when_the_first_acknowledgement_has_it() {
    for uses in [true, false] {
        let mut tcp: Conversation = Conversation::listen(Profile { ack_every: 1, ..counting() });
        tcp.gets(ace(syn(), 0b111)).takes_sent();
        let first = ace(ack(1), 0b010);
        tcp.gets(if uses { with_counters(first, 1, 0, 1) } else { plain(first) }).gets(marked(1));
        let answer = ace(ack(after(1)), 6);
        tcp.sends_with([if uses { with_counters(answer, 1, 1000, 1) } else { plain(answer) }]);
    }
}

#[test]
fn rfc_9768_3_2_3_3_codepoint_changes_are_acked_at_once() {
    let mut tcp = client::<ClassicReno>(Profile { ack_every: 4, ..counting() });
    tcp.gets(ace(ect(1), 5)).sends([]);
    tcp.gets(marked(2)).sends_with([with_counters(ace(ack(after(2)), 6), 1001, 1000, 1)]);
    // The next in the codepoint before the mark, too, which a count of marks would let wait.
    tcp.gets(ace(ect(3), 5)).sends_with([with_counters(ace(ack(after(3)), 6), 2001, 1000, 1)]);
    tcp.gets(ace(ect(4), 5)).sends([]);
    let l4s = ace(full(5), 5).and(Flags::ECT1);
    tcp.gets(l4s).sends_with([with_counters(ace(ack(after(5)), 6), 3001, 1000, 1001)]);
}

#[test]
fn rfc_9768_3_2_3_3_the_option_beacons_three_times_an_rtt() {
    let mut tcp = client::<ClassicReno>(Profile { ack_every: 1, ..counting() });
    // What is sent again is not ECN-capable. The handshake took 100 ms.
    let tells = |tcp: &mut Conversation| tcp.takes_sent()[0].options.accecn().is_some();
    let mut fields = vec![];
    for (k, ms) in [(1, 120), (2, 134), (3, 150), (4, 168)] {
        tcp.at(ms).gets(ace(full(k), 5));
        fields.push(tells(&mut tcp));
    }
    assert_eq!(fields, [false, true, false, true]);
}

#[test]
fn rfc_9768_3_2_3_eight_marks_on_lost_acks_are_still_counted() {
    let mut tcp = client::<Recorder<true>>(counting());
    tcp.writes(50_000).takes_sent();
    tcp.gets(with_counters(ace(ack(after(8)), 5), 1, 8000, 1)).takes_sent();
    assert_eq!(tcp.tcp.congestion().last, (8000, 8000));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 1);
    // Nine look like one.
    let mut tcp = client::<Recorder<true>>(counting());
    tcp.writes(50_000).takes_sent();
    tcp.gets(with_counters(ace(ack(after(10)), 6), 1001, 9000, 1)).takes_sent();
    assert_eq!(tcp.tcp.congestion().last, (10_000, 9000));
    // An end without the option reads none.
    let mut tcp = Conversation::<Recorder<true>>::connect(Profile { accecn_option: false, ..counting() });
    tcp.takes_sent();
    tcp.gets(with_counters(ace(syn_ack(), 0b010), 1, 0, 1)).takes_sent();
    tcp.writes(50_000).takes_sent();
    tcp.gets(with_counters(ace(ack(after(10)), 6), 1001, 9000, 1)).takes_sent();
    assert_eq!(tcp.tcp.congestion().last, (10_000, 1000));
}

#[test]
fn rfc_9768_3_2_3_marked_bytes_count_data_not_full_segments() {
    let mut tcp = client::<Recorder<true>>(counting());
    tcp.writes(300).takes_sent();
    tcp.writes(2700).takes_sent();
    tcp.gets(with_counters(ace(ack(2301), 6), 2001, 300, 1)).takes_sent();
    assert_eq!(tcp.tcp.congestion().last, (2300, 300));
    // Without the option for once: a full segment, but no more than is delivered; the next one says what the sum is.
    tcp.gets(ace(ack(3001), 7)).takes_sent();
    assert_eq!(tcp.tcp.congestion().last, (700, 700));
    tcp.writes(2000).takes_sent();
    tcp.gets(with_counters(ace(ack(5001), 0), 2001, 2000, 1)).takes_sent();
    assert_eq!(tcp.tcp.congestion().last, (2000, 1000));
    assert_eq!(tcp.tcp.congestion().marked, 2000);
}

#[test]
fn the_option_takes_12_bytes_only_of_segments_with_news() {
    let mut tcp = client::<ClassicReno>(counting());
    tcp.writes(50_000);
    // The first acknowledgement has reported everything.
    assert!(tcp.takes_sent().iter().all(|segment| (segment.len, segment.header_len()) == (1000, 20)));
    tcp.gets(ace(ect(1).acking(after(10)), 5));
    let sent = tcp.takes_sent();
    assert_eq!((sent[0].len, sent[0].header_len()), (988, 32));
    assert_eq!((sent[1].len, sent[1].header_len()), (1000, 20));
}

#[test]
fn rfc_9768_3_2_3_3_sack_goes_before_it_where_room_is_short() {
    let profile = Profile { sack: true, ack_every: 1, ..counting() };
    let mut tcp: Conversation = Conversation::connect(profile);
    tcp.takes_sent();
    let syn = SynOptions { mss: MSS, sack_permitted: true, window_scale: None };
    let answer = with_counters(ace(syn_ack(), 0b010), 1, 0, 1).options.with_syn(syn);
    tcp.gets(with(ace(syn_ack(), 0b010), answer)).takes_sent();
    // Segments 1, 3, 5 and 7 are missing.
    for (k, blocks, told) in [(2, 1, 11), (4, 2, 11), (6, 3, 11), (8, 4, 0)] {
        tcp.gets(ace(ect(k), 5));
        let options = tcp.takes_sent()[0].options;
        let counters = options.accecn().map_or(0, |accecn| accecn.length());
        assert_eq!((options.sack().count(), counters), (blocks, told));
        assert!(options.len() <= 40);
    }
}
