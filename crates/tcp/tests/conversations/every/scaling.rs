//! Wide windows (RFC 7323 §2), in every stack that has them.

use aqmlab_tcp::{Profile, Segment, WindowScale};

use super::script::*;

/// Room for 6 MB, which a shift of 7 makes fit into 16 bits, and for a hundred segments from the start.
fn wide_open() -> Profile {
    Profile { receive_window: 6_291_456, window_scaling: true, initial_window: 100, ..profile() }
}

fn scaling(segment: Segment, shift: u8) -> Segment {
    Segment { options: WindowScale::from_offer(Some(shift)), ..segment }
}

#[test]
fn a_syn_offers_the_least_shift_and_a_syn_ack_only_in_reply() {
    Conversation::connect(wide_open()).sends([scaling(syn(), 7)]);
    Conversation::listen(wide_open()).gets(scaling(syn(), 7)).sends([scaling(syn_ack(), 7)]);
    Conversation::listen(wide_open()).gets(syn()).sends([syn_ack()]);
    Conversation::listen(profile()).gets(scaling(syn(), 7)).sends([syn_ack()]);
    // A window that needs no shift lets the peer shift its own.
    let narrow = Profile { receive_window: 60_000, ..wide_open() };
    Conversation::connect(narrow).sends([scaling(syn(), 0)]);
}

#[test]
fn only_a_scaled_window_allows_over_65535_bytes_in_flight() {
    let sent = |answer: Segment, segments: u32| {
        let mut tcp = Conversation::connect(wide_open());
        tcp.sends([scaling(syn(), 7)]).gets(answer).sends([ack(1)]).gets(ack(1));
        tcp.writes(100_000).sends((1..=segments).map(full));
    };
    sent(scaling(syn_ack(), 7), 100);
    sent(syn_ack(), 65);
}

#[test]
fn a_syns_window_is_unscaled_and_the_handshakes_last_acks_is() {
    let mut client = Conversation::connect(wide_open());
    client.sends([scaling(syn(), 7)]).gets(scaling(syn_ack(), 7)).sends([ack(1)]);
    client.writes(100_000).sends((1..=65).map(full));
    let mut server = Conversation::listen(wide_open());
    server.gets(scaling(syn(), 7)).sends([scaling(syn_ack(), 7)]).gets(ack(1));
    server.writes(100_000).sends((1..=100).map(full));
}

#[test]
fn a_shift_of_more_than_14_counts_as_14() {
    // §2.3. The peer's field of 4 means 65,536 bytes.
    let mut tcp = Conversation::connect(wide_open());
    tcp.sends([scaling(syn(), 7)]).gets(scaling(syn_ack(), 20)).sends([ack(1)]);
    tcp.gets_offering(ack(1).into_segment(), 4).writes(100_000).sends((1..=65).map(full));
}
