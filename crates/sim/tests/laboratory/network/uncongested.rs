//! On an idle network a response takes its round trips, no less and hardly more.

use crate::*;

const RTT_MS: f64 = 101.0;
const MSS: u32 = 1460;

/// A few users, each connection 100 ms and twice the link's 0.5 ms long.
fn run() -> Run {
    let spec = json!({
        "link": {"rate": "1 Gbit/s"},
        "queue": {"droptail": {"limit": 1000}},
        "users": {
            "per_side": 10,
            "rtt": {"source": "none", "distribution": {"uniform_ms": {"min": 100, "max": 100}}},
        },
        "protocol": {"warmup": "0 s", "duration": "20 min"},
        "record": {"exchanges": true},
    });
    Run::to_the_end(&spec, 1)
}

/// Round trips in which a server sends `response` bytes by slow start: windows of 2, 4 and 8 segments, and then all
/// that the client's 16 kB allow.
fn slow_start_rounds(response: u32) -> u32 {
    let (mut window, mut sent, mut rounds) = (2 * MSS, 0, 0);
    while sent < response {
        sent += window;
        window = (2 * window).min(16_384);
        rounds += 1;
    }
    rounds
}

#[test]
fn nothing_is_lost_or_sent_again() {
    let run = run();
    let rows = &run.tables.exchanges;
    assert!(run.summary.completed_requests > 2_000);
    assert_eq!(run.summary.counters.iter().map(PacketCounts::dropped).sum::<u64>(), 0);
    assert_eq!(run.summary.aborted_requests, 0);
    for column in [&rows.syn_retransmits, &rows.timeouts, &rows.fast_retransmits, &rows.ecn_reductions] {
        assert!(column.iter().all(|&count| count == 0));
    }
}

#[test]
fn a_connections_first_response_takes_handshake_and_slow_start() {
    let run = run();
    let rows = &run.tables.exchanges;
    let mut checked = 0;
    for row in 0..rows.start_s.len() {
        let (request, response) = (rows.request_bytes[row], rows.response_bytes[row]);
        let took = rows.response_time_ms[row];
        if !rows.first_on_connection[row] {
            assert!(took >= RTT_MS, "{response} bytes took {took} ms");
            continue;
        }
        let round_trips = 1 + slow_start_rounds(response);
        let least = RTT_MS * f64::from(round_trips);
        assert!(took >= least, "{response} bytes took {took} ms");
        // Requests and responses that fit the plain picture of rounds take no more than a few frame times beyond.
        if request <= MSS && response <= 14 * MSS {
            checked += 1;
            assert!(took < least + 5.0, "{response} bytes took {took} ms");
        }
    }
    assert!(checked > 1_000);
}
