//! Growth of a window by its use, as in Linux (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`).

use aqmlab_tcp::congestion::Reno;

use super::*;

/// A client with a window of ten segments that has sent some, and gets an acknowledgement of each.
fn window_after(segments: u32) -> u32 {
    let mut tcp = Conversation::<Reno>::connect(selective());
    tcp.sends_with([permitting(syn())]).at(OPENED).gets(permitting(syn_ack())).sends([ack(1)]);
    tcp.writes(1_000 * segments).takes_sent();
    for number in 1..=segments {
        tcp.gets(ack(after(number)));
    }
    tcp.cwnd()
}

#[test]
fn slow_start_needs_more_than_half_of_the_window() {
    assert_eq!(window_after(5), 10_000);
    // The second acknowledgement finds twelve segments, twice those that were unacknowledged.
    assert_eq!(window_after(6), 12_000);
}

#[test]
fn a_window_that_was_full_grows_for_a_round_trip() {
    assert_eq!(window_after(10), 20_000);
}
