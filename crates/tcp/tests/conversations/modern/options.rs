//! Options negotiated at the handshake (RFC 2018 §2, RFC 7323 §2-3) and their effect on later segments.

use super::*;

fn everything() -> Profile {
    Profile { window_scaling: true, timestamps: true, receive_window: 6_291_456, ..selective() }
}

fn offer() -> SynOptions {
    SynOptions { mss: MSS, sack_permitted: true, window_scale: Some(7) }
}

/// `segment` with timestamps and `syn`.
fn all(segment: Segment, value: u32, echo: u32, syn: SynOptions) -> Segment<Options> {
    with(segment, Options::default().with_timestamps(Timestamps { value, echo }).with_syn(syn))
}

#[test]
fn a_syn_offers_the_profiles_options_and_a_syn_ack_the_offered() {
    let mut client = Conversation::<ClassicReno>::connect(everything());
    client.sends_with([all(syn(), 0, 0, offer())]);
    let mut server = Conversation::<ClassicReno>::listen(everything());
    server.at(30).gets(all(syn(), 5, 0, offer())).sends_with([all(syn_ack(), 30, 5, offer())]);
    let plain = SynOptions { mss: MSS, sack_permitted: false, window_scale: None };
    let mut polite = Conversation::<ClassicReno>::listen(everything());
    polite.gets(offering(syn(), plain)).sends_with([offering(syn_ack(), plain)]);
    // A peer that knows no options at all gets none in data.
    polite.gets(ack(1)).writes(1000).sends([full(1)]);
}

#[test]
fn timestamps_take_twelve_bytes_of_each_segment() {
    let mut tcp = Conversation::<ClassicReno>::connect(everything());
    tcp.sends_with([all(syn(), 0, 0, offer())]).at(OPENED).gets(all(syn_ack(), 70, 0, offer()));
    tcp.sends_with([stamped(ack(1), 100, 70)]).writes(1500);
    tcp.sends_with([stamped(data(1, 988), 100, 70), stamped(data(989, 512), 100, 70)]);
}

#[test]
fn the_lesser_maximum_segment_size_counts() {
    let mut tcp = Conversation::<ClassicReno>::connect(selective());
    let small = SynOptions { mss: 536, sack_permitted: true, window_scale: None };
    tcp.sends_with([permitting(syn())]).gets(offering(syn_ack(), small)).sends([ack(1)]);
    tcp.writes(1000).sends([data(1, 536), data(537, 464)]);
}

#[test]
fn every_ack_gives_an_rtt_sample_even_of_retransmissions() {
    // RFC 7323 §4: where Karn's rule leaves the classic endpoint without a sample, the echo tells which copy arrived.
    let profile = Profile { timestamps: true, sack: false, ..selective() };
    let plain = SynOptions { mss: MSS, sack_permitted: false, window_scale: None };
    let mut tcp = Conversation::<ClassicReno>::connect(profile);
    tcp.sends_with([all(syn(), 0, 0, plain)]).at(OPENED).gets(all(syn_ack(), 70, 0, plain));
    tcp.sends_with([stamped(ack(1), 100, 70)]).writes(100).sends_with([stamped(data(1, 100), 100, 70)]);
    tcp.at(OPENED + 1000).sends_with([stamped(data(1, 100), 1100, 70)]);
    // The second copy took 300 ms: the back-off ends, and the timeout follows from samples of 100 and 300 ms.
    tcp.at(1400).gets(stamped(ack(101), 1200, 1100)).writes(100);
    tcp.sends_with([stamped(data(101, 100), 1400, 1200)]);
    assert_eq!(tcp.tcp.retransmit_deadline().as_nanos(), 2_400_000_000);
    tcp.gets(stamped(ack(201), 1200, 1400));
}

#[test]
fn a_server_times_its_syn_ack() {
    // Linux does; the classic server would wait 3 s, and then twice as long.
    let mut tcp = Conversation::<ClassicReno>::server(selective());
    tcp.writes(300).sends([data(1, 300)]).at(OPENED + 1000).sends([data(1, 300)]);
}

#[test]
fn the_echo_is_of_the_earliest_segment_not_yet_acknowledged() {
    // RFC 7323 §4.3: a held-back acknowledgement echoes the first of the segments it covers.
    let profile = Profile { timestamps: true, sack: false, ack_every: 2, ..selective() };
    let plain = SynOptions { mss: MSS, sack_permitted: false, window_scale: None };
    let mut tcp = Conversation::<ClassicReno>::connect(profile);
    tcp.sends_with([all(syn(), 0, 0, plain)]).at(OPENED).gets(all(syn_ack(), 70, 0, plain));
    tcp.sends_with([stamped(ack(1), 100, 70)]);
    tcp.gets(stamped(full(1), 200, 100)).gets(stamped(full(2), 201, 100));
    tcp.sends_with([stamped(ack(after(2)), 100, 200)]);
    // Beyond a gap the last in order counts, and what fills the gap counts again.
    tcp.gets(stamped(full(4), 300, 100)).sends_with([stamped(ack(after(2)), 100, 200)]);
    tcp.gets(stamped(full(3), 310, 100)).sends_with([stamped(ack(after(4)), 100, 310)]);
}
