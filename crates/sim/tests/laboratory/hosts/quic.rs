//! Hosts that speak QUIC, alone and beside TCP.

use aqmlab_sim::{Capture, TimelineRequest};

use crate::watched::capture::ALL;
use crate::*;

/// The response time of one exchange on an idle link whose round trip is 40 ms, in milliseconds.
fn response_ms(tcp: &Value) -> f64 {
    let spec = json!({
        "link": {"rate": "100 Mbit/s", "device_fifo": 0, "delay": "0 s"},
        "queue": {"droptail": {}},
        "tcp": tcp,
        "users": {"per_side": 0},
        "sources": [{"trace": {
            "start_seconds": [1], "side": [0], "request_bytes": [300], "response_bytes": [1000], "rtt_ms": [40]
        }}],
        "protocol": {"warmup": "0 s", "duration": "10 s"},
        "record": {"exchanges": true},
    });
    Run::to_the_end(&spec, 1).tables.exchanges.response_time_ms[0]
}

#[test]
fn response_times_count_the_round_trips_of_the_handshake() {
    let quic = |values: Value| json!({"profile": "quic", "quic": values});
    for (tcp, round_trips) in [
        (json!({"profile": "linux-6"}), 2.0),
        (quic(json!({})), 2.0),
        (quic(json!({"handshake": "resumed"})), 2.0),
        (quic(json!({"handshake": "0-rtt"})), 1.0),
        // 3 x 1,200 bytes do not hold the certificates.
        (quic(json!({"certificate": 4_000})), 3.0),
        (quic(json!({"certificate": 4_000, "handshake": "resumed"})), 2.0),
    ] {
        let took = response_ms(&tcp);
        // The rest is serialisation: a dozen packets at 100 Mbit/s.
        assert!((0.0..1.5).contains(&(took - 40.0 * round_trips)), "{tcp}: {took} ms");
    }
}

/// Bulk transfers over QUIC and over TCP, on one link with `queue`.
fn beside(queue: &Value, congestion: &str) -> Run {
    let bulk = |name| json!({"bulk": {"name": name, "flows": 2, "rtt": {"fixed": "40 ms"}}});
    let spec = json!({
        "link": {"rate": "20 Mbit/s"},
        "queue": queue,
        "tcp": {"profile": "linux-6", "congestion": congestion, "mix": [
            {"share": 1, "source": "quic", "profile": "quic", "congestion": congestion},
        ]},
        "sources": [bulk("quic"), bulk("tcp")],
        "users": {"per_side": 0},
        "protocol": {"warmup": "5 s", "duration": "30 s"},
        "record": {"flows": "100 ms"},
    });
    Run::to_the_end(&spec, 1)
}

#[test]
fn quic_shares_a_link_with_tcp() {
    for (queue, least) in [(json!({"fq_codel": {}}), 0.8), (json!({"droptail": {"limit": 100}}), 0.33)] {
        let run = beside(&queue, "cubic");
        let [quic, tcp] = [0, 1].map(|source: usize| run.summary.sources[source].goodput_mbps);
        assert!(quic + tcp > 17.0, "{queue}: {quic} and {tcp} Mbit/s of 20");
        assert!(quic / tcp > least && tcp / quic > least, "{queue}: {quic} and {tcp} Mbit/s");
    }
}

#[test]
fn flows_of_quic_are_recorded_with_their_losses() {
    let table = beside(&json!({"droptail": {"limit": 50}}), "reno").tables.flows;
    let rows: Vec<_> =
        (0..table.time_s.len()).filter(|&row| table.source[row] == 1 && table.direction[row] == 1).collect();
    assert!(rows.len() >= 600, "{}", rows.len());
    for &row in &rows {
        let lost = known(table.lost_bytes[row]);
        let [sent, delivered] = [table.sent_bytes[row], table.delivered_bytes[row]];
        assert!(table.retransmitted_bytes[row] as f64 <= lost && delivered <= sent, "row {row}");
        // Lost and in flight are packets, with their headers.
        let missing = (sent - delivered) as f64;
        assert!(missing <= lost + f64::from(table.in_flight_bytes[row]) + 1.0, "row {row}");
    }
    let last = *rows.last().expect("it has rows");
    assert!(table.retransmitted_bytes[last] > 0 && table.srtt_ms[last].is_some_and(|srtt| srtt > 40.0));
}

#[test]
fn marks_reach_every_kind_of_control() {
    for congestion in ["reno", "cubic", "dctcp", "prague"] {
        let spec = json!({
            "link": {"rate": "20 Mbit/s"},
            "queue": {"dualpi2": {}},
            "tcp": {"profile": "quic", "congestion": congestion, "ecn": true},
            "sources": [{"bulk": {"flows": 2, "rtt": {"fixed": "20 ms"}}}],
            "users": {"per_side": 0},
            "protocol": {"warmup": "5 s", "duration": "10 s"},
        });
        let run = Run::to_the_end(&spec, 1);
        let goodput = run.summary.sources[0].goodput_mbps;
        assert!(goodput > 14.0, "{congestion}: {goodput} Mbit/s of 20");
        assert!(known(run.summary.mark_percent) > 0.0, "{congestion}");
        assert!(known(run.summary.loss_percent) < 0.1, "{congestion}: {:?}", run.summary.loss_percent);
    }
}

#[test]
fn users_browse_over_quic_and_over_tcp_in_one_run() {
    let mut spec = congested(&law("pi"));
    spec["protocol"]["duration"] = json!("30 s");
    // Half of the hosts: a connection has the transport of its client.
    spec["tcp"] = json!({"profile": "linux-6", "mix": [{"share": 0.5, "profile": "quic"}]});
    let run = Run::to_the_end(&spec, 1);
    assert!(
        run.tables.exchanges.response_time_ms.len() > 500,
        "{}",
        run.tables.exchanges.response_time_ms.len()
    );
    assert!(known(run.summary.loss_percent) > 0.1);
}

#[test]
fn the_parts_of_response_times_over_quic_add_up() {
    let mut spec = congested(&law("pi"));
    spec["protocol"]["duration"] = json!("30 s");
    spec["tcp"] = json!({"profile": "linux-6", "mix": [{"share": 0.5, "profile": "quic"}]});
    let plain = Run::to_the_end(&spec, 1);
    let explain = Watch::Explain(&[], TimelineRequest::default());
    let mut laboratory = build(&read(&spec), 1, None, explain).expect("the spec is sound");
    laboratory.advance(laboratory.end());
    let mut run = Run::result_of(&mut *laboratory);
    let explained = std::mem::take(&mut run.tables.explanations);
    assert!(format!("{run:?}") == format!("{plain:?}"), "another run than the plain one");
    assert_eq!(explained.start_ns.len(), plain.tables.exchanges.start_s.len());
    for (row, &took) in explained.response_time_ns.iter().enumerate() {
        assert_eq!(explained.parts.iter().map(|(_, nanos)| nanos[row]).sum::<u64>(), took, "request {row}");
    }
    assert!(explained.losses.iter().sum::<u32>() > 0);
}

#[test]
fn a_capture_of_quic_is_refused() {
    let spec = json!({"queue": {"droptail": {}}, "tcp": {"mix": [{"share": 0.5, "profile": "quic"}]},
        "users": {"per_side": 1}});
    let capture = Capture::new(&read(&spec), ALL);
    let refusal = build(&read(&spec), 1, None, Watch::Capture(&capture)).err().expect("refused").to_string();
    assert_eq!(
        refusal,
        "tcp.mix[0].profile: must be a profile of TCP: captures show TCP headers, and QUIC encrypts its own, got \"quic\""
    );
}
