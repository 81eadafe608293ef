//! The position of a connection's round-trip time: at the client, at the server, or split.

use crate::*;

const ENDS: [&str; 3] = ["browser", "server", "split"];

/// One transfer of 1,000 bytes with a round trip of 40 ms on an idle link, begun at 1 s.
fn transfer(delay_at: &str) -> Run {
    let spec = json!({
        "link": {"rate": "10 Mbit/s", "device_fifo": 0},
        "queue": {"droptail": {}},
        "users": {"per_side": 0, "delay_at": delay_at},
        "sources": [{"trace": {
            "start_seconds": [1], "side": [0], "request_bytes": [300], "response_bytes": [1000], "rtt_ms": [40]
        }}],
        "protocol": {"warmup": "0 s", "duration": "10 s"},
        "record": {"exchanges": true, "link_every": "100 us"},
    });
    Run::to_the_end(&spec, 1)
}

/// Arrival times of packets at the queue of a direction, in milliseconds from the start of the transfer.
fn arrivals(run: &Run, direction: u8) -> Vec<f64> {
    let table = &run.tables.link;
    let rows =
        (0..table.time_s.len()).filter(|&row| table.direction[row] == direction && table.arrived[row] > 0);
    rows.map(|row| 1e3 * (table.time_s[row] - 1.0)).collect()
}

#[test]
fn the_least_round_trip_is_the_same_wherever_it_is_spent() {
    let took = ENDS.map(|end| transfer(end).tables.exchanges.response_time_ms[0]);
    assert!(took[0] > 80.0 && took[1..].iter().all(|other| (other - took[0]).abs() < 1e-9), "{took:?} ms");
}

#[test]
fn delay_at_moves_half_or_all_of_the_rtt_behind_the_queues() {
    let [browser, server, split] = ENDS.map(|end| {
        let run = transfer(end);
        [arrivals(&run, 0), arrivals(&run, 1)]
    });
    // SYN, request and what closes: as much earlier at the queue as less is added to them. What the server sends, a whole
    // round trip after the browser sent, is there when it was.
    for (variant, earlier) in [(server, 40.0), (split, 20.0)] {
        assert!(browser[0].len() >= 3 && browser[0].len() == variant[0].len(), "{browser:?} {variant:?}");
        for (whole, less) in browser[0].iter().zip(&variant[0]) {
            assert!((whole - less - earlier).abs() < 0.11, "{whole} ms and {less} ms");
        }
        assert!(browser[1].len() >= 2 && browser[1].len() == variant[1].len(), "{browser:?} {variant:?}");
        for (whole, less) in browser[1].iter().zip(&variant[1]) {
            assert!((whole - less).abs() < 0.11, "{whole} ms and {less} ms");
        }
    }
}

#[test]
fn without_queues_response_times_do_not_depend_on_delay_at() {
    let times = ENDS.map(|end| {
        let spec = json!({
            "link": {"rate": "1 Gbit/s"},
            "queue": {"droptail": {"limit": 10_000}},
            "users": {"per_side": 5, "delay_at": end},
            "protocol": {"warmup": "0 s", "duration": "2 min"},
            "record": {"exchanges": true},
        });
        let run = Run::to_the_end(&spec, 1);
        assert_eq!(run.summary.loss_percent, Some(0.0));
        run.summary.response_time_ms
    });
    for variant in &times[1..] {
        assert!((known(variant.p50) / known(times[0].p50) - 1.0).abs() < 0.02, "{times:?}");
        assert!((known(variant.p90) / known(times[0].p90) - 1.0).abs() < 0.02, "{times:?}");
    }
}
