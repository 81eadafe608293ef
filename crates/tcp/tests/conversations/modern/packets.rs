//! Packets of several segments, and the send buffer, as in Linux.

use aqmlab_tcp::{Flags, LimitedBy};

use super::*;

/// With windows of `window` bytes, and a round trip of 100 ms measured: packets have two segments.
fn linux(window: u32, send_buffer: u32) -> Conversation {
    let mut tcp =
        client(Profile { segmentation_offload: true, send_buffer, receive_window: window, ..selective() });
    tcp.writes(50_000);
    tcp
}

/// The last segment of a packet.
fn last(number: u32) -> Segment {
    Segment { flags: full(number).flags | Flags::PSH, ..full(number) }
}

#[test]
fn the_last_segment_of_a_packet_carries_psh() {
    linux(5_000, 0).sends([full(1), last(2), full(3), last(4), full(5)]);
}

#[test]
fn a_packet_waits_for_room_for_a_whole_one() {
    let mut tcp = linux(10_000, 0);
    tcp.takes_sent();
    tcp.at(OPENED + 100);
    // The last departure is long past: one segment leaves alone. The next one waits for a second.
    tcp.gets(ack(after(1))).sends([full(11)]).gets(ack(after(2))).sends([]);
    tcp.gets(ack(after(3))).sends([full(12), last(13)]);
    // It does not wait once a millisecond has passed since the last departure.
    tcp.gets(ack(after(4))).sends([]).at(OPENED + 102).sends([full(14)]);
}

#[test]
fn a_packet_does_not_wait_if_no_acknowledgement_is_near() {
    let mut tcp = linux(10_000, 0);
    // All ten left at once, so that the others' acknowledgements are expected after 100 ms.
    tcp.takes_sent();
    tcp.at(OPENED + 98).gets(ack(after(1))).sends([full(11)]).gets(ack(after(2))).sends([full(12)]);
}

#[test]
fn the_end_of_a_stream_waits_for_room_as_well() {
    let mut tcp =
        client(Profile { segmentation_offload: true, send_buffer: 0, receive_window: 10_000, ..selective() });
    tcp.writes(13_000).takes_sent();
    tcp.closes();
    tcp.at(OPENED + 100).gets(ack(after(1))).sends([full(11)]).gets(ack(after(2))).sends([]);
    let fin = Segment { flags: last(13).flags | Flags::FIN, ..full(13) };
    tcp.gets(ack(after(3))).sends([full(12), fin]);
}

#[test]
fn the_handshake_tells_the_shortest_round_trip() {
    let profile = Profile { segmentation_offload: true, send_buffer: 0, ..selective() };
    let mut tcp: Conversation = Conversation::listen(profile);
    tcp.gets(permitting(syn())).sends_with([permitting(syn_ack())]).at(OPENED).gets(ack(1));
    // On a path of less than 16 ms, all four would be one packet.
    tcp.writes(4_000).sends([full(1), last(2), full(3), last(4)]);
}

#[test]
fn a_full_send_buffer_holds_data_back() {
    // The first time 9,000 bytes. Then 8,108 beside the overhead of packets of two segments, when a third of them are free.
    let mut tcp = linux(60_000, 12_000);
    tcp.sends([full(1), last(2), full(3), last(4), full(5), last(6), full(7), last(8), full(9)]);
    assert_eq!(tcp.limited_by(), LimitedBy::SendBuffer);
    tcp.at(OPENED + 100).gets(ack(after(3))).sends([]).gets(ack(after(4))).sends([
        full(10),
        last(11),
        full(12),
    ]);
}
