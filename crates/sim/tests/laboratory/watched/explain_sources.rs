//! The breakdown of the response times of sources: it equals arithmetic on an idle link, and adds up under load.

use std::collections::BTreeSet;

use aqmlab_sim::TimelineRequest;

use super::explain::{Explained, MS, explained_run, flights, idle};
use crate::*;

/// The only source on the idle link, 100 ms and twice 0.5 ms from its servers.
fn alone(source: &Value) -> Value {
    let mut spec = idle();
    spec["users"]["per_side"] = json!(0);
    spec["protocol"]["duration"] = json!("20 s");
    spec["sources"] = json!([source]);
    spec
}

fn explained(spec: &Value, sources: &[u8]) -> Vec<Explained> {
    Explained::all(&explained_run(spec, sources, TimelineRequest::default()).tables.explanations)
}

/// The time to send requests or responses of these sizes over the idle link, each with its headers and frame.
fn transmission(sizes: &[u32]) -> u64 {
    sizes.iter().map(|&size| 8 * (u64::from(size) + 78)).sum()
}

#[test]
fn a_file_on_an_idle_link_takes_a_handshake_and_its_flights() {
    for bytes in [1_000, 8_000, 20_000] {
        let file = json!({"bulk": {"flows": 1, "bytes": format!("{bytes} B"), "rtt": {"fixed": "100 ms"}}});
        let [row] = &explained(&alone(&file), &[0])[..] else { panic!("one transfer") };
        assert_eq!((row.source, row.request, row.response), (1, 300, bytes));
        assert_eq!(row.parts["handshake"], 101 * MS);
        assert_eq!(row.parts["request_round_trip"], 101 * MS);
        assert_eq!(row.parts["further_round_trips"], (flights(bytes) - 1) * 101 * MS, "{bytes} bytes");
        if bytes == 1_000 {
            assert_eq!(row.parts["transmission"], transmission(&[0, 0, 300, 1_000]));
            let whole = 202 * MS + row.parts["transmission"];
            assert_eq!(row.response_time, whole + row.parts["interface"] + row.parts["queueing"]);
        }
    }
}

#[test]
fn an_upload_is_complete_at_its_server() {
    let upload = json!({"trace": {
        "start_seconds": [1.0], "side": [0], "request_bytes": [1_000], "response_bytes": [0], "rtt_ms": [100.0],
    }});
    let run = explained_run(&alone(&upload), &[0], TimelineRequest { row: Some(0), slowest: 0 });
    let [row] = &Explained::all(&run.tables.explanations)[..] else { panic!("one upload") };
    // The handshake, and one way: of the connection's round-trip time all is spent on the way out.
    assert_eq!(row.parts["handshake"], 101 * MS);
    assert_eq!(row.parts["request_round_trip"], 100 * MS + MS / 2);
    assert_eq!(row.parts["transmission"], transmission(&[0, 0, 1_000]));
    let (place, event) = (&run.tables.timelines.place, &run.tables.timelines.event);
    assert_eq!((place.last(), event.last()), (Some(&"server"), Some(&"complete")));
}

#[test]
fn pauses_of_applications_are_a_part_of_their_own() {
    // 30 ms after the handshake, 50 ms before the answer; then a second exchange, whose server answers at once.
    let text = "S 0 2 1 1\nr 100000\nI 0 30000 300\nA 0 50000 1000\nI 0 700000 200\nA 0 0 900\n";
    let rows = explained(&alone(&json!({"tmix": {"text": text}})), &[0]);
    let of = |part: &str| rows.iter().map(|row| row.parts[part]).collect::<Vec<_>>();
    assert_eq!(of("application"), [80 * MS, 0]);
    assert_eq!(of("handshake"), [101 * MS, 0]);
    assert_eq!(of("request_round_trip"), [101 * MS; 2]);
    assert_eq!(of("transmission"), [transmission(&[0, 0, 300, 1_000]), transmission(&[200, 900])]);
}

/// Users and sources of each kind whose transfers end, and others, on links that drop.
fn crowded(tcp: &Value) -> Value {
    let mut spec = congested(&law("droptail"));
    spec["users"]["per_side"] = json!(60);
    spec["protocol"] = json!({"warmup": "5 s", "duration": "55 s"});
    spec["tcp"] = tcp.clone();
    let rtt = json!({"fixed": "40 ms"});
    // A greeting, a request in two parts, an answer that more follows, and an upload.
    let conversation = "S 6000000 3 1 1\nr 80000\nA 0 20000 2000\nI 0 9000 400\nI 5000 0 9000\nA 0 300000 30000\n\
        A 100 0 50000\nI 0 40000 20000\nA 0 0 30000\nI 0 0 7000\n";
    spec["sources"] = json!([
        {"bulk": {"flows": 12, "bytes": "150 kB", "spread": "50 s", "rtt": rtt}},
        {"bulk": {"name": "uploads", "flows": 6, "bytes": "60 kB", "direction": "upload", "spread": "50 s", "rtt": rtt}},
        {"bulk": {"name": "endless", "flows": 1, "rtt": rtt}},
        {"bulk": {"name": "limited", "flows": 1, "rtt": rtt, "rate_changes": [{"at": "3 s", "rate": "50 kbit/s"}]}},
        {"transfers": {"rate_per_second": [1, 1], "size": {"lognormal": {"median": "8 kB", "sigma": 1.5}}}},
        {"on_off": {"flows": 3, "size": {"exponential": {"mean": "20 kB"}}, "off": {"exponential": {"mean": "1 s"}}}},
        {"streaming": {"flows": 2, "rate": "50 kbit/s", "length": "30 s", "buffered": "10 s", "block": "5 kB", "start": "8 s"}},
        {"video": {"flows": 1, "rule": "bola", "ladder": ["50 kbit/s", "100 kbit/s"], "segment": "2 s", "rtt": rtt}},
        {"packmime": {"rate_per_second": 3}},
        {"three_gpp": {"users": 3, "reading": "4 s"}},
        {"tmix": {"text": conversation.repeat(12)}},
        {"trace": {"start_seconds": [9, 9, 20], "side": [0, 1, 1], "request_bytes": [9000, 400, 40_000],
            "response_bytes": [0, 40_000, 0], "rtt_ms": [20, 60, 90]}},
        {"datagrams": {"rate": "100 kbit/s", "packet": "200 B"}},
    ]);
    spec
}

/// The sources of [`crowded`] whose transfers end.
const FINITE: [u8; 10] = [0, 1, 4, 5, 6, 7, 8, 9, 10, 11];

/// Check that the rows of the explanation are those of the plain run, and that each adds up.
fn check_rows(name: &str, spec: &Value, sources: &[u8]) -> Vec<Explained> {
    let plain = Run::to_the_end(spec, 1);
    let mut run = explained_run(spec, sources, TimelineRequest { row: Some(2), slowest: 3 });
    let table = std::mem::take(&mut run.tables.explanations);
    let timelines = std::mem::take(&mut run.tables.timelines);
    assert!(timelines.row.contains(&2), "{name}");
    assert!(format!("{run:?}") == format!("{plain:?}"), "{name}: another run than the plain one");
    let exchanges = &plain.tables.exchanges;
    let chosen: Vec<usize> = (0..exchanges.source.len())
        .filter(|&row| exchanges.source[row].checked_sub(1).is_some_and(|source| sources.contains(&source)))
        .collect();
    let rows = Explained::all(&table);
    assert_eq!(rows.len(), chosen.len(), "{name}");
    for (row, &number) in rows.iter().zip(&chosen) {
        assert_eq!(row.parts.values().sum::<u64>(), row.response_time, "{name}: {row:?}");
        let plain_ms = exchanges.response_time_ms[number];
        assert!((plain_ms - row.response_time as f64 * 1e-6).abs() < 1e-9, "{name}: {row:?}");
        assert_eq!((row.source, row.side), (exchanges.source[number], exchanges.side[number]), "{name}");
        assert_eq!(row.first, exchanges.first_on_connection[number], "{name}");
    }
    rows
}

#[test]
fn the_parts_of_each_kind_of_source_add_up_under_load() {
    let hosts = [
        json!({"profile": "unc-testbed", "ecn": true}),
        json!({"profile": "freebsd-4.5"}),
        json!({"profile": "linux-6"}),
        json!({"profile": "linux-6", "congestion": "bbr"}),
        json!({"profile": "linux-6", "mix": [{"share": 0.5, "profile": "quic"}]}),
    ];
    let mut ever = BTreeSet::new();
    for tcp in hosts {
        let rows = check_rows(&tcp.to_string(), &crowded(&tcp), &FINITE);
        let kinds: BTreeSet<u8> = rows.iter().map(|row| row.source - 1).collect();
        assert_eq!(kinds, FINITE.into(), "{tcp}");
        assert!(rows.iter().map(|row| row.losses).sum::<u32>() > 50, "{tcp}");
        ever.extend(rows.iter().flat_map(Explained::what_counts));
    }
    assert_eq!(ever.len(), 14, "anything but TLS: {ever:?}");
}

#[test]
fn over_chains_of_asymmetric_links_sources_add_up_too() {
    let mut spec = crowded(&json!({"profile": "linux-6"}));
    let rate = json!({"up": "2 Mbit/s", "down": "3 Mbit/s"});
    put_in_series(&mut spec, &json!([{"rate": rate}, {"queue": {"codel": {}}}, {"delay": "5 ms"}]));
    spec["sources"][0]["bulk"]["path"] = json!([2, 3]);
    spec["sources"][4]["transfers"]["path"] = json!([1, 2]);
    let rows = check_rows("chain", &spec, &FINITE);
    assert!(rows.iter().map(|row| row.losses).sum::<u32>() > 50);
    // The users are explained beside them as before.
    let users = explained(&spec, &[]);
    assert!(!users.is_empty() && users.iter().all(|row| row.source == 0));
}
